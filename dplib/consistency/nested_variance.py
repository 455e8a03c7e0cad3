"""Variances of items and totals after least squares where groupings nest: one pass up and down a forest, exactly.

Items with the same totals above them are exchangeable: contrasts inside such a class of n keep their noise v, and only
its sum meets the totals, as one number of variance n v. Classes are the leaves of a forest whose inner nodes are the
totals; with C a node's variance from below, S the sum of C over its children and F its final variance,

    C = 1 / (1 / S + 1 / v),     F_child = C_child (1 - C_child / S) + (C_child / S)^2 F_parent,
    Var(item of class c) = v (1 - 1 / n) + F_c / n^2.

Cost: O(classes + totals) for one set of variances, whatever the number of items.

References: Chou, Willsky, Benveniste, "Multiscale recursive estimation, data fusion, and regularization", IEEE
Transactions on Automatic Control 39(3), 1994 (variances on trees); the classes are this project's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from dplib.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Classes:
    """Items by their totals.

    Attributes:
        totals: numbers of the totals of each class, from the fewest members to the most.
        size: items of each class, shape (n_classes,).
        of: class of each item, shape (n_items,).
    """

    totals: tuple[tuple[int, ...], ...]
    size: IntArray
    of: IntArray


def item_classes(membership: csr_array) -> Classes:
    """Classes of exchangeable items.

    Args:
        membership: 0 or 1, shape (n_totals, n_items).
    """
    members = np.diff(membership.indptr)
    columns = membership.tocsc()
    known: dict[tuple[int, ...], int] = {}
    of = np.empty(membership.shape[1], dtype=np.int64)
    for item in range(membership.shape[1]):
        own = columns.indices[columns.indptr[item] : columns.indptr[item + 1]]
        key = tuple(sorted(own.tolist(), key=lambda total: (members[total], total)))
        of[item] = known.setdefault(key, len(known))
    return Classes(tuple(known), np.bincount(of, minlength=len(known)).astype(np.int64), of)


@dataclass(frozen=True, eq=False)
class NestedForest:
    """Totals and classes as a forest: nodes are the totals, then the classes.

    Attributes:
        parent: of each node, itself at a root, shape (n_nodes,).
        levels: nodes by depth, the roots first.
        n_totals: how many nodes are totals.
        size: items of each class.
    """

    parent: IntArray
    levels: tuple[IntArray, ...]
    n_totals: int
    size: IntArray

    @classmethod
    def of(cls, classes: Classes, n_totals: int) -> "NestedForest | None":
        """The forest; None where totals cross."""
        parent = np.arange(n_totals + len(classes.totals))
        depth = np.zeros(len(parent), dtype=np.int64)
        for number, totals in enumerate(classes.totals):
            chain = (n_totals + number, *totals)
            for place, (node, above) in enumerate(pairwise(chain)):
                if parent[node] not in (node, above):
                    return None
                parent[node] = above
                depth[node] = len(chain) - 1 - place
        # A class may end at a total that has a parent by another class: then the two cross.
        for totals in classes.totals:
            if totals and parent[totals[-1]] != totals[-1]:
                return None
        levels = tuple(np.flatnonzero(depth == level) for level in range(int(depth.max(initial=0)) + 1))
        return cls(parent, levels, n_totals, classes.size)

    def variances(self, item_variance: float, total_variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Variances after least squares.

        Args:
            item_variance: of every item's own count.
            total_variance: of the totals' own counts, inf where not measured, shape (n_totals,).

        Returns:
            Of an item of each class, shape (n_classes,), and of each total, shape (n_totals,).
        """
        n_nodes = len(self.parent)
        below, up = np.zeros(n_nodes), np.empty(n_nodes)
        up[self.n_totals :] = self.size * item_variance
        for level in reversed(self.levels):
            totals = level[level < self.n_totals]
            # A total without items in this period is 0 and has no error.
            up[totals] = below[totals] / (1.0 + below[totals] / total_variance[totals])
            inner = level[self.parent[level] != level]
            below += np.bincount(self.parent[inner], up[inner], minlength=n_nodes)
        final = np.array(up)
        for level in self.levels[1:]:
            above = self.parent[level]
            gain = up[level] / below[above]
            final[level] = up[level] * (1.0 - gain) + gain**2 * final[above]
        inside = item_variance * (1.0 - 1.0 / self.size)
        return inside + final[self.n_totals :] / self.size**2, final[: self.n_totals]


def mean_log(values: FloatArray, weights: FloatArray | None = None, floor: float = 1e-12) -> float:
    """Mean logarithm of what is above 0; 0 where nothing is: answers without an error are no part of it."""
    kept = values > floor * max(float(values.max(initial=0.0)), 1e-300)
    return (
        float(np.average(np.log(values[kept]), weights=None if weights is None else weights[kept]))
        if kept.any()
        else 0.0
    )


def mean_logs(values: FloatArray) -> FloatArray:
    """`mean_log` of each row: shape (..., m) to (...)."""
    rows = np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
    if rows.min(initial=np.inf) > 1e-12 * rows.max(initial=1e-300):
        found = np.log(rows).mean(axis=-1)
    else:
        found = np.array([mean_log(row) for row in rows])
    return np.asarray(found.reshape(values.shape[:-1]), dtype=np.float64)


def kinds(grouping: IntArray) -> Sequence[IntArray]:
    """Numbers of the totals of each grouping from 1 on."""
    return [np.flatnonzero(grouping == kind) for kind in range(1, int(grouping.max(initial=0)) + 1)]
