"""Exact errors of a stream's answers: sums over its independent parts, and as they are known on each day."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.stream_levels import asked_ranges
from dplib.estimates.known_ranges import KnownRanges
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.stream_parts import StreamPart, StreamState
from dplib.privacy.noise import Law
from dplib.privacy.noise_quantile import LAPLACE95, MAX_EXACT, Z95, Draws, half_width, half_widths


class StreamErrors:
    """Errors of what is measured of a stream, from settings and the measured days alone."""

    def __init__(self, state: StreamState) -> None:
        self._state = state
        self._errors: dict[int, Errors] = {}

    def _parts(self, lo: int, hi: int) -> list[tuple[Errors, int, int]]:
        """Errors of each part of a range, and the days of the part."""
        return [
            (self._of(part), max(lo, part.lo) - part.lo, min(hi, part.hi) - part.lo)
            for part in self._state.parts_of_range(lo, hi)
        ]

    def _of(self, part: StreamPart) -> Errors:
        return self._errors.setdefault(int(part.nodes[0]), Errors(part.design))

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
                law = self._state.design.config.privacy.mechanism
                error = math.hypot(*(self.sum_std_error(lo, hi, series) for lo, hi in stretches))
                return (LAPLACE95 if law is Law.LAPLACE else Z95) * error
            draws.extend(own)
        return half_width(draws)


class KnownErrors:
    """Errors of a stream's answers as they are known on the day on which they are asked for, from settings alone.

    Days and series factor where the constraints of all days are the same; elsewhere these are the errors of the mean
    factor of each series.
    """

    def __init__(self, design: Design, errors: Errors) -> None:
        self._design = design
        self._errors = errors

    @cached_property
    def _factor(self) -> FloatArray:
        """What multiplies the standard error on a tree of one series, shape (n_series,)."""
        tree, n_days = self._design.tree, self._design.config.domain.n_days
        whole = KnownRanges(tree, np.zeros(1, dtype=np.int64), np.array([n_days - 1]))
        return self._errors.range_std_error(0, n_days) / np.sqrt(whole.variance(self._design.level_variance))

    def of(self, question: str) -> tuple[FloatArray, FloatArray]:
        """Mean standard error of each series over the ranges of a question, shape (n_series,), and days of each range.

        Args:
            question: as in `dplib.consistency.stream_levels.asked_ranges`.
        """
        domain = self._design.config.domain
        lo, last = asked_ranges(domain.first_day, domain.last_day, question)
        variance = KnownRanges(self._design.tree, lo, last).variance(self._design.level_variance)
        return np.sqrt(variance).mean() * self._factor, (last + 1 - lo).astype(np.float64)
