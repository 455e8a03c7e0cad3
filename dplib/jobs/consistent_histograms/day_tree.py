"""The tree over days that a configuration asks for: its levels, their names and their shares of the budget.

Levels come from the calendar, from given branching, or (``auto``) from whichever of these has the least expected
error over the configured queries at this budget; the choice depends on settings alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np

from dplib.arrays import IntArray
from dplib.estimates.range_variance import RangeVariance
from dplib.jobs.consistent_histograms.config import CalendarLevel, HistogramsRelease, Tree
from dplib.trees.calendar import COARSE_TO_FINE, calendar_levels
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges, default_branching, regular_edges
from dplib.validate import require

LawName = Literal["laplace", "gaussian"]
MAX_RANGES_PER_QUERY = 64
"""Ranges of a query that stand for all of it where there are more: evenly spread over the days."""


@dataclass(frozen=True, eq=False)
class DayTree:
    """A tree over days.

    Attributes:
        tree: all leaves on the last level, one a day.
        names: name of each level from the root down: `all days`, `month`, `day`, `nodes of 30 days`.
        shares: share of the budget of each level; 0 where it is not measured.
        shape: the section ``tree`` that names this tree outright, so that ``auto`` is decided once, in the settings.
        notes: sentences for the plan.
    """

    tree: IntervalTree
    names: tuple[str, ...]
    shares: tuple[Fraction, ...]
    shape: Tree
    notes: tuple[str, ...] = ()


def build_day_tree(config: HistogramsRelease) -> DayTree:
    """Build the tree that the section ``tree`` asks for.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    shape, n_days = config.shape, config.domain.n_days
    if shape.levels is not None:
        return _calendar(config, ["year", "month", "day"] if shape.levels == "calendar" else shape.levels)
    if isinstance(shape.branching, int):
        edges = regular_edges(n_days, shape.branching)
        return _regular(config, edges, [shape.branching] * (len(edges) - 1))
    if shape.branching is not None:
        return _regular(config, branching_edges(n_days, shape.branching), shape.branching)
    return _best(config)


def query_edges(config: HistogramsRelease, query: str) -> IntArray:
    """Boundaries of the ranges that a query asks for: each day, week, month, quarter, year, or the total."""
    if query == "total":
        return np.array([0, config.domain.n_days])
    levels = [query] if query == "day" else [query, "day"]
    found = calendar_levels(config.domain.first_day, config.domain.last_day, levels)
    return found.edges[found.level_of[query]]


def query_ranges(config: HistogramsRelease, query: str) -> list[tuple[int, int]]:
    """At most `MAX_RANGES_PER_QUERY` ranges (first day, one past the last) of a query, evenly spread."""
    ranges = [(int(lo), int(hi)) for lo, hi in pairwise(query_edges(config, query))]
    chosen = np.unique(np.linspace(0, len(ranges) - 1, MAX_RANGES_PER_QUERY).round().astype(int))
    return [ranges[position] for position in chosen]


def _calendar(config: HistogramsRelease, levels: Sequence[CalendarLevel]) -> DayTree:
    found = calendar_levels(config.domain.first_day, config.domain.last_day, levels)
    names = ["all days"] * len(found.edges)
    notes = []
    for level in (name for name in COARSE_TO_FINE if name in found.level_of):
        if names[found.level_of[level]] == "all days":
            names[found.level_of[level]] = level if found.level_of[level] else "all days"
        if found.level_of[level] == 0 or names[found.level_of[level]] != level:
            notes.append(f"The level {level} has the same nodes as {names[found.level_of[level]]} and is not repeated.")
    return _finish(config, found.edges, tuple(names), Tree(levels=list(levels)), tuple(notes))


def _regular(config: HistogramsRelease, edges: tuple[IntArray, ...], branching: Sequence[int]) -> DayTree:
    widths = [int(np.diff(level).max()) for level in edges]
    names = ["all days", *(f"{width} days" if width > 1 else "day" for width in widths[1:])]
    short = [name for name, level in zip(names, edges, strict=True) if len(set(np.diff(level).tolist())) > 1]
    notes = (f"The tree is padded: the last nodes of these levels are short: {', '.join(short)}.",) if short else ()
    return _finish(config, edges, tuple(names), Tree(branching=list(branching)), notes)


def _finish(
    config: HistogramsRelease,
    edges: tuple[IntArray, ...],
    names: tuple[str, ...],
    explicit: Tree,
    notes: tuple[str, ...],
) -> DayTree:
    shape = config.shape
    tree = IntervalTree.from_level_edges(edges)
    first = 0 if shape.root or tree.n_levels == 1 else 1
    n_measured = tree.n_levels - first
    shares = shape.shares or [Fraction(1)] * n_measured
    require(
        len(shares) == n_measured,
        "tree.shares",
        f"have one share for each of the {n_measured} measured levels ({', '.join(names[first:])})",
        len(shares),
    )
    if tree.n_levels > 1 and not shape.root:
        notes += ("The root is not measured; its value is the sum of its children (tree.root: true measures it).",)
    parts = (Fraction(0),) * first + tuple(share / sum(shares) for share in shares)
    return DayTree(tree, names, parts, explicit.model_copy(update={"root": shape.root, "shares": shape.shares}), notes)


def _best(config: HistogramsRelease) -> DayTree:
    """The candidate with the least mean standard error over the queries, one unit of noise at each level."""
    noise: LawName = "laplace" if config.privacy.mechanism == "discrete_laplace" else "gaussian"
    n_days = config.domain.n_days
    calendar: list[list[CalendarLevel]] = [["month", "day"], ["year", "month", "day"], ["week", "day"], ["day"]]
    candidates = [_calendar(config, levels) for levels in calendar]
    branching = default_branching(n_days, noise, config.shape.root)
    candidates.append(_regular(config, branching_edges(n_days, branching), branching))
    best = min(candidates, key=lambda candidate: _score(config, candidate, noise))
    note = f"tree: auto chose the levels {', '.join(best.names)} for the queries {', '.join(config.queries)}."
    return replace(best, notes=(note, *best.notes))


def _score(config: HistogramsRelease, days: DayTree, noise: LawName) -> float:
    power = -2.0 if noise == "laplace" else -1.0
    levels = np.array([float(share) ** power if share else np.inf for share in days.shares])
    variance = RangeVariance(days.tree, levels[days.tree.level])
    errors = []
    for query in config.queries:
        ranges = np.array(query_ranges(config, query))
        errors.append(np.sqrt(variance.of(ranges[:, 0], ranges[:, 1])).mean())
    return float(np.mean(errors)) if errors else 0.0
