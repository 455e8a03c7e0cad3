"""Streams under two schedulers, crashes, lost folders and older ledgers: nothing is measured twice, nothing is lost."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dplib.errors import ConfigError, DplibError, IntegrityError
from dplib.ledger.runs import Run
from dplib.release.staging import MEASUREMENT, check_writable, place_day
from dplib.workflow import stream as stream_module
from dplib.workflow.run_keys import MeasurementKeys
from dplib.workflow.stream import measure_day
from tests.support.jobs import content, dplib
from tests.support.stream_shop import StreamShop, days, new_stream


def disturbed(shop: StreamShop, date: str, meanwhile: Callable[[], object]) -> Run:
    """Measure a day while something else happens between its counts and its record."""
    prepared = shop.prepared(date)
    ledger = prepared.open_ledger()
    run, measure = shop.reserve(prepared, ledger)
    check_writable(prepared.output)

    def slowly(reserved: Run, directory: Path) -> MeasurementKeys:
        found = measure(reserved, directory)
        meanwhile()
        return found

    return measure_day(ledger, run, prepared.output, date, slowly)


def drop_leases(shop: StreamShop) -> None:
    """What time does to the lease of a process that sleeps."""
    with sqlite3.connect(shop.folder / "ledger.db") as ledger:
        ledger.execute("DELETE FROM leases")


def staged(shop: StreamShop) -> list[Path]:
    """Folders that are left in staging."""
    return sorted(shop.output.glob(".staging-*"))


def test_a_second_run_beside_a_first_one_is_told_so(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)

    def second() -> None:
        with pytest.raises(DplibError, match="being measured by another run"):
            shop.day(days(1)[0])

    assert disturbed(shop, days(0)[0], second).measured_on(days(0)[0]) is not None
    assert shop.entries()[2:] == ["reserve", "day"]


def test_of_two_runs_of_one_day_the_first_to_record_wins(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])

    def second() -> None:
        drop_leases(shop)
        shop.counts[1] += 1  # rows came in between: other noise, which nobody may see beside the first
        shop.day(days(1)[0])

    run = disturbed(shop, days(1)[0], second)
    assert shop.entries()[2:] == ["reserve", "day", "publish", "day", "publish"]
    assert run.days == shop.ledger.runs("counts")[0].days
    assert staged(shop) == []
    assert dplib("verify", str(shop.stream), "--ledger", f"sqlite:///{shop.folder}/ledger.db").code == 0


def test_a_stream_is_begun_by_one_run(tmp_path: Path) -> None:
    # Levels that are chosen depend on queries: two runs could begin it on two trees, which together cost more.
    shop = new_stream(tmp_path, stream__levels="auto", queries=["year to date"])

    def second() -> None:
        drop_leases(shop)
        shop.set(queries=["day"]).day(days(1)[0])

    run = disturbed(shop, days(0)[0], second)
    assert [day.date for day in run.days] == days(1, 0)
    assert staged(shop) == []
    assert len({path.read_bytes() for path in shop.stream.glob(f"{MEASUREMENT}/*/tree.json")}) == 1


def dies(*words: object) -> Path:
    """In place of a step of the second day's run."""
    if days(0)[0] in words:
        return place_day(*words)  # type: ignore[arg-type]  # it is that step
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """What two days measured and published without a crash."""
    shop = new_stream(tmp_path_factory.mktemp("whole"))
    version = shop.day(*days(0, 1))
    return content(shop.stream / MEASUREMENT), content(version / "published")


@pytest.mark.parametrize(
    "step", ["workflow.stream.place_day", "workflow.stream.place_version", "ledger.ledger.Ledger.record_published"]
)
def test_a_driver_that_dies_at_a_step_is_followed_by_one_that_finishes_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, whole: tuple[Any, Any]
) -> None:
    shop = new_stream(tmp_path)
    kept = shop.day(days(0)[0])
    before = content(kept)
    with monkeypatch.context() as patch:
        patch.setattr(f"dplib.{step}", dies)
        with pytest.raises(KeyboardInterrupt):
            shop.day(days(1)[0])
    assert content(kept) == before
    version = shop.day(days(1)[0])
    assert shop.entries()[2:] == ["reserve", "day", "publish", "day", "publish"]
    assert (content(shop.stream / MEASUREMENT), content(version / "published")) == whole
    assert staged(shop) == []


def test_a_slow_publication_does_not_take_readers_back(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    slow = shop.measure(days(0)[0])
    version = shop.day(days(1)[0])
    assert shop.publish(shop.prepared(days(0)[0]), slow) == version
    assert shop.entries()[2:] == ["reserve", "day", "day", "publish"]
    assert [path.name for path in shop.stream.iterdir() if path.name.isdecimal()] == [version.name]
    assert staged(shop) == []


def test_what_a_crash_left_beside_a_day_in_its_place_is_removed(tmp_path: Path) -> None:
    left, name = tmp_path / f".staging-s-{0:016x}" / "chosen", days(0)[0]
    left.mkdir(parents=True)
    (tmp_path / "s" / MEASUREMENT / name).mkdir(parents=True)
    assert place_day(tmp_path, "s", name, left.parent.name).is_dir()
    assert not left.parent.exists()


def test_a_close_that_dies_is_finished_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])

    def full(*_: object) -> None:
        raise DplibError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(stream_module, "place_version", full)
        assert shop.close().code == 1
    assert shop.ledger.runs("counts")[0].is_closed
    closed = shop.close()
    assert closed.code == 0, closed.err
    assert shop.entries()[2:] == ["reserve", "day", "publish", "end", "publish"]


def test_a_lost_staging_folder_is_said_and_nothing_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])

    with monkeypatch.context() as patch:
        patch.setattr(stream_module, "place_day", dies)
        with pytest.raises(KeyboardInterrupt):
            shop.day(days(1)[0])
    (lost,) = staged(shop)
    shutil.rmtree(lost)
    before = shop.entries()
    for date in days(1, 2):
        with pytest.raises(IntegrityError, match=f"must have the day {days(1)[0]}"):
            shop.day(date)
    assert shop.entries() == before


def test_an_older_ledger_is_refused_before_rows_are_read(tmp_path: Path) -> None:
    shop, ledger = new_stream(tmp_path), tmp_path / "ledger.db"
    shop.day(days(0)[0])
    shutil.copy(ledger, tmp_path / "older.db")
    newest = shop.day(days(1)[0])
    shutil.copy(tmp_path / "older.db", ledger)
    before = content(shop.output)
    for date in days(1, 2):
        with pytest.raises(ConfigError, match=f"ledger must be as new as the stream .* the day {days(1)[0]}"):
            shop.day(date)
    assert content(shop.output) == before
    assert dplib("query", str(shop.stream), "--from", days(0)[0], "--to", days(1)[0]).code == 0
    assert newest.is_dir()


@pytest.mark.parametrize(
    "changes",
    [
        {"stream__horizon": ["2026-01-26", "2026-02-22"]},
        {"stream__horizon": ["2026-02-01", "2026-02-15"]},
        {"stream__levels": ["day"]},
        {"stream__shares": [1, 2]},
    ],
)
def test_a_stream_is_not_changed_after_its_start(tmp_path: Path, changes: dict[str, object]) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])
    spent = shop.spent()
    shop.set(**changes).rows([(days(6)[0], "tea", "1", "")])
    refused = shop.run("--date", days(6)[0])
    assert (refused.code, shop.spent()) == (2, spent)
    assert refused.err.startswith(
        "dplib: stream must stay as it was when counts-consistent-histograms-stream-000003 began"
    )


def test_a_stream_that_measured_nothing_is_given_up_before_it_is_changed(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    prepared = shop.prepared(days(0)[0])
    run, _ = shop.reserve(prepared, prepared.open_ledger())
    refused = shop.set(stream__levels=["day"]).run("--date", days(0)[0])
    assert (refused.code, f"dplib ledger void {run.release_id}" in refused.err) == (2, True), refused.err
    assert shop.entries()[2:] == ["reserve"]


def test_a_missing_file_of_rows_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    (tmp_path / "orders.csv").unlink()
    refused = shop.run("--date", days(0)[0])
    assert (refused.code, "input.path" in refused.err, shop.spent()) == (3, True, 0), refused.err


def test_a_lost_output_folder_is_said_by_every_command(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])
    shop.set(publish={"output": {"path": "elsewhere"}})
    shutil.rmtree(shop.output)
    with pytest.raises(IntegrityError, match="must have its measured days"):
        shop.measure(days(1)[0])
    outcome = dplib("stream", "close", "--config", str(shop.config), "--why", "its folder is lost")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1), outcome.err
