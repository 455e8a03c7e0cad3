"""A million days of the paper's restaurant: from counts to published tables, with a Spark session beside it.

Prints the seconds and the peak memory in GiB (this process and Spark's JVM together) as its last two words.
"""

import subprocess
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from dplib.canonical import settings_hash
from dplib.config.load import check, read_yaml
from dplib.config.sections import SparkSettings
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.publish import results_on_driver, write_tables
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.secret.secret import Secret
from dplib.spark.engine.session import start_session, stop
from dplib.workflow.run_keys import RunKeys

CONF = Path(__file__).resolve().parents[2] / "conf"
LAST_DAY = "4737-11-27"
"""The millionth day after 2000-01-01."""


def main() -> None:
    """Time one pass."""
    settings = read_yaml(CONF / "restaurant.yaml")
    settings["domain"] |= {"first_day": "2000-01-01", "last_day": LAST_DAY}
    settings["tree"] = {"branching": [10] * 6}
    settings["publish"]["output"]["csv"] = False
    spark = start_session("dplib bench", SparkSettings(master="local[2]"))
    try:
        spark.range(10).count()
        design = Design.resolve(check(ConsistentHistogramsConfig, settings), CONF)
        counts = np.random.default_rng(0).poisson(8, (design.tree.n_leaves, 3)).astype(np.int64)
        key = RunKey("bench", design.config.job, "", settings_hash(design.public()))
        run = Run(1, key, Fraction(1), RunState.RESERVED)
        keys = RunKeys.derive(Secret(np.random.default_rng(1).bytes(32)), run)
        with tempfile.TemporaryDirectory() as name:
            started = time.monotonic()
            measure_on_driver(design, counts, keys, Path(name))
            write_tables(design, results_on_driver(design, Path(name)), Path(name))
            seconds = time.monotonic() - started
        print(f"{design.tree.n_leaves} days: {seconds:.2f} {peak_gib():.2f}")
    finally:
        stop(spark)


def peak_gib() -> float:
    """Peak resident memory of this process and of its children, in GiB."""
    kib = _peak_kib("self")
    children = subprocess.run(["pgrep", "-P", str(_pid())], capture_output=True, text=True, check=False).stdout.split()
    return (kib + sum(_peak_kib(child) for child in children)) / 2**20


def _pid() -> int:
    return int(Path("/proc/self").resolve().name)


def _peak_kib(process: str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


if __name__ == "__main__":
    main()
