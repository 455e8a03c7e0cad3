"""Solving with ``M = B V B^T``, the covariance of the equations' noise: by parts, dense where small, else matrix-free.

Equations that share no series are independent, so M falls into *parts*. A part of at most `MAX_DENSE` equations has a
Cholesky factor; a larger one is only ever multiplied with, by the sparse B, in preconditioned conjugate gradients for
many right-hand sides at once. The rows of B are scaled so that the diagonal of M is 1, which preconditions as well.

Guarantee: solutions to about the condition of the scaled M times 1e-16; `SolverError` where conjugate gradients stall.
Cost: k^3 for a part of k equations; or, matrix-free, the non-zeros of B a round and right-hand side.

References: A. Bjorck, "Numerical Methods for Least Squares Problems", SIAM 1996, sections 5.1.2 (range space) and 7.4;
D. O'Leary, "The block conjugate gradient algorithm and related methods", Linear Algebra and its Applications 29, 1980.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from scipy.sparse import csr_array

from dplib.arrays import FloatArray, IntArray
from dplib.constraints.day_constraints import SparseFloat
from dplib.errors import SolverError

MAX_DENSE = 6_000
"""Equations of a part up to which its matrix is formed: 300 MB and some ten seconds."""
TOL = 1e-14
"""Residual at which conjugate gradients stop, relative to the right-hand side."""
MAX_ROUNDS = 2_000
_RIGHT_SIDES = 1 << 22
"""Numbers of right-hand sides that are solved at once."""


@dataclass(frozen=True, eq=False)
class DualMatrix:
    """M with what its solutions need.

    Attributes:
        rows: B with scaled rows, shape (m, n).
        variance: V, finite, shape (n,).
        part: which part each equation belongs to, shape (m,).
        place: position of each equation within its part, shape (m,).
        size: equations of each part.
    """

    rows: SparseFloat
    variance: FloatArray
    part: IntArray
    place: IntArray
    size: IntArray
    max_dense: int = MAX_DENSE

    @classmethod
    def of(cls, rows: SparseFloat, variance: FloatArray, max_dense: int | None = None) -> "DualMatrix":
        """The parts of ``rows V rows^T``, for rows scaled so that its diagonal is 1."""
        max_dense = MAX_DENSE if max_dense is None else max_dense
        if not rows.shape[0]:
            none = np.zeros(0, dtype=np.int64)
            return cls(rows, variance, none, none, none, max_dense)
        # Imported where it is needed: whoever reads a release does without.
        from scipy.sparse.csgraph import connected_components

        count, part = connected_components(csr_array(abs(rows) @ abs(rows).T), directed=False)
        size = np.bincount(part, minlength=count)
        order = np.argsort(part, kind="stable")
        place = np.empty(len(part), dtype=np.int64)
        place[order] = np.arange(len(part)) - np.repeat(np.cumsum(size) - size, size)
        return cls(rows, variance, part.astype(np.int64), place, size.astype(np.int64), max_dense)

    @property
    def is_dense(self) -> bool:
        """Whether every part has a factor."""
        return bool((self.size <= self.max_dense).all())

    @cached_property
    def _members(self) -> list[IntArray]:
        """The equations of each part that has more than one."""
        order = np.argsort(self.part, kind="stable")
        groups = np.split(order, np.cumsum(self.size)[:-1])
        return [group.astype(np.int64) for group in groups if len(group) > 1]

    @cached_property
    def _factors(self) -> list[FloatArray | None]:
        """The lower Cholesky factors of the parts that have more than one equation."""
        return [self._factor(group) if len(group) <= self.max_dense else None for group in self._members]

    def _factor(self, group: IntArray) -> FloatArray:
        own = self.rows[group]
        product: SparseFloat = csr_array((own * self.variance[None, :]) @ own.T)
        try:
            factor: FloatArray = scipy.linalg.cholesky(
                product.toarray(), lower=True, overwrite_a=True, check_finite=False
            )
        except scipy.linalg.LinAlgError:
            raise SolverError("constraints", "be independent of each other to about 15 digits") from None
        return factor

    def solve(self, right: FloatArray) -> FloatArray:
        """``M^-1 right``.

        Args:
            right: shape (m, k).
        """
        # The diagonal is 1: a part of one equation is solved as it stands.
        found = right.copy()
        for number, (group, factor) in enumerate(zip(self._members, self._factors, strict=True)):
            if factor is None:
                found[group] = self._iterate(number, right[group])
            else:
                found[group] = scipy.linalg.cho_solve((factor, True), right[group], check_finite=False)
        return found

    @cached_property
    def _spreads(self) -> dict[int, tuple[SparseFloat, SparseFloat]]:
        """Of parts without a factor, by number: their rows, and these times V, turned round."""
        own = {n: self.rows[group] for n, group in enumerate(self._members) if len(group) > self.max_dense}
        return {n: (rows, csr_array((rows * self.variance[None, :]).T)) for n, rows in own.items()}

    def _iterate(self, number: int, right: FloatArray) -> FloatArray:
        own, spread = self._spreads[number]
        step = max(1, _RIGHT_SIDES // self.rows.shape[1])
        parts = [conjugate(own, spread, right[:, start : start + step]) for start in range(0, right.shape[1], step)]
        return np.concatenate(parts, axis=1) if parts else right

    @cached_property
    def inverse(self) -> "PairTable":
        """``M^-1`` of the parts that have a factor."""
        blocks = []
        for factor in self._factors:
            assert factor is not None
            lower, failed = scipy.linalg.lapack.dpotri(factor, lower=1)
            assert failed == 0
            blocks.append(np.tril(lower) + np.tril(lower, -1).T)
        return self.table(blocks)

    def table(self, blocks: Sequence[FloatArray]) -> "PairTable":
        """A table of blocks, one for each part of more than one equation; 1 for parts of one."""
        start = np.zeros(len(self.size), dtype=np.int64)
        many = np.flatnonzero(self.size > 1)
        lengths = self.size[many] ** 2
        start[many] = 1 + np.cumsum(lengths) - lengths
        flat = np.concatenate([np.ones(1), *(block.reshape(-1) for block in blocks)])
        return PairTable(flat, start[self.part], self.part, self.place, self.size[self.part])

    def between(self, matrix: SparseFloat) -> "PairTable":
        """``M^-1 matrix M^-1`` of a symmetric matrix of the same parts."""
        blocks = []
        for group, factor in zip(self._members, self._factors, strict=True):
            assert factor is not None
            half = scipy.linalg.cho_solve((factor, True), matrix[group][:, group].toarray(), check_finite=False)
            blocks.append(scipy.linalg.cho_solve((factor, True), half.T, check_finite=False))
        singles = self.table(blocks)
        return PairTable(singles.flat, singles.start, self.part, self.place, singles.size, matrix.diagonal())


@dataclass(frozen=True, eq=False)
class PairTable:
    """A symmetric matrix over the equations, kept part by part.

    Attributes:
        flat: all blocks one after the other; entry 0 stands for parts of one equation.
        start: where the block of an equation's part starts, shape (m,).
        part: of each equation.
        place: of each equation in its part.
        size: of each equation's part.
        single: the matrix's entries of equations that are alone; 1 where None.
    """

    flat: FloatArray
    start: IntArray
    part: IntArray
    place: IntArray
    size: IntArray
    single: FloatArray | None = None

    def at(self, one: IntArray, other: IntArray) -> FloatArray:
        """Entries of pairs of equations, in the shape that the two broadcast to."""
        same = self.part[one] == self.part[other]
        index = self.start[one] + np.where(self.size[one] > 1, self.place[one] * self.size[one] + self.place[other], 0)
        found = np.where(same, self.flat[np.where(same, index, 0)], 0.0)
        if self.single is not None:
            found = np.where(same & (self.size[one] == 1), self.single[one] + np.zeros_like(found), found)
        return found

    def forms(self, left: SparseFloat, right: SparseFloat) -> FloatArray:
        """``left_r T right_r^T`` for each row r of two sparse matrices of shape (k, m)."""
        found = np.zeros(left.shape[0])
        one, other = np.diff(left.indptr), np.diff(right.indptr)
        shapes = one * (int(other.max(initial=0)) + 1) + other
        for shape in np.unique(shapes[(one > 0) & (other > 0)]):
            rows = np.flatnonzero(shapes == shape)
            width, height = int(one[rows[0]]), int(other[rows[0]])
            step = max(1, (1 << 21) // (width * height))
            for start in range(0, len(rows), step):
                chosen = rows[start : start + step]
                a = left.indptr[chosen][:, None] + np.arange(width)
                b = right.indptr[chosen][:, None] + np.arange(height)
                entries = self.at(left.indices[a][:, :, None], right.indices[b][:, None, :])
                found[chosen] = np.einsum("ri,rij,rj->r", left.data[a], entries, right.data[b])
        return found


def conjugate(rows: SparseFloat, spread: SparseFloat, right: FloatArray) -> FloatArray:
    """Conjugate gradients on ``(rows @ spread) x = right``, each column with its own steps.

    Args:
        rows: shape (k, n).
        spread: ``V rows^T``, shape (n, k).
        right: shape (k, columns).

    Raises:
        SolverError: if the residual does not fall.
    """
    found, residual = np.zeros_like(right), right.copy()
    direction = residual.copy()
    square = np.einsum("ij,ij->j", residual, residual)
    wanted = TOL**2 * square
    best, stalled = square.copy(), 0
    for _ in range(MAX_ROUNDS):
        active = square > wanted
        if not active.any():
            return found
        moved = np.asarray(rows @ (spread @ direction), dtype=np.float64)
        length = np.where(active, square, 0.0) / np.where(active, np.einsum("ij,ij->j", direction, moved), 1.0)
        found += length * direction
        residual -= length * moved
        after = np.einsum("ij,ij->j", residual, residual)
        direction = residual + np.where(active, after / np.where(square > 0, square, 1.0), 0.0) * direction
        square = np.where(active, after, square)
        # Where rounding keeps the residual from the threshold there is nothing more to gain.
        better = square < 0.25 * best
        best = np.where(better, square, best)
        stalled = 0 if better.any() else stalled + 1
        if stalled >= 20 and bool((square <= 1e-22 * np.maximum(wanted / TOL**2, 1e-300)).all()):
            return found
    raise SolverError("constraints", f"let conjugate gradients end within {MAX_ROUNDS} rounds")
