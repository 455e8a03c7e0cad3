"""Answers from a release, with standard errors where they are known; reads the release only."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.config.network_statistics import NAME
from dplib.errors import ConfigError
from dplib.graphs.network_sensitivity import Statistic
from dplib.metrics.error import Z95
from dplib.network_statistics.design import Design
from dplib.network_statistics.estimate import std_error
from dplib.network_statistics.measurements import Measurement
from dplib.network_statistics.tables import ESTIMATES, PUBLISHED, read_values
from dplib.release.manifest import Manifest
from dplib.validate import require

FINEST = 1_000
"""Keys of one statistic that an answer lists."""


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        statistic: which.
        range: degrees, or places in the sorted sequence; empty for a single number.
        estimate: as in ``estimates/``; may be negative.
        std_error: its standard error; None where it is not stated.
        low: lower end of the 95 % interval.
        high: upper end.
        published: the published integer.
    """

    statistic: str
    range: str
    estimate: float
    std_error: float | None
    low: float | None
    high: float | None
    published: int


def design_of(manifest: Manifest) -> Design:
    """The design of a release.

    Raises:
        ConfigError: if the release is of another job.
    """
    require(manifest.job == NAME, "release", f"be one of {NAME}", manifest.job)
    return Design.from_public(dict(manifest.details["design"]))  # type: ignore[arg-type]


def query_release(
    directory: Path, manifest: Manifest, names: Sequence[str], start: str | None, end: str | None
) -> list[Answer]:
    """Answer for some statistics.

    Args:
        directory: the release.
        manifest: its manifest.
        names: statistics; all single numbers where empty (with a range: the degree histogram).
        start: first degree, or place in the sorted sequence, of statistics with several numbers; 0 where None.
        end: the last one, inclusive; the last there is where None.

    Returns:
        For a degree histogram the number of vertices in the range; for a cumulative histogram and for sorted degrees an
        answer for each key.

    Raises:
        ConfigError: if a statistic is not of the release or a range is none.
    """
    design = design_of(manifest)
    measured = {str(each.statistic): each for each in design.measurements}
    for name in names:
        if name not in measured:
            raise ConfigError(f"--item must be a statistic of the release ({', '.join(measured)}), got {name}")
    wanted = list(names) or [name for name, each in measured.items() if each.size == 1]
    estimates = read_values(directory / ESTIMATES, "estimate", design)
    counts = read_values(directory / PUBLISHED, "count", design)
    found = []
    for name in wanted:
        each = measured[name]
        for lo, hi in _ranges(each, start, end):
            shown = "" if each.size == 1 else _shown(design, each, lo, hi)
            value, whole = (float(table[each.statistic][lo:hi].sum()) for table in (estimates, counts))
            found.append(_answer(design, each, shown, value, int(whole), hi - lo))
    return found


def _ranges(each: Measurement, start: str | None, end: str | None) -> list[tuple[int, int]]:
    if each.size == 1:
        return [(0, 1)]
    lo = _key("--from", start, each.size, 0)
    hi = _key("--to", end, each.size, each.size - 1) + 1
    require(lo < hi, "--from and --to", "be ends of a range that is not empty", f"{start} and {end}")
    if each.statistic is Statistic.DEGREE_HISTOGRAM:
        return [(lo, hi)]
    require(hi - lo <= FINEST, "--from and --to", f"hold at most {FINEST} keys of {each.statistic}", hi - lo)
    return [(key, key + 1) for key in range(lo, hi)]


def _key(option: str, text: str | None, size: int, default: int) -> int:
    if text is None:
        return default
    inside = text.isdecimal() and text.isascii() and int(text) < size
    require(inside, option, f"be a whole number from 0 to {size - 1}", text)
    return int(text)


def _shown(design: Design, each: Measurement, lo: int, hi: int) -> str:
    match each.statistic:
        case Statistic.SORTED_DEGREES:
            return f"place {lo}"
        case Statistic.CUMULATIVE_HISTOGRAM:
            return f"degree at most {lo}"
    more = " or more" if hi == each.size and design.last_bin < design.largest_degree else ""
    return f"degree {lo}{more}" if hi - lo == 1 else f"degree {lo} to {hi - 1}{more}"


def _answer(design: Design, each: Measurement, shown: str, value: float, whole: int, n_keys: int) -> Answer:
    error = std_error(design, each.statistic, n_keys)
    if np.isnan(error):
        return Answer(each.statistic, shown, value, None, None, None, whole)
    return Answer(each.statistic, shown, value, error, value - Z95 * error, value + Z95 * error, whole)
