"""What each exchange of one center for one candidate would change: all of them in one pass.

A row's cost is its squared distance to the nearest center, in public steps and rounded down: an integer from 0 to
``most``. So one row moves the cost of any centers, and the change of any exchange, by at most ``most``.

With the distances to the nearest and second nearest center known, exchanging center j for candidate c costs a point
``min(d_c, d_1)`` if its nearest center is not j, else ``min(d_c, d_2)``.

Cost: O(n m p).

References:
    Schubert, Rousseeuw: Faster k-medoids clustering. SISAP 2019 (all exchanges in one pass).
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import IntArray
from dplib.clustering.projection import Projection
from dplib.clustering.source import Keyed
from dplib.clustering.sums import squared_distances
from dplib.compiled import compiled

_BLOCK = 4096


@dataclass(frozen=True)
class ExchangeCosts:
    """Summary: the cost now under key 0, the change by exchanging center j for candidate c under 1 + j m + c.

    Attributes:
        projection: applied to points first.
        candidates: integers, shape (m, p).
        chosen: positions of the centers among the candidates, shape (k,).
        step: squared units to one step of cost.
        most: largest cost of a row, in steps.
    """

    projection: Projection
    candidates: IntArray
    chosen: IntArray
    step: int
    most: int
    width = 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        k, m = len(self.chosen), len(self.candidates)
        shared, own, cost = np.zeros(m, dtype=np.int64), np.zeros((k, m), dtype=np.int64), np.zeros(1, dtype=np.int64)
        for start in range(0, len(points), _BLOCK):
            placed = self.projection(points[start : start + _BLOCK])
            costs = np.minimum(squared_distances(placed, self.candidates) // self.step, self.most)
            _add_changes(costs, self.chosen, shared, own, cost)
        return np.arange(1 + k * m), np.concatenate([cost, (shared + own).ravel()])[:, np.newaxis]


@compiled
def _add_changes(costs: IntArray, chosen: IntArray, shared: IntArray, own: IntArray, total: IntArray) -> None:
    far = np.int64(1) << 62
    for i in range(len(costs)):
        nearest, first, second = 0, far, far
        for j in range(len(chosen)):
            here = costs[i, chosen[j]]
            if here < first:
                second = first
                first = here
                nearest = j
            elif here < second:
                second = here
        total[0] += first
        for c in range(costs.shape[1]):
            others = min(costs[i, c] - first, 0)
            shared[c] += others
            own[nearest, c] += min(costs[i, c], second) - first - others
