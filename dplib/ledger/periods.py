"""Budgets that renew: one budget for each day, week, month, quarter or year, where the period is part of the unit.

*Guarantee.* Let an account renew by the period and have the unit "customer-month": two inputs are neighbours if they
differ by all rows that one customer has in one month (added or removed, or replaced by another's rows of that same
month). A row's month is that of its day as the account reads it: by one column, one pattern and one time zone, fixed
when the account is made. Then all releases of the account together, however they were chosen after seeing earlier
ones, lose at most one period's budget ``B`` for any two neighbours:

1. A run declares the days that it reads, and the ledger refuses it unless all lie in one period ``p`` of the account
   and are read by the account's clock. The job drops every other row, and every row without a readable day, before
   anything else looks at it, caps included; so what it publishes depends on the rows of ``p`` alone.
2. Fix neighbours that differ in one customer's rows of month ``q``. A run of another period has the same rows to read
   in both, hence the same distribution given all earlier answers: it loses nothing between the two. (A row lies in
   exactly one month, since there is one clock: were the day's column, pattern or time zone free, one row could be read
   in two months and be paid for in neither twice.)
3. The runs of ``q`` cost at most ``B`` in all, which the ledger enforces at each reservation, and costs of one currency
   add up under adaptive choice (epsilon, and rho of zero-concentrated DP, also where they are chosen adaptively below
   a fixed sum). So the whole sequence loses at most ``B``.

This is parallel composition over periods, interactive and with a sum inside each. It protects a customer's month, not
the customer: someone with rows in k months is protected by the group privacy of k units (k epsilon; k^2 rho). Hence
the unit's name must say the period, the configuration must name that unit, and every manifest and report does.

A row that is its own unit (unit ``event``) lies in one period by itself, and its name needs no period; neighbours are
then ``add_remove`` only, since a replaced event may move to another period and would change two of them.

Where the days come from: jobs whose rows have a day column and a declared window (`dplib.config.day_window`). All
others may read rows of any period, so they cannot draw on such an account. What the ledger cannot see is an operator
who edits the day of rows that were already counted, or feeds one event under two days: that must not happen.

*References*: McSherry, "Privacy Integrated Queries", SIGMOD 2009, theorem 4 (parallel composition); Rogers, Roth,
Ullman, Vadhan, "Privacy odometers and filters", NeurIPS 2016 (adaptive epsilon below a fixed sum); Feldman, Zrnic,
"Individual privacy accounting via a Renyi filter", NeurIPS 2021, theorem 3.1 (the same for rho).
"""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from dplib.config.day_window import DayClock, DayWindow
from dplib.privacy.neighbors import Neighbors
from dplib.validate import one_of, require


class Period(StrEnum):
    """How long a budget lasts; the value ends the name of a unit."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    def of(self, day: dt.date) -> str:
        """Name of the period that a day lies in: 2024-02-01, 2024-W05 (ISO 8601), 2024-02, 2024-Q1 or 2024."""
        year, week, _ = day.isocalendar()
        names = {
            Period.DAY: day.isoformat(),
            Period.WEEK: f"{year:04d}-W{week:02d}",
            Period.MONTH: f"{day.year:04d}-{day.month:02d}",
            Period.QUARTER: f"{day.year:04d}-Q{(day.month + 2) // 3}",
            Period.YEAR: f"{day.year:04d}",
        }
        return names[self]


ADVERBS = {
    "daily": Period.DAY,
    "weekly": Period.WEEK,
    "monthly": Period.MONTH,
    "quarterly": Period.QUARTER,
    "yearly": Period.YEAR,
}


def period_named(adverb: str) -> Period:
    """The period of ``--renew``."""
    return ADVERBS[one_of("--renew", adverb, ADVERBS)]


@dataclass(frozen=True)
class Renewal:
    """When an account's budget is new again, and the clock by which a row belongs to a period."""

    every: Period
    clock: DayClock

    def unit_of(self, unit: str) -> str:
        """The privacy unit with its period: customer-month."""
        return unit if unit == "event" or unit.endswith(f"-{self.every}") else f"{unit}-{self.every}"

    def period_of(self, account: str, window: DayWindow | None) -> str:
        """The one period that a run of these days reads.

        Raises:
            ConfigError: if it declares no days, or days of two periods, or reads them by another clock.
        """
        if window is None:
            rule = f"be an account without renewal, since this job declares no days and may read any {self.every}"
            require(False, "dataset", rule, account)
            raise AssertionError
        settings = {"column": "input.columns (day)", "date_format": "input.date_format", "timezone": "input.timezone"}
        for name, setting in settings.items():
            own, other = getattr(self.clock, name), getattr(window.clock, name)
            rule = f"be {own}, by which the account {account} tells its {self.every}s apart"
            require(own == other, setting, rule, other)
        first, last = self.every.of(window.first), self.every.of(window.last)
        rule = f"lie in one {self.every}, since the account {account} renews by the {self.every}"
        require(first == last, "the days read", rule, f"{window.first} to {window.last}")
        return first


def check_unit(unit: str, neighbors: Neighbors, renewal: Renewal | None) -> None:
    """Refuse a unit that promises a period which the account does not have, or hides one that it has.

    Raises:
        ConfigError: naming the unit or the neighbours.
    """
    if renewal is None:
        named = next((period for period in Period if unit.endswith(f"-{period}")), None)
        require(named is None, "unit", "end in a period only where the budget renews by it", unit)
        return
    require(unit == renewal.unit_of(unit), "unit", f"end in -{renewal.every}, by which the budget renews", unit)
    moves = unit == "event" and neighbors is not Neighbors.ADD_REMOVE
    require(not moves, "neighbors", "be add_remove where events have a budget that renews", neighbors)
