"""Post-processing in one process: from the stored measurement to estimates, standard errors and integer tables.

Nothing here sees a row or draws noise, so it is free and can be run again with another solver. Series that no
constraint links are independent problems (*groups*): each constrained component is one, all unconstrained series
together are another. Errors depend on settings only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.answer_coefficients import range_coefficients, series_coefficients
from dplib.consistency.answer_variance import AnswerVariance
from dplib.consistency.choose import SOLVERS, Choice, choice, solve
from dplib.consistency.commuting import CommutingPlan, factor_variances, product_plan, same_null_space
from dplib.consistency.integers.publication import PublicationPlan, TableMethod, plan_publication, publish_tables
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.consistency.series_classes import series_classes
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolved import parted, restrict, touched
from dplib.estimates.level_squares import level_squares
from dplib.jobs.consistent_histograms.config import Solver
from dplib.jobs.consistent_histograms.design import Design
from dplib.privacy.noise import Law
from dplib.privacy.noise_quantile import (
    LAPLACE95,
    Z95,
    DrawLaw,
    Draws,
    grouped,
    half_width,
    half_widths,
    product_grouped,
)
from dplib.progress import SILENT, Progress

MAX_WORK = 1 << 30
"""Nodes times the cube of the series that constraints join, up to which the law of a single answer is worked out."""
MAX_KINDS = 100
"""Answers of different laws to one question that are worked out one by one."""


def groups(design: Design, components: Sequence[IntArray]) -> list[IntArray]:
    """Series numbers of each independent problem: constrained components, then all other series together."""
    constrained = touched(design.constraints.day_constraints)
    linked = [group for group in components if constrained[group].any()]
    free = [group for group in components if not constrained[group].any()]
    return linked + ([np.sort(np.concatenate(free))] if free else [])


def least_squares_groups(design: Design) -> list[tuple[IntArray, tuple[DayConstraints, ...]]]:
    """The independent problems of the estimates: components that days and series factor for are solved together."""
    found = with_day_constraints(design, groups(design, design.constraints.components))
    if design.config.publish.solver.method not in ("auto", "commuting") or not _is_product(design):
        return found
    joined: list[tuple[IntArray, tuple[DayConstraints, ...]]] = []
    apart: list[tuple[IntArray, tuple[DayConstraints, ...]]] = []
    for group, day_constraints in found:
        linked = any(daily.n_constraints for daily in day_constraints)
        (joined if linked and same_null_space(day_constraints) else apart).append((group, day_constraints))
    if len(joined) < 2:
        return found
    together = np.sort(np.concatenate([group for group, _ in joined]))
    return [(together, day_constraints_of(design, together)), *apart]


def with_day_constraints(
    design: Design, chosen: Sequence[IntArray]
) -> list[tuple[IntArray, tuple[DayConstraints, ...]]]:
    """Groups of series with their day constraints."""
    parts = [parted(daily, chosen) for daily in design.constraints.day_constraints]
    return list(zip(chosen, zip(*parts, strict=True), strict=True))


def day_constraints_of(design: Design, group: IntArray) -> tuple[DayConstraints, ...]:
    """The day constraints of one group of series."""
    return tuple(restrict(daily, group) for daily in design.constraints.day_constraints)


def problem(design: Design, noisy: FloatArray) -> ConsistencyProblem:
    """The least-squares problem of a measurement of shape (n_nodes, n_series)."""
    return ConsistencyProblem(design.tree, noisy, design.variance, design.constraints.day_constraints)


def _is_product(design: Design) -> bool:
    """Whether the variances of all series are a node factor times a series factor as they stand."""
    return design.columns.n_columns == 1 or not design.exact_weights


def factors_of(design: Design, group: IntArray) -> tuple[FloatArray, FloatArray] | None:
    """Factors of the variances that some series are weighed by, of nodes and of these series; None without any."""
    if _is_product(design):
        return design.node_variance, design.series_variance[group]
    found = factor_variances(_cells(design, group))
    return None if found is None else (found[0][design.tree.level], found[1])


def variance_of(design: Design, group: IntArray) -> FloatArray:
    """Variances that some series are weighed by, shape (n_nodes, series of the group)."""
    if _is_product(design):
        return design.node_variance[:, None] * design.series_variance[group]
    return np.asarray(_cells(design, group)[design.tree.level], dtype=np.float64)


def _cells(design: Design, group: IntArray) -> FloatArray:
    """Exact variances at each level, shape (n_levels, series of the group)."""
    return np.where(design.constraints.measured[group], design.noise_variance[:, design.columns.of[group]], np.inf)


def node_laws(design: Design, column: int = 0) -> tuple[list[DrawLaw], IntArray]:
    """The laws of a column's noise at the levels that measure it, and the place of each node's, shape (n_nodes,)."""
    events = design.measurements[column :: design.columns.n_columns]
    place = np.cumsum([each is not None for each in events]) - 1
    laws = [DrawLaw.of(each.noise) for each in events if each is not None]
    return laws, np.maximum(place, 0)[design.tree.level].astype(np.int64)


def options(solver: Solver) -> SolverOptions:
    """Solver options of a configuration."""
    return SolverOptions(solver.tol, solver.max_rounds, accelerated=solver.acceleration != "none")


def solver_name(solver: Solver) -> str:
    """Key of `SOLVERS` that a configuration means, or ``auto``."""
    name = "alternating" if solver.method == "krylov" else solver.method
    assert name == "auto" or name in SOLVERS
    return name


def chosen_solvers(design: Design, solver: Solver) -> list[tuple[str, str]]:
    """Name and reason of the solver of each group, each pair once; settings only."""
    if solver.method != "auto":
        return [(solver.method, "The configuration names it.")]
    found = [_choice(design, group, day_constraints) for group, day_constraints in least_squares_groups(design)]
    return list(dict.fromkeys((each.name, each.reason) for each in found))


def _choice(design: Design, group: IntArray, day_constraints: tuple[DayConstraints, ...]) -> Choice:
    return choice(day_constraints, lambda: factors_of(design, group) is not None)


def _product_plan(design: Design, group: IntArray, day_constraints: tuple[DayConstraints, ...]) -> CommutingPlan | None:
    """The plan of series for which days and series factor; None for others."""
    factors = factors_of(design, group) if same_null_space(day_constraints) else None
    return None if factors is None else product_plan(design.tree, *factors, day_constraints)


def estimate(design: Design, noisy: FloatArray, solver: Solver, progress: Progress = SILENT) -> Solution:
    """Unbiased estimates of all nodes and series, shape (n_nodes, n_series).

    Args:
        design: the design.
        noisy: the measurement, shape (n_nodes, n_series); 0 where not measured.
        solver: the section `publish.solver`.
        progress: told of each round of an iterative solver.
    """
    values, solutions = np.empty(noisy.shape), []
    for group, day_constraints in least_squares_groups(design):
        name = solver_name(solver)
        name = _choice(design, group, day_constraints).name if name == "auto" else name
        plan = _product_plan(design, group, day_constraints) if name == "commuting" else None
        if plan is not None:
            solutions.append(Solution(plan.values(noisy[:, group]), name))
        else:
            own = ConsistencyProblem(design.tree, noisy[:, group], variance_of(design, group), day_constraints)
            solutions.append(solve(own, name, options(solver), progress))
        values[:, group] = solutions[-1].values
    names = dict.fromkeys(solution.solver for solution in solutions)
    rounds = max((solution.rounds for solution in solutions), key=len)
    return Solution(values, ", ".join(names), rounds, all(solution.converged for solution in solutions))


@dataclass(frozen=True, eq=False)
class _Part:
    """Errors of one independent problem.

    Attributes:
        series: its series.
        day_constraints: theirs.
        commuting: the plan where days and series factor.
        answers: variances of its range answers.
    """

    series: IntArray
    day_constraints: tuple[DayConstraints, ...]
    commuting: CommutingPlan | None
    answers: AnswerVariance


class Errors:
    """Exact errors of the least-squares estimates, from settings alone."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._ranges: dict[tuple[int, int], FloatArray] = {}
        self._coefficients: dict[tuple[int, int, int], FloatArray] = {}

    @cached_property
    def _parts(self) -> list[_Part]:
        design, found = self._design, []
        for group, day_constraints in least_squares_groups(design):
            plan = _product_plan(design, group, day_constraints)
            variance = variance_of(design, group) if plan is None else np.zeros((0, 0))
            answers = AnswerVariance(design.tree, variance, day_constraints, plan)
            found.append(_Part(group, day_constraints, plan, answers))
        return found

    @cached_property
    def _part_of(self) -> IntArray:
        """Which part each series belongs to, shape (n_series,)."""
        found = np.empty(len(self._design.series), dtype=np.int64)
        for number, part in enumerate(self._parts):
            found[part.series] = number
        return found

    def range_std_error(self, lo: int, hi: int) -> FloatArray:
        """Standard error of each series' count over the days ``lo <= t < hi``, shape (n_series,); read-only."""
        known = self._ranges.get((lo, hi))
        if known is not None:
            return known
        found = np.empty(len(self._design.series))
        if self._design.exact_weights:
            for part in self._parts:
                found[part.series] = np.sqrt(part.answers.variance(lo, hi))
        else:
            found[:] = self._of_squares(self._level_squares(lo, hi))
        # The charts of a page ask for the same months, which cost the cube of the series that constraints join.
        found.setflags(write=False)
        self._ranges[lo, hi] = found
        return found

    def sum_std_error(self, lo: int, hi: int, series: IntArray) -> float:
        """Standard error of the sum of some series' counts over the days ``lo <= t < hi``; covariances included."""
        weights = self._once_each(series)
        parts = [self._parts[number] for number in np.unique(self._part_of[series])]
        if self._design.exact_weights:
            return math.sqrt(math.fsum(part.answers.weighted_variance(lo, hi, weights[part.series]) for part in parts))
        columns, by_column = self._design.columns, np.zeros(self._design.columns.n_columns)
        for part in parts:
            assert part.commuting is not None
            squares = part.commuting.series.coefficients(weights[part.series]) ** 2
            by_column += np.bincount(columns.of[part.series], squares, columns.n_columns)
        return math.sqrt(self._level_squares(lo, hi) @ self._known_variance @ by_column)

    def _once_each(self, series: IntArray) -> FloatArray:
        return np.bincount(series, minlength=len(self._design.series)).astype(np.float64)

    def half_widths(self, lo: int, hi: int, series: IntArray, most: int = MAX_KINDS) -> FloatArray:
        """Half widths of the 95 % intervals of some series' counts over the days ``lo <= t < hi``.

        Args:
            lo: first day.
            hi: one past the last.
            series: numbers of the series, shape (m,).
            most: how many different laws are worked out (`dplib.privacy.noise_quantile.half_widths`).

        Returns:
            Shape (m,).
        """
        errors = self.range_std_error(lo, hi)[series]
        return half_widths(errors, lambda at: self.half_width(lo, hi, int(series[at])), most)

    def half_width(self, lo: int, hi: int, series: int) -> float:
        """Half width of the 95 % interval of one series' count over the days ``lo <= t < hi``.

        Where constraints that differ by day join too many series (`MAX_WORK`), the bound for any sum of draws is
        taken in place of the law: then up to 96.4 % are covered.
        """
        return self.sum_half_width(lo, hi, np.array([series]))

    def sum_half_width(self, lo: int, hi: int, series: IntArray) -> float:
        """The same of the sum of some series' counts."""
        draws = self.sum_draws(lo, hi, series)
        if draws is None:
            factor = LAPLACE95 if self._design.config.privacy.mechanism is Law.LAPLACE else Z95
            return factor * self.sum_std_error(lo, hi, series)
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
        variance = variance_of(design, part.series)
        n_classes = len(series_classes(variance, part.day_constraints).first)
        if design.tree.n_nodes * n_classes**3 > MAX_WORK:
            return None
        found = series_coefficients(design.tree, variance, part.day_constraints, weights, lo, hi)
        for column in columns:
            own = found[:, column_of == column]
            laws, place = node_laws(design, column)
            draws.extend(grouped(own.reshape(-1), laws, np.repeat(place, own.shape[1])))
        return draws

    def _on_tree(self, plan: CommutingPlan, lo: int, hi: int) -> FloatArray:
        key = (id(plan), lo, hi)
        if key not in self._coefficients:
            self._coefficients[key] = range_coefficients(self._design.tree, plan.node_variance, lo, hi)
        return self._coefficients[key]

    def node_std_error(self) -> FloatArray:
        """Standard error of every node, shape (n_nodes, n_series)."""
        if not self._design.exact_weights:
            return self._of_squares(level_squares(self._design.tree, self._design.level_variance))
        found = np.empty((self._design.tree.n_nodes, len(self._design.series)))
        for part in self._parts:
            found[:, part.series] = part.answers.standard_errors()
        return found

    def _level_squares(self, lo: int, hi: int) -> FloatArray:
        """Sums of the tree's squared coefficients of a range, shape (n_levels,)."""
        tree = self._design.tree
        squares = range_coefficients(tree, self._design.node_variance, lo, hi) ** 2
        return np.bincount(tree.level, squares, tree.n_levels).astype(np.float64)

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


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """Non-negative counts, consistent over the tree and exact in every constraint: integers, or the nearest reals.

    Attributes:
        counts: shape (n_nodes, n_series); meaningless for series that are not published.
        published: whether a series is, shape (n_series,).
    """

    counts: IntArray | FloatArray
    published: BoolArray


def publication_plans(design: Design) -> list[tuple[IntArray, PublicationPlan]]:
    """How the integer table of each group is made; settings only."""
    return [(group, plan) for group, _, plan in _publications(design)]


def _publications(design: Design) -> list[tuple[IntArray, tuple[DayConstraints, ...], PublicationPlan]]:
    found = with_day_constraints(design, groups(design, design.constraints.generator_components))
    return [(group, day_constraints, plan_publication(day_constraints)) for group, day_constraints in found]


def integer_tables(design: Design, values: FloatArray) -> PublishedTable:
    """Integer tables of all groups that have one.

    Args:
        design: the design.
        values: the estimates, shape (n_nodes, n_series).
    """
    counts = np.zeros(values.shape, dtype=np.int64)
    published = np.zeros(values.shape[1], dtype=bool)
    weights = design.constraints.measured.astype(np.float64)
    for group, day_constraints, plan in _publications(design):
        table = publish_tables(plan, design.tree, values[:, group], day_constraints, weights[group])
        if table is not None:
            counts[:, group] = table
            published[group] = True
    return PublishedTable(counts, published)


def publication_sentences(design: Design) -> list[str]:
    """What the plan and the report say about published tables."""
    if design.config.publish.counts == "reals":
        return [
            "Published: the non-negative real table nearest to the estimates, consistent over the tree and exact in "
            "every constraint; it is biased upwards where counts are small."
        ]
    plans = publication_plans(design)
    sentences = dict.fromkeys(plan.sentence for _, plan in plans)
    missing = [design.series[n] for group, plan in plans if plan.method is TableMethod.NOT_PUBLISHED for n in group]
    return [*sentences, *([f"Estimates only: {', '.join(missing)}."] if missing else [])]
