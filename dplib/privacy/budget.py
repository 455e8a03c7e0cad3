"""Budgets: how much privacy a release may use, in exact arithmetic.

Three kinds, named as in the literature: pure privacy (epsilon), approximate privacy (epsilon, delta) and
zero-concentrated privacy (rho). A dataset's account counts in one currency: pure epsilon, rho, or epsilon with delta.
What a release takes from it: `dplib.workflow.design.cost_of`.

References:
    Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006 (pure);
    Dwork, Kenthapadi, McSherry, Mironov, Naor, "Our data, ourselves", EUROCRYPT 2006 (approximate);
    Bun, Steinke, "Concentrated differential privacy", TCC 2016, proposition 1.4 (epsilon-private implies
    (epsilon^2 / 2)-zCDP) and lemma 1.7 (rho adds up).
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Self

from dplib.privacy.calibration import rho_from_approx
from dplib.privacy.rounding import as_fraction, exp_above, fraction_text, round_up, sqrt_above
from dplib.validate import between, positive


class _Amounts:
    """What budgets of all kinds do with their numbers, which are exact."""

    def scaled(self, weight: Fraction) -> Self:
        """Return the share ``weight`` of every number, so that shares which sum to one sum to this budget."""
        return type(self)(*(amount * weight for amount in vars(self).values()))

    def to_dict(self) -> dict[str, str]:
        """Return the budget as exact text, in the form of the configuration."""
        return {name: fraction_text(amount) for name, amount in vars(self).items()}


@dataclass(frozen=True, order=True)
class PureDP(_Amounts):
    """Pure differential privacy: no event's probability changes by more than a factor ``e^epsilon``."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", as_fraction("epsilon", self.epsilon)))

    def describe(self) -> str:
        """Say in plain words what the budget promises."""
        return f"epsilon {_shown(self.epsilon)}: {_likelihood(self.epsilon)}"


@dataclass(frozen=True)
class ApproxDP(_Amounts):
    """Approximate privacy: ``P(E) <= e^epsilon P'(E) + delta`` for every event ``E``."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", as_fraction("epsilon", self.epsilon)))
        delta = as_fraction("delta", self.delta)
        object.__setattr__(self, "delta", between("delta", delta, Fraction(0), Fraction(1)))

    def describe(self) -> str:
        """Say in plain words what the budget promises."""
        return (
            f"epsilon {_shown(self.epsilon)} at delta {_shown(self.delta)}: {_likelihood(self.epsilon)}, up to an added"
            f" probability of {_shown(self.delta)}"
        )


@dataclass(frozen=True, order=True)
class ZCDP(_Amounts):
    """Zero-concentrated privacy: the Rényi divergence of every order ``alpha > 1`` is at most ``alpha rho``."""

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("rho", as_fraction("rho", self.rho)))

    def describe(self) -> str:
        """Say in plain words what the budget promises."""
        return (
            f"rho {_shown(self.rho)} (zero-concentrated privacy): one privacy unit's data is as hard to notice as a"
            f" shift of {_shown(sqrt_above(2 * self.rho))} standard deviations of one Gaussian measurement"
        )


Budget = PureDP | ApproxDP | ZCDP


class Currency(StrEnum):
    """What an account counts in, fixed when it is created."""

    PURE = "pure"
    ZCDP = "zcdp"
    APPROX = "approx"
    """Epsilon and delta, each with a total that its sum may not exceed; see `dplib.workflow.design.cost_of`."""


def rho_of(budget: ApproxDP | ZCDP) -> Fraction:
    """Return the rho that noise is calibrated to; of an approximate budget the largest that converts to it."""
    return rho_from_approx(budget.epsilon, budget.delta) if isinstance(budget, ApproxDP) else budget.rho


def epsilon_or_rho(budget: Budget) -> Fraction:
    """Return the one number that parts of a budget add up to: epsilon of a pure budget, else `rho_of`."""
    return budget.epsilon if isinstance(budget, PureDP) else rho_of(budget)


def _shown(value: Fraction) -> str:
    return f"{float(round_up(value, 4)):g}"


def _likelihood(epsilon: Fraction) -> str:
    if epsilon > 20:
        return "so large that it protects nobody by itself"
    factor = float(round_up(exp_above(epsilon), 3))
    return f"one privacy unit's data changes the probability of any published result at most {factor:g}-fold"
