"""Covariance algebra of the tree smoother, for all classes of one level at once.

For a node with children c and own measurement of precision W (0 where not measured), in the span Q of its days:

    before   S = sum of the children's C
    lift     L = Q (Q^T S Q)^-1 Q^T                   what a parent's difference is multiplied by on the way down
    after    C = Q ((Q^T S Q)^-1 + Q^T W Q)^-1 Q^T    covariance of the node's mean, own measurement included

and a leaf has ``C = Q (Q^T W Q)^-1 Q^T``: the information form, which takes unmeasured series as they are.

*Diffuse* directions: where not even a subtree's sum is measured, a covariance is ``C + M D`` with M going to infinity
and D a projector. The limits (exact diffuse initialisation) are, with N the range of ``S_D = sum of the children's D``
and Z its complement in Q:  L = Z (Z^T S Z)^-1 Z^T;  the children's D are multiplied by ``L_D = S_D^+ (I - S L)``;
the information of the sum is L. Children whose diffuse parts overlap cannot be told apart.

Reference: S. Koopman, "Exact initial Kalman filtering and smoothing for nonstationary time series models", JASA 92,
1997; the node equations are those of K. Chou, A. Willsky, A. Benveniste, IEEE TAC 39(3), 1994, section III.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.equal_rows import ClassIndex
from dplib.consistency.subspaces import Spans, complement


@dataclass(frozen=True, eq=False)
class LevelCovariances:
    """Covariances of one level's classes.

    Attributes:
        index: class of each node of the level.
        weight: precision of the class's own measurement, 0 where not measured, shape (n_classes, c).
        after: C, shape (n_classes, c, c).
        before: S, same shape; 0 for leaves.
        lift: L, same shape; 0 for leaves.
        diffuse: D, same shape; None where nothing on the level is diffuse.
        lift_diffuse: L_D, same shape; None where no child is diffuse.
    """

    index: ClassIndex
    weight: FloatArray
    after: FloatArray
    before: FloatArray
    lift: FloatArray
    diffuse: FloatArray | None = None
    lift_diffuse: FloatArray | None = None

    def take(self, nodes: slice | IntArray) -> "LevelCovariances":
        """The covariances of some nodes of the level."""
        index, kept = self.index.take(nodes)
        return LevelCovariances(
            index,
            self.weight[kept],
            self.after[kept],
            self.before[kept],
            self.lift[kept],
            None if self.diffuse is None else self.diffuse[kept],
            None if self.lift_diffuse is None else self.lift_diffuse[kept],
        )


@dataclass(frozen=True, eq=False)
class ChildSums:
    """Sums over the children of one node of each class of a level.

    Attributes:
        before: sum of C, shape (n_classes, c, c); 0 for leaves.
        diffuse: sum of D, or None.
        overlap: whether some children's diffuse parts overlap.
    """

    before: FloatArray
    diffuse: FloatArray | None
    overlap: bool


def sum_children(owner: IntArray, child_class: IntArray, n_classes: int, children: LevelCovariances) -> ChildSums:
    """Add up the children's covariances.

    Args:
        owner: class whose representative a child belongs to, sorted, shape (n_children,).
        child_class: class of that child on its own level.
        n_classes: number of classes of the parents' level.
        children: covariances of the children's level.
    """
    width = children.index.n_classes
    pair, count = np.unique(owner * width + child_class, return_counts=True)
    rows, columns = pair // width, pair % width
    before = weighted_sums(rows, columns, count, children.after, n_classes)
    if children.diffuse is None:
        return ChildSums(before, None, overlap=False)
    diffuse = weighted_sums(rows, columns, count, children.diffuse, n_classes)
    ranks = np.rint(np.trace(children.diffuse, axis1=1, axis2=2))
    wanted = np.bincount(rows, weights=count * ranks[columns], minlength=n_classes)
    found = np.linalg.matrix_rank(diffuse, tol=1e-9, hermitian=True)
    return ChildSums(before, diffuse, overlap=bool((found < wanted).any()))


def weighted_sums(
    rows: IntArray, columns: IntArray, count: npt.NDArray[np.generic], matrices: FloatArray, n_rows: int
) -> FloatArray:
    """``out[r] = sum of count * matrices[column]`` over the entries of row r (rows sorted)."""
    c = matrices.shape[1]
    total = np.zeros((n_rows, c, c))
    if not len(rows):
        return total
    if c >= 32:
        for row, column, times in zip(rows.tolist(), columns.tolist(), count.tolist(), strict=True):
            total[row] += times * matrices[column]
        return total
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    total[rows[starts]] = np.add.reduceat(matrices[columns] * np.asarray(count)[:, None, None], starts, axis=0)
    return total


def level_covariances(
    index: ClassIndex, weight: FloatArray, is_leaf: BoolArray, span: IntArray, spans: Spans, sums: ChildSums
) -> LevelCovariances:
    """Lift and covariance of every class of a level.

    Args:
        index: class of each node.
        weight: own precisions, shape (n_classes, c).
        is_leaf: shape (n_classes,).
        span: number of each class's span, shape (n_classes,).
        spans: the subspaces.
        sums: sums over the children.
    """
    after, lift = np.zeros_like(sums.before), np.zeros_like(sums.before)
    diffuse: FloatArray | None = None
    lift_diffuse = None if sums.diffuse is None else np.zeros_like(after)
    open_classes: list[int] = []
    for number in np.unique(span):
        basis = spans.bases[int(number)]
        if not basis.shape[1]:
            continue
        members = np.flatnonzero(span == number)
        regular = np.array([not _is_open(basis, weight[k], bool(is_leaf[k]), sums, int(k)) for k in members])
        open_classes.extend(members[~regular].tolist())
        _regular(members[regular], basis, weight, is_leaf, sums.before, after, lift)
    for k in open_classes:
        after[k], lift[k], free, spread = _diffuse(spans.bases[int(span[k])], weight[k], bool(is_leaf[k]), sums, k)
        if lift_diffuse is not None:
            lift_diffuse[k] = spread
        if free.any():
            diffuse = np.zeros_like(after) if diffuse is None else diffuse
            diffuse[k] = free
    return LevelCovariances(index, weight, after, sums.before, lift, diffuse, lift_diffuse)


def _is_open(basis: FloatArray, weight: FloatArray, is_leaf: bool, sums: ChildSums, k: int) -> bool:
    """Whether a class needs the diffuse limits."""
    if not is_leaf:
        return sums.diffuse is not None and bool(sums.diffuse[k].any())
    if weight.all():
        return False
    return bool(complement(basis[weight > 0], basis.shape[1])[1].shape[1] > 0)


def _regular(
    members: IntArray,
    basis: FloatArray,
    weight: FloatArray,
    is_leaf: BoolArray,
    before: FloatArray,
    after: FloatArray,
    lift: FloatArray,
) -> None:
    """Fill in the classes of one span that have no diffuse direction, in chunks that fit the cache."""
    step = max(1, (1 << 21) // basis.shape[0] ** 2)
    for start in range(0, len(members), step):
        part = members[start : start + step]
        information = np.einsum("ia,ki,ib->kab", basis, weight[part], basis, optimize=True)
        inner = ~is_leaf[part]
        if inner.any():
            prior = np.linalg.inv(basis.T @ before[part[inner]] @ basis)
            information[inner] += prior
            lift[part[inner]] = _symmetric(basis @ prior @ basis.T)
        after[part] = _symmetric(basis @ np.linalg.inv(information) @ basis.T)


def _diffuse(
    basis: FloatArray, weight: FloatArray, is_leaf: bool, sums: ChildSums, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """C, L, D and L_D of one class with diffuse directions."""
    d = basis.shape[1]
    measured = basis[weight > 0]
    information = basis.T @ (weight[:, None] * basis)
    known_rows, prior, spread = np.zeros((0, d)), np.zeros((d, d)), np.zeros((d, d))
    if not is_leaf:
        free = np.zeros((d, d)) if sums.diffuse is None else basis.T @ sums.diffuse[k] @ basis
        _, known = complement(free, d)
        total = basis.T @ sums.before[k] @ basis
        prior = known @ np.linalg.inv(known.T @ total @ known) @ known.T
        spread = np.linalg.pinv(free, rcond=1e-9, hermitian=True) @ (np.eye(d) - total @ prior)
        known_rows = known.T
    kept, left = complement(np.concatenate([known_rows, measured]), d)
    after = kept @ np.linalg.inv(kept.T @ (prior + information) @ kept) @ kept.T
    full = [basis @ matrix @ basis.T for matrix in (after, prior, left @ left.T, spread)]
    return _symmetric(full[0]), _symmetric(full[1]), full[2], full[3]


def _symmetric(matrices: FloatArray) -> FloatArray:
    return 0.5 * (matrices + np.swapaxes(matrices, -1, -2))
