"""A real scheduler with its executor and servers: catch-up, a backfill, a pool; programs that do as they are told."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from airflow.models import DagModel, DagRun
from airflow.utils.session import create_session
from airflow_place import World
from sqlalchemy import select
from test_refusals import planned

AIRFLOW = str(Path(sys.executable).with_name("airflow"))
TWO = ("first", "second")
DAYS = ("2024-01-01", "2024-01-02")
PATIENCE = 600.0


@pytest.fixture(scope="module")
def scheduled(world: World) -> Iterator[World]:
    """The world while a scheduler works on it; both DAGs are on."""
    world.tell("dplib", *[planned()] * 60)
    world.tell("submit", *["0 done"] * 30, slowly=True)
    world.play("scripted", DAYS[0])  # Airflow's database knows all DAGs of a bundle once one of them ran
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
    }
    words = [
        ["api-server", "--apps", "execution", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"],
        ["dag-processor"],
        ["scheduler", "--skip-serve-logs"],
    ]
    # Before anything else writes: SQLite serves one at a time.
    backfill = ["backfill", "create", "--dag-id", "first", "--from-date", DAYS[0], "--to-date", DAYS[-1]]
    subprocess.run([AIRFLOW, *backfill], check=True, capture_output=True)
    _switch(on=True)
    running: list[subprocess.Popen[bytes]] = []
    with (world.folder / "scheduler.log").open("wb") as log:

        def start(options: list[str]) -> subprocess.Popen[bytes]:
            environment = os.environ | settings
            return subprocess.Popen(
                [AIRFLOW, *options], env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

        try:
            running.extend(start(each) for each in words)
            yield world
        finally:
            for process in reversed(running):
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            _switch(on=False)


def _switch(on: bool) -> None:
    with create_session() as session:
        for name in TWO:
            dag = session.get(DagModel, name)
            assert dag is not None
            dag.is_paused = not on


def _runs(name: str) -> list[DagRun]:
    with create_session() as session:
        runs = session.scalars(select(DagRun).where(DagRun.dag_id == name).order_by(DagRun.logical_date)).all()
        session.expunge_all()
        return list(runs)


def _wait_for(done: Callable[[], bool], world: World) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > until:
            raise AssertionError((world.folder / "scheduler.log").read_text()[-3000:])
        time.sleep(0.5)


def _all_done(n_calls: int, world: World) -> bool:
    runs = [run for name in TWO for run in _runs(name)]
    finished = len(runs) == len(TWO) * len(DAYS) and all(run.state == "success" for run in runs)
    return finished and len(world.times("submit")) == 2 * n_calls


def _measured(world: World, name: str) -> list[str]:
    """The day, or the first and last, of each submission to measure, in the order of the calls."""
    config = f"/{name}/job.yaml"
    calls = [call.split() for call in world.asked("submit") if config in call and "--stage measure" in call]
    return [words[-1] for words in calls]


def test_a_backfill_and_a_catch_up_share_a_pool_and_release_each_day_once(scheduled: World) -> None:
    played = 2  # calls of `scripted`, which told the database of the DAGs
    _wait_for(lambda: _all_done(played + 2 * len(TWO) * len(DAYS), scheduled), scheduled)
    for name, kind in zip(TWO, ("backfill", "scheduled"), strict=True):
        runs = _runs(name)
        assert [run.logical_date.date().isoformat() for run in runs] == list(DAYS)
        assert {str(run.run_type) for run in runs} == {kind}
    assert sorted(_measured(scheduled, "first")) == list(DAYS)
    # The ledger of these tests forgets, so the second day's own run asks for it once more.
    assert sorted(_measured(scheduled, "second")) == ["2024-01-01..2024-01-02", DAYS[1]]
    first, second = _runs("second")
    assert first.end_date <= second.start_date
    # One slot: whatever the scheduler wanted to do at once, no two submissions overlapped.
    times = scheduled.times("submit")
    assert times == ["begin", "end"] * (len(times) // 2)
