"""What a configuration says about constraints: packages, totals, equations, each valid for a range of days.

Days are indices of the declared range, 0 to ``n_days - 1``; a range is ``first <= day < end``. A name may come more
than once with ranges that do not overlap: the package or group changed on that day.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Package:
    """A package on sale: every row that names it stands for these items.

    Attributes:
        name: the name that rows carry.
        contents: item -> multiplicity, positive integers.
        first: first day on sale.
        end: one past the last day; None for the end of the domain.
        setting: where it stands in the configuration, for messages.
    """

    name: str
    contents: Mapping[str, int]
    first: int = 0
    end: int | None = None
    setting: str = ""


@dataclass(frozen=True)
class Total:
    """A group whose count is the sum of its members' counts.

    Attributes:
        name: name of the series.
        members: items, or other totals.
        measured: whether the total gets a noisy count of its own (it then counts in the sensitivity).
        block: which block of ``totals`` it stands in: those of one form a grouping.
        first: first day on which it is counted; on other days the total is 0.
        end: one past the last day; None for the end of the domain.
        setting: where it stands in the configuration, for messages.
    """

    name: str
    members: tuple[str, ...]
    measured: bool = False
    first: int = 0
    end: int | None = None
    setting: str = ""
    block: int = 0


@dataclass(frozen=True)
class Equation:
    """A linear equation of each day's counts: ``sum coefficient * count = value``.

    Attributes:
        coefficients: item or total -> coefficient.
        value: public right-hand side of one day.
        invariant: declared a public invariant: true of the counted rows whatever they are, known to everyone. The
            guarantee is then conditional on it and needs replace-one neighbours. An equation that is not declared so
            must hold for every single row.
        first: first day.
        end: one past the last day; None for the end of the domain.
        setting: where it stands in the configuration, for messages.
    """

    coefficients: Mapping[str, int | Fraction]
    value: int | Fraction = 0
    invariant: bool = False
    first: int = 0
    end: int | None = None
    setting: str = ""
