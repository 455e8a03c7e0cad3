"""Is what lies in an output folder this ledger's? Each release, stored measurement and staging folder names its payer.

A ledger that was put back to an older state, or another one of the same account, would give out a second time the
budget of what it does not know. Numbers do not show it: the next entries get the numbers that were lost. So every
reservation draws a *nonce*, random text of its ledger entry that depends on nothing, and what is made of it carries the
nonce: the file ``.reservation`` in staging and beside a stored measurement, the field ``reservation`` of a manifest.

| on disk | in the ledger |
|---|---|
| a staging folder | the reservation with its nonce |
| a stored measurement, or a release | the reservation with its nonce, and its measurement |

A measurement that is in place was recorded first (`dplib.workflow.storing`), so a ledger that knows its reservation
alone is an older one too. What earlier versions wrote has no nonce: there the reservation of the same name, settings
and key must be in the ledger with its measurement.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dplib.canonical import canonical_json
from dplib.ledger.runs import Run, sequence_of
from dplib.release.files import MANIFEST

RESERVATION = ".reservation"
FORGOTTEN = "not in the ledger, which may be an older backup that forgot what was spent since"
_STAGING = ".staging-"


@dataclass(frozen=True)
class Found:
    """Something on a disk that a reservation paid for.

    Attributes:
        name: its folder's.
        release_id: the run's public name.
        dataset: the account.
        nonce: of its reservation, None where an earlier version wrote it.
        settings_hash: of its measurement settings, None where only a manifest says so and there is none.
        staged: whether it is still in staging, where nobody but its writer sees it.
    """

    name: str
    release_id: str
    dataset: str
    nonce: str | None
    settings_hash: str | None
    staged: bool


def mark(directory: Path, run: Run) -> None:
    """Write beside a measurement whose reservation it is made under; nothing for reservations without a nonce."""
    if run.nonce is not None:
        fields = {"release_id": run.release_id, "dataset": run.key.dataset, "reservation": run.nonce}
        (directory / RESERVATION).write_bytes(canonical_json(fields))


def found_in(output: Path) -> Iterator[Found]:
    """What lies in an output folder, sorted by name; what cannot be read, or is of another make, is passed over."""
    directories: list[Path] = []
    with suppress(OSError):
        directories = sorted(path for path in output.iterdir() if path.is_dir())
    for directory in directories:
        fields = _fields(directory / MANIFEST) or _fields(directory / RESERVATION)
        if fields is not None:
            yield Found(
                directory.name,
                str(fields["release_id"]),
                str(fields["dataset"]),
                fields.get("reservation"),  # type: ignore[arg-type]  # compared only
                fields.get("settings_hash"),  # type: ignore[arg-type]
                directory.name.startswith(_STAGING),
            )


def _fields(file: Path) -> dict[str, object] | None:
    try:
        fields = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return fields if isinstance(fields, dict) and {"release_id", "dataset"} <= set(fields) else None


def unknown(found: Found, runs: Mapping[int, Run]) -> str | None:
    """What is wrong with something on disk by the runs of its ledger; None where it is one of theirs."""
    run = runs.get(sequence_of(found.release_id) or 0)
    if run is None or run.release_id != found.release_id:
        return FORGOTTEN
    if found.nonce != run.nonce and found.nonce is not None:
        return "of another reservation than the ledger's of this name, which may be an older backup that went on"
    if found.nonce is None and found.settings_hash not in (None, run.key.settings_hash):
        return "of other settings than the ledger's run of this name, which may be an older backup that went on"
    if not run.stored and not found.staged:
        return "measured, which the ledger does not know; it may be an older backup"
    return None
