"""Acceptance of operations: a year of runs in a ledger, Airflow's parser, sizing."""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from dplib.ledger.audit import audit_entries, export_lines, read_export
from dplib.ledger.chain import Entry
from dplib.ledger.ledger import Ledger
from dplib.ledger.migration import migrate
from dplib.ledger.runs import RunKey
from scripts.accept.claims import Check, Result, at_most
from scripts.accept.runs import ROOT
from scripts.sizing.__main__ import stored
from scripts.sizing.measure import measure
from scripts.sizing.model import fit
from scripts.sizing.workloads import Workload
from tests.support.ledgers import TERMS, NoServer, Postgres, measurement

RUNS = 300
"""Nearly a year of one daily job."""
PARSE = (
    "import sys, time; sys.path.insert(0, 'jobs/dags'); import dplib_operators; started = time.process_time();"
    "import dplib_dags; print(1000 * (time.process_time() - started))"
)
FEW, MANY = 1_000_000, 20_000_000
UNSEEN = (
    Workload("consistent-histograms", 2_000_000, 1_460_000, 3_650),
    Workload("consistent-histograms", 1_000_000, 1_460_000, 3_650, rounds=8),
    Workload("range-histograms", 3_000_000, 1_024_000, 500),
)
"""Runs that the model was not fitted to."""


def year_of_runs() -> Iterator[Result]:
    """Processor time of a reservation and an audit after many runs; a move to a server."""
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
        took = time.process_time() - started
        yield Result(f"offline audit of {len(book)} entries", "no finding", f"{len(findings)} findings", not findings)
        yield at_most("processor time of that audit", took, 1.0, " s")
        yield _moved(url, book, tip)


def _moved(url: str, book: list[Entry], tip: tuple[int, str]) -> Result:
    claim = f"{len(book)} entries moved to a server as they are, audited against the tip from before"
    try:
        server = Postgres.start()
    except NoServer as reason:
        return Result(claim, "equal, no finding", str(reason), None)
    try:
        place = server.new_place()
        migrate(url, place.url)
        moved = Ledger.open(place.url)
        same, findings = moved.entries()[0] == book, moved.audit([tip])
        measured = f"{'equal' if same else 'others'}, {len(findings)} findings"
        return Result(claim, "equal, no finding", measured, same and not findings)
    finally:
        server.do("stop")


def loading() -> Iterator[Result]:
    """The time that a schedule costs the scheduler's parser, in Airflow's environment where that was made."""
    claim, python = "parsing the DAG file, Airflow's own imports aside (CPU)", ROOT / ".venv-airflow" / "bin" / "python"
    if not python.is_file():
        yield Result(claim, "<= 100 ms", "no .venv-airflow: run make test-airflow", None)
        return
    apart = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([python, "-c", PARSE], cwd=ROOT, env=apart, capture_output=True, text=True, check=True)
    yield at_most(claim, float(done.stdout.split()[-1]), 100, " ms")


def memory_by_rows() -> Iterator[Result]:
    """Twenty times the rows."""
    few, many = (measure(Workload("consistent-histograms", rows, 73_000, 3_650)) for rows in (FEW, MANY))
    for kind in ("driver", "workers"):
        growth = many.memory[kind] / few.memory[kind]
        yield at_most(f"peak memory of {kind}, {MANY:,} rows over {FEW:,}", growth, 1.25)
    yield at_most("peak memory of Java at 20 million rows, heap of 2 GiB", many.memory["java"] / 2**30, 2.75, " GiB")
    yield at_most("all processes at 20 million rows", sum(many.memory.values()) / 2**30, 4, " GiB")


def cost_model() -> Iterator[Result]:
    """The model against runs it has not seen."""
    runs = stored()
    for workload in UNSEEN:
        cost = fit([run for run in runs if run.workload.kind == workload.kind])
        spent = sum(measure(workload).cpu.values())
        predicted = cost.driver.at(workload) + cost.executors.at(workload)
        yield at_most(f"{workload.kind}: predicted off measured processor time", abs(predicted / spent - 1), 0.4)


CHECKS: tuple[Check, ...] = (year_of_runs, loading, memory_by_rows, cost_model)
