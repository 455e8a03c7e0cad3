"""Bit sources for tests: scripted words, to lead a sampler where chance would not; probabilities that are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dplib.arrays import Word32Array, WordArray
from dplib.randomness.digits import Probability


class ScriptedStream:
    """Gives out scripted words, one list for each width; asking for more words than there are is an error."""

    def __init__(self, uint16: Sequence[int] = (), uint32: Sequence[int] = (), uint64: Sequence[int] = ()) -> None:
        self.left = {16: list(uint16), 32: list(uint32), 64: list(uint64)}

    def uint16(self, size: int) -> npt.NDArray[np.uint16]:
        return np.array(self._take(16, size), dtype=np.uint16)

    def uint32(self, size: int) -> Word32Array:
        return np.array(self._take(32, size), dtype=np.uint32)

    def uint64(self, size: int) -> WordArray:
        return np.array(self._take(64, size), dtype=np.uint64)

    def _take(self, width: int, size: int) -> list[int]:
        taken, self.left[width] = self.left[width][:size], self.left[width][size:]
        assert len(taken) == size, f"the script has too few words of {width} bits"
        return taken

    @property
    def used_up(self) -> bool:
        return not any(self.left.values())


@dataclass(frozen=True)
class Rational(Probability):
    """The rational probability ``value``."""

    value: Fraction

    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""
        return (self.value.numerator << n) // self.value.denominator
