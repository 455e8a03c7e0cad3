"""Which nodes of a tree share their settings, so that a covariance is worked out once for all of them.

Covariances depend on settings only: on the variances of a node's own measurements, on the day constraints of its days
and on the shape of its subtree. Nodes that agree in these are one *class*: a million days with equal constraints on a
regular tree have one class a level.

Cost: O(n_nodes log n_nodes), on 64-bit hashes of settings (never of counts).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.hashing import hashed


def row_classes(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """Number the different rows.

    Args:
        rows: shape (n, c), n at least 1.

    Returns:
        Class of each row, shape (n,), and a row of each class, shape (n_classes,).
    """
    if bool((rows == rows[0]).all()):
        return np.zeros(len(rows), dtype=np.int64), np.zeros(1, dtype=np.int64)
    bits = np.ascontiguousarray(rows, dtype=np.float64).view(np.uint64)
    salt = hashed(np.arange(1, rows.shape[1] + 1))
    _, first, inverse = np.unique(hashed(bits ^ salt).sum(axis=1), return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[inverse]], rows):
        # Two rows met in one hash: number them by comparison instead.
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return inverse.ravel().astype(np.int64), first.astype(np.int64)


def pair_classes(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> tuple[IntArray, IntArray]:
    """Number the different pairs of two labels; as `row_classes`."""
    labels, left = np.unique(one, return_inverse=True)
    _, right = np.unique(other, return_inverse=True)
    key = right.astype(np.int64) * len(labels) + left
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.astype(np.int64), first.astype(np.int64)


@dataclass(frozen=True, eq=False)
class ClassIndex:
    """The class of each node of a level.

    Attributes:
        of: shape (n_nodes of the level,).
        n_classes: number of classes.
    """

    of: IntArray
    n_classes: int

    @cached_property
    def _groups(self) -> list[IntArray]:
        order = np.argsort(self.of, kind="stable")
        return list(np.split(order, np.cumsum(np.bincount(self.of, minlength=self.n_classes))[:-1]))

    def apply(self, matrices: FloatArray, vectors: FloatArray) -> FloatArray:
        """Multiply each node's vector by its class's matrix, shape (n_nodes, c).

        Args:
            matrices: shape (n_classes, c, c).
            vectors: shape (n_nodes, c).
        """
        if self.n_classes == 1:
            return np.asarray(vectors @ matrices[0].T, dtype=np.float64)
        product = np.empty_like(vectors)
        if self.n_classes * 16 <= len(self.of) or vectors.shape[1] >= 16:
            for number, nodes in enumerate(self._groups):
                if len(nodes):
                    product[nodes] = vectors[nodes] @ matrices[number].T
            return product
        for part in _chunks(len(self.of), vectors.shape[1] ** 2):
            product[part] = np.matmul(matrices[self.of[part]], vectors[part, :, None])[..., 0]
        return product

    def take(self, nodes: slice | IntArray) -> tuple["ClassIndex", IntArray]:
        """The index of some nodes, with only the classes that occur, and the numbers of those."""
        kept, inverse = np.unique(self.of[nodes], return_inverse=True)
        return ClassIndex(inverse.astype(np.int64), len(kept)), kept.astype(np.int64)


def _chunks(count: int, size: int, limit: int = 1 << 22) -> Iterator[slice]:
    step = max(1, limit // max(size, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
