"""The main job with one task that waits while a test disturbs the cluster: DIRECTORY, WHERE and the job's options.

WHERE is ``counts`` (a task that fills blocks, with others still to come) or ``noise`` (a task that draws noise). The
first such task writes the number of its process to DIRECTORY/paused and goes on when DIRECTORY/go exists; a task that
is run again does not wait. What is patched is this driver's; executors get the functions below by value.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dplib.cli import submit
from dplib.consistent_histograms import blocks
from dplib.spark import counts
from jobs import consistent_histograms

Function = Callable[..., Any]


def pause(folder: Path) -> None:
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


def waiting(function: Function, folder: Path) -> Function:
    """The function, after the pause."""

    def wait_and_call(*arguments: Any) -> Any:
        pause(folder)
        return function(*arguments)

    return wait_and_call


def waiting_maker(maker: Function, folder: Path) -> Function:
    """A function that makes functions, each with the pause."""

    def make(*arguments: Any) -> Function:
        made = maker(*arguments)

        # applyInArrow looks at the annotations and the number of arguments.
        def wait_and_fill(cells: Any) -> Any:
            pause(folder)
            return made(cells)

        return wait_and_fill

    return make


if __name__ == "__main__":
    directory, where = Path(sys.argv.pop(1)), sys.argv.pop(1)
    if where == "counts":
        counts._fill_block = waiting_maker(counts._fill_block, directory)
    else:
        blocks._add_noise = waiting(blocks._add_noise, directory)
    submit(consistent_histograms.NAME, consistent_histograms.prepare, consistent_histograms.run)
