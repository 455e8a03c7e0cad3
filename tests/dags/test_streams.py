"""A stream by its schedule: days in their order, one left out, one whose Spark is killed, the hole filled at last."""

import json
import os
import signal
import subprocess
import threading

from airflow_place import ROOT, World
from test_runs import DONE, PATIENCE, _spark, _wait_for

DATES = [f"2024-01-{day:02d}" for day in range(1, 11)]
HOLE, KILLED = DATES[3], DATES[5]


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


def test_ten_days_with_a_hole_a_kill_and_a_backfill_are_all_measured(world: World) -> None:
    world.tell("submit")
    world.tell("dplib")
    for date in DATES:
        if date == KILLED:
            killer = threading.Thread(target=kill_its_spark, args=(world,))
            killer.start()
            played = world.play("streamed", date)
            killer.join(PATIENCE)
            assert played.state == "success"
            assert played.tasks["measure"][1] > 1
        elif date != HOLE:
            assert world.play("streamed", date).tasks == DONE
    found = shown(world)
    assert (found["n_measured"], found["missing"]) == (9, [HOLE])
    assert world.play("streamed", HOLE).tasks == DONE
    found = shown(world)
    assert (found["n_measured"], found["missing"], found["final_days"]) == (10, [], 10)
