import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.config.day_window import DayClock, DayWindow
from dplib.errors import BudgetError, ConfigError
from dplib.ledger.ledger import Ledger
from dplib.ledger.periods import ADVERBS, Period, Renewal, check_unit, period_named
from dplib.ledger.runs import Balance, Run, RunKey, Terms
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from tests.support.ledgers import Place, exported, measurement, url_of

CLOCK = DayClock("OrderDate", "yyyy-MM-dd", "UTC")
MONTHLY = Renewal(Period.MONTH, CLOCK)
TERMS = Terms(Currency.PURE, "customer-month", Neighbors.ADD_REMOVE)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def window(first: str, last: str, clock: DayClock = CLOCK) -> DayWindow:
    return DayWindow(day(first), day(last), clock)


def monthly(place: Place) -> Ledger:
    ledger = Ledger.open(url_of(place), create=True)
    ledger.create_account("shop", TERMS, Fraction(1), renewal=MONTHLY)
    return ledger


def reserve(ledger: Ledger, days: DayWindow | None, cost: Fraction, name: str = "h") -> Run:
    return ledger.reserve(RunKey("shop", "job", "", name), TERMS, cost, "", window=days)


@pytest.mark.parametrize(
    ("adverb", "text", "name"),
    [
        ("daily", "2024-02-29", "2024-02-29"),
        ("weekly", "2024-12-30", "2025-W01"),
        ("weekly", "2021-01-03", "2020-W53"),
        ("monthly", "2024-02-29", "2024-02"),
        ("quarterly", "2024-03-31", "2024-Q1"),
        ("quarterly", "2024-04-01", "2024-Q2"),
        ("yearly", "2024-12-31", "2024"),
    ],
)
def test_names_of_periods(adverb: str, text: str, name: str) -> None:
    assert period_named(adverb).of(day(text)) == name


def test_unknown_periods_are_refused() -> None:
    with pytest.raises(ConfigError, match="--renew must be one of daily, monthly, quarterly, weekly, yearly"):
        period_named("hourly")


@given(st.dates(dt.date(1, 1, 8), dt.date(9999, 12, 20)), st.sampled_from(sorted(ADVERBS)))
def test_periods_are_runs_of_days(one: dt.date, adverb: str) -> None:
    """A period is an interval, so that two days in it mean that all days between are: the window's ends decide."""
    period, step = ADVERBS[adverb], dt.timedelta(days=1)
    last = one
    while period.of(last + step) == period.of(one) and (last - one).days < 400:
        last += step
    assert (last - one).days < 366
    later = last + step
    assert all(period.of(later + n * step) != period.of(one) for n in range(4))


def test_each_period_has_the_whole_budget_and_no_more(place: Place) -> None:
    ledger = monthly(place)
    january = reserve(ledger, window("2024-01-01", "2024-01-31"), Fraction(3, 4), "a")
    assert january.period == "2024-01"
    ledger.record_measurement(january, measurement())
    with pytest.raises(BudgetError, match=r"must have epsilon 0.5 left in 2024-01 for this release, got 0.25 of 1"):
        reserve(ledger, window("2024-01-05", "2024-01-05"), Fraction(1, 2), "b")
    with pytest.raises(BudgetError, match="2024-01"):
        ledger.check_payable(RunKey("shop", "job", "", "b"), Fraction(1, 2), window=window("2024-01-05", "2024-01-05"))
    february = reserve(ledger, window("2024-02-01", "2024-02-29"), Fraction(1), "b")
    reserve(ledger, window("2024-01-07", "2024-01-08"), Fraction(1, 4), "c")
    assert ledger.balance("shop", period="2024-01") == Balance(Fraction(1), Fraction(3, 4), Fraction(1, 4))
    assert ledger.balance("shop", period="2024-02").left == 0
    assert ledger.balance("shop", period="2024-03").left == 1
    assert ledger.balance("shop", at=january.sequence, period="2024-01").reserved == Fraction(3, 4)
    ledger.void(february, "wrong")
    assert ledger.balance("shop", period="2024-02").left == 1
    assert ledger.audit() == []
    assert [run.period for run in Ledger.open(url_of(place)).runs("shop")] == ["2024-01", "2024-02", "2024-01"]


@pytest.mark.parametrize(
    ("days", "named"),
    [
        (None, r"^dataset must be an account without renewal"),
        (window("2024-01-31", "2024-02-01"), r"^the days read must lie in one month"),
        (window("2023-01-01", "2024-01-01"), r"^the days read must lie in one month"),
        (
            window("2024-01-01", "2024-01-01", DayClock("Delivered", "yyyy-MM-dd", "UTC")),
            r"^input.columns \(day\) must",
        ),
        (window("2024-01-01", "2024-01-01", DayClock("OrderDate", "dd/MM/yyyy", "UTC")), r"^input.date_format must"),
        (
            window("2024-01-01", "2024-01-01", DayClock("OrderDate", "yyyy-MM-dd", "Europe/Paris")),
            r"^input.timezone must",
        ),
    ],
)
def test_a_run_that_may_read_another_period_is_refused_with_the_reason(
    days: DayWindow | None, named: str, place: Place
) -> None:
    ledger = monthly(place)
    with pytest.raises(ConfigError, match=named) as caught:
        reserve(ledger, days, Fraction(1, 2))
    assert "shop" in str(caught.value)
    with pytest.raises(ConfigError, match=named):
        ledger.check_payable(RunKey("shop", "job", "", "h"), Fraction(1, 2), window=days)
    assert len(exported(ledger)) == 1


def test_the_unit_says_the_period_and_nothing_else_does() -> None:
    assert MONTHLY.unit_of("customer") == MONTHLY.unit_of("customer-month") == "customer-month"
    check_unit("customer-month", Neighbors.REPLACE_ONE, MONTHLY)
    check_unit("event", Neighbors.ADD_REMOVE, MONTHLY)
    check_unit("customer", Neighbors.ADD_REMOVE, None)
    for unit, neighbors, renewal, named in (
        ("customer", Neighbors.ADD_REMOVE, MONTHLY, "unit must end in -month"),
        ("customer-day", Neighbors.ADD_REMOVE, MONTHLY, "unit must end in -month"),
        ("customer-month", Neighbors.ADD_REMOVE, None, "unit must end in a period only where"),
        ("event", Neighbors.REPLACE_ONE, MONTHLY, "neighbors must be add_remove"),
    ):
        with pytest.raises(ConfigError, match=named):
            check_unit(unit, neighbors, renewal)


def test_wrong_units_make_no_account_and_balances_need_their_period(place: Place) -> None:
    ledger = monthly(place)
    plain = Terms(Currency.PURE, "customer", Neighbors.ADD_REMOVE)
    with pytest.raises(ConfigError, match="unit must"):
        ledger.create_account("other", plain, Fraction(1), renewal=MONTHLY)
    with pytest.raises(ConfigError, match="unit must"):
        ledger.create_account("other", TERMS, Fraction(1))
    ledger.create_account("plain", plain, Fraction(1))
    for dataset, period in (("shop", ""), ("plain", "2024-01")):
        with pytest.raises(ConfigError, match="period must be named"):
            ledger.balance(dataset, period=period)
    with pytest.raises(ConfigError, match=r"privacy\.unit must be customer-month"):
        ledger.reserve(
            RunKey("shop", "job", "", "h"), plain, Fraction(1), "", window=window("2024-01-01", "2024-01-01")
        )
