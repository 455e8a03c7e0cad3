"""Small ledgers for tests: one account, numbered keys, a measurement and a release to record."""

import sqlite3
from fractions import Fraction
from pathlib import Path

from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.release.ledger import Ledger
from dplib.release.ledger_schema import resolve_ledger_url
from dplib.release.ledger_writer import Clock, utc_now
from dplib.release.runs import Publication, RunKey, StoredMeasurement, Terms

TERMS = Terms(Currency.PURE, "order", Neighbors.ADD_REMOVE)
KEY = RunKey("takeaway", "consistent-histograms", "2024-01-01", "a" * 64)
PUBLICATION = Publication("/releases/x", "p" * 64, "m" * 64)


def url_of(folder: Path) -> str:
    return resolve_ledger_url("sqlite:///ledger.db", folder)


def open_with(folder: Path, budget: Fraction = Fraction(1), clock: Clock = utc_now) -> Ledger:
    ledger = Ledger.open(url_of(folder), create=True, clock=clock)
    ledger.create_account("takeaway", TERMS, budget)
    return ledger


def key_number(number: int) -> RunKey:
    return RunKey(KEY.dataset, KEY.job, f"day-{number}", KEY.settings_hash)


def measurement(name: str = "one") -> StoredMeasurement:
    return StoredMeasurement(
        staged=f".staging-{name}",
        location="/releases/x",
        content_sha256="c" * 64,
        key_id="key-1",
        key_commitment="PRIVATE-COMMITMENT",
        data_digest="PRIVATE-DIGEST",
    )


def tamper(tmp_path: Path, *statements: str) -> None:
    """Change the file as somebody would who can write it and drops the triggers first."""
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        for trigger in ("entries_no_update", "entries_no_delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        for statement in statements:
            connection.execute(statement)
    connection.close()
