"""The life of a stream: one reservation, one measurement a day, and a version after each.

    <output>/<release id>/.reservation            which reservation paid
    <output>/<release id>/measurement/2026-03-31  what was measured on a day, written once
    <output>/<release id>/000090                  a version: a release of its own, which later ones leave as it is

The ledger takes each day once (`Ledger.record_day`), so days may be run late, in any order, again after a crash, or by
two jobs at once: nothing is measured twice, and a measurement that the ledger does not name is never seen. A crash
before the record leaves nothing; one after it leaves a staging folder that the ledger names, which the next run of any
day puts in place.
"""

from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

from dplib.errors import ConfigError, IntegrityError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import MeasuredDay, MeasuredRun, Publication, Run, RunKey, RunState, StoredMeasurement
from dplib.release.chosen_table import ChosenTable, staged_name
from dplib.release.files import MANIFEST, content_hash, file_sha256, versions_in
from dplib.release.manifest import STREAM, load_manifest
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
from dplib.workflow.storing import Measure, measure_into_staging, published, recorded


def home_of(output: Path, run: Run) -> Path:
    """The folder in which a stream's folder lies: where it began, whatever the settings say by now."""
    return Path(run.days[0].measurement.location).parent if run.days else output.resolve()


def require_same_stream(ledger: Ledger, key: RunKey, settings: Mapping[str, Any], horizon: tuple[str, str]) -> None:
    """Refuse to begin a stream beside an open one of the same settings that has days in common with it.

    Its horizon or its levels were changed after the start: that would be another stream, which pays anew.

    Raises:
        ConfigError: naming the stream.
    """
    for run in ledger.runs(key.dataset):
        if run.horizon is None or run.is_closed or run.state is RunState.VOIDED or run.key.job != key.job:
            continue
        apart = horizon[1] < run.horizon[0] or run.horizon[1] < horizon[0]
        known = ledger.settings_of(run)
        if not apart and known is not None and _but_horizon(known, run.horizon) == _but_horizon(settings, horizon):
            levels = known["stream"]["levels"]
            shown = levels if isinstance(levels, str) else ", ".join(levels)
            ended = "closed (dplib stream close)" if run.days else f"given up (dplib ledger void {run.release_id})"
            raise ConfigError(
                "stream",
                f"stay as it was when {run.release_id} began (horizon {run.horizon[0]} to {run.horizon[1]}, levels "
                f"{shown}) until that stream is {ended}",
                "another one",
            )


def _but_horizon(settings: Any, horizon: tuple[str, str]) -> Any:
    """Settings without the section ``stream``, the ends of the horizon blank wherever they stand."""
    if isinstance(settings, Mapping):
        return {name: _but_horizon(value, horizon) for name, value in settings.items() if name != "stream"}
    if isinstance(settings, list | tuple):
        return [_but_horizon(value, horizon) for value in settings]
    return "" if settings in horizon else settings


def version_of(output: Path, run: Run, shaping: str = "") -> StreamVersion:
    """What is measured, and the newest version; for one that is made now, the hash of the settings that shape it."""
    home, newest = home_of(output, run), None if run.publication is None else Path(run.publication.location)
    days = {day.date: day.measurement.content_sha256 for day in sorted(run.days, key=lambda day: day.date)}
    place, chosen = home / run.release_id / MEASUREMENT, chosen_of(home, run)
    return StreamVersion(days, run.is_closed, place, newest, chosen, shaping)


def chosen_of(output: Path, run: Run) -> ChosenTable:
    """The table of chosen rows of a stream."""
    return ChosenTable.beside(output, run.release_id, run.chosen)


def chosen_state(output: Path, run: Run) -> str | None:
    """Whether the table of chosen rows is kept, lost or deleted; None where no day made one."""
    output, table = home_of(output, run), chosen_of(home_of(output, run), run)
    if not table.names:
        return None
    if not run.takes_days:
        return "deleted"
    staged = {staged_name(output / day.measurement.staged) for day in run.days}
    return "kept" if set(table.names) <= table.lying() | staged else "lost"


def end_stream(ledger: Ledger, run: Run, output: Path, reason: str) -> None:
    """Close a stream, or see to it that one which is closed keeps no table of chosen rows.

    Raises:
        ConfigError: if the run is not a stream with a measured day.
    """
    closed, home = run if run.is_closed else ledger.end_stream(run, reason), home_of(output, run)
    with disk_errors():
        remove_leftovers(home, closed.release_id, lambda: recorded(ledger, closed))
    chosen_of(home, closed).remove()


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
        IntegrityError: if a measured day is missing or changed, a part of the table of chosen rows is missing, or the
            stream was closed.
        ConfigError: if the ledger is older than that table, or than a measured day.
    """
    output = home_of(output, run)
    with disk_errors(), ledger.holding(run):
        remove_leftovers(output, run.release_id, lambda: recorded(ledger, run))
        # Before anything is measured: a crash may have left a day in staging, and the tree is that of the first day.
        checked = _stored(run, output)
        is_open = run.measured_on(date) is None
        while is_open:
            run = _measured_after_newest(ledger, run, output, date, measure, checked)
            checked |= _stored(run, output, checked)
            # A day that another run recorded meanwhile changed what is chosen: what was measured is gone, unseen.
            is_open = run.measured_on(date) is None
        # Who closed the stream meanwhile deleted the table, to which this run's part may have come since.
        run = ledger.run(run.release_id)
        _stored(run, output, checked)
    return MeasuredRun.of(run)


def _measured_after_newest(
    ledger: Ledger, run: Run, output: Path, date: str, measure: Measure, checked: Set[MeasuredDay]
) -> Run:
    """Measure a day after all that the ledger knows; returns the run, with the day unless another run came first."""
    place, lying = output / run.release_id / MEASUREMENT, chosen_of(output, run).lying()
    days = {path.name for path in place.iterdir() if path.is_dir()} if place.is_dir() else set()
    # Read after the folders: what another run measured meanwhile was in the ledger before it lay there.
    run = ledger.run(run.release_id)
    _require_known(run, days)
    if run.is_closed:
        raise IntegrityError(f"{run.release_id} must measure each day once and none after its end, got {date}")
    # What was recorded meanwhile is put in place first.
    _stored(run, output, checked)
    chosen_of(output, run).require_newest(lying, run.release_id)
    after = run.chosen[-1] if run.chosen else None

    def record(mine: StoredMeasurement) -> Run:
        return ledger.record_day(run, MeasuredDay(date, mine, staged_name(output / mine.staged), after))

    return measure_into_staging(run, output, measure, record)


def _stored(run: Run, output: Path, checked: Set[MeasuredDay] = frozenset()) -> set[MeasuredDay]:
    """Put every measured day in place that a crash left in staging, and hold each against the ledger's hash.

    Where units span days the table of chosen rows is kept as long as there are days to measure.
    """
    table, days = chosen_of(output, run), [day for day in run.days if day not in checked]
    for day in days:
        if day.chosen is not None and run.takes_days:
            table.place(output / day.measurement.staged, day.chosen)
        place = place_day(output, run.release_id, day.date, day.measurement.staged)
        if content_hash(place) != day.measurement.content_sha256:
            raise IntegrityError(
                f"{run.release_id} must have the day {day.date} that the ledger names, got a changed one"
            )
    if run.days:
        mark(output / run.release_id, run)
    if not run.takes_days:
        table.remove()
    return set(days)


def _require_known(run: Run, lying: Set[str]) -> None:
    """Refuse, before rows are read, a ledger that does not know all days which lie in the stream's folder.

    Raises:
        ConfigError: if it was put back to an older state, by which such a day would be measured again.
    """
    unknown = sorted(lying - {day.date for day in run.days})
    if unknown:
        raise ConfigError(
            "ledger",
            f"be as new as the stream {run.release_id}",
            f"one that does not know the day {unknown[0]}, which is measured; it may be an older backup",
        )


def publish_version(
    ledger: Ledger, run: MeasuredRun, output: Path, publish_hash: str, publish: Callable[[MeasuredRun, Path], None]
) -> Path:
    """Return the newest version of a stream under the given publish settings, made now only if it does not exist.

    Where another run published a later state meanwhile, that version stays the newest, and is returned.

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
    existing = published(run, publish_hash)
    if existing is not None:
        return existing
    output = home_of(output, run)
    check_writable(output)
    with disk_errors():
        remove_leftovers(output, run.release_id, lambda: recorded(ledger, run))
        _stored(run, output)
        with Staging(output, run.release_id) as staging:
            try:
                publish(run, staging.path)
                manifest_sha256 = file_sha256(staging.path / MANIFEST)
                version = place_version(staging, lambda newest: _knows_more(newest, run))
            except BaseException:
                staging.discard()
                raise
            if version is None:
                staging.discard()
                return versions_in(output / run.release_id)[-1]
    ledger.record_published(run, Publication(str(version), publish_hash, manifest_sha256))
    return version


def _knows_more(version: Path, run: Run) -> bool:
    """Whether a version was made of a later state of a stream than a run's: of more days, or after its end."""
    try:
        known: Any = load_manifest(version).details[STREAM]
    except IntegrityError:  # one that was changed holds nobody up
        return False
    return len(known["days"]) > len(run.days) or (known["closed"] and not run.is_closed)
