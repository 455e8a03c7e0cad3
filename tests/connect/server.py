"""A Spark Connect server on loopback, started from the pip-installed Spark."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.standalone import QUICK_JAVA, SPARK_HOME, descendants, environment, kill, processes, wait_for

QUIET_CONF = {"spark.ui.enabled": "false", "spark.eventLog.enabled": "false", "spark.driver.maxResultSize": "0"}
_STARTED = re.compile(r"Spark Connect server started at: 127\.0\.0\.1:(\d+)")


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        address: for ``spark.remote``.
        log: what it wrote.
        pid: of its process.
    """

    address: str
    log: Path
    pid: int


@contextmanager
def start_server(folder: Path, python: Path, **conf: str) -> Iterator[Server]:
    """Start a server with two cores whose workers run ``python``; its processes are gone at the end.

    Args:
        folder: for its log and its files.
        python: interpreter of the workers.
        conf: further settings; a name's ``__`` are dots.
    """
    settings = QUIET_CONF | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        # The system chooses a free port; the log tells which.
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.extraJavaOptions": QUICK_JAVA,
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "3",
        **{name.replace("__", "."): value for name, value in conf.items()},
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [
        str(SPARK_HOME / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"),
        *words,
        "spark-internal",
    ]
    log = folder / "server.log"
    # Spark counts its own servers as daemons, whatever spark.driver.memory says.
    known = environment(python) | {"SPARK_DAEMON_MEMORY": "1g"}
    with log.open("wb") as file:
        server = subprocess.Popen(
            command, cwd=folder, env=known, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )

    def port() -> str | None:
        if server.poll() is not None:
            raise RuntimeError(log.read_text())
        found = _STARTED.search(log.read_text())
        return found[1] if found else None

    try:
        yield Server(f"sc://127.0.0.1:{wait_for('Connect server', port)}", log, server.pid)
    finally:
        kill([*descendants(server.pid, processes()), server.pid])
        server.wait()
