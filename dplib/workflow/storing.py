"""The stages of a run that store: the measurement, drawn and recorded once, and the releases made from it.

Each gets one function of the job. ``measure`` is the private part: it reads rows, draws noise once and writes
``measurement/`` into a staging directory. ``publish`` sees only the stored measurement and writes the rest. Each is
called at most once, and not at all where its result exists.

A crash at any point is met by calling the same function again (see `dplib.ledger.ledger` for the argument).
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dplib.errors import BudgetError, ConfigError, DplibError, IntegrityError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import (
    MeasuredRun,
    Publication,
    Run,
    RunKey,
    RunState,
    StoredMeasurement,
)
from dplib.release.files import MANIFEST, file_sha256
from dplib.release.membership import found_in, mark, unknown
from dplib.release.staging import Staging, check_writable, disk_errors, remove_leftovers, store_measurement
from dplib.workflow.run_keys import MeasurementKeys

Measure = Callable[[Run, Path], MeasurementKeys]
"""Reads rows and writes ``measurement/`` into the given staging directory."""
Publish = Callable[[MeasuredRun, Path], None]
"""Reads ``measurement/`` in the given staging directory and writes the rest of the release, manifest last."""


def require_sound_output(ledger: Ledger, dataset: str, output: Path) -> None:
    """Refuse, before anything is reserved, an output that could not hold a measurement or holds unknown ones.

    Raises:
        ConfigError: if the output cannot be written, or holds releases of the account that the ledger should know.
        DplibError: if the disk is full.
    """
    check_writable(output)
    _check_members(ledger, dataset, output)


def measure_run(ledger: Ledger, run: Run, output: Path, measure: Measure) -> MeasuredRun:
    """Return a run, as `Ledger.reserve` returned it, with its stored measurement, made now only if it has none.

    Raises:
        DplibError: if the disk is full.
    """
    if run.state is not RunState.RESERVED:
        return MeasuredRun.of(run)
    with disk_errors(), ledger.holding(run):
        remove_leftovers(output, run.release_id, lambda: recorded(ledger, run))
        found = measure_into_staging(run, output, measure, lambda mine: ledger.record_measurement(run, mine))
        measured = MeasuredRun.of(found)
        _stored(measured)
        return measured


def _check_members(ledger: Ledger, dataset: str, output: Path) -> None:
    """Refuse to spend by a ledger that does not know all that its account paid for, here or where it stored before.

    Such a ledger would give out the numbers, and the budget, of those releases a second time.
    """
    stored = {Path(each.location).parent for run in ledger.runs(dataset) for each in run.stored}
    folders = sorted({output.resolve(), *stored})
    lying = [found for folder in folders for found in found_in(folder) if found.dataset == dataset]
    # Read after the folders: what other jobs made meanwhile was in the ledger before it lay there.
    runs = {run.sequence: run for run in ledger.runs(dataset)}
    for found in lying:
        problem = unknown(found, runs)
        if problem is not None:
            raise ConfigError(
                "ledger",
                f"be as new as the releases of {dataset}",
                (
                    f"one that ends at entry {ledger.tip[0]} beside {found.name}, which is {problem} (dplib ledger "
                    f"audit --releases {output})"
                ),
            )


def recorded(ledger: Ledger, run: Run) -> set[str]:
    """Staging folders that the ledger names."""
    return {each.staged for each in ledger.run(run.release_id).stored}


def measure_into_staging(run: Run, output: Path, measure: Measure, record: Callable[[StoredMeasurement], Run]) -> Run:
    """Measure into a staging folder and record it; what the ledger does not name afterwards is gone, unseen.

    Args:
        run: with its lease.
        output: folder of all releases.
        measure: the private part.
        record: commits to the measurement, or returns the run with the one that was recorded before.
    """
    with Staging(output, run.release_id) as staging:
        try:
            mark(staging.path, run)
            keys = measure(run, staging.path)
            content = staging.seal()
        except BaseException:
            # Nobody saw it and the ledger does not name it; the reservation stays for the retry.
            staging.discard()
            raise
        mine = StoredMeasurement(
            staged=staging.name,
            location=str(output.resolve() / run.release_id),
            content_sha256=content,
            key_id=keys.key_id,
            key_commitment=hashlib.sha256(keys.measurement_key).hexdigest(),
            data_digest=keys.data_digest.hex(),
        )
        try:
            found = record(mine)
        except (BudgetError, ConfigError, IntegrityError):
            # Refused, and so rolled back. An answer that got lost is no refusal: the ledger may name this one by now.
            staging.discard()
            raise
        if mine not in found.stored:
            staging.discard()
    return found


def _stored(run: MeasuredRun) -> Path:
    """The stored measurement of a run, put in place first if a crash left it in staging."""
    output = Path(run.measurement.location).parent
    return store_measurement(output, run.release_id, run.measurement.staged, run.measurement.content_sha256)


def published(run: Run, publish_hash: str) -> Path | None:
    """The release of a run if it exists, is whole and was made with these publish settings."""
    publication = run.publication
    if publication is None or publication.publish_hash != publish_hash:
        return None
    release = Path(publication.location)
    manifest = release / MANIFEST
    if manifest.is_file() and file_sha256(manifest) == publication.manifest_sha256:
        return release
    return None


def publish_run(ledger: Ledger, run: MeasuredRun, output: Path, publish_hash: str, publish: Publish) -> Path:
    """Return the release of a measured run under the given publish settings, made now only if it does not exist.

    Raises:
        IntegrityError: if the stored measurement is missing or changed.
        ConfigError: if the output cannot be written.
        DplibError: if the disk is full.
    """
    existing = published(run, publish_hash)
    if existing is not None:
        return existing
    with disk_errors():
        stored = _stored(run)
    check_writable(output)
    with disk_errors():
        release, manifest_sha256 = _published_from(ledger, run, output, stored, publish)
    ledger.record_published(run, Publication(str(release.resolve()), publish_hash, manifest_sha256))
    return release


def _published_from(ledger: Ledger, run: MeasuredRun, output: Path, stored: Path, publish: Publish) -> tuple[Path, str]:
    """Make a release beside its place and put it there; returns it and its manifest's SHA-256."""
    remove_leftovers(output, run.release_id, lambda: recorded(ledger, run))
    with Staging(output, run.release_id) as staging:
        try:
            staging.link_measurement(stored)
            publish(run, staging.path)
            manifest_sha256 = file_sha256(staging.path / MANIFEST)
            return staging.publish(), manifest_sha256
        except BaseException:
            staging.discard()
            raise


def run_to_publish(ledger: Ledger, key: RunKey, release_id: str | None) -> MeasuredRun:
    """The measured run that ``--stage publish`` means: the named one, or the newest of these settings and date.

    Raises:
        DplibError: if there is none.
        ConfigError: if the named one was measured with other settings.
    """
    run = ledger.run(release_id) if release_id else ledger.find_run(key)
    if run is None or not run.stored:
        named = release_id or "these settings and date"
        raise DplibError(f"--stage publish must find a stored measurement, got none for {named}")
    if not replace(key, logical_date=run.key.logical_date).has_settings_of(run.key):
        raise ConfigError("--release", "name a run of this configuration's measurement settings", run.release_id)
    return MeasuredRun.of(run)
