"""The life of a stream: one reservation, one measurement a day, and a version after each.

    <output>/<release id>/.reservation            which reservation paid
    <output>/<release id>/measurement/2026-03-31  what was measured on a day, written once
    <output>/<release id>/000090                  a version: a release of its own, which later ones leave as it is

The ledger takes each day once (`Ledger.record_day`), so days may be run late, in any order, again after a crash, or by
two jobs at once: nothing is measured twice, and a measurement that the ledger does not name is never seen. A crash
before the record leaves nothing; one after it leaves a staging folder that the ledger names, which the next run of any
day puts in place.
"""

from collections.abc import Callable
from pathlib import Path

from dplib.errors import IntegrityError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import MeasuredDay, MeasuredRun, Publication, Run
from dplib.release.files import MANIFEST, content_hash, file_sha256
from dplib.release.membership import mark
from dplib.release.staging import (
    MEASUREMENT,
    Staging,
    check_writable,
    disk_errors,
    place_day,
    place_version,
    remove_leftovers,
)
from dplib.release.stream_version import StreamVersion
from dplib.workflow.storing import Measure, measure_into_staging, recorded


def home_of(output: Path, run: Run) -> Path:
    """The folder in which a stream's folder lies: where it began, whatever the settings say by now."""
    return Path(run.days[0].measurement.location).parent if run.days else output.resolve()


def version_of(output: Path, run: Run) -> StreamVersion:
    """What is measured, and the newest version."""
    previous = None if run.publication is None else Path(run.publication.location)
    days = {day.date: day.measurement.content_sha256 for day in sorted(run.days, key=lambda day: day.date)}
    return StreamVersion(days, run.is_closed, home_of(output, run) / run.release_id / MEASUREMENT, previous)


def measure_day(ledger: Ledger, run: Run, output: Path, date: str, measure: Measure) -> MeasuredRun:
    """Return a stream whose day is measured, made now only if it is not.

    Args:
        ledger: the open ledger, which holds the stream's lease.
        run: what `Ledger.reserve` returned.
        output: folder of all releases.
        date: the day, ISO 8601.
        measure: the private part.

    Raises:
        DplibError: if the disk is full.
        IntegrityError: if a measured day is missing or changed.
    """
    output = home_of(output, run)
    with disk_errors(), ledger.holding(run):
        remove_leftovers(output, run.release_id, lambda: recorded(ledger, run))
        # Before anything is measured: a crash may have left a day in staging, and the tree is that of the first day.
        _stored(run, output)
        if run.measured_on(date) is None:
            run = measure_into_staging(
                run, output, measure, lambda mine: ledger.record_day(run, MeasuredDay(date, mine))
            )
        _stored(run, output)
    return MeasuredRun.of(run)


def _stored(run: Run, output: Path) -> None:
    """Put every measured day in place that a crash left in staging, and hold each against the ledger's hash."""
    for day in run.days:
        place = place_day(output, run.release_id, day.date, day.measurement.staged)
        if content_hash(place) != day.measurement.content_sha256:
            raise IntegrityError(
                f"{run.release_id} must have the day {day.date} that the ledger names, got a changed one"
            )
    if run.days:
        mark(output / run.release_id, run)


def publish_version(
    ledger: Ledger, run: MeasuredRun, output: Path, publish_hash: str, publish: Callable[[MeasuredRun, Path], None]
) -> Path:
    """Return the newest version of a stream under the given publish settings, made now only if it does not exist.

    Args:
        ledger: the open ledger.
        run: with what was measured so far.
        output: folder of all releases.
        publish_hash: of the publish settings and what was measured.
        publish: the post-processing; writes a whole release into the given directory.

    Raises:
        IntegrityError: if a measured day is missing or changed.
        ConfigError: if the output cannot be written.
        DplibError: if the disk is full.
    """
    newest = run.publication
    if newest is not None and newest.publish_hash == publish_hash:
        manifest = Path(newest.location) / MANIFEST
        if manifest.is_file() and file_sha256(manifest) == newest.manifest_sha256:
            return Path(newest.location)
    output = home_of(output, run)
    check_writable(output)
    with disk_errors():
        _stored(run, output)
        with Staging(output, run.release_id) as staging:
            try:
                publish(run, staging.path)
                manifest_sha256 = file_sha256(staging.path / MANIFEST)
                version = place_version(staging)
            except BaseException:
                staging.discard()
                raise
    ledger.record_published(run, Publication(str(version), publish_hash, manifest_sha256))
    return version
