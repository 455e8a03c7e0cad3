"""The same tree with few children a node: runs of a wide node's children get parents of their own.

Post-processing may use any tree. A total that is divided among many children at once lifts those whose estimates are
below 0 at the cost of all others, and so biases every range (`dplib.estimates.range_publication` has measurements);
divided among runs first, it does not.

Cost: O(n_nodes) where a node is wide; nothing otherwise.
"""

from collections import deque
from itertools import pairwise

import numpy as np

from dplib.arrays import IntArray
from dplib.trees.interval_tree import IntervalTree


def narrowed(tree: IntervalTree, most: int, runs: int) -> tuple[IntervalTree, IntArray] | None:
    """Split nodes with more than ``most`` children into at most ``runs`` runs, and these again; None without any.

    Args:
        tree: any tree.
        most: children that a node keeps as they are.
        runs: parts of a node or of a run, at least 2.

    Returns:
        The tree, and the number in it of each node of the given one, shape (n_nodes,).
    """
    if not (tree.child_count > most).any():
        return None
    place = np.empty(tree.n_nodes, dtype=np.int64)
    low: list[int] = []
    high: list[int] = []
    parent: list[int] = []
    waiting = deque([(-1, 0, 1, True)])  # parent, first and last node of a run, whether it is one node
    while waiting:
        above, first, end, single = waiting.popleft()
        own = len(low)
        low.append(int(tree.lo[first]))
        high.append(int(tree.hi[end - 1]))
        parent.append(above)
        if single:
            place[first] = own
            first, size = int(tree.child_start[first]), int(tree.child_count[first])
            end = first + size
        size = end - first
        limit = most if single else runs
        parts = size if size <= limit else min(runs, -(-size // runs))
        cuts = [first + size * part // parts for part in range(parts)] + [end] if parts else []
        waiting.extend((own, start, stop, stop - start == 1) for start, stop in pairwise(cuts))
    return IntervalTree.from_parents(low, high, parent), place
