"""Levels of a release that grows day by day, chosen for what is asked of it on each day.

A question is a kind of range that ends on the day on which it is asked: the day, the last 7 days, the year to date. Its
value is the mean logarithm of its variances over all days of the horizon, each known from the nodes that closed by
then (`dplib.estimates.known_ranges`); levels and shares of the budget are those with the least weighted mean over the
questions: the geometric mean of standard errors, from settings alone.

Search. All calendars of up to `MAX_LEVELS` levels (of years, quarters and months, or of weeks and several weeks) are
compared at a few shares; the `TRIED` best ones get their best shares (`dplib.consistency.best_shares`), and of nearly
equal ones that with the fewest levels is taken.

Guarantee: deterministic; depends on settings only.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.best_shares import Objective, best_shares, share_variances
from dplib.estimates.known_ranges import KnownRanges
from dplib.privacy.noise import Law
from dplib.trees.calendar import calendar_levels
from dplib.trees.interval_tree import IntervalTree

MAX_LEVELS = 5
TRIED = 12
NEARLY_EQUAL = 1e-3
MONTHS = ("year", "quarter", "month")
WEEKS = (52, 26, 24, 13, 12, 8, 6, 4, 3, 2, 1)


def asked_ranges(first_day: dt.date, last_day: dt.date, question: str) -> tuple[IntArray, IntArray]:
    """First day of each range that a question asks for, and its last, on which it is asked.

    Args:
        first_day: of the horizon.
        last_day: its last.
        question: `day`, `last 7 days` (any number), `week to date`, `month to date`, `quarter to date`, `year to date`,
            a whole `week`, `month`, `quarter` or `year`, or the `total` of all days.
    """
    days = np.arange((last_day - first_day).days + 1)
    if question == "total":
        return days[:1], days[-1:]
    if question == "day":
        return days, days
    if question.startswith("last "):
        n = min(int(question.split()[1]), len(days))
        return days[: len(days) - n + 1], days[n - 1 :]
    period = question.removesuffix(" to date")
    found = calendar_levels(first_day, last_day, [period, "day"])
    edges = found.edges[found.level_of[period]]
    if period == question:
        return edges[:-1], edges[1:] - 1
    return edges[np.searchsorted(edges, days, side="right") - 1], days


def growing_objective(
    tree: IntervalTree, first_day: dt.date, last_day: dt.date, questions: Sequence[tuple[str, float]]
) -> Objective:
    """Weighted mean logarithm of the variances of what is asked, as a function of the levels' variances."""
    asked = [asked_ranges(first_day, last_day, question) for question, _ in questions]
    ranges = KnownRanges(tree, *(np.concatenate(part) for part in zip(*asked, strict=True)))
    total = sum(weight for _, weight in questions)
    own = [np.full(len(lo), weight / total / len(lo)) for (lo, _), (_, weight) in zip(asked, questions, strict=True)]
    weights = np.concatenate(own)

    def value(levels: FloatArray) -> FloatArray:
        return np.asarray(np.vecdot(np.log(ranges.variance(levels)), weights))

    return value


@dataclass(frozen=True)
class ChosenLevels:
    """Levels of the calendar from coarse to fine, and the objective that they reach.

    Attributes:
        levels: those below the root, the whole horizon.
        shares: of the root (0 where it is not measured) and of each level.
        value: weighted mean logarithm of the variances.
    """

    levels: tuple[str, ...]
    shares: tuple[Fraction, ...]
    value: float


def choose_levels(
    first_day: dt.date,
    last_day: dt.date,
    questions: Sequence[tuple[str, float]],
    law: Law,
    costs: Callable[[IntervalTree], FloatArray],
) -> ChosenLevels:
    """The calendar and the shares that serve the questions best.

    Args:
        first_day: of the horizon.
        last_day: its last.
        questions: with their weights.
        law: of the noise.
        costs: variance of one count at each level of a tree that gets the whole budget, the root's first.
    """
    candidates = calendars(first_day, last_day)
    trees = [calendar_tree(first_day, last_day, levels) for levels in candidates]
    objectives = [growing_objective(tree, first_day, last_day, questions) for tree in trees]
    screened = [
        objective(share_variances(law, _guesses(tree.n_levels), costs(tree))).min()
        for tree, objective in zip(trees, objectives, strict=True)
    ]
    found = [
        best_levels(candidates[number], objectives[number], law, costs(trees[number]))
        for number in np.argsort(np.round(screened, 9), kind="stable")[:TRIED].tolist()
    ]
    least = min(each.value for each in found)
    return min((each for each in found if each.value <= least + NEARLY_EQUAL), key=lambda each: len(each.levels))


def _guesses(n: int) -> FloatArray:
    """Shares of ``n`` levels by which calendars are compared: of days a third, a half and two thirds, of the root 0."""
    days = np.array([1 / 3, 1 / 2, 2 / 3])
    shares = np.tile(((1 - days) / max(n - 2, 1))[:, np.newaxis], n)
    shares[:, 0], shares[:, -1] = 0.0, days if n > 2 else 1.0
    return shares


def best_levels(levels: Sequence[str], objective: Objective, law: Law, costs: FloatArray) -> ChosenLevels:
    """The best shares of a calendar; levels that are worth none are left out.

    Args:
        levels: those below the root.
        objective: of the variances of all levels, the root's first.
        law: of the noise.
        costs: variance of one count at each level that gets the whole budget.
    """
    shares = best_shares(objective, law, costs)
    value = float(objective(share_variances(law, np.array([float(share) for share in shares]), costs)))
    kept = [place for place in range(1, len(shares)) if shares[place]]
    return ChosenLevels(tuple(levels[each - 1] for each in kept), (shares[0], *(shares[each] for each in kept)), value)


def calendar_tree(first_day: dt.date, last_day: dt.date, levels: Sequence[str]) -> IntervalTree:
    """The tree of some levels over a horizon."""
    return IntervalTree.from_level_edges(calendar_levels(first_day, last_day, levels).edges)


def calendars(first_day: dt.date, last_day: dt.date, max_levels: int = MAX_LEVELS) -> list[tuple[str, ...]]:
    """Calendars of up to ``max_levels`` levels, no two of which have the same nodes in a horizon; days alone first."""
    chains = [chain for n in range(max_levels) for chain in combinations(MONTHS, n)]
    for n in range(1, max_levels):
        of_weeks = [each for each in combinations(WEEKS, n) if all(a % b == 0 for a, b in pairwise(each))]
        chains += [tuple("week" if weeks == 1 else f"{weeks} weeks" for weeks in each) for each in of_weeks]
    found = []
    for chain in chains:
        edges = calendar_levels(first_day, last_day, [*chain, "day"]).edges
        # A level whose nodes are the root, or those of the level above, is another calendar's.
        if len(edges) == len(chain) + 2 or not chain:
            found.append((*chain, "day"))
    return found
