"""One run in processes of its own, watched: seconds, processor seconds and memory by kind of process, shuffle bytes.

Processes are looked at ten times a second. Memory is the sum of what is resident, the Python workers' shared pages
counted once for each: an upper bound.
"""

import json
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from scripts.sizing.workloads import Workload, write

PERIOD = 0.1
KINDS = ("driver", "java", "workers")


@dataclass(frozen=True)
class Run:
    """What a run cost; seconds of processor time and bytes by kind of process.

    Attributes:
        workload: what ran.
        seconds: on the wall, Spark's start included.
        cpu: by driver, java, workers.
        memory: peak by driver, java, workers; bytes.
        shuffle: bytes written for shuffles.
        tasks: of Spark, all stages.
        load: of the machine when the run ended.
    """

    workload: Workload
    seconds: float
    cpu: dict[str, float]
    memory: dict[str, int]
    shuffle: int
    tasks: int
    load: float

    def to_json(self) -> dict[str, object]:
        """For the file of runs."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, object]) -> "Run":
        """Of the file of runs."""
        return cls(**{**stored, "workload": Workload(**stored["workload"])})  # type: ignore[arg-type]


def measure(workload: Workload) -> Run:
    """Run a workload once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write(workload, folder)
        started = time.monotonic()
        process = psutil.Popen(
            [sys.executable, "-m", "dplib.cli.main", "run", workload.job, "--config", config], stdout=-3, stderr=-3
        )
        cpu, memory = _watch(process)
        seconds = time.monotonic() - started
        if process.wait() != 0:
            raise RuntimeError(f"{workload.name} ended with {process.returncode}")
        shuffle, tasks = _shuffled(folder / "events")
    return Run(workload, seconds, cpu, memory, shuffle, tasks, psutil.getloadavg()[0])


def _watch(process: psutil.Popen) -> tuple[dict[str, float], dict[str, int]]:
    """Processor seconds and peak memory by kind, until the process ends."""
    used: dict[int, tuple[str, float]] = {}
    peak = dict.fromkeys(KINDS, 0)
    while process.poll() is None:
        now: dict[str, int] = defaultdict(int)
        try:
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            break
        for member in family:
            try:
                kind = _kind(member, process.pid)
                times = member.cpu_times()
                used[member.pid] = (kind, times.user + times.system)
                now[kind] += member.memory_info().rss
            except psutil.Error:
                continue  # it ended in the meantime
        for kind, resident in now.items():
            peak[kind] = max(peak[kind], resident)
        time.sleep(PERIOD)
    cpu = dict.fromkeys(KINDS, 0.0)
    for kind, spent in used.values():
        cpu[kind] += spent
    return cpu, peak


def _kind(member: psutil.Process, driver: int) -> str:
    if member.pid == driver:
        return "driver"
    return "java" if "java" in member.name() else "workers"


def _shuffled(log: Path) -> tuple[int, int]:
    """Bytes written for shuffles, and number of tasks, from Spark's event log."""
    shuffle = tasks = 0
    for file in log.rglob("*"):
        if file.is_file():
            for line in file.read_text(encoding="utf-8").splitlines():
                event = json.loads(line)
                if event["Event"] == "SparkListenerTaskEnd":
                    tasks += 1
                    metrics = event.get("Task Metrics") or {}
                    shuffle += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return shuffle, tasks
