"""What the methods see of the points: totals of summaries that add, one pass each.

A `Summary` turns a block of points into rows of integers under integer keys (cluster, cell, code); totals of all
blocks are sums by key. A cluster engine makes one plan of it for every method: map the blocks, group by key, add,
collect. Totals are exact integers, hence the same in every order and partitioning; they are private and go nowhere
but into a `NoiseSource`. Sums are kept modulo 2^64. Under added noise they stay private however many points there are
(`dplib.mechanisms.tree_counts`). Costs that a choice compares may not wrap: at most 2^24 a point, they fit 64 bits
below 2^39 points, which is assumed of every input.

References:
    Blum, Dwork, McSherry, Nissim: Practical privacy, the SuLQ framework. PODS 2005 (k-means from noisy sums).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from dplib.arrays import IntArray
from dplib.privacy.noise import Noise

Keyed = tuple[IntArray, IntArray]
"""Different keys, shape (m,), and the integers under each, shape (m, width)."""


class Summary(Protocol):
    """A function of one block of points whose results add."""

    @property
    def width(self) -> int:
        """Integers under each key."""

    def __call__(self, points: IntArray, /) -> Keyed:
        """Summarise points of shape (n, d); every key at most once; n may be 0."""


class PointSource(Protocol):
    """Where points come from."""

    def total(self, summary: Summary, /) -> Keyed:
        """Sums by key over all points, keys increasing. NOT PRIVATE."""


class NoiseSource(Protocol):
    """Exact noise; every draw is named by its labels and by the very numbers it hides."""

    def add(self, values: IntArray, noise: Noise, *labels: str | int) -> IntArray:
        """The values with independent noise on each, in their shape."""

    def choose(self, losses: IntArray, rate: Fraction, *labels: str | int) -> int:
        """A position, drawn with probability proportional to ``e^(-rate loss)``."""


class Blocks:
    """Points in memory, in blocks of (n, d) integers; none where stored noisy numbers are enough."""

    def __init__(self, *blocks: IntArray) -> None:
        self._blocks = blocks

    def total(self, summary: Summary) -> Keyed:
        """Sums by key over all blocks."""
        return add_keyed([summary(block) for block in self._blocks], summary.width)


def add_keyed(parts: Sequence[Keyed], width: int) -> Keyed:
    """Sums by key, keys increasing."""
    if len(parts) == 1 and len(parts[0][0]) and bool((np.diff(parts[0][0]) > 0).all()):
        return parts[0]
    keys = np.concatenate([np.empty(0, dtype=np.int64), *(keys for keys, _ in parts)])
    values = np.concatenate([np.empty((0, width), dtype=np.int64), *(values for _, values in parts)])
    distinct, place = np.unique(keys, return_inverse=True)
    sums = np.zeros((len(distinct), width), dtype=np.int64)
    np.add.at(sums, place, values)
    return distinct, sums


def dense(keyed: Keyed, size: int) -> IntArray:
    """Totals for the keys 0 to ``size - 1``, zeros where no point was: shape (size, width)."""
    keys, values = keyed
    full = np.zeros((size, values.shape[1]), dtype=np.int64)
    full[keys] = values
    return full
