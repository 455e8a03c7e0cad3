"""Answers from a release, with standard errors where they are known; reads the release only."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.config import NAME
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import block_intervals, half_width, std_error
from dplib.jobs.network_statistics.local import estimate_degrees, reported
from dplib.jobs.network_statistics.measurements import Derived, Measurement
from dplib.jobs.network_statistics.noisy_graph_query import (
    block_answers,
    choice_answers,
    pair_answer,
    place_of,
    vertex_name,
)
from dplib.jobs.network_statistics.noisy_graph_tables import read_whole_graph
from dplib.jobs.network_statistics.tables import BLOCK, ESTIMATES, PUBLISHED, Tables
from dplib.release.manifest import Manifest, public_design
from dplib.release.question import Question
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import read_table
from dplib.validate import require, require_known

FINEST = 1_000
"""Keys of one statistic that an answer lists."""
DISTRIBUTION = "degree_distribution"
"""The degree histogram as shares of the vertices."""


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        statistic: which.
        range: degrees, vertices, blocks, or places in the sorted sequence; empty for a single number.
        estimate: as in ``estimates/``; may be negative; None for a choice.
        std_error: its standard error; None where it is not stated.
        low: lower end of the 95 % interval.
        high: upper end.
        published: the published integer, the bit of a pair, or the chosen candidate; None of a distribution.
        note: what else is known, such as the probabilities behind a bit.
    """

    statistic: str
    range: str
    estimate: float | None
    std_error: float | None
    low: float | None
    high: float | None
    published: int | str | None
    note: str = ""


def design_of(manifest: Manifest) -> Design:
    """The design of a release; `ConfigError` if it is of another job."""
    return Design.from_public(public_design(manifest, NAME))


def ask(directory: Path, manifest: Manifest, asked: Question) -> list[Answer]:
    """Statistics by name, and vertices.

    Raises:
        ConfigError: as of `query_release`, or if something is asked for that the job has not.
    """
    asked.require_only(NAME, "names", "start", "end")
    return query_release(directory, manifest, asked.names, asked.start, asked.end)


def query_release(
    directory: Path, manifest: Manifest, names: Sequence[str], start: str | None, end: str | None
) -> list[Answer]:
    """Answer for some statistics.

    Args:
        directory: the release.
        manifest: its manifest.
        names: statistics; all single numbers, blocks and choices where empty. ``degree_distribution`` is the degree
            histogram in shares of the vertices.
        start: first degree, vertex, or place in the sorted sequence, of statistics with several numbers; the first
            where None. Of ``adjacency``: one vertex of a pair.
        end: the last one, inclusive; the last there is where None (of vertices ``start`` alone). Of ``adjacency``: the
            other vertex.

    Returns:
        For a degree histogram the number of vertices in the range; for a noisy graph the edges of all blocks, or
        whether there is an edge between two vertices; for other statistics of many numbers an answer for each key.

    Raises:
        ConfigError: if a statistic is not of the release or a range is none.
    """
    design = design_of(manifest)
    tables = Tables(directory, design)
    released = {str(each.statistic): each for each in design.released}
    known = [*released, *([DISTRIBUTION] if Statistic.DEGREE_HISTOGRAM in released else [])]
    for name in names:
        require_known("--item", name, known, f"be a statistic of the release ({', '.join(known)})")
    found = []
    short = [name for name, each in released.items() if each.size <= 1 or each.statistic is Statistic.ADJACENCY]
    for name in names or short:
        each = released[Statistic.DEGREE_HISTOGRAM if name == DISTRIBUTION else name]
        match each.statistic:
            case Statistic.ADJACENCY if start is not None or end is not None:
                shown, value, error, whole, note = pair_answer(tables, start, end)
                found.append(Answer(name, shown, value, error, None, None, whole, note))
            case Statistic.ADJACENCY:
                answers = block_answers(tables)
                ends = block_intervals(design, np.array([answer[1] for answer in answers]), read_whole_graph(tables))
                for (shown, value, error, whole, note), (low, high) in zip(answers, ends.tolist(), strict=True):
                    found.append(Answer(name, shown, value, error, low, high, whole, note))
            case Statistic.SPLIT | Statistic.COVERAGE:
                chosen = choice_answers(tables, each.statistic)
                found += [Answer(name, "", None, None, None, None, candidate, note) for candidate, note in chosen]
            case _:
                found += _numbers(tables, each, start, end, name == DISTRIBUTION)
    return found


def tidy(directory: Path, manifest: Manifest) -> pa.Table:
    """Every number: statistic, key, estimate, std_error, low, high, published."""
    design = design_of(manifest)
    keys = ["statistic", "key"]
    rows = read_table(directory / ESTIMATES, [*keys, "estimate", "std_error"], blocks=(BLOCK,))
    names = rows.column("statistic").to_pylist()
    errors, estimate = rows.column("std_error").to_numpy(), rows.column("estimate").to_numpy()
    half = np.array([half_width(design, Statistic(name), error) for name, error in zip(names, errors, strict=True)])
    rows = rows.append_column("low", pa.array(estimate - half, from_pandas=True))
    rows = rows.append_column("high", pa.array(estimate + half, from_pandas=True))
    # Both tables hold the same numbers in the same order.
    return rows.append_column(
        "published", read_table(directory / PUBLISHED, ["count"], blocks=(BLOCK,)).column("count")
    )


def _numbers(
    tables: Tables, each: Measurement | Derived, start: str | None, end: str | None, shares: bool
) -> list[Answer]:
    design = tables.design
    estimates = tables.read(ESTIMATES, "estimate")[each.statistic]
    errors = tables.read(ESTIMATES, "std_error")[each.statistic]
    counts = tables.read(PUBLISHED, "count")[each.statistic]
    found = []
    for lo, hi in _ranges(tables, each, start, end):
        shown = "" if each.size == 1 else _shown(tables, each, lo, hi)
        value, whole = float(estimates[lo:hi].astype(np.float64).sum()), int(counts[lo:hi].sum())
        error = float(errors[lo]) if hi - lo == 1 else _error(tables, each, lo, hi)
        half, n = half_width(design, each.statistic, error, hi - lo), design.n_vertices
        if shares:
            found.append(_answer(DISTRIBUTION, shown, value / n, error / n, half / n, None))
        else:
            found.append(_answer(each.statistic, shown, value, error, half, whole))
    return found


def _error(tables: Tables, each: Measurement | Derived, lo: int, hi: int) -> float:
    """Standard error of the sum of several bins of a degree histogram."""
    design = tables.design
    if not design.local:
        return std_error(design, each.statistic, hi - lo)
    degrees = tables.read(MEASUREMENT, "noisy")[Statistic.DEGREE_SEQUENCE].astype(np.int64)
    reports = reported(design, degrees, read_whole_graph(tables))
    return estimate_degrees(design, reports, lo, hi - 1)[1]


def _ranges(tables: Tables, each: Measurement | Derived, start: str | None, end: str | None) -> list[tuple[int, int]]:
    if each.size == 1:
        return [(0, 1)]
    if each.statistic is Statistic.DEGREE_SEQUENCE:
        lo = 0 if start is None else place_of(tables, "--from", start)
        given = each.size - 1 if start is None else lo
        hi = 1 + (given if end is None else place_of(tables, "--to", end))
    else:
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


def _shown(tables: Tables, each: Measurement | Derived, lo: int, hi: int) -> str:
    design = tables.design
    match each.statistic:
        case Statistic.SORTED_DEGREES:
            return f"place {lo}"
        case Statistic.DEGREE_SEQUENCE:
            return f"vertex {vertex_name(tables, lo)}"
        case Statistic.CUMULATIVE_HISTOGRAM:
            return f"degree at most {lo}"
    more = " or more" if hi == each.size and design.last_bin < design.largest_degree else ""
    return f"degree {lo}{more}" if hi - lo == 1 else f"degree {lo} to {hi - 1}{more}"


def _answer(statistic: str, shown: str, value: float, error: float, half: float, whole: int | None) -> Answer:
    if not np.isfinite(error):
        return Answer(statistic, shown, value, None, None, None, whole)
    return Answer(statistic, shown, value, error, value - half, value + half, whole)
