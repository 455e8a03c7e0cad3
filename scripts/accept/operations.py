"""Acceptance of operations: the doctor, the guide's pages, a year of runs in a ledger, Airflow's parser, sizing."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dplib.guide import read_page, titles
from scripts.accept import operations_airflow, operations_ledger, operations_sizing
from scripts.accept.claims import Check, Result

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "airflow cluster connect consistent-histograms device-reports extending kmeans known-vulnerabilities ledger"
    " minimum-cuts network-statistics proofs range-histograms recovery secrets sizing tables threat-model"
)
TEACHES = {
    "secrets": "secret rotate|secret drop|dplib ledger void|0600",
    "recovery": "Run the same command again|dplib verify|disk full|.staging-",
    "threat-model": "reader of releases|reader of logs|neighbour|operator|ledger|client|side channels",
    "known-vulnerabilities": "Mironov|Haney|Casacuberta|Haeberlen|Jin|PipelineDP|ANSI|Our own",
}
"""What each page must speak of."""


def doctor() -> Iterator[Result]:
    """What the doctor sees."""
    command = [sys.executable, "-m", "dplib.cli.main", "doctor", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    found = {each["name"]: each["verdict"] for each in json.loads(done.stdout)} if done.stdout else {}
    ill = ", ".join(name for name, verdict in found.items() if verdict == "bad")
    ok = done.returncode == 0 and not ill and len(found) >= 8
    yield Result(
        "dplib doctor --json on this machine", "8 findings, none bad", f"{len(found)}, bad: {ill or 'none'}", ok
    )


def pages() -> Iterator[Result]:
    """The pages of the guide, and what four of them speak of."""
    absent = sorted(set(PAGES.split()) - set(titles()))
    yield Result("pages of the guide", "none missing", f"{', '.join(absent) or 'none'} missing", not absent)
    for page, topics in TEACHES.items():
        text, words = read_page(page).lower(), topics.split("|")
        missing = [word for word in words if word.lower() not in text]
        yield Result(f"dplib guide {page}", f"speaks of {len(words)} topics", ", ".join(missing) or "all", not missing)


CHECKS: list[Check] = [
    doctor,
    pages,
    *operations_ledger.CHECKS,
    *operations_airflow.CHECKS,
    *operations_sizing.CHECKS,
]
