"""Acceptance of the ledger for teams: a real PostgreSQL server, moves, audits, renewal, approvals, clocks, backups."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from dplib.ledger.audit import audit_entries, export_lines, read_export
from dplib.ledger.chain import Entry
from dplib.ledger.ledger import Ledger
from dplib.ledger.migration import migrate
from dplib.ledger.runs import RunKey, Terms
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from scripts.accept.claims import Check, Result, at_most
from tests.support.ledgers import NoServer, Postgres, measurement

TERMS = Terms(Currency.PURE, "order", Neighbors.ADD_REMOVE)
RUNS = 300
"""Nearly a year of one daily job."""


def year_of_runs() -> Iterator[Result]:
    """Seconds of processor time of a reservation, an audit and a move after many runs; the export's size."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        ledger = Ledger.open(url, create=True)
        ledger.create_account("shop", TERMS, Fraction(RUNS + 1))
        seconds = []
        for number in range(RUNS):
            started = time.process_time()
            run = ledger.reserve(RunKey("shop", "job", str(number), "h"), TERMS, Fraction(1), "")
            seconds.append(time.process_time() - started)
            ledger.record_measurement(run, measurement())
        last = statistics.median(seconds[-20:])
        yield at_most(f"processor time of a reservation after {RUNS} runs", last, 0.1, " s")
        book, tip = ledger.entries()
        path = Path(folder) / "book.jsonl"
        path.write_text("\n".join(export_lines(book, tip)), encoding="utf-8")
        started = time.process_time()
        findings = audit_entries(*read_export(path))
        yield Result(f"offline audit of {len(book)} entries", "no finding", f"{len(findings)} findings", not findings)
        yield at_most("processor time of that audit", time.process_time() - started, 1.0, " s")
        yield from _moved(url, book, tip)


def _moved(url: str, book: list[Entry], tip: tuple[int, str]) -> Iterator[Result]:
    claim = f"{len(book)} entries moved to a server as they are, audited against the tip from before"
    try:
        server = Postgres.start()
    except NoServer as reason:
        yield Result(claim, "equal, no finding", str(reason), None)
        return
    try:
        place = server.new_place()
        migrate(url, place.url)
        moved = Ledger.open(place.url)
        same, findings = moved.entries()[0] == book, moved.audit([tip])
        measured = f"{'equal' if same else 'others'}, {len(findings)} findings"
        yield Result(claim, "equal, no finding", measured, same and not findings)
    finally:
        server.do("stop")


CHECKS: list[Check] = [year_of_runs]
