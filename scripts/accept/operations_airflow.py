"""Acceptance of operations: Airflow's environment, and what a schedule costs its parser."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from scripts.accept.claims import Check, Result, at_most

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv-airflow" / "bin"


def environment() -> Iterator[Result]:
    """The lock, the environment, and what stays apart."""
    lock = (ROOT / "requirements-airflow.lock").read_text(encoding="utf-8")
    version = re.search(r"^apache-airflow==(3\.\S+)", lock, re.MULTILINE)
    addresses = re.findall(r"https?://\S+", lock)
    pinned = len(re.findall(r"^\S+==", lock, re.MULTILINE))
    hashed = len(re.findall(r"^\S+==[^\n]*\\\n +--hash=sha256:", lock, re.MULTILINE))
    yield Result(
        "a lock of its own, with hashes and without addresses",
        "Airflow 3, every package",
        f"Airflow {version[1] if version else 'none'}, {hashed} of {pinned} packages, {len(addresses)} addresses",
        version is not None and hashed == pinned > 100 and not addresses,
    )
    done = subprocess.run([ROOT / "scripts" / "airflow.sh"], capture_output=True, text=True, check=False)
    yield Result("scripts/airflow.sh makes the environment", "exit 0", f"exit {done.returncode}", done.returncode == 0)
    words = [str(BIN / "mypy"), "--config-file=", "--strict", "--explicit-package-bases", "."]
    typed = subprocess.run(words, cwd=ROOT / "jobs" / "dags", capture_output=True, text=True, check=False)
    yield Result(
        "the DAGs' types, strict, against Airflow's own", "no issues", typed.stdout.strip(), typed.returncode == 0
    )
    with tempfile.TemporaryDirectory() as folder:
        wheel = subprocess.run(
            [ROOT / "scripts" / "package.sh", folder], capture_output=True, text=True, check=True
        ).stdout.strip()
        inside = [name for name in ZipFile(wheel).namelist() if "dags" in name]
    yield Result("the wheel holds no DAG", "0 files", f"{len(inside)} files", not inside)


def _without_ours() -> dict[str, str]:
    """This environment without what names our own Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def loading() -> Iterator[Result]:
    """The time that a schedule costs the scheduler's parser."""
    code = (
        "import sys, time; sys.path.insert(0, 'jobs/dags'); import dplib_operators; started = time.process_time();"
        "import dplib_dags; print(1000 * (time.process_time() - started))"
    )
    done = subprocess.run(
        [BIN / "python", "-c", code], cwd=ROOT, env=_without_ours(), capture_output=True, text=True, check=True
    )
    yield at_most("parsing the DAG file, Airflow's own imports aside (CPU)", float(done.stdout.split()[-1]), 100, " ms")


CHECKS: list[Check] = [environment, loading]
