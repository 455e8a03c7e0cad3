"""``dplib`` in a process that is killed at one point of a run's life, or waits there.

    python -m tests.support.fault_points "in the middle of the manifest" run kmeans --config FILE

Every point is a step of `dplib.workflow.storing` or of what it calls; the process kills itself with SIGKILL, so that
nothing of it is cleaned up.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet

import dplib.cli.main
from dplib.ledger.ledger import Ledger
from dplib.ledger.writer import Writer
from dplib.release import staging
from dplib.release.files import MANIFEST
from dplib.release.manifest import Manifest
from dplib.release.staging import Staging
from dplib.workflow import manifest, run, storing

WAIT = "wait with the noise drawn"
"""Point at which a process says so, by making the file named by DPLIB_TEST_WAIT, and goes on when that is gone."""


def die() -> None:
    """End as the system's killer of processes would end it."""
    os.kill(os.getpid(), signal.SIGKILL)


def patch(owner: Any, name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put something around a function."""
    setattr(owner, name, change(getattr(owner, name)))


def before(owner: Any, *names: str) -> Callable[[], None]:
    """Die when one of some functions is called."""

    def change() -> None:
        for name in names:
            patch(owner, name, lambda _: lambda *_a, **_k: die())

    return change


def after(owner: Any, name: str, then: Callable[[], None] = die, times: int = 1) -> Callable[[], None]:
    """Die, or do something else, when a function has returned for the n-th time."""

    def change(original: Callable[..., Any]) -> Callable[..., Any]:
        calls = iter(range(1, 1_000_000))

        def call(*arguments: Any, **options: Any) -> Any:
            found = original(*arguments, **options)
            if next(calls) == times:
                then()
            return found

        return call

    return lambda: patch(owner, name, change)


def halfway_through_a_table() -> None:
    """Die when a table's file is half written."""

    def change(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(table: Any, path: Path, **options: Any) -> None:
            original(table, path, **options)
            os.truncate(path, path.stat().st_size // 2)
            die()

        return call

    patch(pyarrow.parquet, "write_table", change)


def halfway_through_the_manifest() -> None:
    """Die when the manifest is half written."""

    def write(directory: Path, content: Manifest) -> None:
        text = content.to_bytes()
        (directory / MANIFEST).write_bytes(text[: len(text) // 2])
        die()

    patch(manifest, "write_manifest", lambda _: write)


def wait() -> None:
    """Say so, and go on when told."""
    marker = Path(os.environ["DPLIB_TEST_WAIT"])
    marker.touch()
    while marker.exists():
        time.sleep(0.1)


PUBLISHING = (Staging, "link_measurement")
"""The first step of a publication."""
POINTS: dict[str, Callable[[], None]] = {
    "before the reservation": before(Ledger, "reserve"),
    "in the transaction that reserves": after(Writer, "append"),
    "after the reservation": after(Ledger, "reserve"),
    "before the first table": before(pyarrow.parquet, "write_table"),
    "in the middle of the first table": halfway_through_a_table,
    "before the measurement is recorded": before(Ledger, "record_measurement", "record_day"),
    "in the transaction that records the measurement": after(Writer, "append", times=2),
    "after the measurement is recorded": after(Ledger, "record_measurement"),
    "after the measurement is in place": after(storing, "store_measurement"),
    WAIT: after(Staging, "seal", wait),
}
"""By name, what to do before the run."""
PUBLICATION_POINTS: dict[str, Callable[[], None]] = {
    "before the publication": before(*PUBLISHING),
    "after the measurement is linked": after(*PUBLISHING),
    "in the middle of a table of the release": after(*PUBLISHING, halfway_through_a_table),
    "in the middle of the manifest": halfway_through_the_manifest,
    "after the manifest": after(manifest, "write_manifest"),
    "between the two renames": after(*PUBLISHING, after(os, "rename")),
    "before the swap is flushed": after(*PUBLISHING, before(staging, "flush_directory")),
    "before the old release is removed": after(*PUBLISHING, before(staging.shutil, "rmtree")),
    "after the release is in place": after(Staging, "publish"),
    "in the transaction that records the release": after(Writer, "append"),
    "after the release is recorded": after(Ledger, "record_published"),
}
"""Those of a run whose measurement is stored already; such a run starts no Spark."""


if __name__ == "__main__":
    point = sys.argv.pop(1)
    # The steps of the run itself, not of the publication that is tried before it.
    run.require_publishable = lambda *_: True
    (POINTS | PUBLICATION_POINTS)[point]()
    dplib.cli.main.main()
