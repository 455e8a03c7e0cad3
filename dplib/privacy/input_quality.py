"""How much of the input was counted, for a small declared share of the budget: what it counts and what that costs.

*Rows.* Before any rule, at most q rows of each unit are kept, those whose keyed hash is least; a row without a unit is
a unit of its own. Each kept row adds 1 to exactly one counter: that of the first rule that drops it, or ``kept``, or
``clipped`` (it counts, with a value that a cap changed).

Proof. The hash looks at a row alone and the choice at one unit alone, so a unit more or less leaves the kept rows of
all others as they are, and with them their counters. Its own at most q rows add a vector of non-negative integers with
sum at most q: the L1 norm is at most q, and the square of the L2 norm at most q^2, with equality where all its rows
meet one rule. Replacing a unit takes one such vector away and adds another: the L1 norms add up to 2 q, and since both
are non-negative the square of their difference is at most the sum of their squares, 2 q^2. Where equal hashes meet,
content and counter are equal (both are hashed), so whichever row is kept, the counts are the same.

*Units above the cap.* Each unit of which more than m rows pass the rules adds 1. Whether it does depends on its own
rows alone: a unit more or less changes the number by at most 1, and so does replacing one (0 or 1 for 0 or 1).

*Edges.* A unit is all rows that name one pair. Between edge neighbours all rows of one pair come or go, and they all
have one counter where rows have no weight: q = 1, as for rows. Where rows have weights, neighbours may differ in any
rows of one pair, so its kept row may move from one counter to another: L1 2, L2^2 2, as if the pair were replaced. All
edges of one vertex would be as many rows as there are vertices: no bound, refused.

Both counts get exact integer noise of the release's own law, and compose with it: `QualityPlan.events`.
"""

from dataclasses import dataclass
from fractions import Fraction

from dplib.privacy.budget import ZCDP, PureDP
from dplib.privacy.noise import Noise, NoiseEvent

ROWS, UNITS = "rows by rule", "units above the cap"
KEPT, CLIPPED = "kept", "clipped"
UNITS_PART = Fraction(1, 4)
"""Of the share, where units have a cap."""


@dataclass(frozen=True)
class QualityPlan:
    """What is measured of the input, before its rows.

    Attributes:
        rows_per_unit: q.
        rows: the noise of each counter of rows.
        units: the noise of the number of units above the cap; None where units have none.
    """

    rows_per_unit: int
    rows: NoiseEvent
    units: NoiseEvent | None

    @classmethod
    def of(cls, budget: PureDP | ZCDP, rows_per_unit: int, replaces: bool, has_cap: bool) -> "QualityPlan":
        """Divide the share; neighbours may replace what a unit adds, or only add or remove it."""
        part = UNITS_PART if has_cap else Fraction(0)
        factor = 2 if replaces else 1
        rows = _measured(ROWS, budget, 1 - part, factor * rows_per_unit, factor * rows_per_unit**2)
        return cls(rows_per_unit, rows, _measured(UNITS, budget, part, 1, 1) if has_cap else None)

    @property
    def events(self) -> tuple[NoiseEvent, ...]:
        """What it spends."""
        return (self.rows,) if self.units is None else (self.rows, self.units)


def _measured(name: str, budget: PureDP | ZCDP, part: Fraction, l1: int, l2_squared: int) -> NoiseEvent:
    return Noise.within(budget.scaled(part), l1, l2_squared).event(f"input quality: {name}")
