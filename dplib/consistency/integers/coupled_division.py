"""Division of generator counts in the metric of the series.

Where generators share a series (the items of a measured total, the packages that hold one item), dividing each
generator for itself lets the shared series follow the sum of the generators' errors and not its own measurement. Here
each parent's integers ``U`` are divided among its children ``c`` by minimising ``sum_c ||G u_c - v_c||^2_W`` over
``u_c >= 0``, ``sum_c u_c = U``, ``v_c`` the children's estimates. With 248 items and their measured totals that cut the
error of the totals' ranges by 1.4 to 7 times, to about that of the estimates.

Every parent is a problem of its own with its own momentum and stop, so a block's division is that of the whole tree.

Cost: up to `MAX_ROUNDS` rounds, each a product with ``G^T W G`` and a projection on simplices.

References:
    Beck, Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems", SIAM Journal on
    Imaging Sciences 2, 2009, section 4.
    O'Donoghue, Candès, "Adaptive restart for accelerated gradient schemes", Foundations of Computational
    Mathematics 15, 2015, section 3.2 (the gradient restart).
"""

from copy import copy

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.integers.generator_space import FEW, GeneratorSpace
from dplib.constraints.day_constraints import SparseFloat, SparseInt
from dplib.projection.simplex import project_simplex

COUPLED_CELLS = 500_000
"""Days times generators up to which generators that share a series are divided together: some seconds."""
MAX_ROUNDS = 60
# Mean change of a round; the division is rounded to integers, so more digits gain nothing (measured).
TOL = 0.003


def needs_coupling(space: GeneratorSpace, n_days: int) -> bool:
    """Whether generators are divided together; from settings alone, and the same for a tree and its blocks.

    Args:
        space: the generators.
        n_days: number of days of the whole tree.
    """
    if not space.independent:
        return True
    shared = bool((np.diff(space.matrix.indptr) > 1).any())
    return shared and n_days * space.n_generators <= COUPLED_CELLS


class Coupling:
    """The metric of the series, for divisions in which generators are not treated one by one.

    Args:
        matrix: ``G``, shape (n_series, n_generators).
        estimates: of the nodes to be divided, shape (n_nodes, n_series).
        weights: weight of each series, shape (n_series,).
    """

    def __init__(self, matrix: SparseInt, estimates: FloatArray, weights: FloatArray) -> None:
        self.estimates = estimates
        self.matrix: FloatArray | SparseFloat
        self.matrix = matrix.astype(np.float64) if matrix.shape[1] > FEW else matrix.toarray().astype(np.float64)
        self.weights = weights
        self.gram: FloatArray | None = None
        if isinstance(self.matrix, np.ndarray):
            self.gram = (self.matrix.T * weights) @ self.matrix
            self.lipschitz = float(np.linalg.norm(self.gram, 2))
        else:
            self.lipschitz = self._largest_eigenvalue()

    def _largest_eigenvalue(self) -> float:
        """A hair more than that of ``G^T W G``, which is found to 1e-6."""
        # Imported where it is needed: it takes longer to load than few generators to divide.
        from scipy.sparse.linalg import LinearOperator, eigsh

        n = self.matrix.shape[1]
        gram = LinearOperator((n, n), matvec=lambda u: self.times_gram(u.reshape(1, -1))[0], dtype=float)
        top = eigsh(gram, k=1, v0=np.ones(n), tol=1e-6, return_eigenvectors=False)
        return 1.00001 * float(top[0])

    def times_gram(self, counts: FloatArray) -> FloatArray:
        """``counts @ G^T W G``, shape of ``counts``."""
        if self.gram is not None:
            return np.asarray(counts @ self.gram, dtype=np.float64)
        return np.asarray((np.asarray(counts @ self.matrix.T) * self.weights) @ self.matrix, dtype=np.float64)

    @classmethod
    def of(cls, space: GeneratorSpace, estimates: FloatArray, weights: FloatArray | None) -> "Coupling":
        """The coupling of a space for node estimates of shape (n_nodes, n_series)."""
        return cls(space.matrix, estimates, np.ones(space.matrix.shape[0]) if weights is None else weights)

    def over(self, estimates: FloatArray) -> "Coupling":
        """The same metric over other nodes."""
        found = copy(self)
        found.estimates = estimates
        return found

    def refine(
        self, start: FloatArray, nodes: slice, offsets: IntArray, totals: IntArray, allowed: BoolArray | None
    ) -> FloatArray:
        """Improve a division of parents among their children.

        Args:
            start: feasible division, shape (n_children, n_generators).
            nodes: the children's nodes.
            offsets: where each parent's children start, shape (n_parents,).
            totals: the parents' integers, shape (n_parents, n_generators).
            allowed: entries that may differ from 0, shape of ``start``; None for all.

        Returns:
            Feasible division, shape of ``start``.
        """
        pulled = np.asarray((self.estimates[nodes] * self.weights) @ self.matrix, dtype=np.float64)
        result = start.copy()
        rows = np.arange(len(start))
        sizes = np.diff(np.append(offsets, len(start)))
        point = ahead = start
        momentum = np.ones(len(offsets))
        for _ in range(MAX_ROUNDS):
            starts = np.cumsum(sizes) - sizes
            step = ahead - (self.times_gram(ahead) - pulled[rows]) / self.lipschitz
            following = project_simplex(step, starts, totals, allowed=None if allowed is None else allowed[rows])
            move = following - point
            uphill = np.add.reduceat(np.einsum("ij,ij->i", ahead - following, move), starts) > 0
            momentum[uphill] = 1.0
            faster = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = following + np.repeat((momentum - 1.0) / faster, sizes)[:, None] * move
            point, momentum = following, faster
            result[rows] = point
            changing = np.add.reduceat(np.abs(move).mean(axis=1), starts) > TOL * sizes
            if not changing.any():
                break
            if not changing.all():
                kept = np.repeat(changing, sizes)
                rows, point, ahead = rows[kept], point[kept], ahead[kept]
                sizes, totals, momentum = sizes[changing], totals[changing], momentum[changing]
        return result
