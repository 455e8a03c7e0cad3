"""Acceptance of speed: what ``make bench`` recorded on this machine (`scripts.bench.speed`), against its targets."""

import json
from collections.abc import Iterator

from scripts.accept.claims import Check, Result, at_most
from scripts.bench.speed import RECORD

TARGETS: dict[str, dict[str, float]] = {
    "commands": {"--help": 0.5, "ledger show": 0.8, "query": 0.8, "plan": 1.2},
    "cut": {"ratio": 1.5},
    "cold": {"event": 1.25, "customer": 1.6},
    "warm": {"event": 2.5, "customer": 2.5},
    "rows": {f"{unit}, to {more} million": most for unit, most in (("event", 4), ("customer", 6)) for more in (5, 20)},
    "days": {"ratio": 1 / 3},
}
CLAIMS = {
    "commands": "processor time of dplib {}",
    "cut": "first minimum cut after set-up, {} to the second",
    "cold": "cold run, unit {}, to a plain count",
    "warm": "second run in a session, unit {}, beyond a plain count",
    "rows": "processor time a million rows, unit {}",
    "days": "ten days by --dates, {} to ten single runs",
}


def recorded() -> Iterator[Result]:
    """Every number beside its target."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    for part, targets in TARGETS.items():
        for name, target in targets.items():
            claim = CLAIMS[part].format(name)
            if part in known:
                yield at_most(claim, known[part][name], target, " s" if part in ("commands", "warm", "rows") else "")
            else:
                yield Result(
                    claim, f"at most {target:.3g}", f"not recorded (make bench, or scripts.bench.speed {part})", None
                )


CHECKS: tuple[Check, ...] = (recorded,)
