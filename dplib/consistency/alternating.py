"""Algorithm 1: all trees, then all days, again and again; with other splits, and with conjugate gradients.

The series' trees are independent of each other, and so are the days: each half of a round is one set of projections.
Splits: trees and days (algorithm 1), every sum by itself and days (as in `lblue`), trees and nodes (the day constraints
at every node, which commutes with the trees and ends after one round where `commuting` applies), and any groups of day
constraints. Rounds are accelerated unless that is switched off: the same projections there and back, but conjugate
directions.

Guarantee: converges to the optimum for every split (von Neumann, Halperin). With packages on the leaves only, the error
of the grand total shrinks by 1 - 1/(2T - 1) a round, T days: the mean change falls below any threshold long before the
totals are right. Accelerated: 7 / 17 / 29 / 44 rounds for T = 32 / 1,024 / 16,384 / 131,072 to 1e-12.
Cost: O(n_nodes n_series^2) a round.

References: Cai, Liu, Xiong, Ying, Wu, Journal on Communications 42(6), 2021, algorithm 1, equations 8 and 14, section
8.2 (stop rule); I. Halperin, "The product of projection operators", Acta Sci. Math. 23, 1962.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dplib.arrays import BoolArray, FloatArray
from dplib.consistency.commuting import same_null_space
from dplib.consistency.day_projection import RowProjection, day_points, project_days
from dplib.consistency.equal_rows import ClassIndex, row_classes
from dplib.consistency.lblue import equation_maps, equation_sweep
from dplib.consistency.problem import SUMS, TREES, ConsistencyProblem, Solution, SolverOptions, SplitPart
from dplib.consistency.unmeasured import measured_part, without_unmeasured
from dplib.errors import SolverError
from dplib.estimates.tree_blue import downward, tree_gains, upward
from dplib.progress import SILENT, Progress, Round
from dplib.projection.affine import projector
from dplib.projection.alternating import Alternation, Map, OnRound, alternate, conjugate_sweeps
from dplib.projection.residual import mean_square_residual
from dplib.trees.interval_tree import IntervalTree

PLAIN, ACCELERATED = "alternating", "alternating (conjugate gradients)"
"""What a solution says of its rounds."""


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Alternate until the mean absolute change of a round is below ``options.tol``.

    Args:
        problem: leaves measured in every series that is measured at all; for splits with sums or nodes, inner nodes
            too (below the root).
        options: stop rule, split and acceleration.
        progress: told of each round with its change and ``mse_s``.

    Raises:
        SolverError: if a leaf is not measured, or the split does not take the problem.
    """
    options = options or SolverOptions()
    measured = measured_part(problem)
    part = measured.part
    options = replace(options, split=measured_split(options.split, measured.is_measured))
    if not np.isfinite(part.variance[part.tree.leaf_nodes]).all():
        raise SolverError("solver", "be another than alternating where days are not measured")
    rounds: list[Round] = []

    def record(number: int, change: float, deviation: float) -> None:
        rounds.append(Round(number, change, deviation))
        progress.round(rounds[-1])

    def deviation(values: FloatArray) -> float:
        return mean_square_residual(part.tree, part.day_constraints, values)

    if options.accelerated:
        result = accelerated_rounds(part, options, deviation, record)
    else:
        maps = [_projection(part, each) for each in options.split]
        result = alternate(maps, part.measured, options.tol, options.max_rounds, deviation, record)
    name = ACCELERATED if options.accelerated else PLAIN
    return Solution(measured.restore(result.values), name, tuple(rounds), result.converged)


def tree_projection(tree: IntervalTree, variance: FloatArray) -> Map:
    """The weighted projection of every series onto consistent trees."""
    shared = variance[:, :1]
    gains = tree_gains(tree, shared if bool((variance == shared).all()) else variance)
    return lambda values: downward(gains, upward(gains, values))


def _projection(part: ConsistencyProblem, chosen: SplitPart) -> Map:
    """The projection on one group of a split."""
    if chosen.kind == "trees":
        return tree_projection(part.tree, part.variance)
    if chosen.kind != "days" and not np.isfinite(part.variance[1:]).all():
        raise SolverError("solver.split", "be of trees and days where inner nodes are not measured", chosen.kind)
    if chosen.kind == "sums":
        return equation_sweep(part.tree, part.variance)
    if chosen.kind == "nodes":
        return _node_projection(part)
    return project_days(chosen.day_constraints or part.day_constraints, part.variance, part.tree.leaf_nodes)


def measured_split(split: Sequence[SplitPart], is_measured: BoolArray) -> tuple[SplitPart, ...]:
    """What the groups of a split say of the measured series alone."""
    return tuple(
        each
        if each.day_constraints is None
        else replace(each, day_constraints=without_unmeasured(each.day_constraints, is_measured))
        for each in split
    )


def besides_sums(split: Sequence[SplitPart]) -> tuple[bool, tuple[SplitPart, ...]]:
    """Whether a split sums days by whole trees, which hold each sum by itself too, and its other groups."""
    by_trees = any(each.kind == "trees" for each in split)
    return by_trees, tuple(each for each in split if each.kind not in ("trees", "sums"))


def _node_projection(part: ConsistencyProblem) -> Map:
    """The day constraints at every measured node, each node's right-hand side the sum of its days'."""
    if not same_null_space(part.day_constraints):
        raise SolverError("solver.split", "be of trees and days where constraints differ by day", "nodes")
    nodes = np.flatnonzero(np.isfinite(part.variance).all(axis=1))
    of, first = row_classes(part.variance[nodes])
    homogeneous = part.day_constraints[0].homogeneous
    projectors = np.array([projector(homogeneous, part.variance[nodes[row]]).matrix for row in first])
    points = day_points(part.day_constraints)
    sums = None if points is None else np.asarray(part.tree.sums(points), dtype=np.float64)[nodes]
    return RowProjection(nodes, ClassIndex(of, len(first)), projectors, sums)


def accelerated_rounds(
    part: ConsistencyProblem,
    options: SolverOptions,
    deviation: Callable[[FloatArray], float] | None = None,
    record: OnRound | None = None,
) -> Alternation:
    """Conjugate gradients on sweeps through the groups of the split, from inside the trees (or the first sums).

    Args:
        part: a problem whose series are all measured, its days too.
        options: stop rule and split.
        deviation: measures inconsistency for ``record``.
        record: called with the number of a round, its mean absolute change and the deviation after it.
    """
    by_trees, others = besides_sums(options.split)
    first = _projection(part, TREES if by_trees else SUMS)
    maps = [first] if by_trees else equation_maps(part.tree, part.variance)[::-1]
    maps += [_projection(part, each) for each in others]
    weight = np.where(np.isfinite(part.variance), 1.0 / part.variance, 0.0)
    return conjugate_sweeps(maps, part.measured, weight, options.tol, options.max_rounds, deviation, record)
