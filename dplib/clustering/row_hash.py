"""A public hash of rows, for parts that a row's own content decides.

A row's block must be a function of this row alone: with numbers by position, adding one row moves others to another
block, and the sensitivity of one block no longer holds. Equal rows share a block. It hides nothing.

References:
    Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014 (the mixing function).
"""

import numpy as np

from dplib.arrays import IntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def hash_rows(points: IntArray, seed: int) -> IntArray:
    """Hash each row of shape (n, d) to an integer from 0 to 2^63 - 1, shape (n,)."""
    word = np.full(len(points), seed % 2**64, dtype=np.uint64)
    for column in points.T:
        word = (word ^ column.astype(np.uint64)) + _GOLDEN  # wraps around
        word = (word ^ (word >> np.uint64(30))) * _FIRST
        word = (word ^ (word >> np.uint64(27))) * _SECOND
        word ^= word >> np.uint64(31)
    return np.asarray(word >> np.uint64(1), dtype=np.int64)
