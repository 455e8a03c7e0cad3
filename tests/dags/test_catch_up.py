"""A catch-up takes one session of Spark for many days, and each day's task still speaks of its own day."""

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException
from airflow_place import World
from dplib_days import days_behind
from dplib_schedules import Schedule
from test_refusals import planned

NOW = dt.datetime(2024, 1, 10, 12, tzinfo=dt.UTC)
MEASURED = planned(existing_run="shop-000001", existing_state="measured")
ALONE, BOTH = "--date 2024-01-01", "--dates 2024-01-01..2024-01-02"


def made(**changes: object) -> Schedule:
    settings = {"schedule": "0 0 * * *", "start_date": dt.date(2024, 1, 1), "catchup": True} | changes
    return Schedule(name="shop", job="kmeans", config="/job.yaml", **settings)  # type: ignore[arg-type]


def measure(
    world: World, day: int = 1, run_type: str = "scheduled", tries: int = 1, runs: int = 0, name: str = "second"
) -> list[str]:
    """Execute the task `measure` of a DAG that catches up; the submissions' stage and days."""
    task = world.dags()[name].get_task("measure")
    moment = dt.datetime(2024, 1, day, tzinfo=dt.UTC)
    context: Any = {
        "dag_run": SimpleNamespace(logical_date=moment, run_type=run_type),
        "ti": SimpleNamespace(try_number=tries, get_dr_count=lambda dag_id, logical_dates: runs),
    }
    task.execute(context)
    return [call.partition("--stage measure ")[2] for call in world.asked("submit")]


@pytest.mark.parametrize(
    ("changes", "days"),
    [
        ({}, ["02", "03", "04", "05", "06", "07", "08", "09"]),
        ({"catchup_days": 3}, ["02", "03"]),
        ({"catchup_days": 1}, []),
        ({"end_date": dt.date(2024, 1, 4)}, ["02", "03", "04"]),
        ({"schedule": "30 6 * * *"}, ["02", "03", "04", "05", "06", "07", "08", "09"]),
        ({"timezone": "America/New_York", "schedule": "0 12 * * *"}, ["02", "03", "04", "05", "06", "07", "08"]),
        ({"schedule": "0 0 * * 1"}, []),
        ({"schedule": "0 0 * * 1-3"}, ["02", "03"]),
        ({"catchup": False}, []),
    ],
)
def test_the_days_behind_are_over_and_follow_without_a_gap(changes: dict[str, object], days: list[str]) -> None:
    found = list(days_behind(made(**changes), dt.date(2024, 1, 1), NOW))
    assert [f"{day:%d}" for day, _ in found] == days
    zone = "America/New_York" if "timezone" in changes else "UTC"
    hour = {"30 6 * * *": "06:30", "0 12 * * *": "12:00"}.get(str(changes.get("schedule")), "00:00")
    assert all(str(moment.tzinfo) == zone and f"{moment:%d %H:%M}" == f"{day:%d} {hour}" for day, moment in found)


def test_a_scheduled_run_takes_the_days_that_no_run_was_made_for(world: World) -> None:
    world.tell("dplib", planned())
    world.tell("submit", "0 measured")
    assert measure(world) == [BOTH]
    world.tell("dplib", planned())
    world.tell("submit", "0 measured")
    assert measure(world, runs=1) == [ALONE]


def test_a_backfill_takes_each_day_alone(world: World) -> None:
    world.tell("dplib")
    world.tell("submit", "0 measured")
    assert measure(world, run_type="backfill") == [ALONE]


def test_a_day_that_is_done_starts_no_spark_unless_its_task_is_cleared(world: World) -> None:
    world.tell("dplib", MEASURED)
    world.tell("submit")
    assert measure(world, day=2) == []
    world.tell("dplib")
    world.tell("submit", "0 measured")
    assert measure(world, day=2, tries=2) == ["--date 2024-01-02"]


def test_a_later_day_that_is_refused_fails_no_earlier_one(world: World) -> None:
    world.tell("dplib", planned(), MEASURED)
    world.tell("submit", "4 dplib: the account must have more left")
    assert measure(world) == [BOTH]


def test_a_session_that_ends_before_the_own_day_leaves_it_to_its_own_submission(world: World) -> None:
    world.tell("dplib", *[planned()] * 2)
    world.tell("submit", "2 dplib: something of the second day must be right, got wrong", "0 measured")
    assert measure(world) == [BOTH, ALONE]
    world.tell("dplib", *[planned()] * 2)
    world.tell("submit", *["3 dplib: the input must have a column day, got none"] * 2)
    with pytest.raises(AirflowFailException, match="must have a column day"):
        measure(world)


def test_one_session_measures_and_pays_for_each_day_once(world: World) -> None:
    for program in ("dplib", "submit"):
        world.tell(program)
    assert measure(world) == [BOTH]
    assert world.entries("second") == ["account", *["reserve", "measure"] * 2]
    assert measure(world, day=2) == [BOTH]  # no further submission
