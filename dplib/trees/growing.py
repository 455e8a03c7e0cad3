"""Trees over days that grow: which nodes close on a day, and which recorded nodes have none above them.

A node *closes* on its last day: from then on it can be measured. Nodes with no recorded node above them share no
measurement, so what is estimated below one of them is independent of the others.

Cost: O(n_nodes), a few array operations a level.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.trees.interval_tree import IntervalTree


def closing_nodes(tree: IntervalTree, measured: BoolArray, day: int) -> IntArray:
    """The measured nodes whose last day is ``day``, from the top down.

    Args:
        tree: over the days.
        measured: whether a level is, shape (n_levels,).
        day: a day of it.
    """
    return np.flatnonzero((tree.hi == day + 1) & measured[tree.level]).astype(np.int64)


def node_sums(tree: IntervalTree, nodes: IntArray, leaves: IntArray, first: int) -> IntArray:
    """Sums over some nodes, shape (n_nodes, ...).

    Args:
        tree: over the days.
        nodes: their numbers.
        leaves: values of days, from the day ``first`` on, shape (n, ...).
        first: a day.
    """
    return np.stack([leaves[tree.lo[node] - first : tree.hi[node] - first].sum(axis=0) for node in nodes])


def largest_nodes(tree: IntervalTree, recorded: BoolArray) -> IntArray:
    """The recorded nodes with no recorded node above them, by their days.

    Args:
        tree: over the days.
        recorded: whether a node was measured, shape (n_nodes,).
    """
    below = np.zeros(tree.n_nodes, dtype=bool)
    for level in range(1, tree.n_levels):
        here = tree.level_slice(level)
        above = tree.parent[here]
        below[here] = below[above] | recorded[above]
    found = np.flatnonzero(recorded & ~below)
    return found[np.argsort(tree.lo[found], kind="stable")].astype(np.int64)


@dataclass(frozen=True, eq=False)
class GrowingTree:
    """What of a tree is measured.

    The *parts* are the largest nodes that are measured with all of their days. The *tops* are the nodes of the coarsest
    measured level: a number is *final* once all days of its top are measured, or none is measured any more. A node
    that was measured while one of its days was not waits for that day: until then its days stand alone.

    Attributes:
        tree: over the days.
        measured_levels: whether a level is measured, shape (n_levels,).
        days: whether a day was measured, shape (n_days,).
        is_closed: whether no day is measured any more.
    """

    tree: IntervalTree
    measured_levels: BoolArray
    days: BoolArray
    is_closed: bool

    @cached_property
    def _complete(self) -> BoolArray:
        """Whether a node is measured, and so are all of its days, shape (n_nodes,)."""
        tree, known = self.tree, np.append(0, np.cumsum(self.days))
        whole = known[tree.hi] - known[tree.lo] == tree.hi - tree.lo
        return np.asarray(whole & self.measured_levels[tree.level])

    @property
    def tops(self) -> IntArray:
        """The nodes of the coarsest measured level."""
        tree = self.tree
        return np.arange(tree.n_nodes)[tree.level_slice(int(np.argmax(self.measured_levels)))]

    def is_final(self, top: int) -> bool:
        """Whether the numbers of a top change no more."""
        return self.is_closed or bool(self._complete[top])

    def nodes_below(self, top: int) -> IntArray:
        """The parts of a top's days, in their order; none where no day of it is measured."""
        tree = self.tree
        below = (tree.lo >= tree.lo[top]) & (tree.hi <= tree.hi[top])
        return largest_nodes(tree, self._complete & below)

    def nodes_of_range(self, lo: int, hi: int) -> IntArray:
        """The parts that hold the days ``lo <= t < hi``, in their order; none where one of these is not measured."""
        tree = self.tree
        nodes = largest_nodes(tree, self._complete) if self.days[lo:hi].all() else np.zeros(0, dtype=np.int64)
        return np.asarray(nodes[(tree.lo[nodes] < hi) & (tree.hi[nodes] > lo)])

    def newest_days(self) -> tuple[int, int]:
        """The newest measured days without a gap between them: the first, and one past the last."""
        last = int(np.flatnonzero(self.days)[-1])
        return last + 1 - int(np.argmin(np.append(self.days[last::-1], False))), last + 1
