"""Recorded releases: what a table holds under a test key, as a digest of its text, beside what was recorded.

A change of a digest means that stored measurements and retries give other noise (raise `SAMPLER_FORMAT`) or that
releases look different. To record a wanted change: ``DPLIB_RECORD_GOLDEN=1 pytest`` with the test file.
"""

import hashlib
import json
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from dplib.canonical import settings_hash
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.privacy.noise import SAMPLER_FORMAT
from dplib.secret.secret import Secret
from dplib.workflow.run_keys import RunKeys
from tests.support.jobs import SECRET

FOLDER = Path(__file__).resolve().parents[1] / "golden"


def six_digits(value: float) -> str:
    """Six digits after the point: the last bits of a float depend on the machine."""
    return f"{round(value, 6) + 0.0:.6f}"


def digest_of(rows: list[dict[str, Any]], text: Callable[[float], str] = six_digits) -> str:
    """SHA-256 of rows as text, which no version of a library changes."""
    shown = [{name: text(v) if isinstance(v, float) else v for name, v in row.items()} for row in rows]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def golden_keys(job: str, settings: dict[str, Any], secret: bytes = SECRET) -> RunKeys:
    """The sub-keys of a run of a design with these settings."""
    key = RunKey("golden", job, "", settings_hash(settings))
    return RunKeys.derive(Secret(secret), Run(2, key, Fraction(1), RunState.RESERVED))


def recorded(name: str) -> dict[str, Any]:
    """What was recorded of a job: the digests by case, and the sampler format that they belong to."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def require_other(name: str, case: str, found: dict[str, str]) -> None:
    """No table under another secret is the recorded one."""
    known = recorded(name)[case]
    assert all(found[table] != known[table] for table in known)


def require_recorded(name: str, case: str, found: dict[str, str]) -> None:
    """Compare with what was recorded, or record it where the environment says so."""
    file = FOLDER / f"{name}.json"
    if os.environ.get("DPLIB_RECORD_GOLDEN") == "1":
        known = recorded(name) if file.exists() else {}
        known |= {"sampler_format": SAMPLER_FORMAT, case: found}
        file.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    known = recorded(name)
    assert known["sampler_format"] == SAMPLER_FORMAT
    assert known[case] == found
