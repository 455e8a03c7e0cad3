"""Groups of consecutive rows of a flat array, handled as dense batches of equal size.

The children of a tree's nodes are such groups. Their sizes take few different values, so the groups of one size
are gathered into one array (groups, size, columns) and every kernel works on plain axes.
"""

from collections.abc import Iterator

import numpy as np

from dplib.arrays import IntArray


def equal_sized_batches(offsets: IntArray, n_rows: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the groups, batch by batch of equal size.

    Args:
        offsets: first row of each group, increasing, shape (n_groups,); a group ends where the next one starts.
        n_rows: number of rows, where the last group ends.

    Yields:
        (groups, rows): numbers of the groups, shape (m,), and their rows, shape (m, size).
    """
    sizes = np.diff(np.append(offsets, n_rows))
    for size in np.unique(sizes):
        groups = np.flatnonzero(sizes == size)
        yield groups, offsets[groups][:, None] + np.arange(size)
