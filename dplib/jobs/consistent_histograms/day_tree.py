"""The tree over days that a configuration asks for: its levels, their names and their shares of the budget.

Levels come from the calendar, from given branching, or (``tree: auto``) from whichever of these has the least geometric
mean of the standard errors over the declared queries at this budget. Shares are given, equal, or (``tree: auto`` and
``measure: auto``) those with the least such mean; whatever is chosen depends on settings alone.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.config.sections import EventPrivacySettings
from dplib.config.stream import CalendarLevel, Query, Stream
from dplib.consistency.best_shares import GRID, on_grid
from dplib.consistency.question_shares import Ranges, level_objective, level_shares
from dplib.consistency.stream_levels import ChosenLevels, choose_levels
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.config import HistogramsRelease, Question, Tree
from dplib.privacy.budget import PureDP, rho_of
from dplib.privacy.rounding import share_text
from dplib.trees.budgets import name_of
from dplib.trees.calendar import calendar_levels
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges, default_branching, regular_edges
from dplib.validate import require

DEFAULT_QUERIES: tuple[Query, ...] = ("day", "month", "total")
"""What `auto` serves where no query is declared."""
MAX_CHOSEN_DAYS = 1 << 14
"""Days up to which ``tree: auto`` compares trees at their best shares; above, at equal ones."""
NEARLY_EQUAL = 1e-6
MAX_DENOMINATOR = 10**6
"""Of sigma^2, which is rounded up to it."""
_CHOSEN = "Shares of the levels, chosen for the queries"
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
        value: mean logarithm of the queries' variances at shares that were chosen, up to a constant; None where the
            shares are given.
    """

    tree: IntervalTree
    names: tuple[str, ...]
    shares: tuple[Fraction, ...]
    shape: Tree
    notes: tuple[str, ...] = ()
    value: float | None = None


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
    return _best(config) if config.stream is None else _growing(config, config.stream)


def query_edges(config: HistogramsRelease, query: str) -> IntArray:
    """Boundaries of the ranges that a query asks for: each day, week, month, quarter, year, or the total."""
    return _edges(config.domain.first_day, config.domain.last_day, query)


def query_ranges(config: HistogramsRelease, query: str) -> list[tuple[int, int]]:
    """At most `MAX_RANGES_PER_QUERY` ranges (first day, one past the last) of a query, evenly spread."""
    return list(_ranges(config.domain.first_day, config.domain.last_day, query))


@lru_cache(maxsize=64)
def _edges(first: dt.date, last: dt.date, query: str) -> IntArray:
    """Of a query over some days, read-only: every tree and division of a budget that is compared asks for them."""
    if query == "total":
        found = np.array([0, (last - first).days + 1])
    else:
        levels = calendar_levels(first, last, [query] if query == "day" else [query, "day"])
        found = levels.edges[levels.level_of[query]]
    found.setflags(write=False)
    return found


@lru_cache(maxsize=64)
def _ranges(first: dt.date, last: dt.date, query: str) -> tuple[tuple[int, int], ...]:
    ranges = [*pairwise(_edges(first, last, query).tolist())]
    chosen = np.unique(np.linspace(0, len(ranges) - 1, MAX_RANGES_PER_QUERY).round().astype(int))
    return tuple(ranges[position] for position in chosen)


def _calendar(config: HistogramsRelease, levels: Sequence[CalendarLevel]) -> DayTree:
    found = calendar_levels(config.domain.first_day, config.domain.last_day, levels)
    names = ["all days"] * len(found.edges)
    notes = []
    for level in (name for name in found.level_of if name != "all"):
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
    shape, tree = config.shape, IntervalTree.from_level_edges(edges)
    first = 0 if shape.root or tree.n_levels == 1 else 1
    n_measured = tree.n_levels - first
    if shape.shares is None and config.measure == "auto":
        return _with_chosen_shares(config, DayTree(tree, names, (), explicit, notes))
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


def _with_chosen_shares(config: HistogramsRelease, days: DayTree) -> DayTree:
    """The tree with the shares of its levels, the root's included, that serve the queries best."""
    law, tree = config.privacy.mechanism, days.tree
    shares, value = level_shares(tree, _asked(config), law, level_costs(config.privacy, tree))
    return replace(_of_shares(config, days, shares), value=value)


def _of_shares(config: HistogramsRelease, days: DayTree, shares: tuple[Fraction, ...]) -> DayTree:
    """A tree whose levels, the root first, have chosen shares."""
    root = shares[0] > 0
    shape = days.shape.model_copy(update={"root": root, "shares": list(shares if root else shares[1:])})
    parts = ", ".join(f"{name} {share_text(share)}" for name, share in zip(days.names, shares, strict=True))
    note = f"{_CHOSEN} {_query_text(config)}: {parts}."
    notes = (*(each for each in days.notes if not each.startswith(_CHOSEN)), note)
    return replace(days, shares=shares, shape=shape, notes=notes)


def _query_text(config: HistogramsRelease) -> str:
    asked = [f"{each.range} (weight {each.weight})" if each.weight != 1 else each.range for each in config.questions]
    return ", ".join(asked) or f"{', '.join(DEFAULT_QUERIES)} (none is declared)"


def _asked(config: HistogramsRelease) -> list[Ranges]:
    """The ranges of the queries with their weights."""
    asked = config.questions or tuple(Question(range=each) for each in DEFAULT_QUERIES)
    return [(float(each.weight), np.array(query_ranges(config, each.range))) for each in asked]


def level_costs(privacy: EventPrivacySettings, tree: IntervalTree) -> FloatArray:
    """Noise variance of one count at each level, up to a common factor, if the level had the whole budget.

    With Gaussian noise what a unit's rows do in one node counts (`dplib.jobs.consistent_histograms.design`).
    """
    if privacy.mechanism.exponent > 1:
        return np.ones(tree.n_levels)
    widths = tree.hi - tree.lo
    widest = [int(widths[tree.level_slice(level)].max()) for level in range(tree.n_levels)]
    return np.array([float(min(privacy.rows_per_unit, privacy.rows_per_day * width)) for width in widest])


def _best(config: HistogramsRelease) -> DayTree:
    """The candidate with the least geometric mean of the queries' standard errors, each with its best shares."""
    n_days = config.domain.n_days
    if config.shape.shares is not None:
        return _regular(config, *_default_edges(config))
    calendar: list[list[CalendarLevel]] = [["day"], ["month", "day"], ["week", "day"], ["year", "month", "day"]]
    calendar.append(["year", "quarter", "month", "day"])
    large = n_days > MAX_CHOSEN_DAYS
    choosing = config.model_copy(update={"measure": None if large else "auto"})
    candidates = [_calendar(choosing, levels) for levels in calendar]
    candidates.append(_regular(choosing, *_default_edges(config)))
    best = candidates[0]
    for each in candidates[1:]:
        # The first of nearly equal ones: last bits decide nothing, and a tree that gains nothing has no more levels.
        best = each if _value(config, each) < _value(config, best) - NEARLY_EQUAL else best
    best = _with_chosen_shares(config, best) if large and config.measure == "auto" else best
    best = _without_rounding(config, best) if config.measure is None and not large else best
    note = f"tree: auto chose the levels {', '.join(best.names)} for the queries {_query_text(config)}."
    return replace(best, notes=(note, *best.notes))


def _growing(config: HistogramsRelease, stream: Stream) -> DayTree:
    """The tree of a stream."""
    first, last = config.domain.first_day, config.domain.last_day
    if stream.levels == "auto":
        asked = tuple((each.range, float(each.weight)) for each in config.questions)
        chosen = _chosen_levels(first, last, asked, config.privacy)
        own = chosen.shares if chosen.shares[0] else chosen.shares[1:]
        shape = Tree(levels=list(chosen.levels), root=chosen.shares[0] > 0, shares=list(own))
        note = f"stream.levels: auto chose {', '.join(chosen.levels)} for the queries {_query_text(config)}."
    else:
        whole = calendar_levels(first, last, stream.levels).level_of
        root = any(whole[level] == 0 for level in stream.levels)
        shape, note = Tree(levels=stream.levels, root=root, shares=stream.shares), ""
    shaped = config.model_copy(update={"tree": shape})
    try:
        found = build_day_tree(shaped)
    except ConfigError as error:
        raise error.of(error.name.replace("tree.", "stream.")) from None
    notes = [each for each in found.notes if "root is not measured" not in each]
    found = replace(found, notes=(*([note] if note else []), *notes))
    return _without_rounding(config, found) if stream.levels == "auto" else found


@lru_cache(maxsize=8)
def _chosen_levels(
    first: dt.date, last: dt.date, asked: tuple[tuple[str, float], ...], privacy: EventPrivacySettings
) -> ChosenLevels:
    """The levels that `auto` chooses, searched for once in a process: every day of a stream asks for them."""
    return choose_levels(first, last, asked, privacy.mechanism, partial(level_costs, privacy))


def _without_rounding(config: HistogramsRelease, days: DayTree) -> DayTree:
    """The tree with shares at which no level's sigma^2 is rounded: the ledger prices a run without its queries.

    Where no grid has such shares they are equal ones, as versions before had.
    """
    budget = config.privacy.main_budget
    if isinstance(budget, PureDP):
        return days
    for grid in (GRID, 1_000, 100):
        shares = on_grid([float(share) for share in days.shares], grid)
        if all((1 / (2 * rho_of(budget) * share)).denominator <= MAX_DENOMINATOR for share in shares if share):
            break
    else:
        n_measured = days.tree.n_levels - (days.tree.n_levels > 1)
        shares = (Fraction(0),) * (days.tree.n_levels - n_measured) + (Fraction(1, n_measured),) * n_measured
    return _of_shares(config, days, shares)


def _default_edges(config: HistogramsRelease) -> tuple[tuple[IntArray, ...], Sequence[int]]:
    n_days = config.domain.n_days
    branching = default_branching(n_days, name_of(config.privacy.mechanism), config.shape.root)
    return branching_edges(n_days, branching), branching


def _value(config: HistogramsRelease, days: DayTree) -> float:
    if days.value is not None:
        return days.value
    shares = np.array([float(share) for share in days.shares])
    with np.errstate(divide="ignore"):
        levels = level_costs(config.privacy, days.tree) / shares**config.privacy.mechanism.exponent
    return float(level_objective(days.tree, _asked(config))(levels))
