"""Which shares of the budget serve the declared queries: of the tree's levels, and of the items and their totals.

A question is a kind of range (a query) and a grouping: the items, or the totals of one group of totals. Its
value is the mean logarithm of its answers' standard errors, and the shares are those with the least weighted sum over
all questions: the geometric mean of errors, which needs no unit. Shares are products s(level) s(grouping); variances
are then products too, so levels and groupings are chosen apart (`dplib.consistency.best_shares`).

The errors of ranges are exact for any tree. Those of groupings are exact where groupings nest, or where packages and
equations link few series; where many classes of items cross they are those of balanced groupings of their sizes. Where
constraints differ by day those of the longest period decide. All from settings alone.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.best_shares import Objective, best_shares, each_row
from dplib.consistency.crossing_variance import ResidualSpaces, class_variances
from dplib.consistency.nested_variance import NestedForest, item_classes, kinds, mean_log, mean_logs
from dplib.constraints.day_constraints import DayConstraints, SparseInt
from dplib.constraints.resolved import ResolvedConstraints
from dplib.estimates.range_variance import RangeVariance, Walks
from dplib.privacy.noise import Law
from dplib.projection.affine import projector
from dplib.trees.interval_tree import IntervalTree

MAX_CLASSES = 200
"""Crossing classes of items up to which their errors are exact."""
MAX_LINKED = 150
"""Series that packages or equations link, up to which these enter."""
_found: WeakKeyDictionary[ResolvedConstraints, dict[tuple[bytes, Law, bytes], tuple[Fraction, ...]]]
_found = WeakKeyDictionary()
"""Shares for as long as the constraints live, whatever the budget: what is tried before a run asks again."""

Ranges = tuple[float, IntArray]
"""A query's weight, and its ranges as rows (first day, one past the last)."""


def level_objective(tree: IntervalTree, queries: list[Ranges]) -> Objective:
    """Weighted mean logarithm of the variances of ranges, as a function of the levels' variances."""
    total = sum(weight for weight, _ in queries)
    walks = [(weight, Walks.of(tree, rows[:, 0], rows[:, 1])) for weight, rows in queries]

    def value(levels: FloatArray) -> FloatArray:
        errors = RangeVariance(tree, levels[..., tree.level])
        found = [weight * mean_logs(errors.along(ranges)) for weight, ranges in walks]
        return np.asarray(sum(found) / total)

    return value


def level_shares(
    tree: IntervalTree, queries: list[Ranges], law: Law, costs: FloatArray
) -> tuple[tuple[Fraction, ...], float]:
    """The levels' shares from the root down, and the objective that they reach.

    Args:
        tree: over the days.
        queries: the ranges that are asked for.
        law: of the noise.
        costs: variance of one count at each level that gets the whole budget.
    """
    shape = tuple(each.tobytes() for each in (tree.lo, tree.hi, tree.parent, tree.level_start))
    asked = tuple((weight, rows.astype(np.int64).tobytes()) for weight, rows in queries)
    return _level_shares(shape, asked, law, tuple(costs.tolist()))


@lru_cache(maxsize=64)
def _level_shares(
    shape: tuple[bytes, ...], asked: tuple[tuple[float, bytes], ...], law: Law, costs: tuple[float, ...]
) -> tuple[tuple[Fraction, ...], float]:
    """The same, searched for once in a process: each day of a call, and what is tried before a run, asks again."""
    tree = IntervalTree(*(np.frombuffer(each, np.int64).copy() for each in shape))
    queries = [(weight, np.frombuffer(rows, np.int64).reshape(-1, 2).copy()) for weight, rows in asked]
    objective, own = level_objective(tree, queries), np.array(costs)
    shares = best_shares(objective, law, own)
    parts = np.array([float(share) for share in shares])
    with np.errstate(divide="ignore"):
        return shares, float(objective(own / parts**law.exponent))


def unjudged(variances: FloatArray) -> FloatArray:
    """The objective where packages link many series: no division of a budget is known to be better than another."""
    return np.zeros(variances.shape[:-1])


def grouping_objective(constraints: ResolvedConstraints, column: IntArray) -> tuple[Objective, Objective]:
    """Mean logarithm of the variances of the series of each column, as a function of the columns' variances.

    Args:
        constraints: what links the series of a day.
        column: of each series: 0 for the items, then that of each group of totals, shape (n_series,).

    Returns:
        The objective, and one near to it that is cheap for any number of totals. Both take the variances of the columns
        from 1 on, then that of column 0.
    """
    daily, incidence, rows_are_items = _longest(constraints)
    if len(column) <= MAX_LINKED and not (rows_are_items and daily.generators is not None):
        return (_linked(daily, column),) * 2
    if not rows_are_items:
        return (unjudged,) * 2
    membership = csr_array(incidence[constraints.n_items :])
    membership.data = np.minimum(membership.data, 1)
    return _by_classes(membership, column[constraints.n_items :])


def is_judged(constraints: ResolvedConstraints) -> bool:
    """Whether `grouping_objective` knows of divisions that are better than others."""
    return len(constraints.series) <= MAX_LINKED or _longest(constraints)[2]


def _longest(constraints: ResolvedConstraints) -> tuple[DayConstraints, SparseInt, bool]:
    """The day constraints of the longest period, their incidence, and whether its rows are items."""
    days = [daily.end - daily.first for daily in constraints.day_constraints]
    longest, n_items = int(np.argmax(days)), constraints.n_items
    incidence = constraints.incidence[longest]
    own = incidence[:n_items]
    rows_are_items = incidence.shape[1] == own.nnz == n_items and bool((own.diagonal() == 1).all())
    return constraints.day_constraints[longest], incidence, rows_are_items


def _linked(daily: DayConstraints, column: IntArray) -> Objective:
    groups = [*kinds(column), np.flatnonzero(column == 0)]
    last = len(groups) - 1

    def value(variances: FloatArray) -> float:
        series = np.where(column == 0, variances[last], variances[column - 1])
        matrix = projector(daily, series).matrix
        found = (matrix**2 * np.where(np.isfinite(series), series, 0.0)).sum(axis=1)
        return float(np.mean([mean_log(found[group]) for group in groups]))

    return each_row(value)


def _by_classes(membership: csr_array, grouping: IntArray) -> tuple[Objective, Objective]:
    classes = item_classes(membership)
    groups, size, n_totals = kinds(grouping), classes.size.astype(np.float64), len(grouping)
    forest = NestedForest.of(classes, n_totals)
    exact: Callable[[float, FloatArray], tuple[FloatArray, FloatArray]]
    exact = forest.variances if forest is not None else lambda v, own: class_variances(classes, n_totals, v, own)

    def value(variances: FloatArray) -> float:
        items, totals = exact(float(variances[-1]), variances[grouping - 1])
        return float(np.mean([*(mean_log(totals[group]) for group in groups), mean_log(items, size)]))

    if forest is not None:
        return (each_row(value),) * 2
    spaces = ResidualSpaces.of(classes, grouping)

    def balanced(variances: FloatArray) -> float:
        return float(np.log(spaces.variances(np.roll(variances, 1))).mean())

    return each_row(value if len(size) <= MAX_CLASSES else balanced), each_row(balanced)


def grouping_shares(
    constraints: ResolvedConstraints, column: IntArray, law: Law, costs: FloatArray
) -> tuple[Fraction, ...]:
    """Shares of the items and of each group of totals.

    Args:
        constraints: what links the series of a day.
        column: of each series, as for `grouping_objective`.
        law: of the noise.
        costs: variance of one count of each column that gets the whole budget, the items' first.
    """
    asked = (column.tobytes(), law, costs.tobytes())
    found = _found.setdefault(constraints, {}).get(asked)
    if found is None:
        objective, cheap = grouping_objective(constraints, column)
        found = _found[constraints][asked] = best_shares(objective, law, np.roll(costs, -1), cheap)
    return (found[-1], *found[:-1])
