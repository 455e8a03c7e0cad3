"""The DAGs as Airflow loads them: one an entry, their order, retries, pools, dates, and what they cannot do."""

import datetime as dt
import subprocess
import sys
from itertools import pairwise

import pendulum
import pytest
from airflow.sdk import DAG
from airflow.sdk.definitions.timetables.interval import CronDataIntervalTimetable
from airflow.serialization.encoders import coerce_to_core_timetable
from airflow.timetables.base import TimeRestriction
from airflow_place import JOBS, OWN, World

ORDER = ["plan", "measure", "publish", "verify"]
LOADED = """
import sys
from airflow.providers.apache.spark.operators import spark_submit
from airflow import sdk
sdk.DAG, sdk.BaseOperator, sdk.CronDataIntervalTimetable
sys.path.insert(0, "jobs/dags")
import dplib_operators
import dplib_dags
print(sorted({name.partition(".")[0] for name in sys.modules} & {"dplib", "pyspark", "numpy", "pandas"}))
"""


@pytest.fixture(scope="module")
def dags(world: World) -> dict[str, DAG]:
    return world.dags()


def test_there_is_one_dag_an_entry(dags: dict[str, DAG]) -> None:
    assert set(dags) == set(JOBS)


def test_tasks_follow_one_another(dags: dict[str, DAG]) -> None:
    for name, dag in dags.items():
        order = [f"select_{task}" for task in ORDER] + ORDER if name == "chained" else ORDER
        order = [*ORDER, "close"] if "stream" in OWN.get(name, {}) else order
        assert [task.task_id for task in dag.topological_sort()] == order
        for before, after in pairwise(order):
            assert dag.get_task(before).downstream_task_ids == {after}


def test_runs_do_not_overlap_and_do_not_wait_for_yesterday(dags: dict[str, DAG]) -> None:
    for name, dag in dags.items():
        assert dag.max_active_runs == 1
        writing = {"measure", "publish"} | ({"close"} if "stream" in OWN.get(name, {}) else set())
        assert {task.task_id.removeprefix("select_") for task in dag.tasks if task.pool == "dplib"} == writing
        assert {task.pool_slots for task in dag.tasks} == {1}
        assert not any(task.depends_on_past for task in dag.tasks)


def test_a_failure_is_retried_later_and_later(dags: dict[str, DAG]) -> None:
    for task in dags["backfilled"].tasks:
        assert (task.retries, task.retry_delay) == (2, dt.timedelta(seconds=1))
        assert task.retry_exponential_backoff == 2
        assert task.execution_timeout == dt.timedelta(hours=12)


def test_nothing_is_spent_by_a_click_or_by_loading_a_new_dag(dags: dict[str, DAG]) -> None:
    for name, dag in dags.items():
        assert dict(dag.params) == {}
        assert dag.is_paused_upon_creation is True
        assert dag.catchup is OWN.get(name, {}).get("catchup", False)
        for task in dag.tasks:
            shown = " ".join(str(getattr(task, name)) for name in task.template_fields)
            assert "{{" not in shown
            assert "--again" not in shown


def test_the_run_of_a_day_starts_when_the_day_is_over(dags: dict[str, DAG]) -> None:
    dag = dags["backfilled"]
    assert isinstance(dag.timetable, CronDataIntervalTimetable)
    runs = coerce_to_core_timetable(dag.timetable)
    zone = pendulum.timezone("Europe/London")
    first = runs.next_dagrun_info(
        last_automated_data_interval=None,
        restriction=TimeRestriction(pendulum.datetime(2024, 7, 1, tz=zone), None, catchup=True),
    )
    assert first is not None
    assert first.logical_date == pendulum.datetime(2024, 7, 1, tz=zone)
    assert first.run_after == pendulum.datetime(2024, 7, 2, tz=zone)


def test_each_dag_says_what_it_does(dags: dict[str, DAG]) -> None:
    for name, dag in dags.items():
        assert dag.doc_md is not None
        assert f"{name}/job.yaml" in dag.doc_md
        assert all(task in dag.doc_md for task in ORDER)


def test_loading_takes_milliseconds_and_imports_neither_dplib_nor_spark(world: World) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=world.home)
    # What takes long to load is not loaded; a time would depend on the machine's load.
    assert done.stdout.splitlines()[-1] == "[]"
