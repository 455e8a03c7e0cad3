from collections.abc import Callable
from fractions import Fraction

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError

from dplib.errors import BudgetError, IntegrityError
from dplib.release.chain import GENESIS, Entry, seal
from dplib.release.ledger import Ledger
from dplib.release.runs import Run, RunKey
from tests.ledgers import KEY, PUBLICATION, TERMS, Place, exported, key_number, measurement, open_with


def with_history(place: Place) -> Ledger:
    ledger = open_with(place)
    for number in range(2):
        run = ledger.reserve(key_number(number), TERMS, Fraction(1, 4), "")
        ledger.record_published(ledger.record_measurement(run, measurement()), PUBLICATION)
    ledger.void(ledger.reserve(key_number(2), TERMS, Fraction(1, 4), ""), "")
    assert ledger.audit() == []
    return ledger


@pytest.mark.parametrize(
    "statement", ["UPDATE entries SET why = 'x'", "DELETE FROM entries", "DELETE FROM entries WHERE sequence = 2"]
)
def test_the_database_refuses_to_change_entries(statement: str, place: Place) -> None:
    ledger = with_history(place)
    engine = create_engine(place.url)
    with engine.connect() as connection, pytest.raises(DBAPIError, match="append-only"):
        connection.exec_driver_sql(statement)
    engine.dispose()
    assert ledger.audit() == []


@pytest.mark.parametrize(
    ("statement", "sequence"),
    [
        ("UPDATE entries SET body = replace(body, '1/4', '1/400') WHERE sequence = 2", 2),
        ("UPDATE entries SET body = 'x' WHERE sequence = 3", 3),
        ("UPDATE entries SET who = 'nobody' WHERE sequence = 4", 4),
        ("UPDATE entries SET at = '1999' WHERE sequence = 4", 4),
        ("UPDATE entries SET why = 'another' WHERE sequence = 4", 4),
        ("UPDATE entries SET kind = 'void' WHERE sequence = 3", 3),
        ("UPDATE entries SET run = 5 WHERE sequence = 4", 4),
        ("UPDATE entries SET digest = previous WHERE sequence = 4", 4),
        ("DELETE FROM entries WHERE sequence = 3", 4),
        ("DELETE FROM entries WHERE sequence = 1", 2),
        ("DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)", None),
        ("UPDATE head SET digest = 'x'", None),
        ("UPDATE head SET sequence = 3", None),
    ],
)
def test_audit_finds_each_change_where_it_is(statement: str, sequence: int | None, place: Place) -> None:
    ledger = with_history(place)
    place.change(statement)
    findings = ledger.audit()
    assert sequence in {finding.sequence for finding in findings}


def rewritten(entries: list[Entry], change: Callable[[dict[str, object]], None]) -> list[Entry]:
    """The whole chain anew, as by somebody who knows how it is made."""
    made: list[Entry] = []
    for entry in entries:
        fields = {name: value for name, value in vars(entry).items() if name != "digest"}
        change(fields)
        fields["previous"] = made[-1].digest if made else GENESIS
        made.append(seal(**fields))
    return made


def test_a_chain_rewritten_whole_is_found_by_a_tip_kept_elsewhere(place: Place) -> None:
    ledger = with_history(place)
    tip = (exported(ledger)[-1]["sequence"], exported(ledger)[-1]["digest"])
    assert ledger.audit([tip]) == []
    book, _ = ledger.entries()
    place.store(rewritten(book, lambda fields: fields.update(why="changed")))
    assert ledger.audit() == []
    assert [finding.sequence for finding in ledger.audit([tip])] == [tip[0]]


def test_a_well_chained_ledger_that_breaks_the_rules_is_found(place: Place) -> None:
    ledger = with_history(place)

    def overspend(fields: dict[str, object]) -> None:
        if fields["sequence"] == 5:
            fields["body"] = str(fields["body"]).replace("1/4", "7/8")

    place.store(rewritten(ledger.entries()[0], overspend))
    problems = {finding.sequence: finding.problem for finding in ledger.audit()}
    assert "epsilon 0.875" in problems[5]
    with pytest.raises(BudgetError):
        ledger.balance("takeaway")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = replace(body, '1/4', '1/400') WHERE sequence = 2",
        "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)",
    ],
)
def test_a_changed_ledger_pays_for_nothing(statement: str, place: Place) -> None:
    ledger = with_history(place)
    place.change(statement)
    with pytest.raises(IntegrityError, match="must"):
        ledger.reserve(key_number(9), TERMS, Fraction(1, 100), "")


def test_a_ledger_whose_spending_was_cut_out_or_exchanged_pays_for_nothing(place: Place) -> None:
    """Each entry that is left is sound by itself, and the account would look richer."""
    ledger = with_history(place)
    book = ledger.entries()[0]
    place.change("DELETE FROM entries WHERE sequence BETWEEN 2 AND 4")
    assert ledger.balance("takeaway").left == Fraction(3, 4)
    with pytest.raises(IntegrityError, match="one whole chain"):
        ledger.reserve(key_number(9), TERMS, Fraction(1, 100), "")
    cheaper = {name: value for name, value in vars(book[1]).items() if name != "digest"}
    cheaper["body"] = book[1].body.replace("1/4", "1/400")
    place.store([book[0], seal(**cheaper), *book[2:]])
    assert ledger.balance("takeaway").left > Fraction(1, 2)
    with pytest.raises(IntegrityError, match="one whole chain"):
        ledger.reserve(key_number(9), TERMS, Fraction(1, 100), "")
    place.store(book)
    assert ledger.reserve(key_number(9), TERMS, Fraction(1, 100), "").sequence == len(book) + 1


def test_a_run_of_another_account_cannot_be_recorded(place: Place) -> None:
    ledger = open_with(place)
    ledger.create_account("other", TERMS, Fraction(1))
    run = ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
    forged = Run(run.sequence, RunKey("other", KEY.job, "", "h"), run.cost, run.state)
    with pytest.raises(IntegrityError, match="must belong to a run of its account"):
        ledger.record_measurement(forged, measurement())
