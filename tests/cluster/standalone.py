"""A standalone Spark cluster on loopback, started from the pip-installed Spark, and a look into its processes."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyspark

from dplib.spark.engine.java import archive_options

SPARK_HOME = Path(pyspark.__file__).parent
EXECUTOR = "CoarseGrainedExecutorBackend"
QUICK_JAVA = " ".join(["-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", *archive_options()])
"""Small processes that live for seconds."""
PATIENCE = 900
"""Seconds; a shared machine may be slow, a broken test should still end."""
T = TypeVar("T")


def environment(python: Path) -> dict[str, str]:
    """The caller's environment without anything that makes this project importable; Spark uses ``python``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK", "PYSPARK"))}
    java = Path(sys.prefix) / "jre"
    return kept | {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        "OPENBLAS_NUM_THREADS": "1",
        **({} if "JAVA_HOME" in kept else {"JAVA_HOME": str(java)}),
    }


def bare_environment(folder: Path) -> Path:
    """A Python with all packages of this environment but this project; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    # A folder named in a .pth file is searched for packages, but .pth files in it, such as the one of an editable
    # installation, are not read.
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    look = "from importlib.util import find_spec as f; print([f(n) is not None for n in ('pyspark', 'dplib')])"
    found = subprocess.run([python, "-I", "-c", look], capture_output=True, text=True, check=True)
    assert found.stdout == "[True, False]\n"
    return python


def wait_for(what: str, look: Callable[[], T | None]) -> T:
    """Ask until there is an answer."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise TimeoutError(f"no {what} within {PATIENCE} s")


@dataclass(frozen=True)
class Process:
    """A running process."""

    pid: int
    parent: int
    command: str


def processes() -> dict[int, Process]:
    """All processes by their id."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(None, 2) for line in listed.splitlines())
    return {int(row[0]): Process(int(row[0]), int(row[1]), row[2] if len(row) > 2 else "") for row in rows}


def descendants(pid: int, running: dict[int, Process]) -> list[int]:
    """All processes below one, the nearest first."""
    found = [pid]
    for each in found:
        found += [child.pid for child in running.values() if child.parent == each]
    return found[1:]


def kill(pids: list[int]) -> None:
    """Kill -9, whatever is still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


@dataclass
class Cluster:
    """A running master and its workers, of one core each.

    Attributes:
        folder: logs, work folders and local folders of the workers.
        python: interpreter of drivers and executors.
        url: the master's address.
        daemons: the running master and workers, by name.
    """

    folder: Path
    python: Path
    url: str = ""
    daemons: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def start_master(self) -> None:
        """Start the master; the system chooses its port, and the log tells which."""
        log = self._start("master", "127.0.0.1", ["org.apache.spark.deploy.master.Master", "--port", "0"], {})
        started = r"Starting Spark master at (spark://127\.0\.0\.1:\d+)"
        self.url = wait_for("master", lambda: re.search(started, log.read_text()))[1]

    def start_workers(self, *numbers: int) -> None:
        """Start workers and wait until the master knows them."""
        registered = self._registered()
        for number in numbers:
            # Spark puts no copy of a slow task on the host of the first one: each worker has a host of its own.
            host = f"127.0.0.{number}"
            places = ["--work-dir", str(self.folder / f"work-{number}")]
            command = ["org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", *places, self.url]
            local = {"SPARK_LOCAL_DIRS": str(self.folder / f"local-{number}"), "SPARK_LOCAL_IP": host}
            self._start(f"worker-{number}", host, command, local)
        wait_for("workers", lambda: self._registered() == registered + len(numbers))

    def _registered(self) -> int:
        return (self.folder / "master.log").read_text().count("Registering worker")

    def _start(self, name: str, host: str, command: list[str], extra: dict[str, str]) -> Path:
        log = self.folder / f"{name}.log"
        with log.open("ab") as file:
            self.daemons[name] = subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), *command, "--host", host, "--webui-port", "0"],
                env=environment(self.python) | extra,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return log

    def kill_worker_of(self, executor: int) -> int:
        """Kill -9 the worker that runs an executor, and only it; returns its number."""
        running = processes()
        number = next(
            number
            for number in (1, 2)
            if executor in [(pid := self.daemons[f"worker-{number}"].pid), *descendants(pid, running)]
        )
        worker = self.daemons.pop(f"worker-{number}")
        kill([worker.pid])
        worker.wait()
        return number

    def end(self) -> None:
        """Kill all processes of the cluster."""
        running = processes()
        # Executors and their Python workers have process groups of their own.
        below = [pid for daemon in self.daemons.values() for pid in descendants(daemon.pid, running)]
        kill([*(daemon.pid for daemon in self.daemons.values()), *below])
        for daemon in self.daemons.values():
            daemon.wait()

    @contextmanager
    def submit(
        self, arguments: list[str], cwd: Path, command: Path = SPARK_HOME / "bin" / "spark-submit", **variables: str
    ) -> "Iterator[subprocess.Popen[str]]":
        """Start spark-submit, or a command with the same arguments, on this cluster; it is gone at the end.

        Temporary files of the driver go to the folder ``tmp`` beside ``cwd``.
        """
        temporary = cwd.parent / "tmp"
        temporary.mkdir(exist_ok=True)
        conf = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Djava.io.tmpdir={temporary}",
            "spark.executor.extraJavaOptions": QUICK_JAVA,
            "spark.executor.memory": "512m",
            "spark.sql.shuffle.partitions": "4",
            # Small inputs would be put into one task, which leaves no second one to disturb.
            "spark.sql.adaptive.coalescePartitions.enabled": "false",
        }
        settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
        with subprocess.Popen(
            [str(command), "--master", self.url, *settings, *arguments],
            cwd=cwd,
            env=environment(self.python) | {"TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary)} | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as driver:
            try:
                yield driver
            finally:
                if driver.poll() is None:
                    kill_driver(driver)

    def shuffle_files(self) -> list[Path]:
        """The shuffle files that executors hold now."""
        return [path for path in self.folder.glob("local-*/**/shuffle_*") if path.is_file()]

    def left_on_workers(self) -> list[Path]:
        """What lies in the workers' local folders; a worker removes a job's files a moment after its end."""
        return [path for path in self.folder.glob("local-*/**/*") if path.is_file()]


def kill_driver(driver: "subprocess.Popen[str]") -> None:
    """Kill -9 spark-submit with all its processes."""
    kill([*descendants(driver.pid, processes()), driver.pid])


def executor_of(pid: int) -> int | None:
    """The executor's JVM that a Python worker belongs to."""
    running = processes()
    while pid in running:
        if EXECUTOR in running[pid].command:
            return pid
        pid = running[pid].parent
    return None


@contextmanager
def start_cluster(folder: Path, python: Path) -> Iterator[Cluster]:
    """Start a master and two workers; all their processes are gone at the end."""
    cluster = Cluster(folder, python)
    try:
        cluster.start_master()
        cluster.start_workers(1, 2)
        yield cluster
    finally:
        cluster.end()
