"""The law of the queries of a configuration, and the exact mean error of a strategy under it."""

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.jobs.range_histograms.config import RangesRelease, WorkloadSettings
from dplib.trees.coverage import (
    ExplicitRanges,
    FixedLengthRanges,
    PrefixRanges,
    ProductRanges,
    RangeQueries,
    UniformRanges,
)
from dplib.validate import require

MAX_RANGES = 1 << 16
"""Ranges of a law that stand for all of it where there are more."""


def workload_of(setting: str | WorkloadSettings, n_bins: int, name: str = "tree.queries") -> RangeQueries:
    """The law of `tree.queries`, or of another setting of that name.

    Raises:
        ConfigError: if it does not fit the bins.
    """
    if isinstance(setting, str):
        return UniformRanges(n_bins) if setting == "uniform" else PrefixRanges(n_bins)
    if setting.length is not None:
        require(setting.length <= n_bins, f"{name}.length", f"be at most {n_bins}", setting.length)
        return FixedLengthRanges(n_bins, setting.length)
    if setting.ranges is not None:
        inside = bool(setting.ranges) and all(0 <= lo < hi <= n_bins for lo, hi in setting.ranges)
        require(inside, f"{name}.ranges", f"be ranges [first, end) of bins 0 to {n_bins - 1}", "others")
        lo, hi = np.array(setting.ranges, dtype=np.int64).T
        return ExplicitRanges(n_bins, lo, hi)
    starts, ends = setting.starts or [], setting.ends or []
    rule = f"hold {n_bins} weights each"
    require(len(starts) == len(ends) == n_bins, f"{name}.starts and ends", rule, f"{len(starts)} and {len(ends)}")
    return ProductRanges(starts, ends)


def workload_text(setting: str | WorkloadSettings) -> str:
    """The law in words."""
    if isinstance(setting, str):
        return {"uniform": "all ranges, equally likely", "prefix": "ranges that begin with the first bin"}[setting]
    if setting.length is not None:
        return f"ranges of {setting.length} bins"
    return "the listed ranges" if setting.ranges is not None else "ranges weighted by their ends"


def asked_text(config: RangesRelease) -> str:
    """What is asked for, in words."""
    if config.queries is None:
        return workload_text(config.tree.queries)
    words = [(question_text(each.range), each.weight) for each in config.queries]
    return ", ".join(text if weight == 1 else f"{text} (weight {weight})" for text, weight in words)


def question_law(setting: str | WorkloadSettings, n_bins: int, name: str = "tree.queries") -> RangeQueries:
    """The law of a question's ranges.

    Raises:
        ConfigError: if it does not fit the bins.
    """
    if setting == "bin":
        return FixedLengthRanges(n_bins, 1)
    if setting == "total":
        return FixedLengthRanges(n_bins, n_bins)
    return workload_of(setting, n_bins, name)


def question_text(setting: str | WorkloadSettings) -> str:
    """The law in a word or two."""
    if isinstance(setting, str):
        return {"uniform": "any range", "prefix": "a prefix"}.get(setting, setting)
    if setting.length is not None:
        return f"{setting.length} bins"
    return "the listed ranges" if setting.ranges is not None else "ranges by their ends"


def ranges_of(law: RangeQueries, n_bins: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Ranges ``[lo, hi)`` of a law with their weights of sum 1: all, or `MAX_RANGES` that lie evenly among them."""
    if isinstance(law, ExplicitRanges):
        return law.lo, law.hi, law.weights / law.weights.sum()
    lengths = [law.length] if isinstance(law, FixedLengthRanges) else range(1, n_bins + 1)
    starts = [n_bins - length + 1 for length in lengths]
    if isinstance(law, PrefixRanges):
        starts = [1] * len(starts)
    ends = np.cumsum(starts)
    number = np.unique(np.linspace(0, ends[-1] - 1, min(int(ends[-1]), MAX_RANGES)).round().astype(np.int64))
    place = np.searchsorted(ends, number, side="right")
    lo = number - np.append(0, ends)[place]
    hi = lo + np.array(lengths)[place]
    weights = law.starts[lo] * law.ends[hi - 1] if isinstance(law, ProductRanges) else np.ones(len(lo))
    return lo, hi, weights / weights.sum()
