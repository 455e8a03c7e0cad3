"""The schedule file: what is right is taken as it stands, what is wrong is named in one sentence."""

import datetime as dt
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from airflow_place import ROOT, STREAMED, World
from dplib_days import DayError, check_day, day_of
from dplib_schedules import Schedule, ScheduleError, read_schedules

SENTENCE = re.compile(r"[^\n]+ must [^\n]+, got [^\n]+")
ENTRY: dict[str, Any] = {
    "name": "daily",
    "job": "kmeans",
    "config": "job.yaml",
    "schedule": "@daily",
    "start_date": dt.date(2024, 1, 1),
}


def write(folder: Path, entry: dict[str, Any], **changes: object) -> Path:
    content = {"schedules_version": 1, "home": "..", "schedules": [entry], **changes}
    path = folder / "schedules.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value != "(dropped)"}))
    return path


def test_an_entry_takes_defaults_and_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    found = read_schedules(write(tmp_path, ENTRY | {"retries": 1}, defaults={"pool": "team", "retries": 5}))
    (entry,) = found.schedules
    assert found.home == tmp_path.parent
    assert (entry.pool, entry.retries, entry.config) == ("team", 1, str(tmp_path / "job.yaml"))
    assert (entry.schedule, entry.catchup, entry.end_date) == ("0 0 * * *", False, None)


def test_the_example_is_right() -> None:
    found = read_schedules(ROOT / "conf" / "airflow" / "schedules.yaml")
    assert found.home == ROOT
    for entry in found.schedules:
        assert Path(entry.config).is_file()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"job": "k-means"}, "schedules[0].job"),
        ({"name": "two words"}, "schedules[0].name"),
        ({"again": True}, "schedules[0].again"),
        ({"schedule": "@hourly"}, "schedules[0].schedule"),
        ({"schedule": "0 * * * *"}, "schedules[0].schedule"),
        ({"schedule": "0 0,12 * * *"}, "schedules[0].schedule"),
        ({"schedule": "0 25 * * *"}, "schedules[0].schedule"),
        ({"schedule": 5}, "schedules[0].schedule"),
        ({"start_date": "soon"}, "schedules[0].start_date"),
        ({"start_date": dt.datetime(2024, 1, 1, 12)}, "schedules[0].start_date"),
        ({"end_date": dt.date(2023, 1, 1)}, "schedules[0].end_date"),
        ({"timezone": "Mars/Olympus"}, "schedules[0].timezone"),
        ({"catchup": "yes"}, "schedules[0].catchup"),
        ({"retries": -1}, "schedules[0].retries"),
        ({"retries": True}, "schedules[0].retries"),
        ({"retry_delay": 0}, "schedules[0].retry_delay"),
        ({"conf": {"master": "yarn"}}, "schedules[0].conf.master"),
        ({"conf": {"spark.master": "yarn"}}, "schedules[0].conf.spark.master"),
        ({"conf": {"spark.x": {}}}, "schedules[0].conf.spark.x"),
        ({"config": "{{ params.file }}"}, "schedules[0].config"),
        ({"config": ""}, "schedules[0].config"),
        ({"close": True}, "schedules[0].close"),
        ({"stream": True}, "schedules[0].end_date"),
        (STREAMED | {"stream": "yes"}, "schedules[0].stream"),
        (STREAMED | {"schedule": "@weekly"}, "schedules[0].schedule"),
        (STREAMED | {"select": {"config": "a.yaml", "setting": "domain.items"}}, "schedules[0].select"),
        ({"select": "keys.yaml"}, "schedules[0].select"),
        ({"select": {"config": "keys.yaml"}}, "schedules[0].select.setting"),
        ({"select": {"config": "keys.yaml", "setting": "a b"}}, "schedules[0].select.setting"),
        ({"select": {"config": "keys.yaml", "setting": "graph.vertices", "job": "kmeans"}}, "schedules[0].select.job"),
    ],
)
def test_a_wrong_entry_is_one_sentence(change: dict[str, Any], name: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError) as refused:
        read_schedules(write(tmp_path, ENTRY | change))
    assert SENTENCE.fullmatch(str(refused.value))
    assert str(refused.value).startswith(f"{name} must ")


@pytest.mark.parametrize("name", ["name", "job", "config", "schedule", "start_date"])
def test_a_missing_key_is_one_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match=re.escape(f"schedules[0].{name} must be given, got nothing")):
        read_schedules(write(tmp_path, {key: value for key, value in ENTRY.items() if key != name}))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"schedules_version": 2}, "schedules_version"),
        ({"home": "(dropped)"}, "home"),
        ({"schedules": []}, "schedules"),
        ({"schedules": [ENTRY, ENTRY]}, "name"),
        ({"schedules": [7]}, "schedules[0]"),
        ({"defaults": {"job": "kmeans"}}, "defaults.job"),
        ({"dags": []}, "dags"),
    ],
)
def test_a_wrong_file_is_one_sentence(change: dict[str, Any], name: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError) as refused:
        read_schedules(write(tmp_path, ENTRY, **change))
    assert SENTENCE.fullmatch(str(refused.value))
    assert str(refused.value).startswith(f"{name} must ")


def test_the_file_can_be_checked_before_it_is_deployed(tmp_path: Path) -> None:
    def checked(text: str) -> tuple[int, str]:
        path = tmp_path / "schedules.yaml"
        path.write_text(text)
        words = [sys.executable, ROOT / "jobs" / "dags" / "dplib_schedules.py", path]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert checked(write(tmp_path, ENTRY).read_text()) == (0, "")
    assert checked(write(tmp_path, ENTRY).read_text() + "home: elsewhere\n")[0] == 2
    code, said = checked("schedules: [")
    assert code == 2
    assert re.fullmatch(r"dplib: the schedule file must be valid YAML, got \S+ with an error in line \d+\n", said)


def made(**changes: object) -> Schedule:
    known = ENTRY | {"schedule": "0 0 * * *", "timezone": "Europe/London"} | changes
    return Schedule(**known)


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def test_the_day_is_the_logical_date_in_the_time_zone_of_the_schedule() -> None:
    # Midnight of a summer's day in London is still the day before in UTC.
    assert day_of(made(), utc("2024-06-30T23:00")) == dt.date(2024, 7, 1)
    assert day_of(made(), utc("2024-01-01T00:00")) == dt.date(2024, 1, 1)
    with pytest.raises(DayError, match="must have a logical date"):
        day_of(made(), None)


@pytest.mark.parametrize(
    ("schedule", "day", "over"),
    [
        ("0 0 * * *", "2024-06-30", "2024-06-30T23:00"),  # in London
        ("0 3 * * *", "2024-01-31", "2024-02-01T03:00"),
        ("0 0 * * 0", "2024-01-07", "2024-01-14T00:00"),
        ("0 0 1 */3 *", "2024-01-01", "2024-03-31T23:00"),  # summer time has begun
        (None, "2024-01-05", "2024-01-06T00:00"),
    ],
)
def test_a_day_is_released_once_its_period_is_over(schedule: str | None, day: str, over: str) -> None:
    entry = made(schedule=schedule)
    check_day(entry, dt.date.fromisoformat(day), utc(over))
    with pytest.raises(DayError, match="must be a day whose period is over"):
        check_day(entry, dt.date.fromisoformat(day), utc(over) - dt.timedelta(seconds=1))


@pytest.mark.parametrize(
    ("schedule", "zone", "day", "over"),
    [
        # The clock is put back: the day has 25 hours, and its own time comes twice.
        ("0 2 * * *", "Europe/Paris", "2024-10-26", "2024-10-27T01:00"),
        ("0 2 * * *", "Europe/Paris", "2024-10-27", "2024-10-28T01:00"),
        ("30 1 * * *", "America/New_York", "2024-11-03", "2024-11-04T06:30"),
        ("0 0 * * *", "America/Havana", "2024-11-03", "2024-11-04T05:00"),
        (None, "America/Havana", "2024-11-02", "2024-11-03T05:00"),
        # It is put forward: the time is skipped, and comes an hour later.
        ("30 2 * * *", "Europe/Paris", "2024-03-30", "2024-03-31T01:30"),
        ("30 2 * * *", "Europe/Paris", "2024-03-31", "2024-04-01T00:30"),
        (None, "Europe/Paris", "2024-03-31", "2024-03-31T22:00"),
    ],
)
def test_a_clock_hour_that_comes_twice_or_never_ends_no_day_early(
    schedule: str | None, zone: str, day: str, over: str
) -> None:
    entry = made(schedule=schedule, timezone=zone)
    check_day(entry, dt.date.fromisoformat(day), utc(over))
    with pytest.raises(DayError, match="must be a day whose period is over"):
        check_day(entry, dt.date.fromisoformat(day), utc(over) - dt.timedelta(seconds=1))


def test_a_day_in_the_middle_of_a_week_is_no_release_of_the_week() -> None:
    with pytest.raises(DayError, match="must be a first day of the schedule"):
        check_day(made(schedule="0 0 * * 0"), dt.date(2024, 1, 8), utc("2024-02-01T00:00"))


def test_what_the_file_says_is_what_airflow_shows(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.dag_processing.dagbag import BundleDagBag

    monkeypatch.setenv("DPLIB_SCHEDULES", str(write(tmp_path, ENTRY | {"job": "k-means"})))
    folder = ROOT / "jobs" / "dags"
    (shown,) = BundleDagBag(folder, bundle_path=folder).import_errors.values()
    assert SENTENCE.fullmatch(shown.splitlines()[-1].partition("ScheduleError: ")[2])
