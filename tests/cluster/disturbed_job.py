"""A job with one task, or the driver, that waits while a test disturbs the cluster: DIRECTORY, WHERE and its options.

The first one that comes to the place WHERE writes the number of its process to DIRECTORY/paused and goes on when
DIRECTORY/go exists; one that comes later does not wait, but leaves a file DIRECTORY/passed-PROCESS. ``partitions``
waits nowhere: between the two passes over the counts the driver forgets the blocks and changes how Spark divides
shuffles, and DIRECTORY/partitions tells into how many parts each pass was divided.

What is patched is this driver's; executors get the functions below by value.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dplib.cli.main import submit
from dplib.jobs.consistent_histograms import blocks
from dplib.jobs.range_histograms import measure as range_measure
from dplib.spark.graphs import cut_trials
from dplib.spark.points import points
from dplib.spark.rows import counts
from dplib.workflow import publication

Function = Callable[..., Any]
PLACES: dict[str, tuple[str, ModuleType, str]] = {
    "counts": ("consistent-histograms", counts, "_fill_block"),
    "noise": ("consistent-histograms", blocks, "_add_noise"),
    "publish": ("consistent-histograms", publication, "write_release_manifest"),
    "partitions": ("consistent-histograms", blocks, "combine_digests"),
    "range noise": ("range-histograms", range_measure, "_draw"),
    "trials": ("minimum-cuts", cut_trials, "_by_trials"),
    "points": ("kmeans", points, "_summarise"),
}
"""Job, module and function that waits."""


def pause(folder: Path, spared: int = 0) -> None:
    """Wait if this is the first process to come here, and not the spared one."""
    me = os.getpid()
    paused, part = folder / "paused", folder / f"part-{me}"
    if me == spared:
        return
    if paused.exists():
        (folder / f"passed-{me}").touch()
        return
    part.write_text(str(me))
    part.rename(paused)
    until = time.monotonic() + 900
    while not (folder / "go").exists():
        if time.monotonic() > until:
            raise TimeoutError("nobody let the task go on")
        time.sleep(0.05)


def waiting(function: Function, folder: Path, spared: int = 0) -> Function:
    """The function, after the pause; a publication that is only tried does not wait."""

    def wait_and_call(*arguments: Any) -> Any:
        if not any("dplib-dry-" in str(each) for each in arguments if isinstance(each, Path)):
            pause(folder, spared)
        return function(*arguments)

    return wait_and_call


def waiting_maker(maker: Function, folder: Path, spared: int = 0) -> Function:
    """A function that makes functions, each with the pause but for the first ``spared`` ones."""
    made_before: list[Function] = []

    def make(*arguments: Any) -> Function:
        made = maker(*arguments)
        made_before.append(made)

        # applyInArrow looks at the annotations and the number of arguments.
        def wait_and_fill(cells: Any) -> Any:
            pause(folder)
            return made(cells)

        return made if len(made_before) <= spared else wait_and_fill

    return make


def divided_anew(combine: Function) -> Function:
    """The function, after everything was forgotten and Spark was told to divide shuffles otherwise."""

    def forget_and_combine(*arguments: Any) -> Any:
        spark = SparkSession.active()
        spark.catalog.clearCache()
        spark.conf.set("spark.sql.shuffle.partitions", "3")
        spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")
        return combine(*arguments)

    return forget_and_combine


def telling(iterate: Function, folder: Path) -> Function:
    """The function, after it has told into how many parts its blocks are divided."""

    def tell_and_iterate(frame: DataFrame, task: str) -> Iterator[Any]:
        with (folder / "partitions").open("a") as file:
            file.write(f"{frame.rdd.getNumPartitions()}\n")
        found: Iterator[Any] = iterate(frame, task)
        return found

    return tell_and_iterate


if __name__ == "__main__":
    directory, where = Path(sys.argv.pop(1)), sys.argv.pop(1)
    job, module, name = PLACES[where]
    original = getattr(module, name)
    if where in ("counts", "points"):
        # Points wait in the second pass over them, when executors hold what the first one read.
        setattr(module, name, waiting_maker(original, directory, where == "points"))
    elif where == "partitions":
        setattr(module, name, divided_anew(original))
        blocks.iterate_blocks = telling(blocks.iterate_blocks, directory)
    else:
        # Trials are tried on the driver first.
        setattr(module, name, waiting(original, directory, os.getpid() if where == "trials" else 0))
    submit(job)
