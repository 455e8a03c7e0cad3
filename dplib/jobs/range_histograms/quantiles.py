"""Quantiles, means and shares of histograms, with intervals of 95 % that hold whatever the counts are.

Each is the root of a sum whose mean is 0 at the truth: of ``A - q T`` for a quantile (A the count before an edge, T the
total), of ``S - m T`` for a ratio m of two sums. The sum's variance is exact, from settings alone, so the values at
which it is no further from 0 than its quantile are an interval (Woodruff for quantiles, Fieller for ratios). Where T
does not stand out from its noise, the interval is all there is.

The bins are part of it: the interval of a quantile ends with the edges of bins; that of a mean is from where all values
lie at the lower ends of their bins to where they lie at the upper ones, and so holds the mean of the values.

References:
    Woodruff, "Confidence intervals for medians and other position measures", JASA 47, 1952.
    Fieller, "Some problems in interval estimation", JRSS B 16, 1954.
"""

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.answer_coefficients import leaf_coefficients
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors
from dplib.jobs.range_histograms.query import bin_counts, design_of
from dplib.privacy.noise_quantile import factor95
from dplib.release.manifest import Manifest
from dplib.validate import require

Value = float | dt.date
BinCounts = tuple[str, FloatArray, IntArray]
"""Name, estimates and published counts of the bins of a histogram."""


@dataclass(frozen=True)
class Shape:
    """A quantile, mean or share of one histogram.

    Attributes:
        group: the histogram.
        statistic: what it is.
        estimate: from the estimates; None where their total is not above 0.
        std_error: of a mean or share, to first order; None of a quantile, and where none is stated.
        low: lower end of the 95 % interval; None where no error is stated (method adaptive).
        high: upper end.
        published: the same of the published counts; None where these are all 0.
    """

    group: str
    statistic: str
    estimate: Value | None
    std_error: float | None
    low: Value | None
    high: Value | None
    published: Value | None


@dataclass(frozen=True, eq=False)
class ShapeBins:
    """What all of them need.

    Attributes:
        ends: of the bins, as numbers, shape (n_bins + 1,).
        days: the first day, where bins are of days.
        factor: from a standard error to half of a 95 % interval; None where no error is stated.
    """

    design: Design
    ends: FloatArray
    days: dt.date | None
    factor: float | None

    @classmethod
    def of(cls, design: Design, name: str) -> "ShapeBins":
        """Of a design, for a statistic of this name.

        Raises:
            ConfigError: of a stream; if bins have no numbers and the statistic needs some.
        """
        bins = design.bins
        require(design.stream is None, name, "be of a release of all its bins", "a stream, whose days end one by one")
        require(bins.kind != "categories" or name == "share", name, "be of numbers or days", "categories")
        ends = bins.edges if bins.kind == "edges" else np.arange(bins.n_bins + 1.0)
        if bins.kind == "days":
            ends = np.minimum(ends * bins.days_per_bin, bins.n_days)
        factor = None if design.adaptive else factor95(Errors(design).laws)
        return cls(design, ends, bins.first_day if bins.kind == "days" else None, factor)

    def value(self, at: float | None, last: bool = False) -> Value | None:
        """A number as what it stands for; ``last``: a day is the last before it."""
        if at is None or self.days is None:
            return at
        return self.days + dt.timedelta(days=math.ceil(at) - 1 if last else min(math.floor(at), int(self.ends[-1]) - 1))

    def covariance(self, weights: FloatArray, series: int) -> FloatArray:
        """Of weighted sums of the estimates of a histogram's bins, whose weights are the rows."""
        design, squares = self.design, Errors(self.design).squares(series)
        drawn = np.stack([leaf_coefficients(design.strategy.tree, design.weights, row) for row in weights])
        noise = np.where(np.isfinite(design.noise_variance), design.noise_variance, 0.0)
        sums = drawn * np.sqrt(squares @ noise)
        return np.asarray(sums @ sums.T)


def quantile(directory: Path, manifest: Manifest, groups: Sequence[str], q: Sequence[float]) -> list[Shape]:
    """Quantiles of some histograms, all where none is named.

    Raises:
        ConfigError: if a group is none, q is not between 0 and 1, or bins have no numbers.
    """
    design = design_of(directory, manifest)
    ShapeBins.of(design, "quantile")
    for each in q:
        require(0 <= each <= 1, "quantile", "be between 0 and 1", each)
    return quantiles_of(design, bin_counts(directory, design, groups), q)


def quantiles_of(design: Design, cells: Iterable[BinCounts], q: Sequence[float]) -> list[Shape]:
    """The quantiles of histograms whose counts are given."""
    bins, n = ShapeBins.of(design, "quantile"), design.bins.n_bins
    errors, at, found = Errors(design), np.arange(1, n), []
    for group, estimates, counts in cells:
        own = design.series_number[group]
        total = float(errors.ranges(np.array([0]), np.array([n]), own)[0]) ** 2
        before = np.concatenate([[0.0], errors.ranges(np.zeros_like(at), at, own) ** 2, [total]])
        after = np.concatenate([[total], errors.ranges(at, np.full_like(at, n), own) ** 2, [0.0]])
        for each in q:
            # Of (1 - q) times the count before less q times that after; both together have the total's variance.
            spread = (1 - each) * before - each * (1 - each) * total + each * after
            middle, low, high = _crossing(bins, estimates, each, np.sqrt(np.maximum(np.nan_to_num(spread), 0.0)))
            whole = _crossing(bins, counts.astype(np.float64), each, np.zeros(n + 1))[0]
            ends = (None, None) if bins.factor is None else (bins.value(low), bins.value(high, last=True))
            found.append(Shape(group, f"quantile {each:g}", bins.value(middle), None, *ends, bins.value(whole)))
    return found


def _crossing(bins: ShapeBins, counts: FloatArray, q: float, error: FloatArray) -> tuple[float | None, float, float]:
    """Where the counts before an edge reach the part q of all, and the ends of the bins in which the true ones may."""
    gap = np.append(0.0, np.cumsum(counts)) - q * counts.sum()
    half = (bins.factor or 0.0) * error
    open_ = np.flatnonzero((gap[:-1] <= half[:-1]) & (gap[1:] >= -half[1:]))
    low, high = (open_[0], open_[-1] + 1) if len(open_) else (0, len(counts))
    middle = None
    if counts.sum() > 0:
        # Between its running maxima from either side the sum rises, as the true one does.
        rising = (np.maximum.accumulate(gap) + np.minimum.accumulate(gap[::-1])[::-1]) / 2
        first, last = np.searchsorted(rising, 0.0), np.searchsorted(rising, 0.0, side="right")
        near = [min(max(place, 1), len(counts)) for place in (int(first), int(last))]
        middle = sum(_between(bins.ends, rising, place) / 2 for place in near)
    return middle, float(bins.ends[low]), float(bins.ends[high])


def _between(ends: FloatArray, rising: FloatArray, place: int) -> float:
    """The point of the bin before an edge at which the line between its ends is 0."""
    low, high = rising[place - 1], rising[place]
    part = 0.5 if high == low else min(max(-low / (high - low), 0.0), 1.0)
    # Halves, for bins at the end of the floats.
    start, end = ends[place - 1] / 2, ends[place] / 2
    return 2 * float(start + part * (end - start))


def mean(directory: Path, manifest: Manifest, groups: Sequence[str]) -> list[Shape]:
    """Means of some histograms, as if values lay in the middles of their bins; all where none is named.

    Raises:
        ConfigError: if a group is none, or bins have no numbers.
    """
    design = design_of(directory, manifest)
    ShapeBins.of(design, "mean")
    return means_of(design, bin_counts(directory, design, groups))


def means_of(design: Design, cells: Iterable[BinCounts]) -> list[Shape]:
    """The means of histograms whose counts are given."""
    bins = ShapeBins.of(design, "mean")
    # In units of a power of two no product leaves the floats, and no digit changes.
    unit = math.ldexp(1.0, math.frexp(float(np.abs(bins.ends).max()))[1] - 1)
    lower, upper = bins.ends[:-1] / unit, bins.ends[1:] / unit
    found = []
    for group, estimates, counts in cells:
        middle, error, _, _ = _ratio(bins, (lower + upper) / 2, estimates, group)
        low, high = _ratio(bins, lower, estimates, group)[2], _ratio(bins, upper, estimates, group)[3]
        whole = float(counts @ (lower + upper) / 2 / counts.sum()) if counts.sum() else None
        middle, error, whole = (None if each is None else each * unit for each in (middle, error, whole))
        ends = (bins.value(low * unit), bins.value(high * unit, last=True)) if bins.factor else (None, None)
        found.append(Shape(group, "mean", bins.value(middle), error, *ends, bins.value(whole)))
    return found


def share(
    directory: Path, manifest: Manifest, groups: Sequence[str], start: str | None, end: str | None
) -> list[Shape]:
    """The parts of some histograms that a range of bins holds; of all where none is named.

    Raises:
        ConfigError: if a group is none, or an end is not of the bins.
    """
    design = design_of(directory, manifest)
    bins, (lo, hi) = ShapeBins.of(design, "share"), design.bins.range_of(start, end)
    inside = np.zeros(design.bins.n_bins)
    inside[lo:hi] = 1.0
    found = []
    for group, estimates, counts in bin_counts(directory, design, groups):
        middle, error, low, high = _ratio(bins, inside, estimates, group)
        whole = float(counts[lo:hi].sum() / counts.sum()) if counts.sum() else None
        name, stated = f"share of {design.bins.shown(lo, hi)}", bins.factor is not None
        found.append(Shape(group, name, middle, error, low if stated else None, high if stated else None, whole))
    return found


def _ratio(
    bins: ShapeBins, weights: FloatArray, estimates: FloatArray, group: str
) -> tuple[float | None, float | None, float, float]:
    """The ratio of a weighted sum of estimates to their sum, its standard error, and the ends of its interval."""
    top, total = float(weights @ estimates), float(estimates.sum())
    least, most = float(weights.min()), float(weights.max())
    middle = top / total if total > 0 else None
    if bins.factor is None:
        return middle, None, least, most
    (a, b), (_, d) = bins.covariance(np.stack([weights, np.ones(len(weights))]), bins.design.series_number[group])
    error = None if middle is None else math.sqrt(max(a - 2 * middle * b + middle**2 * d, 0.0)) / total
    square = bins.factor**2
    curve, slope, rest = total**2 - square * d, top * total - square * b, top**2 - square * a
    if curve <= 0 or total <= 0:
        return middle, error, least, most
    root = math.sqrt(max(slope**2 - curve * rest, 0.0))
    low, high = (slope - root) / curve, (slope + root) / curve
    return middle, error, min(max(low, least), most), max(min(high, most), least)
