import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError

from dplib.errors import BudgetError, ConfigError, IntegrityError
from dplib.jobs.pricing import price
from dplib.ledger.audit import replay_sound
from dplib.ledger.chain import seal
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Run, RunKey
from dplib.ledger.schema import _prepare_file
from tests.support.ledgers import KEY, PUBLICATION, TERMS, Place, key_number, measurement, open_with, url_of


def with_history(place: Place) -> Ledger:
    ledger = open_with(place)
    for number in range(2):
        run = ledger.reserve(key_number(number), TERMS, Fraction(1, 4), "")
        ledger.record_published(ledger.record_measurement(run, measurement()), PUBLICATION)
    ledger.void(ledger.reserve(key_number(2), TERMS, Fraction(1, 4), ""), "")
    assert ledger.audit() == []
    return ledger


def test_what_was_replayed_before_decides_nothing_that_the_entries_do_not(place: Place) -> None:
    """A state that is kept is that of a replay from the first entry on, whatever was done to it or to the book."""
    ledger = with_history(place)
    book = ledger.entries()[0]

    def require_replayed() -> None:
        found, anew = ledger.state("takeaway"), replay_sound(ledger.entries()[0])
        assert (found.accounts, found.runs, found.approvals) == (anew.accounts, anew.runs, anew.approvals)
        assert found.balance("takeaway") == anew.balance("takeaway")
        found.runs.clear()  # a caller's own

    require_replayed()
    ledger.require_approval("takeaway", True, "")
    ledger.approve("takeaway", "a" * 64, "officer", "")
    require_replayed()
    with ledger.writing("takeaway") as writer, pytest.raises(BudgetError):
        writer.append("reserve", None, {**book[1].content(), "plan": "a" * 64, "cost": Fraction(9)})
    require_replayed()
    with suppress(KeyboardInterrupt), ledger.writing("takeaway") as writer:
        writer.append("reserve", None, {**book[1].content(), "plan": "a" * 64})
        raise KeyboardInterrupt
    require_replayed()
    for older in (book[:4], book[:-2]):
        place.store(older)
        require_replayed()
    place.change("UPDATE entries SET why = 'x' WHERE sequence = 2")
    for look in (lambda: ledger.state("takeaway"), lambda: ledger.require_priced("takeaway", "", price)):
        with pytest.raises(IntegrityError, match="entry 2 must be as it was written"):
            look()


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


# ---- every entry is relied on ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET dataset = 'x' WHERE kind <> 'account'",
        "UPDATE entries SET dataset = 'x' WHERE sequence = 2",
        "UPDATE entries SET dataset = 'takeaway' WHERE dataset = 'other'",
        "UPDATE entries SET why = 'another' WHERE dataset = 'other'",
        "UPDATE entries SET body = replace(body, '1', '2') WHERE dataset = 'other'",
    ],
)
def test_a_changed_entry_of_any_account_stops_every_writer(statement: str, place: Place) -> None:
    ledger = with_history(place)
    ledger.create_account("other", TERMS, Fraction(1))
    place.change(statement)
    before = ledger.entries()
    writers: list[Callable[[], object]] = [
        lambda: ledger.reserve(key_number(9), TERMS, Fraction(1, 100), ""),
        lambda: ledger.reserve(RunKey("other", "job", "", "h"), TERMS, Fraction(1, 100), ""),
        lambda: ledger.create_account("third", TERMS, Fraction(1)),
    ]
    for write in writers:
        with pytest.raises(IntegrityError, match="as it was written, got a changed one"):
            write()
    assert ledger.entries() == before
    assert ledger.audit() != []


def test_a_measurement_is_recorded_under_its_own_reservation_only(place: Place) -> None:
    """A ledger put back while a run counted gives the same number to another reservation of the same key."""
    ledger = open_with(place)
    before, tip = ledger.entries()[0], ledger.tip
    lost = ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
    place.store(before)
    assert ledger.tip == tip
    again = ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
    assert (again.sequence, again.key, again.release_id) == (lost.sequence, lost.key, lost.release_id)
    assert again.nonce != lost.nonce
    done = ledger.record_measurement(again, measurement("of the second"))
    calls: list[Callable[[], object]] = [
        lambda: ledger.record_measurement(lost, measurement("of the first")),
        lambda: ledger.record_published(lost, PUBLICATION),
        lambda: ledger.void(lost, ""),
    ]
    for call in calls:
        with pytest.raises(IntegrityError, match="got another reservation in its place"):
            call()
    assert ledger.run(done.release_id) == done


def test_opening_a_ledger_keeps_the_locks_of_the_process(tmp_path: Path) -> None:
    """Another process must wait for a transaction that is open here, also after this one opened the file again."""
    ledger = open_with(tmp_path)
    code = f"""
import sqlite3, sys
connection = sqlite3.connect({str(tmp_path / "ledger.db")!r}, timeout=0.2, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError:
    sys.exit(7)
"""
    with ledger.transaction(write=True):
        _prepare_file(tmp_path / "ledger.db", "", create=True)  # what opening does before it waits for this transaction
        Ledger.open(url_of(tmp_path))
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- the same words, another input -----------------------------------------------------------------------------------


def test_the_same_words_for_another_input_are_no_run_of_it(place: Place) -> None:
    ledger = open_with(place)
    here, there = (replace(KEY, place=(f"/{name}/rows.csv",)) for name in ("here", "there"))
    run = ledger.record_measurement(ledger.reserve(here, TERMS, Fraction(1, 8), ""), measurement())
    assert ledger.find_run(here) == run
    assert ledger.find_run(KEY) == run  # a catalogue's table, or an entry of an earlier version
    assert ledger.find_run(there) is None
    for refused in (
        lambda: ledger.reserve(there, TERMS, Fraction(1, 8), ""),
        lambda: ledger.check_payable(there, Fraction(1, 8)),
    ):
        with pytest.raises(ConfigError, match=r"measured from, .*\(--again\)") as caught:
            refused()
        assert run.release_id in str(caught.value)
    ledger.check_payable(there, Fraction(1, 8), again=True)
    other = ledger.reserve(there, TERMS, Fraction(1, 8), "", again=True)
    assert other.sequence != run.sequence
    assert (ledger.find_run(here), ledger.find_run(there)) == (run, other)
    assert ledger.audit() == []


def test_a_run_under_a_former_hash_is_found_and_keeps_it(place: Place) -> None:
    ledger = open_with(place)
    former = ledger.reserve(KEY, TERMS, Fraction(1, 8), "")
    renamed = replace(KEY, settings_hash="b" * 64, former=("c" * 64, KEY.settings_hash))
    found = ledger.reserve(renamed, TERMS, Fraction(1, 8), "")
    assert found == former
    assert found.key.settings_hash == KEY.settings_hash  # which the noise key is derived from
    assert ledger.find_run(replace(renamed, former=())) is None
