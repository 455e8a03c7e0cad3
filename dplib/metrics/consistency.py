"""How consistent values on a tree are; no true count enters.

Reference: Cai, Liu, Xiong, Ying, Wu, "Approximation method of multiple consistency constraint under differential
privacy", Journal on Communications 42(6), 2021, equation 14.
"""

from collections.abc import Sequence

from dplib.arrays import FloatArray
from dplib.constraints.day_constraints import DayConstraints
from dplib.projection.residual import largest_residual, mean_square_residual
from dplib.trees.interval_tree import IntervalTree


def mse_s(tree: IntervalTree, day_constraints: Sequence[DayConstraints], values: FloatArray) -> float:
    """Consistency deviation: ``sum psi^2 / (c |T|)`` with ``psi = M x - b`` (equation 14).

    Args:
        tree: the tree, ``|T|`` its number of nodes.
        day_constraints: consecutive day constraints that cover all days.
        values: shape (n_nodes, n_series).

    Returns:
        In counts squared; 0 for consistent values. It depends on how the rows of a day's matrix are scaled.
    """
    return mean_square_residual(tree, day_constraints, values)


def largest_violation(tree: IntervalTree, day_constraints: Sequence[DayConstraints], values: FloatArray) -> float:
    """The largest absolute difference in any parent-children equation or day constraint, in counts."""
    return largest_residual(tree, day_constraints, values)
