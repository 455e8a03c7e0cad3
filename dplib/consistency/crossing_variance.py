"""Variances after least squares where groupings cross: by classes exactly, by residual spaces where there are many.

*Classes.* Items with the same totals are exchangeable (`dplib.consistency.nested_variance`). With A the membership of
the classes, ``P = (diag(1 / (n v)) + A' diag(1 / v_t) A)^-1`` is the covariance of the classes' sums, exactly.

*Residual spaces.* Groupings are partitions of the items; with the joins of all of them (the finest partitions that are
coarser than two) they form a lattice. Where it is balanced the leaf space splits into one residual space a grouping,
"grouping a beyond all coarser ones", of dimension ``d_a = N_a - sum of d_b over coarser b``, N_a its number of totals,
and

    information(a) = sum over measured groupings g finer than or equal to a of n_g / v_g,
    mean Var(total of g) = sum over a coarser than or equal to g of  n_g d_a / (N_g information(a)),

n_g items a total of g in the mean. This is the Kronecker form of crossed attributes and, for a chain, that of nested
ones. Where sizes differ it is no exact error, but it is one to choose shares by.

References: Xiao, He, Wang, Wei, Kifer, "An optimal and scalable matrix mechanism for noisy marginals under convex loss
functions", NeurIPS 2023 (residual spaces of marginals); Bailey, "Orthogonal partitions in designed experiments",
Designs, Codes and Cryptography 8, 1996 (lattices of partitions).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.nested_variance import Classes, kinds


def class_variances(
    classes: Classes, n_totals: int, item_variance: float, total_variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Variances after least squares, exactly.

    Args:
        classes: the classes of the items.
        n_totals: number of totals.
        item_variance: of every item's own count.
        total_variance: of the totals' own counts, inf where not measured, shape (n_totals,).

    Returns:
        Of an item of each class, shape (n_classes,), and of each total, shape (n_totals,).
    """
    membership = np.zeros((n_totals, len(classes.totals)))
    for number, totals in enumerate(classes.totals):
        membership[list(totals), number] = 1.0
    information = membership.T @ (membership / total_variance[:, None])
    information[np.diag_indices_from(information)] += 1.0 / (classes.size * item_variance)
    covariance = np.linalg.inv(information)
    inside = item_variance * (1.0 - 1.0 / classes.size)
    of_totals = np.einsum("tc,cd,td->t", membership, covariance, membership, optimize=True)
    return inside + np.diagonal(covariance) / classes.size**2, of_totals


@dataclass(frozen=True, eq=False)
class ResidualSpaces:
    """A lattice of groupings: number 0 is the items, then the declared groupings, then their joins.

    Attributes:
        n_declared: the items and the declared groupings.
        n_totals: totals of each, shape (n,).
        coarser: whether the second is coarser than or equal to the first, shape (n, n).
        dimension: of each residual space, shape (n,).
    """

    n_declared: int
    n_totals: IntArray
    coarser: BoolArray
    dimension: FloatArray

    @classmethod
    def of(cls, classes: Classes, grouping: IntArray) -> "ResidualSpaces":
        """The lattice of declared groupings.

        Args:
            classes: the classes of the items.
            grouping: number of the grouping of each total, from 1 on.
        """
        partitions = [_partition(classes, each) for each in kinds(grouping)]
        declared = len(partitions)
        place = 0
        while place < len(partitions):
            for other in partitions[:place]:
                join = _join(partitions[place], other)
                if not any(np.array_equal(join, known) for known in partitions[declared:]) and not any(
                    np.array_equal(join, known) for known in partitions[:declared]
                ):
                    partitions.append(join)
            place += 1
        n_items = int(classes.size.sum())
        counts = np.array([n_items, *(int(each.max()) + 1 for each in partitions)])
        n = len(counts)
        coarser = np.zeros((n, n), dtype=bool)
        coarser[0] = True
        for fine, one in enumerate(partitions, start=1):
            for coarse, other in enumerate(partitions, start=1):
                coarser[fine, coarse] = np.array_equal(_join(one, other), other)
        dimension = np.zeros(n)
        for each in np.argsort(counts, kind="stable"):
            strictly = coarser[each] & ~coarser[:, each]
            dimension[each] = max(counts[each] - dimension[strictly].sum(), 0.0)
            same = np.flatnonzero(coarser[each] & coarser[:, each])
            # Of groupings with the same totals one has the space, the others repeat it.
            if len(same) > 1 and each != same[0]:
                dimension[each] = 0.0
        return cls(declared + 1, counts, coarser, dimension)

    def variances(self, variance: FloatArray) -> FloatArray:
        """Mean variance of an item and of a total of each declared grouping after least squares.

        Args:
            variance: of the own counts of items and of the totals of each declared grouping, inf where not measured,
                shape (n_declared,).
        """
        size = self.n_totals[0] / self.n_totals
        own = np.append(1.0 / variance, np.zeros(len(size) - self.n_declared)) * size
        information = own @ self.coarser
        spread = np.divide(self.dimension, information, out=np.zeros(len(size)), where=self.dimension > 0)
        return np.asarray((size / self.n_totals * (self.coarser @ spread))[: self.n_declared])


def _partition(classes: Classes, totals: IntArray) -> IntArray:
    """Cell of each class in a grouping, numbered by their first classes; what is in no total is a cell of its own."""
    number = {int(total): place for place, total in enumerate(totals)}
    found = [next((number[total] for total in own if total in number), len(number)) for own in classes.totals]
    return _numbered(np.array(found, dtype=np.int64))


def _join(one: IntArray, other: IntArray) -> IntArray:
    """The finest partition that is coarser than two."""
    width = int(one.max()) + 1
    size = width + int(other.max()) + 1
    links = csr_array((np.ones(len(one)), (one, width + other)), shape=(size, size))
    # Imported where it is needed: whoever reads a release does without.
    from scipy.sparse.csgraph import connected_components

    return _numbered(connected_components(links, directed=False)[1][one].astype(np.int64))


def _numbered(labels: IntArray) -> IntArray:
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[own.reshape(-1)], dtype=np.int64)
