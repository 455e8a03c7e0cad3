"""Acceptance of speed: what ``make bench`` and ``make bench-peers`` recorded on this machine, against its targets.

Records: `scripts.bench.speed`, `scripts.bench.suite` and `scripts.peers`. That stored measurements and kept rows are
byte-equal is tested here.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from scripts.accept.claims import Check, Result, at_most
from scripts.accept.runs import ROOT
from scripts.bench import suite as suites
from scripts.bench.before import BEFORE
from scripts.bench.counted_rows import UNITS
from scripts.bench.speed import RECORD
from scripts.peers.record import paired_ratio, stored

TARGETS: dict[str, dict[str, float]] = {
    "commands": {"--help": 0.5, "ledger show": 0.8, "query": 0.8, "plan": 1.2},
    "cut": {"ratio": 1.5},
    "cold": {"event": 1.25, "customer": 1.6},
    "warm": {"event": 2.5, "customer": 2.5},
    "rows": {f"{unit}, to {more} million": most for unit, most in (("event", 4), ("customer", 6)) for more in (5, 20)}
    | {f"{unit}, from 5 to 20 million, to those before": 1.25 for unit in UNITS},
    "days": {"ratio": 1 / 3},
}
BEFORE_SECONDS = {"--help": 1.8, "ledger show": 1.5, "query": 2.6, "plan": 4.5}
"""What the commands took at `BEFORE` on the machine that their targets were set on; others are slower or quicker."""
CLAIMS = {
    "commands": "processor time of dplib {}, at the speed of the target's machine",
    "cut": "first minimum cut after set-up, {} to the second",
    "cold": "cold run, unit {}, to a plain count",
    "warm": "second run in a session, unit {}, beyond a plain count",
    "rows": "processor time a million rows, unit {}",
    "days": "ten days by --dates, {} to ten single runs",
}

SUITE_SECONDS = 480.0

SAME_BYTES = (
    *(f"tests/jobs/test_{name}golden.py" for name in ("", "range_", "network_", "minimum_cuts_", "kmeans_")),
    "tests/spark/test_contributions.py",
)
"""Tests that compare with numbers stored before."""


def recorded() -> Iterator[Result]:
    """Every number beside its target."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    for part, targets in TARGETS.items():
        for name, target in targets.items():
            claim = CLAIMS[part].format(name)
            if name in known.get(part, {}):
                found = at_most(claim, at_its_speed(known[part], name), target, unit_of(part, name))
                yield replace(found, measured=f"{found.measured}{here(known[part], name)}")
            else:
                yield Result(
                    claim, f"at most {target:.3g}", f"not recorded (make bench, or scripts.bench.speed {part})", None
                )


def at_its_speed(found: Mapping[str, float], name: str) -> float:
    """A number; of a command as the machine of `BEFORE_SECONDS` would take, by what the same took before on both."""
    then = found.get(f"{name}, before")
    return found[name] if then is None else found[name] / then * BEFORE_SECONDS[name]


def here(found: Mapping[str, float], name: str) -> str:
    """What a command took on this machine, now and before."""
    then = found.get(f"{name}, before")
    return "" if then is None else f" (here {found[name]:.2f} s, and {then:.2f} s at {BEFORE})"


def beside_tumult() -> Iterator[Result]:
    """Cold runs, and the second in a session, beside Tumult Analytics in the same rounds."""
    known = stored()
    for unit in UNITS:
        for name, what, target in (("first", "cold run", 1.0), ("second", "second run in a session", 0.5)):
            claim = f"{what}, unit {unit}, to Tumult Analytics"
            ratio = paired_ratio(known, unit, name, "dplib", "Tumult Analytics")
            if ratio is None:
                yield Result(claim, f"<= {target:g}", "not recorded (make bench-peers)", None)
            else:
                yield at_most(claim, ratio, target)


def same_bytes() -> Iterator[Result]:
    """Stored measurements, releases and kept rows are those of before, byte by byte."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *SAME_BYTES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    last = (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-1]
    yield Result("stored measurements and kept rows are byte-equal to before", "tests pass", last, done.returncode == 0)


def unit_of(part: str, name: str) -> str:
    """Of a recorded number."""
    return " s" if part in ("commands", "warm", "rows") and "those before" not in name else ""


def suite() -> Iterator[Result]:
    """Processor time of the tests."""
    claim = "processor time of make test"
    if not suites.RECORD.is_file():
        yield Result(claim, f"<= {SUITE_SECONDS:g} s", "not recorded (scripts.bench.suite)", None)
        return
    found = json.loads(suites.RECORD.read_text(encoding="utf-8"))
    yield at_most(f"{claim} at {found['commit']}", found["seconds"], SUITE_SECONDS, " s")


CHECKS: tuple[Check, ...] = (recorded, beside_tumult, same_bytes, suite)
