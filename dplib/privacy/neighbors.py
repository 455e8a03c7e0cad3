"""Neighbours: which two inputs a guarantee compares, and what it means for units made of several smaller ones.

References:
    Dwork, Roth, "The algorithmic foundations of differential privacy", 2014, theorem 2.2 (groups, pure);
    Vadhan, "The complexity of differential privacy", 2017, lemma 2.2 (groups, approximate);
    Bun, Steinke, "Concentrated differential privacy", TCC 2016, proposition 1.9 (groups, zCDP).
"""

from enum import StrEnum

from dplib.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dplib.privacy.rounding import exp_above, log_above, round_up
from dplib.validate import at_least, require


class Neighbors(StrEnum):
    """The relation between the two inputs that a guarantee makes hard to tell apart."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"
    EDGE = "edge"
    VERTEX = "vertex"
    LOCAL = "local"

    def describe(self, unit: str) -> str:
        """Say in plain words what differs between neighbours; ``unit`` names one privacy unit, such as ``order``."""
        called = "" if unit == self.value else f" ({unit})"
        return {
            Neighbors.ADD_REMOVE: f"two inputs are neighbours if one is the other with all rows of one {unit} removed",
            Neighbors.REPLACE_ONE: f"two inputs are neighbours if all rows of one {unit} are replaced by another's",
            Neighbors.EDGE: f"two graphs are neighbours if one is the other with one edge{called} removed",
            Neighbors.VERTEX: (
                f"two graphs are neighbours if one is the other with all edges of one vertex{called} removed"
            ),
            Neighbors.LOCAL: f"any two values of one {unit} are neighbours: each {unit}'s report is private by itself",
        }[self]


def group_privacy(budget: Budget, size: int) -> Budget:
    """Return what a guarantee for one unit promises for any ``size`` units together.

    Pure: ``size epsilon``. zCDP: ``size^2 rho``. Approximate: ``(size epsilon, size e^((size - 1) epsilon) delta)``,
    the delta rounded up to 15 digits.

    Raises:
        ConfigError: where the group's delta would reach 1, so that nothing is promised.
    """
    at_least("group size", size, 1)
    if size == 1:
        return budget
    if isinstance(budget, PureDP):
        return PureDP(size * budget.epsilon)
    if isinstance(budget, ZCDP):
        return ZCDP(size**2 * budget.rho)
    growth = (size - 1) * budget.epsilon
    rule = "keep the group's delta below 1"
    # Compared through the logarithm first: the exponential of a large group has too many digits to hold.
    require(growth < log_above(1 / budget.delta), "group size", rule, size)
    delta = round_up(size * exp_above(growth) * budget.delta)
    require(delta < 1, "group size", rule, size)
    return ApproxDP(size * budget.epsilon, delta)
