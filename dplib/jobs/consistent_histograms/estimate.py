"""Post-processing in one process: from the stored measurement to estimates, standard errors and integer tables.

Nothing here sees a row or draws noise, so it is free and can be run again with another solver. Series that no
constraint links are independent problems (*groups*): each constrained component is one, all unconstrained series
together are another. Errors depend on settings only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.choose import Choice, choice, solve
from dplib.consistency.commuting import CommutingPlan, factor_variances, product_plan, same_null_space
from dplib.consistency.integers.generator_space import GeneratorSpace
from dplib.consistency.integers.integer_tables import WHOLE, Start
from dplib.consistency.integers.publication import PublicationPlan, TableMethod, plan_publication, publish_tables
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolved import ResolvedConstraints, parted_days, touched
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.solver_config import Solver
from dplib.jobs.consistent_histograms.split import split_of
from dplib.progress import SILENT, Progress
from dplib.trees.interval_tree import IntervalTree

DRIVER_CELLS = 1 << 26
"""Cells (nodes x series) up to which `layout: auto` stays in one process: 512 MB an array."""
Groups = list[tuple[IntArray, tuple[DayConstraints, ...]]]
"""Groups of series with their day constraints."""
_independent: WeakKeyDictionary[ResolvedConstraints, Groups] = WeakKeyDictionary()
_published: "WeakKeyDictionary[ResolvedConstraints, list[_Publication]]" = WeakKeyDictionary()


def layout_of(design: Design) -> str:
    """Where the run's work is done; settings only."""
    solver = design.config.publish.solver
    layout = solver.layout
    if layout != "auto":
        return layout
    if solver.acceleration == "none" and "sums" in (solver.split or ()):
        return "driver"
    cells = design.tree.n_nodes * len(design.series)
    return "driver" if cells <= DRIVER_CELLS else "blocks"


def groups(design: Design, components: Sequence[IntArray]) -> list[IntArray]:
    """Series numbers of each independent problem: constrained components, then all other series together."""
    constrained = touched(design.constraints.day_constraints)
    linked = [group for group in components if constrained[group].any()]
    free = [group for group in components if not constrained[group].any()]
    return linked + ([np.sort(np.concatenate(free))] if free else [])


def least_squares_groups(design: Design) -> Groups:
    """The independent problems of the estimates: components that days and series factor for are solved together."""
    found = independent(design)
    if design.config.publish.solver.method not in ("auto", "commuting") or not _is_product(design):
        return found
    joined: Groups = []
    apart: Groups = []
    for group, day_constraints in found:
        linked = any(daily.n_constraints for daily in day_constraints)
        (joined if linked and same_null_space(day_constraints) else apart).append((group, day_constraints))
    if len(joined) < 2:
        return found
    together = np.sort(np.concatenate([group for group, _ in joined]))
    return [(together, day_constraints_of(design, together)), *apart]


def independent(design: Design) -> Groups:
    """Groups of series that no constraint links, with their day constraints."""
    # Estimates, their errors, the page and checks ask for the same: found once for as long as the constraints live.
    found = _independent.get(design.constraints)
    if found is None:
        found = _independent[design.constraints] = _with_days(design, groups(design, design.constraints.components))
    return found


def _with_days(design: Design, chosen: Sequence[IntArray]) -> Groups:
    parts = parted_days(design.constraints.day_constraints, chosen)
    return list(zip(chosen, map(tuple, parts), strict=True))


def day_constraints_of(design: Design, group: IntArray) -> tuple[DayConstraints, ...]:
    """The day constraints of one group of series."""
    return tuple(parted_days(design.constraints.day_constraints, [group])[0])


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


def level_factors_of(design: Design, group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Factors of the variances of some series: of levels, shape (n_levels, 1), and of these series.

    Where there are none, the variances at each level, shape (n_levels, series of the group), and the series' factors of
    least squares.
    """
    if _is_product(design):
        return design.level_variance[:, None], design.series_variance[group]
    cells = _cells(design, group)
    found = factor_variances(cells)
    return (cells, design.series_variance[group]) if found is None else (found[0][:, None], found[1])


def variance_of(design: Design, group: IntArray) -> FloatArray:
    """Variances that some series are weighed by, shape (n_nodes, series of the group)."""
    return np.asarray(level_variance_of(design, group)[design.tree.level], dtype=np.float64)


def level_variance_of(design: Design, group: IntArray) -> FloatArray:
    """The same of a node at each level, shape (n_levels, series of the group)."""
    if _is_product(design):
        return design.level_variance[:, None] * design.series_variance[group]
    return _cells(design, group)


def _cells(design: Design, group: IntArray) -> FloatArray:
    """Exact variances at each level, shape (n_levels, series of the group)."""
    return np.where(design.constraints.measured[group], design.noise_variance[:, design.columns.of[group]], np.inf)


def options(solver: Solver) -> SolverOptions:
    """Solver options of a configuration."""
    return SolverOptions(solver.tol, solver.max_rounds, accelerated=solver.acceleration != "none")


def chosen_solvers(design: Design, solver: Solver) -> list[tuple[str, str]]:
    """Name and reason of the solver of each group, each pair once; settings only."""
    if solver.method != "auto":
        return [(solver.method, "The configuration names it.")]
    found = [choice_of(design, group, day_constraints) for group, day_constraints in least_squares_groups(design)]
    return list(dict.fromkeys((each.name, each.reason) for each in found))


def choice_of(design: Design, group: IntArray, day_constraints: tuple[DayConstraints, ...]) -> Choice:
    """The cheapest exact solver of some series, from settings alone."""
    return choice(day_constraints, lambda: factors_of(design, group) is not None)


def commuting_plan_of(
    design: Design, group: IntArray, day_constraints: tuple[DayConstraints, ...]
) -> CommutingPlan | None:
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
        name = choice_of(design, group, day_constraints).name if solver.method == "auto" else solver.method
        plan = commuting_plan_of(design, group, day_constraints) if name == "commuting" else None
        if plan is not None:
            solutions.append(Solution(plan.values(noisy[:, group]), name))
        else:
            own = ConsistencyProblem(design.tree, noisy[:, group], variance_of(design, group), day_constraints)
            solutions.append(solve(own, name, replace(options(solver), split=split_of(design, group)), progress))
        values[:, group] = solutions[-1].values
    names = dict.fromkeys(solution.solver for solution in solutions)
    rounds = max((solution.rounds for solution in solutions), key=len)
    return Solution(values, ", ".join(names), rounds, all(solution.converged for solution in solutions))


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
    return [(each.group, each.plan) for each in _publications(design)]


@dataclass(frozen=True, eq=False)
class _Publication:
    """A group of series whose integer tables are made together: its day constraints, weights, plan and generators."""

    group: IntArray
    day_constraints: tuple[DayConstraints, ...]
    weights: FloatArray
    plan: PublicationPlan

    @cached_property
    def space(self) -> GeneratorSpace | None:
        """Of tables that are divided from the top."""
        if self.plan.method is not TableMethod.TOP_DOWN:
            return None
        return GeneratorSpace.from_day_constraints(self.day_constraints, self.weights)


def _publications(design: Design) -> list[_Publication]:
    # Every part of a stream is published by the constraints of the whole one.
    found = _published.get(design.constraints)
    if found is None:
        weights = design.constraints.measured.astype(np.float64)
        found = _published[design.constraints] = [
            _Publication(group, day_constraints, weights[group], plan_publication(day_constraints))
            for group, day_constraints in _with_days(design, groups(design, design.constraints.generator_components))
        ]
    return found


def integer_tables(
    design: Design, values: FloatArray, tree: IntervalTree | None = None, start: Start = WHOLE
) -> PublishedTable:
    """Integer tables of all groups that have one.

    Args:
        design: the design.
        values: the estimates, shape (n_nodes, n_series).
        tree: of the nodes; the design's where absent, else that of some of its days.
        start: these days among those of the design, and the level at which the division starts.
    """
    counts = np.zeros(values.shape, dtype=np.int64)
    published = np.zeros(values.shape[1], dtype=bool)
    tree = design.tree if tree is None else tree
    for each in _publications(design):
        own = (values[:, each.group], each.day_constraints, each.weights)
        table = publish_tables(each.plan, tree, *own, start=start, space=each.space)
        if table is not None:
            counts[:, each.group] = table
            published[each.group] = True
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
