"""LBLUE: every parent-children equation is a sub-problem of its own, solved in turn until nothing moves.

The projection onto one equation ``x_parent = sum x_child`` shares the difference out by variance over the parent and
its children. Equations of one level touch different nodes and are taken at once, the levels from the bottom up; then
every day is projected onto its own constraints. A special case of the alternation of equation 8.

Guarantee: converges to the optimum for any tree with measured nodes (the root may be unmeasured), at a rate that falls
with the number of days; the reference for `tree_blue`, which needs one pass. Cost: O(n_nodes n_series) a round.

References: Y. Wu, H. Chen, Y. Wang, "Differentially private histogram publication for arbitrary interval trees"
(LBLUE), Pattern Recognition and Artificial Intelligence 28(12), 2015; Cai et al., Journal on Communications 42(6),
2021, section 2 and equation 8.
"""

from functools import reduce

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.day_projection import project_days
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.consistency.unmeasured import measured_part
from dplib.errors import SolverError
from dplib.progress import SILENT, Progress, Round
from dplib.projection.alternating import Map, alternate
from dplib.projection.residual import mean_square_residual
from dplib.trees.interval_tree import IntervalTree


def equation_maps(tree: IntervalTree, variance: FloatArray) -> list[Map]:
    """The projections onto the parent-children equations of each level, from the bottom up.

    Args:
        tree: the tree.
        variance: shape (n_nodes, n_series), finite; the root's may be infinite (its equation then moves it alone).
    """
    return [_shared_out(tree, variance, *level) for level in tree.levels_up]


def _shared_out(tree: IntervalTree, variance: FloatArray, inner: IntArray, children: slice, offsets: IntArray) -> Map:
    """The difference of each equation of a level, shared out by variance."""
    own, below = variance[inner], variance[children]
    free = np.isinf(own)
    total = np.where(free, 0.0, own) + np.add.reduceat(below, offsets, axis=0)
    up = np.where(free, 1.0, np.where(free, 1.0, own) / total)
    down, count = np.where(free, 0.0, 1.0 / total), tree.child_count[inner]

    def share_out(values: FloatArray) -> FloatArray:
        moved = values.copy()
        difference = moved[inner] - np.add.reduceat(moved[children], offsets, axis=0)
        moved[inner] -= up * difference
        moved[children] += below * np.repeat(down * difference, count, axis=0)
        return moved

    return share_out


def equation_sweep(tree: IntervalTree, variance: FloatArray) -> Map:
    """All of them, one level after the other: a map of values of shape (n_nodes, n_series)."""
    maps = equation_maps(tree, variance)
    return lambda values: reduce(lambda moved, each: each(moved), maps, values)


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Repeat the equations of all levels, then the days, until the stop rule.

    Args:
        problem: nodes below the root measured in every series that is measured at all.
        options: stop rule.
        progress: told of each round.

    Raises:
        SolverError: if a node below the root is not measured.
    """
    options = options or SolverOptions()
    measured = measured_part(problem)
    part = measured.part
    if not np.isfinite(part.variance[1:] if part.tree.n_nodes > 1 else part.variance).all():
        raise SolverError("solver", "be another than lblue where nodes below the root are not measured")
    maps: list[Map] = [equation_sweep(part.tree, part.variance)]
    if any(daily.n_constraints for daily in part.day_constraints):
        maps.append(project_days(part.day_constraints, part.variance, part.tree.leaf_nodes))
    rounds: list[Round] = []

    def record(number: int, change: float, deviation: float) -> None:
        rounds.append(Round(number, change, deviation))
        progress.round(rounds[-1])

    result = alternate(
        maps,
        part.measured,
        options.tol,
        options.max_rounds,
        lambda values: mean_square_residual(part.tree, part.day_constraints, values),
        record,
    )
    return Solution(measured.restore(result.values), "lblue", tuple(rounds), result.converged)
