"""What one row adds to one level of a tree at most, from the incidence of row types."""

from collections.abc import Sequence

import numpy as np

from dplib.constraints.day_constraints import SparseInt
from dplib.validate import integer_norms


def row_norms(touched: Sequence[SparseInt]) -> tuple[int, int]:
    """Largest L1 and squared L2 norm of a column; no setting is large enough to wrap around."""
    l1 = square = 0
    for counts in touched:
        exact = float(counts.max()) ** 2 * counts.shape[0] < 2.0**62 if counts.nnz else True
        # Python's integers where 64 bits could be too few.
        sure = counts.data if exact else counts.data.astype(object)
        sums, squares = np.zeros((2, counts.shape[1]), dtype=sure.dtype)
        np.add.at(sums, counts.indices, sure)
        np.add.at(squares, counts.indices, sure**2)
        l1, square = max(l1, int(sums.max(initial=0))), max(square, int(squares.max(initial=0)))
    return integer_norms("norms of a row", l1, square)
