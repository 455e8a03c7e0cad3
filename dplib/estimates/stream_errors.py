"""Exact errors of a stream's answers: sums over its independent parts."""

import math
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.stream_state import StreamState
from dplib.privacy.noise_quantile import MAX_EXACT, DrawLaw, Draws, factor95, half_width, half_widths

AnyDesign = TypeVar("AnyDesign")


class PartErrors(Protocol):
    """Errors of a release's answers over the days ``lo <= t < hi``, from its settings alone."""

    @property
    def laws(self) -> set[DrawLaw]:
        """The laws of the noise."""

    def std_errors(self, lo: int, hi: int, series: IntArray) -> FloatArray:
        """Standard errors of some series' counts, shape (m,)."""

    def sum_std_error(self, lo: int, hi: int, series: IntArray) -> float:
        """Standard error of the sum of some series' counts."""

    def sum_draws(self, lo: int, hi: int, series: IntArray) -> list[Draws] | None:
        """What the noise of that sum is made of; None where that is too much work."""


class StreamErrors(Generic[AnyDesign]):
    """Errors of what is measured of a stream, from settings and the measured days alone.

    Args:
        state: what is measured.
        errors_of: errors of the release of one part.
    """

    def __init__(self, state: StreamState[AnyDesign], errors_of: Callable[[AnyDesign], PartErrors]) -> None:
        self._state = state
        self._errors_of = errors_of
        self._errors: dict[int, PartErrors] = {}

    def _parts(self, lo: int, hi: int) -> list[tuple[PartErrors, int, int]]:
        """Errors of each part of a range, and its cells: whether they are added or taken away changes no error."""
        return [(self._of(run.root), run.first, run.end) for run in self._state.runs(lo, hi)]

    def _of(self, root: int) -> PartErrors:
        if root not in self._errors:
            self._errors[root] = self._errors_of(self._state.part(root).design)
        return self._errors[root]

    def std_errors(self, lo: int, hi: int, series: IntArray) -> FloatArray:
        """Standard errors of some series' counts over the days ``lo <= t < hi``, shape (m,)."""
        squares = [errors.std_errors(first, end, series) ** 2 for errors, first, end in self._parts(lo, hi)]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)))

    def sum_std_error(self, lo: int, hi: int, series: IntArray) -> float:
        """Standard error of the sum of some series' counts."""
        own = (errors.sum_std_error(first, end, series) for errors, first, end in self._parts(lo, hi))
        return math.sqrt(math.fsum(error**2 for error in own))

    def half_widths(self, lo: int, hi: int, series: IntArray) -> FloatArray:
        """Half widths of the 95 % intervals of some series' counts, shape (m,)."""
        errors = self.std_errors(lo, hi, series)
        return half_widths(errors, lambda at: self.sum_half_width(lo, hi, series[at : at + 1]), MAX_EXACT)

    def sum_half_width(self, lo: int, hi: int, series: IntArray) -> float:
        """Half width of the 95 % interval of the sum of some series' counts."""
        return self.half_width_of([(lo, hi)], series)

    def half_width_of(self, stretches: Sequence[tuple[int, int]], series: IntArray) -> float:
        """The same over several stretches of days, none of which shares a day with another."""
        draws: list[Draws] = []
        for errors, first, end in (part for lo, hi in stretches for part in self._parts(lo, hi)):
            own = errors.sum_draws(first, end, series)
            if own is None:
                error = math.hypot(*(self.sum_std_error(lo, hi, series) for lo, hi in stretches))
                laws = (part.laws for lo, hi in stretches for part, *_ in self._parts(lo, hi))
                return factor95(set().union(*laws)) * error
            draws.extend(own)
        return half_width(draws)

    def totals(self, series: IntArray) -> tuple[FloatArray, FloatArray]:
        """Standard errors and half widths of the sums of some series over all that is known, shape (m,) each."""
        tree, roots = self._state.tree, self._state.outermost.tolist()
        stretches = [(int(tree.lo[root]), int(tree.hi[root])) for root in roots]
        errors = np.asarray(np.sqrt(np.sum([self.std_errors(lo, hi, series) ** 2 for lo, hi in stretches], axis=0)))
        return errors, half_widths(errors, lambda at: self.half_width_of(stretches, series[at : at + 1]))
