"""What a run of the suite costs: processor time of all its processes, Java's too (`make test` writes it down)."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


class ProcessorTime:
    """Adds up what this process, those below it and the workers of xdist used; writes it at the end."""

    def __init__(self, config: pytest.Config, record: Path) -> None:
        self.config, self.record, self.seconds, self.workers, self.tests = config, record, 0.0, 0.0, 0

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Count the processes that end in the block: if nobody waits for them, what they used is lost with them."""
        used, before = sum(map(_used, psutil.Process().children(recursive=True))), sum(os.times()[2:4])
        yield
        self.seconds += used - (sum(os.times()[2:4]) - before)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist is done."""
        self.workers += node.workeroutput["seconds"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Each test once."""
        self.tests += report.when == "call"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Tell the controller, or write."""
        own = self.workers + sum(os.times()[:2]) if self.workers else self.seconds + sum(os.times()[:4])
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["seconds"] = own
            return
        words = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        self.record.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"seconds": round(own), "tests": self.tests, "commit": commit})
        self.record.write_text(text, encoding="utf-8")
