"""The levels of a local tree, made consistent: every cube's estimate, and its users' part in the error of a weight.

Each level has estimates of its own, from the users who were asked at it, scaled to all users. From below, a cube's own
estimate is mixed with the sum of its children's totals, by variances that are one number a level. `spreads` are the
variances of the totals cube by cube, which differ from that number where a cube holds many of the users.

References:
    Hay, Rastogi, Miklau, Suciu: Boosting the accuracy of differentially private histograms through consistency. VLDB
    2010, theorem 3 (here with one variance a level).
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.clustering.central.tree_errors import NodeErrors
from dplib.clustering.local.questions import Estimate


@dataclass(frozen=True, eq=False)
class LevelTotals:
    """Estimates of one level of the tree, scaled to all users, and mixed with those of the levels below.

    Attributes:
        totals: of all cubes, shape (m,).
        variance: of a cube's total, one for all cubes: what weighs levels against each other.
        own: the share of the level's own estimate in the total.
        own_variances: of the cubes' own estimates, shape (m,).
        spreads: of the totals, cube by cube, shape (m,).
        own_times: users for each user who was asked at this level.
        times: the same of the total: a user who was asked counts for so many.
    """

    totals: FloatArray
    variance: float
    own: float
    own_variances: FloatArray
    spreads: FloatArray
    own_times: float
    times: float

    @classmethod
    def measured(cls, estimate: Estimate, n_users: float) -> "LevelTotals":
        """The level's own estimates."""
        times = n_users / max(1, estimate.n_reports)
        # Of nobody's answers the variance is not 0 but unknown: then the level counts for hardly anything.
        raw = np.asarray(estimate.variance) if estimate.n_reports else 0 * estimate.counts + max(n_users, 1.0) ** 2
        spreads = np.maximum(raw * times**2, 1e-9)
        return cls(estimate.counts * times, float(spreads.mean()), 1.0, spreads, spreads, times, times)

    def over(self, below: "LevelTotals", children: int) -> "LevelTotals":
        """Own estimates mixed with the sums of the totals below, by their variances."""
        sums, spread = below.totals.reshape(-1, children).sum(axis=1), children * below.variance
        own = spread / (spread + self.variance)
        spreads = own**2 * self.spreads + (1 - own) ** 2 * below.spreads.reshape(-1, children).sum(axis=1)
        times = own**2 * self.own_times + (1 - own) ** 2 * below.times
        totals = own * self.totals + (1 - own) * sums
        return LevelTotals(totals, self.variance * own, own, self.own_variances, spreads, self.own_times, times)

    def node_errors(self, nodes: IntArray, mass: FloatArray, cut: BoolArray, leaves: IntArray) -> NodeErrors:
        """How noise gets into the weights of some cubes, which users are asked included.

        Args:
            nodes: the cubes.
            mass: their weights.
            cut: which are cut up.
            leaves: as `NodeErrors.leaves`.
        """
        variances = np.where(cut, self.own_variances[nodes], self.spreads[nodes])
        variances += mass * np.where(cut, self.own_times, self.times)
        return NodeErrors(np.where(cut, self.own, 1.0), variances, cut, leaves)
