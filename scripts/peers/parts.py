"""What each part measures: libraries, tasks and the commands that do them."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.bench.counted_rows import N_DAYS, N_ITEMS, RUN, UNITS, configure
from scripts.bench.speed import second_runs
from scripts.peers.environments import NOT_INSTALLED, interpreter, make
from scripts.peers.inputs import DIMENSIONS, EPSILON, GRAPHS, INPUTS, N_CLUSTERS, graph_file, points_file
from scripts.peers.record import Measurement, store, stored

PROGRAMS = Path(__file__).with_name("programs")
LIMITS = {"counts": 400, "graphs": 10, "clusters": 60, "projections": 60}
"""Seconds after which a peer is stopped, by part."""
ROUNDS = 3


@dataclass(frozen=True)
class Job:
    """One process to measure.

    Attributes:
        task: what is asked.
        library: who is asked.
        environment: where it lives; empty for one that cannot be installed.
        words: of the program, after the interpreter.
        rounds: how often.
    """

    task: str
    library: str
    environment: str
    words: tuple[str, ...] = ()
    rounds: int = 1


def counts() -> Iterator[Job]:
    """Counts of a million rows by 30 days and 1,000 items."""
    rows, sizes = str(INPUTS / "rows.csv"), (str(N_DAYS), str(N_ITEMS))
    yield Job("event", "plain Spark", "own", (program("count_plain"), rows), ROUNDS)
    for unit in UNITS:
        yield Job(unit, "dplib", "own", rounds=ROUNDS)
        yield Job(unit, "Tumult Analytics", "tumult", (program("count_tumult"), rows, unit, *sizes), ROUNDS)
    for unit in UNITS:
        yield Job(unit, "PipelineDP", "pipeline-dp", (program("count_pipeline_dp"), rows, unit, *sizes))
        yield Job(unit, "OpenDP", "opendp", (program("count_opendp"), rows, unit, *sizes))


def graphs() -> Iterator[Job]:
    """Minimum cuts and triangles."""
    for name in GRAPHS:
        path = str(graph_file(name))
        for work in ("cut", "triangles"):
            task = f"{work}, {name}"
            yield Job(task, "dplib", "own", ("-m", "scripts.peers.own", "graphs", path, work))
            for library in ("igraph", "networkx", "NetworKit"):
                if (library, work) != ("NetworKit", "cut"):
                    yield Job(task, library, "graphs", (program("graphs"), path, library, work))


def clusters() -> Iterator[Job]:
    """k-means of 100,000 points in 8 clusters, epsilon 1."""
    for dimension in DIMENSIONS:
        task, path = f"{dimension} dimensions", str(points_file(dimension))
        yield Job(task, "dplib", "own", ("-m", "scripts.peers.own", "clusters", path))
        for library, environment in (("scikit-learn", "own"), ("diffprivlib", "diffprivlib")):
            yield Job(task, library, environment, (program("clusters"), path, library, str(N_CLUSTERS), EPSILON))
    yield Job("2 dimensions", "Google's clustering", "")


def projections() -> Iterator[Job]:
    """Nearest points of simplices, and least squares on a tree with a sum every day."""
    for task in ("simplex", "least squares"):
        path = str(INPUTS / f"{task}.npz")
        yield Job(task, "dplib", "own", ("-m", "scripts.peers.own", "projections", path))
        for library in ("scipy", "OSQP"):
            yield Job(task, library, "osqp", (program("projections"), path, library))


PARTS: dict[str, Callable[[], Iterator[Job]]] = {
    "graphs": graphs, "clusters": clusters, "projections": projections, "counts": counts
}  # fmt: skip


def program(name: str) -> str:
    """A script of the peers' environments."""
    return str(PROGRAMS / f"{name}.py")


def measure(part: str) -> None:
    """Measure what a part lacks; one round of all libraries after the other, so that pairs meet the same machine."""
    known = {each.key for each in stored()}
    jobs = list(PARTS[part]())
    for turn in range(max(job.rounds for job in jobs)):
        for job in jobs:
            if turn < job.rounds and (part, job.task, job.library, turn) not in known:
                numbers, failed = _measured(part, job)
                numbers = numbers and numbers | {"load": os.getloadavg()[0]}
                store(Measurement(part, job.task, job.library, turn, numbers, failed))
                said = failed or ", ".join(f"{name} {number:.3g}" for name, number in numbers.items())
                print(f"{part}: {job.task}, {job.library}: {said}", flush=True)


def _measured(part: str, job: Job) -> tuple[dict[str, float], str]:
    """Numbers of a job, and why there are none."""
    reason = make(job.environment) if job.environment else NOT_INSTALLED[job.library]
    if reason:
        return {}, f"not installed: {reason}"
    if not job.words:
        return _own_counts(job.task), ""
    python = str(interpreter(job.environment))
    environment = os.environ | {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python, "STARTED": str(time.time())}
    try:
        done = subprocess.run(
            [python, *job.words], env=environment, capture_output=True, text=True, check=False, timeout=LIMITS[part]
        )
    except subprocess.TimeoutExpired:
        return {}, f"stopped after {LIMITS[part]} s"
    if done.returncode:
        return {}, f"failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1][:200]}"
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return _merged(part, lines), ""


def _merged(part: str, lines: list[dict[str, Any]]) -> dict[str, float]:
    """One set of numbers of a program's lines; of clusters the medians over keys."""
    if part == "clusters":
        return {name: sorted(line[name] for line in lines)[len(lines) // 2] for name in lines[0]}
    return {name: number for line in lines for name, number in line.items() if not isinstance(number, str)}


def _own_counts(unit: str) -> dict[str, float]:
    """A cold run by the console script, and the second run in a session."""
    if not (INPUTS / f"{unit}.yaml").exists():
        for each in UNITS:
            configure(INPUTS, each, N_DAYS, "rows.csv")
    started = time.monotonic()
    subprocess.run([*RUN, f"{unit}.yaml"], cwd=INPUTS, capture_output=True, check=True)
    first = time.monotonic() - started
    return {"first": first, "second": second_runs(INPUTS, [unit])[unit]}
