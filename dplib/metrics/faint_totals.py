"""Which totals of a release are no larger than their noise alone makes totals: a sign that nothing was counted.

A wrong date pattern or a misspelt name is no error: the rows are outside the domain, noise is published and the budget
is gone. So every series of a release (an item, a group, a statistic, a cluster) is held against the upper quantile of
its noise at ``1 - 0.05 / n``, n the number of series: where nothing at all was counted, *every* one of them stays below
with a probability of at least 95 % (Bonferroni), whatever depends on what.

Post-processing of noisy values and public settings: costs no privacy. A total below its quantile need not be 0, it may
also be small for its noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dplib.privacy import noise_quantile
from dplib.privacy.noise_quantile import DrawLaw, Draws, one_draw
from dplib.privacy.noise_tail import upper_quantile

LEVEL = 0.05
"""Probability at most that a release of noise alone has a series that is not named."""


@dataclass(frozen=True)
class NoisyTotal:
    """One series with the noise of its total.

    Attributes:
        name: public name.
        value: noisy total.
        std_error: of the value; NaN where it is not known: such a series cannot be judged. 0 where it is exact.
        draws: the draws that make up its noise, up to one factor for all; none where their sum counts as normal.
    """

    name: str
    value: float
    std_error: float
    draws: tuple[Draws, ...] = ()

    def bound(self, tail: float) -> float:
        """What its noise alone exceeds with a probability of at most ``tail``."""
        # Many small draws: a sum of Gaussians is what it is close to.
        draws = self.draws or _NORMAL
        return self.std_error / noise_quantile.std_error(draws) * upper_quantile(draws, tail)


_ROUNDING = 1 + 1e-9
"""A whole number on its bound is no larger than it, however the bound's factors were rounded."""
_NORMAL = one_draw(DrawLaw("normal", 1.0))


@dataclass(frozen=True)
class FaintTotals:
    """What the comparison found.

    Attributes:
        n_judged: series that have a known noise.
        names: those whose total is no larger than their noise's quantile.
    """

    n_judged: int
    names: tuple[str, ...]

    @property
    def everything(self) -> bool:
        """Whether no series stands out."""
        return self.n_judged > 0 and len(self.names) == self.n_judged

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, for the manifest's ``details``."""
        return {"judged": self.n_judged, "names": list(self.names), "everything": self.everything}


def find_faint(totals: Sequence[NoisyTotal]) -> FaintTotals:
    """Hold every total against its noise."""
    judged = [each for each in totals if math.isfinite(each.value) and math.isfinite(each.std_error)]
    tail = LEVEL / max(len(judged), 1)
    return FaintTotals(len(judged), tuple(each.name for each in judged if each.value <= each.bound(tail) * _ROUNDING))
