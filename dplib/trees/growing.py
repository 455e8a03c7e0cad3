"""Trees over days that grow: which nodes close on a day, and which recorded nodes have none above them.

A node *closes* on its last day: from then on it can be measured. Nodes with no recorded node above them share no
measurement, so what is estimated below one of them is independent of the others.

Cost: O(n_nodes), a few array operations a level.
"""

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
