"""What is known of a range of days on its last day, in a release that grows: exact variances of least squares.

On day d a node is *closed* where its last day is not after d. The largest closed nodes cut the days 0 ... d into
subtrees that share no measurement, so their estimates are independent. A range that ends on day d holds all of them
after its first day's, and a part of that one: with U the variances of the children of a node before they know their
parent, S their sum, A the sum of those after the child c in which the range begins, and ``(L_c, Q_c)`` of that child,

    L = (L_c U_c + A) / S,      Q = Q_c + (L_c - L)^2 U_c + (1 - L)^2 A + L^2 (S - U_c - A),

L the coefficient of the node's own value in the best prediction of the part, Q what remains uncertain: the recursion of
`dplib.consistency.answer_variance`, upwards. An unmeasured node that is closed adds nothing.

Cost: O(n_nodes + n_ranges n_levels), a few array operations a level.

References: as for `dplib.consistency.answer_variance`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.trees.interval_tree import IntervalTree


class _Step(NamedTuple):
    """Ranges that go up a level: their numbers, the nodes they come from, and those nodes' first and last siblings."""

    up: IntArray
    child: IntArray
    first: IntArray
    last: IntArray


@dataclass(frozen=True, eq=False)
class KnownRanges:
    """Ranges of days as they are known on their last day, on one tree.

    Attributes:
        tree: over the days, all leaves on the last level.
        lo: first day of each range, shape (n,).
        last: its last day, on which it is asked for, shape (n,).
    """

    tree: IntervalTree
    lo: IntArray
    last: IntArray

    def variance(self, level_variance: FloatArray) -> FloatArray:
        """Variance of each range's least-squares estimate from the nodes that closed by its last day, shape (..., n).

        Args:
            level_variance: of the noise at each level, inf where not measured, finite for days, shape (..., n_levels).
        """
        known = self._from_below(level_variance)
        before = self._before(known)
        shape = (*known.shape[:-1], len(self.lo))
        weight, rest = np.ones(shape), np.zeros(shape)
        steps, top = self._climb
        for up, child, first, last in steps:
            own, until, start, share = (
                known.take(child, axis=-1),
                before.take(child, axis=-1),
                before.take(first, axis=-1),
                weight.take(up, axis=-1),
            )
            earlier, later = until - start, before.take(last, axis=-1) + known.take(last, axis=-1) - until - own
            # The sum of just these: a child that is its parent's first, and is wanted whole, makes it whole exactly.
            new = (share * own + later) / (own + later + earlier)
            rest[..., up] += (share - new) ** 2 * own + (1 - new) ** 2 * later + new**2 * earlier
            weight[..., up] = new
        whole = self._prefixes(known, before)
        return np.asarray(
            weight**2 * known.take(top, axis=-1) + rest + whole[..., self.last + 1] - whole[..., self.tree.hi[top]]
        )

    # What follows from the ranges alone is found once: levels and shares are chosen by hundreds of calls.

    @cached_property
    def _climb(self) -> tuple[list[_Step], IntArray]:
        """The ways up from the first days as long as nodes closed, and the nodes where they end."""
        tree, end, node, steps = self.tree, self.last + 1, self.tree.leaf_nodes[self.lo], []
        for _ in range(tree.n_levels - 1):
            above = tree.parent[node]
            up = np.flatnonzero((node > 0) & (tree.hi[above] <= end))
            child, parent = node[up], above[up]
            first = tree.child_start[parent]
            steps.append(_Step(up, child, first, first + tree.child_count[parent] - 1))
            node[up] = parent
        return steps, node

    @cached_property
    def _levels(self) -> list[tuple[IntArray, slice, IntArray]]:
        return list(self.tree.levels_up)

    def _from_below(self, level_variance: FloatArray) -> FloatArray:
        """Variance of each node's estimate from its subtree, its own measurement included."""
        own = level_variance.take(self.tree.level, axis=-1)
        known = own.copy()
        for inner, children, offsets in self._levels:
            below = np.add.reduceat(known[..., children], offsets, axis=-1)
            known[..., inner] = 1.0 / (1.0 / below + 1.0 / own.take(inner, axis=-1))
        return known

    def _before(self, known: FloatArray) -> FloatArray:
        """Sum over the nodes before each on its level: levels differ by magnitudes, so each has its own sums."""
        found = np.zeros(known.shape)
        for level in range(self.tree.n_levels):
            here = self.tree.level_slice(level)
            np.cumsum(known[..., here][..., :-1], axis=-1, out=found[..., here][..., 1:])
        return found

    def _prefixes(self, known: FloatArray, before: FloatArray) -> FloatArray:
        """Variance of the first t days once they are over, shape (..., n_days + 1): of all largest closed nodes."""
        found = np.zeros((*known.shape[:-1], self.tree.n_leaves + 1))
        for node, first in self._open:
            found[..., :-1] += before.take(node, axis=-1) - before.take(first, axis=-1)
        found[..., -1] = known[..., 0]
        return found

    @cached_property
    def _open(self) -> list[tuple[IntArray, IntArray]]:
        """By level the nodes that hold day t, which is not over; those beside it begin at its parent's first."""
        tree, days = self.tree, np.arange(self.tree.n_leaves)
        found, above = [], np.zeros(tree.n_leaves, dtype=np.int64)
        for level in range(1, tree.n_levels):
            here = tree.level_slice(level)
            node = here.start + np.searchsorted(tree.lo[here], days, side="right") - 1
            found.append((node, tree.child_start[above]))
            above = node
        return found
