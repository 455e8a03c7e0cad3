"""A thousand histograms of 4,096 bins each through the whole job on Spark local[2], from rows to a release.

Prints the seconds (Spark already started) and the peak memory in GiB (this process and Spark's JVM together) as its
last two words.
"""

import json
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dplib.config.sections import SparkSettings
from dplib.jobs.range_histograms.job import JOB
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Terms
from dplib.ledger.schema import resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.progress import SILENT
from dplib.release.tables import read_table
from dplib.secret.file import create_secret_file
from dplib.spark.engine.session import start_session, stop
from dplib.workflow.run import run_job
from scripts.bench.million_days import peak_gib

N_GROUPS, N_BINS, N_ROWS = 1000, 4096, 2_000_000


def write_input(folder: Path) -> Path:
    """Write rows, secret, ledger and configuration; returns the configuration."""
    generator = np.random.default_rng(4)
    groups = pa.DictionaryArray.from_arrays(
        pa.array(generator.integers(0, N_GROUPS, N_ROWS, dtype=np.int32)), [f"group {n}" for n in range(N_GROUPS)]
    )
    values = pa.array(generator.gamma(2.0, N_BINS / 8, N_ROWS))
    pq.write_table(pa.table({"value": values, "group": groups.cast(pa.string())}), folder / "rows.parquet")
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "bench",
        "input": {"path": "rows.parquet", "format": "parquet", "columns": {"value": "value", "group": "group"}},
        "privacy": {"unit": "event", "budget": {"epsilon": 1}},
        "histogram": {
            "edges": {"start": 0, "stop": N_BINS, "width": 1},
            "groups": [f"group {n}" for n in range(N_GROUPS)],
        },
        "publish": {"layout": "blocks"},
        "secret": "file:bench.key",
    }
    (folder / "bench.yaml").write_text(json.dumps(settings), encoding="utf-8")
    create_secret_file(folder / "bench.key")
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", folder), create=True)
    ledger.create_account("bench", Terms(Currency.PURE, "event", Neighbors.ADD_REMOVE), Fraction(1), None, "bench")
    return folder / "bench.yaml"


def main() -> None:
    spark = start_session("dplib bench", SparkSettings(master="local[2]"))
    try:
        spark.range(10).count()
        with tempfile.TemporaryDirectory() as name:
            config = write_input(Path(name))
            started = time.monotonic()
            _, release = run_job(JOB.prepare(config), progress=SILENT)
            seconds = time.monotonic() - started
            assert release is not None
            n_bins = read_table(release / "published", ["count"]).num_rows
        print(f"{N_GROUPS} groups, {n_bins} published bins: {seconds:.2f} {peak_gib():.2f}")
    finally:
        stop(spark)


if __name__ == "__main__":
    main()
