"""Whole DAGs through the real spark-submit: backfills, kills and refusals, by the books and by the bytes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from airflow_place import DAYS, World

DONE = dict.fromkeys(("plan", "measure", "publish", "verify"), ("success", 1))
ONE_RUN = ["reserve", "measure", "publish"]
PATIENCE = 240.0


@pytest.fixture(scope="module")
def undisturbed(world: World) -> dict[str, str]:
    """The files of the first day's release."""
    world.tell("submit")
    world.tell("dplib")
    assert world.play("backfilled", DAYS[0]).tasks == DONE
    return world.releases("backfilled")


@pytest.fixture(scope="module")
def backfilled(undisturbed: dict[str, str], world: World) -> dict[str, str]:
    """The files of three days' releases, made one after another."""
    for day in DAYS[1:]:
        assert world.play("backfilled", day).tasks == DONE
    found = world.releases("backfilled")
    assert undisturbed.items() <= found.items()
    return found


def test_each_day_is_released_once(backfilled: dict[str, str], world: World) -> None:
    assert world.entries("backfilled") == ["account", *ONE_RUN * 3]
    names = {name.partition("/")[0] for name in backfilled}
    assert names == {f"shop-consistent-histograms-{day}-{2 + 3 * at:06d}" for at, day in enumerate(DAYS)}


def test_a_job_that_only_the_tests_know_is_scheduled_like_the_others(world: World) -> None:
    world.tell("submit")
    world.tell("dplib")
    assert world.play("visits", DAYS[0]).tasks == DONE
    assert world.entries("visits") == ["account", *ONE_RUN]


def test_a_second_backfill_makes_the_same_releases_and_spends_nothing(backfilled: dict[str, str], world: World) -> None:
    for day in reversed(DAYS):
        assert world.play("backfilled", day).tasks == DONE
    assert world.releases("backfilled") == backfilled
    assert world.entries("backfilled") == ["account", *ONE_RUN * 3]


def test_another_job_runs_the_same_way(world: World) -> None:
    assert world.play("ages", DAYS[0]).tasks == DONE
    assert world.entries("ages") == ["account", *ONE_RUN]


def test_a_selection_and_the_counts_of_its_keys_are_one_dag_that_repeats_its_bytes(world: World) -> None:
    both = {f"{before}{task}": state for before in ("select_", "") for task, state in DONE.items()}
    assert world.play("chained", DAYS[0]).tasks == both
    made = world.releases("chained")
    names = {name.partition("/")[0] for name in made}
    assert names == {f"shop-key-selection-{DAYS[0]}-000002", f"shop-consistent-histograms-{DAYS[0]}-000005"}
    assert world.play("chained", DAYS[0]).tasks == both
    assert world.releases("chained") == made
    assert world.entries("chained") == ["account", *ONE_RUN * 2]


def test_spark_submit_s_refusal_is_not_tried_again(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert world.play("poor", DAYS[0]).tasks["plan"] == ("failed", 1)
    # Without the check before it the job itself refuses.
    played = world.play("poor", DAYS[0], mark_success_pattern="plan")
    assert played.tasks["measure"] == ("failed", 1)
    said = capfd.readouterr().out
    assert "spark-submit was refused with exit code 4" in said
    assert "dplib: dataset shop must have epsilon 100 left for this release, got 20 of 20" in said
    assert world.entries("poor") == ["account"]
    assert world.releases("poor") == {}


def test_a_run_that_is_killed_anywhere_is_finished_by_a_retry(undisturbed: dict[str, str], world: World) -> None:
    words = [Path(sys.executable).with_name("airflow"), "dags", "test", "killed", DAYS[0]]
    log = world.folder / "killed.log"
    with log.open("wb") as out:
        first = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            # In the middle of measure: paid for, rows being counted. Airflow lives and tries again.
            os.kill(_wait_for(lambda: "reserve" in world.entries("killed") and _spark("killed", "measure")), 9)
            # Between measure and publish: Airflow, Spark and the driver are all gone at once.
            _wait_for(lambda: "measure" in world.entries("killed") and _spark("killed", "publish"))
        finally:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
        assert world.entries("killed") in (["account", *ONE_RUN[:2]], ["account", *ONE_RUN])
        measured = world.played("killed").tasks["measure"]
        assert measured[0] == "success"
        assert measured[1] > 1
        second = subprocess.run(words, stdout=out, stderr=subprocess.STDOUT, timeout=2 * PATIENCE, check=False)
    assert second.returncode == 0, log.read_text()[-3000:]
    assert world.played("killed").tasks == DONE
    assert world.entries("killed") == ["account", *ONE_RUN]
    assert world.releases("killed") == undisturbed


def _wait_for(look: Callable[[], int | bool]) -> int:
    """What ``look`` finds, once it finds something."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = look()
        if found:
            return int(found)
        time.sleep(0.02)
    raise AssertionError("what was waited for did not happen")


def _spark(name: str, stage: str) -> int:
    """The process of a job's spark-submit, 0 where there is none."""
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdecimal() else []
        except OSError:
            continue  # it is gone
        ours = any(word.endswith(f"/{name}/job.yaml".encode()) for word in words)
        if ours and b"org.apache.spark.deploy.SparkSubmit" in words and stage.encode() in words:
            return int(process.name)
    return 0
