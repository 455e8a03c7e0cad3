"""A public hash of 64-bit words: the same number for the same words in every process, on every machine.

Used where something must not depend on the data (the order of edges in a projection), only on one row's own content
(its block), or only must be spread evenly (colours of vertices, streams of trials). It hides nothing, and is no noise.

SplitMix64 adds `GOLDEN` to its state and gives the state `scattered`. Sums and products are modulo 2^64: arrays and
compiled code wrap silently.

References:
    Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014.
"""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dplib.arrays import IntArray, WordArray
from dplib.compiled import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

Words = TypeVar("Words", np.uint64, WordArray)


def scattered(word: Words) -> Words:
    """The finishing function of SplitMix64, a permutation of the words; in the shape of ``word``."""
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


scattered_word = compiled(scattered)
"""`scattered` for compiled loops, which wrap silently; in numpy single words do not."""


def hashed(numbers: npt.NDArray[np.generic]) -> WordArray:
    """Hash each number; in the shape of ``numbers``."""
    return scattered(numbers.astype(np.uint64) + GOLDEN)


def hash_columns(columns: Iterable[IntArray], start: WordArray) -> WordArray:
    """Hash rows that are given by columns of shape (n,), from a state of shape (n,) or (1,); shape (n,)."""
    for column in columns:
        start = hashed(start ^ column.astype(np.uint64))
    return start


def hash_rows(rows: IntArray, seed: int) -> IntArray:
    """Hash each row of shape (n, d) to an integer from 0 to 2^63 - 1, shape (n,).

    A function of the row alone: one row more or less leaves the numbers of all others, and so their blocks, as they
    are. Equal rows have equal numbers.
    """
    word = hash_columns(rows.T, np.full(len(rows), seed % 2**64, dtype=np.uint64))
    return np.asarray(word >> np.uint64(1), dtype=np.int64)
