"""Noisy numbers, kept in the order of their drawing, and a method run again from them without any points.

A method sees the points only through the noise. So the stored numbers and the settings are enough to repeat it: the
same code runs with `Replayed` noise on no points, and gives the same centers. That is how a release is made from a
stored measurement, and it is the test that nothing else of the data reaches an output.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dplib.arrays import IntArray
from dplib.clustering.source import NoiseSource
from dplib.privacy.noise import Noise
from dplib.validate import require

Record = tuple[str, IntArray]
"""Name of a draw, its labels joined by ``/``, and its noisy integers or chosen position."""


class Recorded:
    """Noise that keeps what it returned in ``records``."""

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise
        self.records: list[Record] = []

    def add(self, values: IntArray, noise: Noise, *labels: str | int) -> IntArray:
        """As the noise it wraps."""
        return self._keep(self._noise.add(values, noise, *labels), labels)

    def choose(self, losses: IntArray, rate: Fraction, *labels: str | int) -> int:
        """As the noise it wraps."""
        return int(self._keep(np.array([self._noise.choose(losses, rate, *labels)]), labels)[0])

    def _keep(self, noisy: IntArray, labels: tuple[str | int, ...]) -> IntArray:
        self.records.append((_name(labels), noisy.copy()))
        return noisy


class Replayed:
    """Noise that returns stored numbers and looks at no values.

    Args:
        records: as `Recorded` kept them.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = iter(records)

    def add(self, values: IntArray, noise: Noise, *labels: str | int) -> IntArray:
        """The stored numbers."""
        return self._next(values.shape, labels)

    def choose(self, losses: IntArray, rate: Fraction, *labels: str | int) -> int:
        """The stored position."""
        return int(self._next((1,), labels)[0])

    def _next(self, shape: tuple[int, ...], labels: tuple[str | int, ...]) -> IntArray:
        name, noisy = next(self._records, ("nothing", np.empty(0, dtype=np.int64)))
        fits = name == _name(labels) and noisy.shape == shape
        require(fits, "measurement", f"hold {_name(labels)} of shape {shape} next", f"{name} of shape {noisy.shape}")
        return noisy


def _name(labels: tuple[str | int, ...]) -> str:
    return "/".join(map(str, labels))
