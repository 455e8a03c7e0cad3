"""The law of the queries of a configuration, and the exact mean error of a strategy under it."""

import numpy as np

from dplib.jobs.range_histograms.config import WorkloadSettings
from dplib.trees.coverage import (
    ExplicitRanges,
    FixedLengthRanges,
    PrefixRanges,
    ProductRanges,
    RangeQueries,
    UniformRanges,
)
from dplib.validate import require


def workload_of(setting: str | WorkloadSettings, n_bins: int) -> RangeQueries:
    """The law of `tree.queries`.

    Raises:
        ConfigError: if it does not fit the bins.
    """
    if isinstance(setting, str):
        return UniformRanges(n_bins) if setting == "uniform" else PrefixRanges(n_bins)
    if setting.length is not None:
        require(setting.length <= n_bins, "tree.queries.length", f"be at most {n_bins}", setting.length)
        return FixedLengthRanges(n_bins, setting.length)
    if setting.ranges is not None:
        inside = bool(setting.ranges) and all(0 <= lo < hi <= n_bins for lo, hi in setting.ranges)
        require(inside, "tree.queries.ranges", f"be ranges [first, end) of bins 0 to {n_bins - 1}", "others")
        lo, hi = np.array(setting.ranges, dtype=np.int64).T
        return ExplicitRanges(n_bins, lo, hi)
    starts, ends = setting.starts or [], setting.ends or []
    rule = f"hold {n_bins} weights each"
    require(len(starts) == len(ends) == n_bins, "tree.queries.starts and ends", rule, f"{len(starts)} and {len(ends)}")
    return ProductRanges(starts, ends)


def workload_text(setting: str | WorkloadSettings) -> str:
    """The law in words."""
    if isinstance(setting, str):
        return {"uniform": "all ranges, equally likely", "prefix": "ranges that begin with the first bin"}[setting]
    if setting.length is not None:
        return f"ranges of {setting.length} bins"
    return "the listed ranges" if setting.ranges is not None else "ranges weighted by their ends"
