"""How far values on a tree are from the constraints: the vector ``psi = M x - b`` in its two parts.

Notation: rows of M are, for each series, "parent minus the sum of its children" at every inner node, and ``B v_t`` at
the leaf of every day ``t``.

Reference: Cai, Liu, Xiong, Ying, Wu, Journal on Communications 42(6), 2021, equation 14.
"""

from collections.abc import Sequence

import numpy as np

from dplib.arrays import FloatArray
from dplib.constraints.day_constraints import DayConstraints
from dplib.trees.interval_tree import IntervalTree


def tree_residual(tree: IntervalTree, values: FloatArray) -> FloatArray:
    """Parent minus sum of children, of values of shape (n_nodes, n_series), in the same shape; 0 at leaves."""
    residual = np.zeros_like(values)
    for inner, children, offsets in tree.levels_up:
        residual[inner] = values[inner] - np.add.reduceat(values[children], offsets, axis=0)
    return residual


def daily_residual(
    tree: IntervalTree, day_constraints: Sequence[DayConstraints], values: FloatArray
) -> list[FloatArray]:
    """``B v_t - b`` of every day, one array for each of the day constraints, shape (its days, n_constraints)."""
    leaves = tree.leaf_nodes
    return [(daily.matrix @ values[leaves[daily.first : daily.end]].T).T - daily.rhs for daily in day_constraints]


def mean_square_residual(tree: IntervalTree, day_constraints: Sequence[DayConstraints], values: FloatArray) -> float:
    """Equation 14, in counts squared: the sum of ``psi^2`` over all constraints, divided by the number of values.

    It depends on how the rows of a day's matrix are scaled.
    """
    total = float((tree_residual(tree, values) ** 2).sum())
    total += sum(float((part**2).sum()) for part in daily_residual(tree, day_constraints, values))
    return total / values.size


def largest_residual(tree: IntervalTree, day_constraints: Sequence[DayConstraints], values: FloatArray) -> float:
    """The largest absolute ``psi`` of any constraint, in counts."""
    parts = [tree_residual(tree, values), *daily_residual(tree, day_constraints, values)]
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)
