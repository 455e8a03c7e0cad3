"""Boosting: least squares on a complete k-ary tree with equal variances, by the closed form of Hay et al.

With heights counted from 1 at the leaves, a node of height h over k^(h-1) days:

    up:    z = ((k^h - k^(h-1)) y + (k^(h-1) - 1) sum of the children's z) / (k^h - 1)
    down:  x = z + (x_parent - sum of the siblings' z, its own included) / k

Guarantee: the exact optimum of a problem without day constraints; other trees, variances and constraints are refused
(the tree step of algorithm 1 is `tree_blue`, which equals this one where both apply). Cost: O(n_nodes) a series.

Reference: M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the accuracy of differentially private histograms through
consistency", PVLDB 3(1), 2010, theorem 3.
"""

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.errors import SolverError
from dplib.progress import SILENT, Progress
from dplib.trees.interval_tree import IntervalTree


def branching_of(tree: IntervalTree) -> int | None:
    """The k of a complete k-ary tree (1 for a single node), None for any other."""
    sizes = np.diff(tree.level_start)
    if len(sizes) == 1:
        return 1
    k = int(sizes[1])
    complete = k > 1 and np.array_equal(sizes, [k**level for level in range(len(sizes))])
    return k if complete and bool(np.isin(tree.child_count, (0, k)).all()) else None


def boost(noisy: FloatArray, k: int, n_levels: int) -> FloatArray:
    """Both passes on a complete k-ary tree in breadth-first order.

    Args:
        noisy: shape (n_nodes, n_series).
        k: children of an inner node.
        n_levels: number of levels.

    Returns:
        Consistent estimates, shape (n_nodes, n_series).
    """
    if n_levels == 1:
        return noisy.copy()
    starts = np.cumsum([0] + [k**level for level in range(n_levels)])
    values = noisy.copy()

    def by_parent(level: int) -> FloatArray:
        return values[starts[level] : starts[level + 1]].reshape(-1, k, values.shape[1])

    for level in range(n_levels - 2, -1, -1):
        power = float(k) ** (n_levels - level - 1)
        nodes = slice(starts[level], starts[level + 1])
        values[nodes] = ((k * power - power) * noisy[nodes] + (power - 1) * by_parent(level + 1).sum(axis=1)) / (
            k * power - 1
        )
    for level in range(n_levels - 1):
        children = by_parent(level + 1)
        difference = values[starts[level] : starts[level + 1]] - children.sum(axis=1)
        children += difference[:, None, :] / k
    return values


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Solve a problem without day constraints on a complete tree with equal variances.

    Args:
        problem: the problem; each series may have a variance of its own.
        options: ignored.
        progress: not used.

    Raises:
        SolverError: if the tree is not complete, the variances differ by node, or a day is constrained.
    """
    k = branching_of(problem.tree)
    if k is None:
        raise SolverError("solver", "be another than boosting where the tree is not a complete k-ary tree")
    first = problem.variance[0]
    if not (np.isfinite(first).all() and bool((problem.variance == first).all())):
        raise SolverError("solver", "be another than boosting where variances differ by node or are infinite")
    if any(daily.n_constraints for daily in problem.day_constraints):
        raise SolverError("solver", "be one that takes day constraints", "boosting")
    return Solution(boost(problem.noisy, k, problem.tree.n_levels), "boosting")
