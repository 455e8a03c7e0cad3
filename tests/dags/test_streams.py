"""A stream by its schedule: a catch-up, one day left out, one whose Spark is killed, the hole filled, and its end."""

import json
import os
import signal
import subprocess
import threading

from airflow_place import ROOT, World
from test_catch_up import measure
from test_runs import DONE, PATIENCE, _spark, _wait_for

DATES = [f"2024-01-{day:02d}" for day in range(1, 11)]
HOLE, KILLED = DATES[3], DATES[5]
CLOSE = DONE | {"close": ("success", 1)}


def shown(world: World) -> dict[str, object]:
    """What dplib says of the stream."""
    words = ["stream", "show", "--config", str(world.place("streamed") / "job.yaml"), "--json"]
    found: dict[str, object] = json.loads(
        subprocess.run([ROOT / ".venv/bin/dplib", *words], check=True, capture_output=True).stdout
    )
    return found


def kill_its_spark(world: World) -> None:
    """Kill Spark while it counts the rows of a day: something is in staging, nothing of it in the ledger."""
    _wait_for(lambda: any((world.place("streamed") / "releases").glob(".staging-*")))
    os.kill(_wait_for(lambda: _spark("streamed", "measure")), signal.SIGKILL)


def test_ten_days_with_a_hole_a_kill_and_a_backfill_are_all_measured_and_close_the_stream(world: World) -> None:
    world.tell("submit")
    world.tell("dplib")
    # The first two days in one session.
    assert measure(world, name="streamed") == [f"--dates {DATES[0]}..{DATES[1]}"]
    assert measure(world, day=2, name="streamed") == [f"--dates {DATES[0]}..{DATES[1]}"]  # no further submission
    for date in DATES[1:]:
        if date == KILLED:
            killer = threading.Thread(target=kill_its_spark, args=(world,))
            killer.start()
            played = world.play("streamed", date)
            killer.join(PATIENCE)
            assert played.state == "success"
            assert played.tasks["measure"][1] > 1
        elif date == DATES[2]:
            # As by the scheduler, which has a run of the hole: that the stream is published is no day's being done.
            assert measure(world, day=3, runs=1, name="streamed")[-1] == f"--date {date}"
        elif date != HOLE:
            assert world.play("streamed", date).tasks == CLOSE
    found = shown(world)
    assert (found["n_measured"], found["missing"], found["closed"]) == (9, [HOLE], False)
    assert world.play("streamed", HOLE).tasks == CLOSE
    found = shown(world)
    assert (found["n_measured"], found["missing"], found["final_days"], found["closed"]) == (10, [], 10, True)
    made = world.releases("streamed")
    assert world.play("streamed", HOLE).tasks == CLOSE
    assert world.releases("streamed") == made
    assert [world.entries("streamed").count(kind) for kind in ("reserve", "day", "end")] == [1, 10, 1]
