"""Post-processing in one process: from the stored measurement to estimates, standard errors and integer tables.

Nothing here sees a row or draws noise, so it is free and can be run again with another solver. Series that no
constraint links are independent problems (*groups*): each constrained component is one, all unconstrained series
together are another. Errors depend on settings only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.answer_coefficients import range_coefficients, series_coefficients
from dplib.consistency.answer_variance import AnswerVariance
from dplib.consistency.choose import SOLVERS, choose, solve_components
from dplib.consistency.commuting import CommutingPlan, commuting_plan
from dplib.consistency.integers.publication import PublicationPlan, TableMethod, plan_publication, publish_tables
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolved import restrict, touched
from dplib.errors import SolverError
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


def day_constraints_of(design: Design, group: IntArray) -> tuple[DayConstraints, ...]:
    """The day constraints of one group of series."""
    return tuple(restrict(daily, group) for daily in design.constraints.day_constraints)


def problem(design: Design, noisy: FloatArray) -> ConsistencyProblem:
    """The least-squares problem of a measurement of shape (n_nodes, n_series)."""
    return ConsistencyProblem(design.tree, noisy, design.variance, design.constraints.day_constraints)


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
    empty = np.broadcast_to(np.zeros(1), (design.tree.n_nodes, len(design.series)))
    whole = problem(design, empty)
    found = [choose(whole.restrict(group)) for group in groups(design, design.constraints.components)]
    return list(dict.fromkeys((choice.name, choice.reason) for choice in found))


def estimate(design: Design, noisy: FloatArray, solver: Solver, progress: Progress = SILENT) -> Solution:
    """Unbiased estimates of all nodes and series, shape (n_nodes, n_series).

    Args:
        design: the design.
        noisy: the measurement, shape (n_nodes, n_series); ignored where not measured.
        solver: the section `publish.solver`.
        progress: told of each round of an iterative solver.
    """
    components = design.constraints.components
    return solve_components(problem(design, noisy), components, solver_name(solver), options(solver), progress)


class Errors:
    """Exact errors of the least-squares estimates, from settings alone."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._groups = groups(design, design.constraints.components)
        self._ranges: dict[tuple[int, int], FloatArray] = {}
        self._plans: dict[int, CommutingPlan | None] = {}
        self._coefficients: dict[tuple[int, int, int], FloatArray] = {}

    @cached_property
    def _parts(self) -> list[tuple[IntArray, AnswerVariance]]:
        design = self._design
        return [
            (group, AnswerVariance(design.tree, design.variance[:, group], day_constraints_of(design, group)))
            for group in self._groups
        ]

    def range_std_error(self, lo: int, hi: int) -> FloatArray:
        """Standard error of each series' count over the days ``lo <= t < hi``, shape (n_series,); read-only."""
        known = self._ranges.get((lo, hi))
        if known is not None:
            return known
        found = np.empty(len(self._design.series))
        if self._design.exact_weights:
            for group, part in self._parts:
                found[group] = np.sqrt(part.variance(lo, hi))
        else:
            level = self._design.level_variance
            squares = range_coefficients(self._design.tree, level[self._design.tree.level], lo, hi) ** 2
            found[:] = self._of_squares(np.bincount(self._design.tree.level, squares, len(level)).astype(np.float64))
        # The charts of a page ask for the same months, which cost the cube of the series that constraints join.
        found.setflags(write=False)
        self._ranges[lo, hi] = found
        return found

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
        draws = self._draws(lo, hi, series)
        if draws is None:
            factor = LAPLACE95 if self._design.config.privacy.mechanism is Law.LAPLACE else Z95
            return factor * float(self.range_std_error(lo, hi)[series])
        return half_width(draws)

    def _draws(self, lo: int, hi: int, series: int) -> tuple[Draws, ...] | None:
        """What the noise of an answer is made of; None where that is too much work."""
        design, tree = self._design, self._design.tree
        group = next(each for each in self._groups if series in each)
        own, column_of = int(np.flatnonzero(group == series)[0]), design.columns.of[group]
        day_constraints, variance = day_constraints_of(design, group), design.variance[:, group]
        plan = self._commuting(int(group[0]), variance, day_constraints)
        if plan is not None:
            inner = np.where(np.isfinite(plan.item_variance), plan.projector.matrix[own], 0.0)
            outer = self._on_tree(plan, lo, hi)
            parts = ((column, inner[column_of == column]) for column in np.unique(column_of).tolist())
            return tuple(
                draws
                for column, mine in parts
                if mine.any()
                for draws in product_grouped(outer, *node_laws(design, column), mine)
            )
        if tree.n_nodes * len(group) ** 3 > MAX_WORK:
            return None
        found = series_coefficients(tree, variance, day_constraints, own, lo, hi)
        return tuple(
            draws
            for column in np.unique(column_of).tolist()
            for draws in self._grouped(found[:, column_of == column], column)
        )

    def _grouped(self, coefficients: FloatArray, column: int) -> tuple[Draws, ...]:
        """The draws of one column's coefficients, shape (n_nodes, series of the column)."""
        laws, place = node_laws(self._design, column)
        return grouped(coefficients.reshape(-1), laws, np.repeat(place, coefficients.shape[1]))

    def _commuting(
        self, group: int, variance: FloatArray, day_constraints: tuple[DayConstraints, ...]
    ) -> CommutingPlan | None:
        if group not in self._plans:
            self._plans[group] = commuting_plan(self._design.tree, variance, day_constraints)
        return self._plans[group]

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
        for group, part in self._parts:
            found[:, group] = part.standard_errors()
        return found

    def _of_squares(self, squares: FloatArray) -> FloatArray:
        """Standard errors of all series from the tree's squared coefficients by level, shape (..., n_levels)."""
        known = np.where(np.isfinite(self._design.noise_variance), self._design.noise_variance, 0.0)
        return np.sqrt(squares @ known @ self._column_squares)

    @cached_property
    def _column_squares(self) -> FloatArray:
        """Sums of each series' squared coefficients on one node, by column, shape (n_columns, n_series)."""
        design, columns = self._design, self._design.columns
        found = np.zeros((columns.n_columns, len(design.series)))
        for group in self._groups:
            plan = self._commuting(int(group[0]), design.variance[:, group], day_constraints_of(design, group))
            if plan is None or not plan.projector.identifiable:
                raise SolverError(
                    "tree", "determine every count from its measured nodes", "settings that leave some open"
                )
            known = np.where(np.isfinite(plan.item_variance), plan.projector.matrix**2, 0.0)
            for column in range(columns.n_columns):
                found[column, group] = known[:, columns.of[group] == column].sum(axis=1)
        return found


@dataclass(frozen=True, eq=False)
class IntegerTables:
    """Non-negative integer counts, consistent over the tree and exact in every constraint.

    Attributes:
        counts: shape (n_nodes, n_series); meaningless for series that are not published.
        published: whether a series is, shape (n_series,).
    """

    counts: IntArray
    published: BoolArray


def publication_plans(design: Design) -> list[tuple[IntArray, PublicationPlan]]:
    """How the integer table of each group is made; settings only."""
    found = groups(design, design.constraints.generator_components)
    return [(group, plan_publication(day_constraints_of(design, group))) for group in found]


def integer_tables(design: Design, values: FloatArray) -> IntegerTables:
    """Integer tables of all groups that have one.

    Args:
        design: the design.
        values: the estimates, shape (n_nodes, n_series).
    """
    counts = np.zeros(values.shape, dtype=np.int64)
    published = np.zeros(values.shape[1], dtype=bool)
    weights = design.constraints.measured.astype(np.float64)
    for group, plan in publication_plans(design):
        table = publish_tables(plan, design.tree, values[:, group], day_constraints_of(design, group), weights[group])
        if table is not None:
            counts[:, group] = table
            published[group] = True
    return IntegerTables(counts, published)


def publication_sentences(design: Design) -> list[str]:
    """What the plan and the report say about integer tables."""
    plans = publication_plans(design)
    sentences = dict.fromkeys(plan.sentence for _, plan in plans)
    missing = [design.series[n] for group, plan in plans if plan.method is TableMethod.NOT_PUBLISHED for n in group]
    return [*sentences, *([f"Estimates only: {', '.join(missing)}."] if missing else [])]
