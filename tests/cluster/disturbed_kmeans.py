"""The job kmeans with one task that waits while a test disturbs the cluster: DIRECTORY and the job's options.

The first task that adds up points in the pass after the first writes the number of its process to DIRECTORY/paused and
goes on when DIRECTORY/go exists; a task that is run again does not wait. What is patched is this driver's; executors
get the functions below by value.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dplib.cli.main import submit
from dplib.spark.points import points

Function = Callable[..., Any]


def pause(folder: Path) -> None:
    """Wait if nobody did before."""
    paused, part = folder / "paused", folder / f"part-{os.getpid()}"
    if paused.exists():
        return
    part.write_text(str(os.getpid()))
    part.rename(paused)
    until = time.monotonic() + 240
    while not (folder / "go").exists():
        if time.monotonic() > until:
            raise TimeoutError("nobody let the task go on")
        time.sleep(0.05)


def waiting_maker(maker: Function, folder: Path) -> Function:
    """A maker of functions on batches, from the second of which on each pauses before its first batch."""
    made_before: list[Any] = []

    def make(*arguments: Any) -> Function:
        made = maker(*arguments)
        first = not made_before
        made_before.append(made)

        def wait_and_summarise(batches: Any) -> Any:
            pause(folder)
            yield from made(batches)

        return made if first else wait_and_summarise

    return make


if __name__ == "__main__":
    directory = Path(sys.argv.pop(1))
    points._summarise = waiting_maker(points._summarise, directory)
    submit("kmeans")
