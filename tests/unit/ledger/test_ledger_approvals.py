from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.errors import BudgetError, ConfigError
from dplib.ledger.approvals import plan_hash
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import MeasuredDay, Run, RunState
from tests.support.ledgers import TERMS, Place, exported, key_number, measurement, open_with, url_of

PLAN, OTHER = "a" * 64, "b" * 64
COST = Fraction(1, 100)


def strict(place: Place) -> Ledger:
    ledger = open_with(place)
    assert ledger.require_approval("takeaway", True, "board").needs_approval
    return ledger


def reserve(ledger: Ledger, number: int, plan: str | None = PLAN) -> Run:
    return ledger.reserve(key_number(number), TERMS, COST, "", plan=plan)


def test_a_run_needs_an_approval_that_is_left_and_the_refusal_names_the_command(place: Place) -> None:
    ledger = strict(place)
    before = exported(ledger)
    for refused in (lambda: reserve(ledger, 1), lambda: ledger.check_payable(key_number(1), COST, plan=PLAN)):
        with pytest.raises(BudgetError) as caught:
            refused()
        assert str(caught.value) == (
            "dataset takeaway must have an approval of this run's plan, got none "
            f"(dplib ledger approve takeaway {PLAN} --by NAME --why REASON)"
        )
        assert caught.value.exit_code == 4
    assert exported(ledger) == before
    assert ledger.approve("takeaway", PLAN, "officer", "read it", runs=2).left == 2
    first = reserve(ledger, 1)
    assert (first.plan, first.state) == (PLAN, RunState.RESERVED)
    assert reserve(ledger, 1) == first  # a retry uses none
    ledger.record_measurement(first, measurement())
    reserve(ledger, 2)
    with pytest.raises(BudgetError, match="got one that is used up"):
        reserve(ledger, 3)
    assert reserve(ledger, 1).state is RunState.MEASURED  # what is found needs none
    for plan in (OTHER, None):
        with pytest.raises(BudgetError, match="got none"):
            reserve(ledger, 4, plan)
    assert ledger.audit() == []
    (approval,) = Ledger.open(url_of(place)).approvals("takeaway")
    assert (approval.left, approval.used, approval.by, approval.revoked) == (0, 2, "officer", False)


def test_an_account_without_the_rule_uses_no_approvals_and_the_rule_can_be_lifted(place: Place) -> None:
    ledger = open_with(place)
    ledger.approve("takeaway", PLAN, "officer", "early")
    assert reserve(ledger, 1).plan is None
    ledger.require_approval("takeaway", True, "board")
    length = len(exported(ledger))
    ledger.require_approval("takeaway", True, "board again")
    assert len(exported(ledger)) == length
    assert ledger.approvals("takeaway")[0].left == 1
    assert reserve(ledger, 2).plan == PLAN
    ledger.require_approval("takeaway", False, "board")
    assert reserve(ledger, 3, None).plan is None
    assert ledger.audit() == []


def test_a_revoked_plan_is_neither_reserved_nor_measured_until_it_is_approved_again(place: Place) -> None:
    ledger = strict(place)
    ledger.approve("takeaway", PLAN, "officer", "", runs=5)
    done, open_run = ledger.record_measurement(reserve(ledger, 1), measurement()), reserve(ledger, 2)
    stream = ledger.reserve(key_number(4), TERMS, COST, "", plan=PLAN, horizon=("2026-01-01", "2026-01-31"))
    ledger.record_day(stream, MeasuredDay("2026-01-01", measurement()))
    assert ledger.revoke("takeaway", PLAN, "chief", "stop").left == 0
    for refused in (
        lambda: reserve(ledger, 2),
        lambda: ledger.check_payable(key_number(2), COST, plan=PLAN),
        lambda: ledger.record_measurement(open_run, measurement()),
        lambda: reserve(ledger, 3),
        lambda: reserve(ledger, 4),  # its next day, before its rows are read
        lambda: ledger.check_payable(key_number(4), COST, plan=PLAN),
    ):
        with pytest.raises(BudgetError, match="revoked"):
            refused()
    assert reserve(ledger, 1) == done
    with pytest.raises(ConfigError, match="that stands"):
        ledger.revoke("takeaway", PLAN, "chief", "twice")
    with pytest.raises(ConfigError, match="that stands"):
        ledger.revoke("takeaway", OTHER, "chief", "never was")
    ledger.void(open_run, "revoked")
    assert ledger.approvals("takeaway")[0].left == 0  # what was taken away does not come back
    ledger.approve("takeaway", PLAN, "officer", "again")
    assert ledger.record_measurement(reserve(ledger, 2), measurement()).state is RunState.MEASURED
    assert ledger.audit() == []


def test_a_voided_reservation_gives_its_approval_back(place: Place) -> None:
    ledger = strict(place)
    ledger.approve("takeaway", PLAN, "officer", "")
    ledger.void(reserve(ledger, 1), "wrong file")
    assert ledger.approvals("takeaway")[0].left == 1
    assert reserve(ledger, 1).state is RunState.RESERVED
    with pytest.raises(BudgetError, match="used up"):
        reserve(ledger, 2)


def test_wrong_approvals_are_refused_by_name(place: Place) -> None:
    ledger = open_with(place)
    for name, refused in {
        "plan": lambda: ledger.approve("takeaway", "A" * 64, "officer", ""),
        "--runs": lambda: ledger.approve("takeaway", PLAN, "officer", "", runs=0),
        "--by": lambda: ledger.approve("takeaway", PLAN, " ", ""),
        "dataset": lambda: ledger.approve("nobody", PLAN, "officer", ""),
    }.items():
        with pytest.raises(ConfigError, match=f"^{name} must"):
            refused()
    assert len(exported(ledger)) == 1


# ---- what a plan is --------------------------------------------------------------------------------------------------

TEXTS = st.text(alphabet="{}date2024-01x", max_size=16)
SETTINGS = st.dictionaries(st.sampled_from(["path", "first_day"]), TEXTS | st.lists(TEXTS, max_size=2), max_size=2)


def hash_of(settings: dict[str, object], date: str) -> str:
    return plan_hash(settings, date, COST, "order", "add_remove")


def test_one_approval_covers_a_schedule_and_nothing_else() -> None:
    def day(date: str, items: str = "tea") -> dict[str, object]:
        return {"input": {"path": f"orders/{date}.csv"}, "domain": {"first_day": date, "items": [items]}}

    assert hash_of(day("2024-01-01"), "2024-01-01") == hash_of(day("2024-01-02"), "2024-01-02")
    assert hash_of(day("2024-01-01"), "2024-01-01") != hash_of(day("2024-01-01"), "2024-01-02")
    assert hash_of(day("2024-01-01"), "2024-01-01") != hash_of(day("2024-01-01", "milk"), "2024-01-01")
    same = day("2024-01-01"), "2024-01-01"
    others = {
        plan_hash(*same, COST * 2, "order", "add_remove"),
        plan_hash(*same, COST, "customer", "add_remove"),
        plan_hash(*same, COST, "order", "replace_one"),
    }
    assert len(others | {hash_of(*same)}) == 4


@given(one=SETTINGS, two=SETTINGS, date=st.sampled_from(["", "2024-01", "{", "date", "2", "{date}"]))
def test_for_one_date_different_settings_have_different_hashes(
    one: dict[str, object], two: dict[str, object], date: str
) -> None:
    assert (hash_of(one, date) == hash_of(two, date)) == (one == two)
