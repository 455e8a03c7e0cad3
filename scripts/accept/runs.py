"""Whole runs by the console script, and what several checks need: a session, the shared data."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from dplib.config.load import read_yaml
from dplib.config.sections import SparkSettings
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.engine.session import open_session
from scripts.accept.claims import Check, Result

ROOT = Path(__file__).resolve().parents[2]


def shared(*parts: str) -> Path:
    """A file of the shared data, which ``needs_shared`` knows to be there."""
    return Path(os.environ["DPLIB_SHARED"], "data", *parts)


def needs_shared(check: Callable[[], Iterator[Result]]) -> Check:
    """A check that is skipped where the shared data are not here."""

    @wraps(check)
    def skipped_without() -> Iterator[Result]:
        if os.environ.get("DPLIB_SHARED"):
            yield from check()
        else:
            yield Result(check.__name__.replace("_", " "), "the shared data", "DPLIB_SHARED is not set", None)

    return skipped_without


@contextmanager
def session() -> Iterator[SparkSession]:
    """Spark with two cores."""
    with open_session("accept", SparkSettings(master="local[2]")) as spark:
        yield spark


def run_command(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """One command of the console script."""
    command = [str(Path(sys.executable).parent / "dplib"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def script(module: str, *arguments: str) -> str:
    """What a module of this project prints."""
    words = [sys.executable, "-m", module, *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def written(folder: Path, settings: dict[str, Any]) -> Path:
    """Settings as a configuration whose release lies beside it."""
    config = folder / "job.yaml"
    settings = {"config_version": 1, "publish": {"output": {"path": "releases"}}} | settings
    config.write_text(json.dumps(settings), encoding="utf-8")
    return config


def release_of(config: Path, *terms: str) -> Path:
    """Open an account (``--budget`` and so on) and run: the release.

    Raises:
        RuntimeError: if init or run fails, with what it said.
    """
    job = str(read_yaml(config)["job"])
    for words in (("init", "--config", str(config), *terms, "--yes"), ("run", job, "--config", str(config))):
        done = run_command(*words)
        if done.returncode:
            raise RuntimeError(f"dplib {words[0]} ended with {done.returncode}: {done.stderr}")
    return Path(done.stdout.splitlines()[-1])


def as_it_stands(name: str, sample: str, folder: Path) -> Path:
    """Run a configuration of ``conf/`` with ledger, secret and output in a folder of their own: the release."""
    if sample:
        script("scripts.make_data", sample, "data")
    text = (ROOT / "conf" / name).read_text(encoding="utf-8")
    (folder / name).write_text(text.replace("../data/", f"{ROOT}/data/").replace("../", ""), encoding="utf-8")
    return release_of(folder / name, "--budget", "1")


def verifies(release: Path) -> Result:
    """That a release verifies against the ledger beside its folder."""
    code = run_command("verify", str(release), "--ledger", f"sqlite:///{release.parents[1]}/ledger.db").returncode
    return Result(f"{release.name} verifies", "exit 0", f"exit {code}", code == 0)
