"""What commands and runs take, beside a plain count of the same rows by Spark in the same minutes.

``python -m scripts.bench.speed [commands|cut|cold|warm|rows|days ...]`` measures these parts, or all, and writes what
it found to ``build/bench/speed.json``, where ``make accept NAME=speed`` reads it. Commands and rows are told in
processor time, that of all processes together; runs by the clock, as ratios of pairs that take turns, so that a machine
with other work disturbs both alike.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from scripts import make_data
from scripts.accept.claims import SUBREAPER
from scripts.accept.runs import ROOT
from scripts.bench.before import before
from scripts.bench.counted_rows import CONSOLE, RUN, UNITS, configure, counted

RECORD = ROOT / "build" / "bench" / "speed.json"
PAIRS = 3
N_ROWS = 1_000_000
MILLIONS = (1, 5, 20)
TEN_DAYS = 10
ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""That of a user, whose Python keeps what it compiled of modules."""
PLAIN = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.read.csv(sys.argv[1], header=True).groupBy("day", "item").count()
print(len(rows.toArrow()))
"""
WARM = """
import gc, json, sys, time
from contextlib import ExitStack
from pathlib import Path
from dplib.cli.main import NEW_OBJECTS
from dplib.jobs.table import job_named
from dplib.progress import SILENT
from dplib.spark.engine.session import open_session
from dplib.workflow.run import run_job
gc.set_threshold(NEW_OBJECTS)  # as the command, which has many runs in one session
prepared = [job_named("consistent-histograms").prepare(Path(name)) for name in sys.argv[2:]]
found = {}
with ExitStack() as kept:
    spark = kept.enter_context(open_session("warm", prepared[0].config.spark))
    for _ in range(2):
        started = time.monotonic()
        spark.read.csv(sys.argv[1], header=True).groupBy("day", "item").count().toArrow()
        found["plain"] = time.monotonic() - started
        for job in prepared:
            started = time.monotonic()
            run_job(job, again=True, progress=SILENT, kept=kept)
            found[job.config.dataset] = time.monotonic() - started
print(json.dumps(found))
"""
CUT = """
import time
import numpy as np
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import canonical
n = 400_000
at = np.arange(n)
ends = np.concatenate([(at + step) % n for step in (1, 7, 1009)])
graph = canonical(n, np.tile(at, 3), ends, np.random.default_rng(0).integers(1, 9, 3 * n))
for _ in range(2):
    started = time.process_time()
    minimum_cut(graph)
    print(time.process_time() - started)
"""


def processor_seconds(words: list[str], folder: Path) -> float:
    """Processor time of a process and of all that it starts, Java and its workers too.

    Raises:
        RuntimeError: if it fails, with what it said.
    """
    # Java outlives the Python that started it: who is left without a parent becomes a child of this process.
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    before = ended_children()
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return ended_children() - before


def ended_children() -> float:
    """Processor time of all processes below this one, once they have ended."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(words: list[str], folder: Path) -> float:
    """Time of a whole process by the clock."""
    started = time.monotonic()
    subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, check=True)
    return time.monotonic() - started


def commands(folder: Path) -> dict[str, float]:
    """Processor time of commands on the demo's configuration and release, now and before, in turns."""
    old = before()
    now = demo(folder / "now", CONSOLE, ROOT, "--yes")
    then = demo(folder / "before", [str(old / ".venv" / "bin" / "dplib")], old)
    taken: dict[str, list[float]] = {}
    for _ in range(PAIRS):
        for name in now:
            taken.setdefault(name, []).append(processor_seconds(now[name], folder / "now"))
            taken.setdefault(f"{name}, before", []).append(processor_seconds(then[name], folder / "before"))
    return {name: median(seconds) for name, seconds in taken.items()}


def demo(folder: Path, console: list[str], checkout: Path, *consent: str) -> dict[str, list[str]]:
    """Release the flights of a checkout's demo in a folder, whose run may ask; the commands to measure there."""
    (folder / "conf").mkdir(parents=True)
    (folder / "data").mkdir()
    settings = (checkout / "conf" / "nycflights13.yaml").read_text(encoding="utf-8")
    (folder / "conf" / "demo.yaml").write_text(settings, encoding="utf-8")
    make_data.flights(folder / "data")
    job = ["consistent-histograms", "--config", "conf/demo.yaml"]
    processor_seconds([*console, "init", "--config", "conf/demo.yaml", "--budget", "10", "--yes"], folder)
    processor_seconds([*console, "run", *job, *consent], folder)
    (release,) = (folder / "releases").glob("nyc*")
    asked = {
        "--help": ["--help"],
        "ledger show": ["ledger", "show"],
        "query": ["query", str(release)],
        "plan": ["plan", *job],
    }
    return {name: [*console, *words] for name, words in asked.items()}


def cut(folder: Path) -> dict[str, float]:
    """The first and the second minimum cut of a new process, after set-up."""
    done = subprocess.run(
        [sys.executable, "-c", CUT], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    first, second = map(float, done.stdout.split())
    return {"first": first, "second": second, "ratio": first / second}


def cold(folder: Path) -> dict[str, float]:
    """New processes: runs with rows and with customers as the unit, as multiples of a plain count."""
    runs = counted(folder, N_ROWS)
    found: dict[str, list[float]] = {unit: [] for unit in runs}
    for _ in range(PAIRS):
        plain = seconds([sys.executable, "-c", PLAIN, "rows.csv"], folder)
        for unit, words in runs.items():
            found[unit].append(seconds(words, folder) / plain)
    return {unit: median(ratios) for unit, ratios in found.items()}


def warm(folder: Path) -> dict[str, float]:
    """Seconds of a second run in one session of Spark beyond those of a second plain count."""
    counted(folder, N_ROWS)
    turns = [second_runs(folder) for _ in range(PAIRS)]
    return {unit: median(turn[unit] - turn["plain"] for turn in turns) for unit in UNITS}


def second_runs(folder: Path, units: Sequence[str] = UNITS) -> dict[str, float]:
    """Seconds of the second plain count, and of the second run for each unit, in one session of Spark."""
    words = [sys.executable, "-c", WARM, "rows.csv", *(f"{unit}.yaml" for unit in units)]
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def rows(folder: Path) -> dict[str, float]:
    """Processor seconds a million rows more, from one million to five and to twenty; and how the last grow.

    Of one and of five million the median of three runs: few rows lie between them, so that a second more or less of one
    run counts five times what it does of the longest.
    """
    few, some, many = MILLIONS
    taken: dict[str, list[float]] = {}
    for millions in MILLIONS:
        runs = counted(folder, millions * 1_000_000)
        turns = 1 if millions == many else PAIRS
        for unit, words in runs.items():
            taken.setdefault(unit, []).append(median(processor_seconds(words, folder) for _ in range(turns)))
    found = {}
    for unit, (least, middle, most) in taken.items():
        found[f"{unit}, to {some} million"] = (middle - least) / (some - few)
        found[f"{unit}, to {many} million"] = (most - least) / (many - few)
        growth = (most - middle) / (many - some) * (some - few) / (middle - least)
        found[f"{unit}, from {some} to {many} million, to those before"] = growth
    return found


def days(folder: Path) -> dict[str, float]:
    """Ten days by ``--dates`` as a part of ten single runs."""
    for day in range(1, TEN_DAYS + 1):
        text = "".join(f"2024-01-{day:02},i{number % 5},c{number}\n" for number in range(200))
        (folder / f"rows-2024-01-{day:02}.csv").write_text("day,item,customer\n" + text, encoding="utf-8")
    configure(folder, "event", 1, "rows-{date}.csv")
    words = [*RUN, "event.yaml"]
    single = sum(seconds([*words, "--date", f"2024-01-{day:02}"], folder) for day in range(1, TEN_DAYS + 1))
    together = seconds([*words, "--dates", f"2024-01-01..2024-01-{TEN_DAYS:02}"], folder)
    return {"single": single, "together": together, "ratio": together / single}


PARTS: dict[str, Callable[[Path], dict[str, float]]] = {
    "commands": commands, "cut": cut, "cold": cold, "warm": warm, "rows": rows, "days": days
}  # fmt: skip


def main() -> None:
    """Measure the parts named on the command line, or all, and write them down."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    for name in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory(prefix="dplib-speed-") as folder:
            known[name] = PARTS[name](Path(folder))
        for what, number in known[name].items():
            print(f"{name:9} {what:24} {number:8.3f}", flush=True)
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(json.dumps(known, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
