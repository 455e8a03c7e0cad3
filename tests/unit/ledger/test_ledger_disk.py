"""A ledger whose disk is full: a sentence that says so, nothing half written, and a retry that works."""

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from dplib.errors import DplibError
from dplib.ledger.errors import database_errors
from dplib.ledger.ledger import Ledger
from tests.support.ledgers import TERMS, key_number, open_with, url_of


def test_a_full_disk_is_said_and_leaves_the_book_whole(tmp_path: Path) -> None:
    ledger = open_with(tmp_path, budget=Fraction(1000))
    with sqlite3.connect(tmp_path / "ledger.db") as file:
        (pages,) = file.execute("PRAGMA page_count").fetchone()
    file.close()
    full = Ledger.open(url_of(tmp_path))

    def no_room(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own way

    event.listen(full._engine, "connect", no_room)

    def reserve_much() -> None:
        for number in range(200):
            full.reserve(key_number(number), TERMS, Fraction(1), "")

    with pytest.raises(DplibError, match=r"^ledger must be on a sound disk with room, got one that is full") as caught:
        reserve_much()
    assert caught.value.exit_code == 1
    event.remove(full._engine, "connect", no_room)
    assert ledger.audit() == []
    spent = len(ledger.runs("takeaway"))
    assert ledger.balance("takeaway").reserved == spent
    assert ledger.reserve(key_number(spent), TERMS, Fraction(1), "").key == key_number(spent)
    assert ledger.audit() == []


@pytest.mark.parametrize("text", ["database or disk is full", "disk I/O error"])
def test_what_the_database_says_of_its_disk(text: str) -> None:
    with pytest.raises(DplibError, match=r"full or broken: sqlite:///x$"), database_errors("sqlite:///x"):
        raise OperationalError("INSERT", {}, sqlite3.OperationalError(text))
