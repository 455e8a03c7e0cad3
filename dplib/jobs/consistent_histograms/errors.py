"""Exact errors of the least-squares estimates, from settings alone: of single counts, of ranges and of sums of series.

Independent problems (`estimate.least_squares_groups`) have errors of their own; those of a sum add up over them. Where
days and series factor, an error is the tree's times that of one node's series; else that of the smoother. An answer is
a weighted sum of noisy counts, so its half width is the quantile of the very law of that sum.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.answer_coefficients import SeriesCoefficients, range_coefficients, ranges_coefficients
from dplib.consistency.answer_variance import AnswerVariance
from dplib.consistency.commuting import CommutingPlan
from dplib.consistency.matrix_free import MatrixFree
from dplib.constraints.day_constraints import DayConstraints
from dplib.estimates.level_squares import level_squares
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import choice_of, commuting_plan_of, least_squares_groups, variance_of
from dplib.privacy.noise_quantile import (
    DrawLaw,
    Draws,
    factor95,
    grouped,
    half_width,
    half_widths,
    product_grouped,
)

MAX_WORK = 1 << 30
"""Nodes times the cube of the series that constraints join, up to which the law of a single answer is worked out."""
MAX_CELLS = 1 << 20
"""Nodes times ranges whose coefficients are worked out at once."""
MAX_SOLVED = 20
"""Errors that take a solution each which are worked out for one question."""
MAX_KINDS = 100
"""Answers of different laws to one question that are worked out one by one."""


def node_laws(design: Design, column: int = 0) -> tuple[list[DrawLaw], IntArray]:
    """The laws of a column's noise at the levels that measure it, and the place of each node's, shape (n_nodes,)."""
    events = design.measurements[column :: design.columns.n_columns]
    place = np.cumsum([each is not None for each in events]) - 1
    laws = [DrawLaw.of(each.noise) for each in events if each is not None]
    return laws, np.maximum(place, 0)[design.tree.level].astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Part:
    """Errors of one independent problem.

    Attributes:
        series: its series.
        day_constraints: theirs.
        commuting: the plan where days and series factor.
        answers: variances of its range answers; None where each takes a solution, matrix-free.
    """

    series: IntArray
    day_constraints: tuple[DayConstraints, ...]
    commuting: CommutingPlan | None
    answers: AnswerVariance | None


class Errors:
    """Exact errors of the least-squares estimates, from settings alone."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._ranges: dict[tuple[int, int], FloatArray] = {}
        self._coefficients: dict[tuple[int, int, int], FloatArray] = {}
        self._solvers: dict[int, MatrixFree] = {}
        self._joined: dict[int, SeriesCoefficients] = {}
        self._solutions: dict[tuple[int, int, int, bytes], tuple[float, list[Draws]]] = {}

    @cached_property
    def _parts(self) -> list[_Part]:
        design, found = self._design, []
        for group, day_constraints in least_squares_groups(design):
            plan = commuting_plan_of(design, group, day_constraints)
            free = plan is None and choice_of(design, group, day_constraints).name == "matrix_free"
            variance = variance_of(design, group) if plan is None and not free else np.zeros((0, 0))
            answers = None if free else AnswerVariance(design.tree, variance, day_constraints, plan)
            found.append(_Part(group, day_constraints, plan, answers))
        return found

    @property
    def laws(self) -> set[DrawLaw]:
        """The laws of the noise."""
        return {DrawLaw.of(each.noise) for each in self._design.measurements if each is not None}

    @cached_property
    def _part_of(self) -> IntArray:
        """Which part each series belongs to, shape (n_series,)."""
        found = np.empty(len(self._design.series), dtype=np.int64)
        for number, part in enumerate(self._parts):
            found[part.series] = number
        return found

    def range_std_error(self, lo: int, hi: int) -> FloatArray:
        """Standard error of each series' count over the days ``lo <= t < hi``, shape (n_series,); read-only.

        NaN where an error takes a solution of its own: `std_errors` works out those that are asked for.
        """
        return self.range_std_errors([(lo, hi)])[0]

    def range_std_errors(self, ranges: Sequence[tuple[int, int]]) -> list[FloatArray]:
        """The same of several ranges (first day, one past the last), sooner than one by one."""
        # The charts of a page ask for the same months, which cost the cube of the series that constraints join.
        new = [each for each in dict.fromkeys(ranges) if each not in self._ranges]
        of_new = map(self._of_parts, new) if self._design.exact_weights else self._of_levels(new)
        for each, found in zip(new, of_new, strict=True):
            found.setflags(write=False)
            self._ranges[each] = found
        return [self._ranges[each] for each in ranges]

    def _of_parts(self, days: tuple[int, int]) -> FloatArray:
        found = np.full(len(self._design.series), np.nan)
        for part in self._parts:
            if part.answers is not None:
                found[part.series] = np.sqrt(part.answers.variance(*days))
        return found

    def _of_levels(self, ranges: list[tuple[int, int]]) -> Iterator[FloatArray]:
        most = max(1, MAX_CELLS // self._design.tree.n_nodes)
        for first in range(0, len(ranges), most):
            yield from map(self._of_squares, self._level_squares(ranges[first : first + most]))

    def std_errors(self, lo: int, hi: int, series: IntArray) -> FloatArray:
        """Standard errors of some series' counts, shape (m,); NaN for more than `MAX_SOLVED` of a solution each."""
        found = self.range_std_error(lo, hi)[series]
        open_ = np.flatnonzero(np.isnan(found))
        if len(open_) <= MAX_SOLVED:
            found[open_] = [self.sum_std_error(lo, hi, series[place : place + 1]) for place in open_.tolist()]
        return found

    def sum_std_error(self, lo: int, hi: int, series: IntArray) -> float:
        """Standard error of the sum of some series' counts over the days ``lo <= t < hi``; covariances included."""
        weights = self._once_each(series)
        parts = [self._parts[number] for number in np.unique(self._part_of[series])]
        if self._design.exact_weights:
            return math.sqrt(math.fsum(self._sum_variance(part, lo, hi, weights[part.series]) for part in parts))
        columns, by_column = self._design.columns, np.zeros(self._design.columns.n_columns)
        for part in parts:
            assert part.commuting is not None
            squares = part.commuting.series.coefficients(weights[part.series]) ** 2
            by_column += np.bincount(columns.of[part.series], squares, columns.n_columns)
        return math.sqrt(self._level_squares([(lo, hi)])[0] @ self._known_variance @ by_column)

    def _sum_variance(self, part: _Part, lo: int, hi: int, weights: FloatArray) -> float:
        if part.answers is None:
            return self._solved(part, lo, hi, weights)[0]
        return part.answers.weighted_variance(lo, hi, weights)

    def _solved(self, part: _Part, lo: int, hi: int, weights: FloatArray) -> tuple[float, list[Draws]]:
        """Variance and draws of a sum, from one solution."""
        key = (lo, hi, int(part.series[0]), weights.tobytes())
        if key not in self._solutions:
            answers = self._matrix_free(part)
            found = answers.coefficients(lo, hi, weights)
            draws = self._by_column(found, self._design.columns.of[part.series][answers.measured])
            self._solutions[key] = answers.variance_of(found), draws
        return self._solutions[key]

    def _matrix_free(self, part: _Part) -> MatrixFree:
        """What solutions of a part need; worked out when first asked for."""
        number = int(part.series[0])
        if number not in self._solvers:
            variance = variance_of(self._design, part.series)
            self._solvers[number] = MatrixFree.of(self._design.tree, variance, part.day_constraints)
        return self._solvers[number]

    def _once_each(self, series: IntArray) -> FloatArray:
        return np.bincount(series, minlength=len(self._design.series)).astype(np.float64)

    def half_widths(self, lo: int, hi: int, series: IntArray, most: int = MAX_KINDS) -> FloatArray:
        """Half widths of the 95 % intervals of some series' counts over the days ``lo <= t < hi``, shape (m,).

        Args:
            lo: first day.
            hi: one past the last.
            series: numbers of the series, shape (m,).
            most: how many different laws are worked out (`dplib.privacy.noise_quantile.half_widths`).
        """
        errors = self.std_errors(lo, hi, series)
        return half_widths(errors, lambda at: self.half_width(lo, hi, int(series[at])), most)

    def half_width(self, lo: int, hi: int, series: int) -> float:
        """Half width of the 95 % interval of one series' count over the days ``lo <= t < hi``.

        Where constraints that differ by day join too many series (`MAX_WORK`), the factor for any sum of draws is
        taken in place of the law (`dplib.privacy.noise_quantile.factor95`).
        """
        return self.sum_half_width(lo, hi, np.array([series]))

    def sum_half_width(self, lo: int, hi: int, series: IntArray) -> float:
        """The same of the sum of some series' counts."""
        draws = self.sum_draws(lo, hi, series)
        if draws is None:
            return factor95(self.laws) * self.sum_std_error(lo, hi, series)
        return half_width(draws)

    def sum_draws(self, lo: int, hi: int, series: IntArray) -> list[Draws] | None:
        """What the noise of the sum of some series' counts is made of; None where that is too much work."""
        weights = self._once_each(series)
        draws: list[Draws] = []
        for number in np.unique(self._part_of[series]):
            part = self._parts[number]
            found = self._draws(part, lo, hi, weights[part.series])
            if found is None:
                return None
            draws.extend(found)
        return draws

    def _draws(self, part: _Part, lo: int, hi: int, weights: FloatArray) -> list[Draws] | None:
        """What the noise of an answer is made of; None where that is too much work."""
        design, column_of = self._design, self._design.columns.of[part.series]
        columns = np.unique(column_of).tolist()
        draws: list[Draws] = []
        if part.commuting is not None:
            outer, inner = self._on_tree(part.commuting, lo, hi), part.commuting.series.coefficients(weights)
            for column in columns:
                if inner[column_of == column].any():
                    draws.extend(product_grouped(outer, *node_laws(design, column), inner[column_of == column]))
            return draws
        if part.answers is None:
            return self._solved(part, lo, hi, weights)[1]
        coefficients = self._series_coefficients(part)
        if design.tree.n_nodes * coefficients.n_classes**3 > MAX_WORK:
            return None
        return self._by_column(coefficients.of(weights, lo, hi), column_of)

    def _series_coefficients(self, part: _Part) -> SeriesCoefficients:
        """What all answers of a part have in common."""
        number = int(part.series[0])
        if number not in self._joined:
            variance = variance_of(self._design, part.series)
            self._joined[number] = SeriesCoefficients(self._design.tree, variance, part.day_constraints)
        return self._joined[number]

    def _by_column(self, coefficients: FloatArray, column_of: IntArray) -> list[Draws]:
        """The draws of coefficients of shape (n_nodes, n), ``column_of`` each series' column of noise."""
        draws: list[Draws] = []
        for column in np.unique(column_of).tolist():
            own = coefficients[:, column_of == column]
            laws, place = node_laws(self._design, column)
            draws.extend(grouped(own.reshape(-1), laws, np.repeat(place, own.shape[1])))
        return draws

    def _on_tree(self, plan: CommutingPlan, lo: int, hi: int) -> FloatArray:
        key = (id(plan), lo, hi)
        if key not in self._coefficients:
            self._coefficients[key] = range_coefficients(self._design.tree, plan.node_variance, lo, hi)
        return self._coefficients[key]

    def node_std_error(self) -> FloatArray:
        """Standard error of every node, shape (n_nodes, n_series); NaN as in `range_std_error`."""
        if self._design.columns.n_columns > 1 and not self._design.exact_weights:
            return self._of_squares(level_squares(self._design.tree, self._design.level_variance))
        found = np.empty((self._design.tree.n_nodes, len(self._design.series)))
        for part in self._parts:
            answers = part.answers
            found[:, part.series] = np.nan if answers is None else answers.standard_errors()
        return found

    def _level_squares(self, ranges: Sequence[tuple[int, int]]) -> list[FloatArray]:
        """Sums of the tree's squared coefficients of each range, shape (n_levels,)."""
        tree = self._design.tree
        found = ranges_coefficients(tree, self._design.node_variance, ranges)
        return [np.bincount(tree.level, row**2, tree.n_levels).astype(np.float64) for row in found]

    @property
    def _known_variance(self) -> FloatArray:
        """Exact variances of the noise, 0 where not measured, shape (n_levels, n_columns)."""
        return np.where(np.isfinite(self._design.noise_variance), self._design.noise_variance, 0.0)

    def _of_squares(self, squares: FloatArray) -> FloatArray:
        """Standard errors of all series from the tree's squared coefficients by level, shape (..., n_levels)."""
        return np.sqrt(squares @ self._known_variance @ self._column_squares)

    @cached_property
    def _column_squares(self) -> FloatArray:
        """Sums of each series' squared coefficients on one node, by column, shape (n_columns, n_series)."""
        design, columns = self._design, self._design.columns
        found = np.zeros((columns.n_columns, len(design.series)))
        for part in self._parts:
            assert part.commuting is not None
            squares = part.commuting.series.squares(columns.of[part.series], columns.n_columns)
            found[:, part.series] = squares
        return found
