"""Laws of budgets that renew, against a dictionary of sums by period."""

import datetime as dt
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.errors import BudgetError, IntegrityError
from dplib.ledger.chain import seal
from dplib.ledger.periods import ADVERBS, Period
from dplib.ledger.replay import LedgerState

CLOCK = {"column": "day", "date_format": "yyyy-MM-dd", "timezone": "UTC"}
FIRST = dt.date(2023, 12, 20)
RUNS = st.lists(
    st.tuples(
        st.integers(0, 400),
        st.sampled_from([0, 1, 6, 20, 40]),
        st.fractions(Fraction(1, 12), Fraction(2, 3), max_denominator=12),
    ),
    max_size=14,
)


def entry_of(state: LedgerState, number: int, kind: str, body: dict[str, object]) -> None:
    fields = {"previous": "", "dataset": "shop", "who": "", "at": "", "why": ""}
    run = number if kind == "reserve" else None
    state.apply(seal(sequence=number, kind=kind, run=run, body=json.dumps(body), **fields))


@given(every=st.sampled_from(list(Period)), runs=RUNS)
def test_no_period_ever_pays_more_than_its_budget_and_each_pays_all_of_it(
    every: Period, runs: list[tuple[int, int, Fraction]]
) -> None:
    state = LedgerState()
    account = {"currency": "pure", "unit": f"customer-{every}", "neighbors": "add_remove", "budget": "1", "delta": None}
    entry_of(state, 1, "account", account | {"renewal": {"every": every, "clock": CLOCK}})
    spent: dict[str, Fraction] = {}
    for number, (start, length, cost) in enumerate(runs, 2):
        first = FIRST + dt.timedelta(days=start)
        last = first + dt.timedelta(days=length)
        body = {"job": "j", "logical_date": "", "settings_hash": "h", "cost": str(cost)}
        body |= {"days": {"first": first.isoformat(), "last": last.isoformat(), "clock": CLOCK}}
        periods = {every.of(first + dt.timedelta(days=day)) for day in range(length + 1)}
        if len(periods) > 1:
            with pytest.raises(IntegrityError):
                entry_of(state, number, "reserve", body)
            continue
        (period,) = periods
        if spent.get(period, Fraction(0)) + cost > 1:
            with pytest.raises(BudgetError):
                entry_of(state, number, "reserve", body)
        else:
            entry_of(state, number, "reserve", body)
            spent[period] = spent.get(period, Fraction(0)) + cost
    assert state.periods("shop") == sorted(spent)
    for period, sum_of_costs in spent.items():
        assert state.balance("shop", period).reserved == sum_of_costs <= 1


def test_every_period_has_an_adverb() -> None:
    assert set(ADVERBS.values()) == set(Period)
