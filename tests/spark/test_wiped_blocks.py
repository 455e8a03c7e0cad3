"""Blocks that are lost between the two passes of the measurement, in local mode: computed again, or refused.

What is lost is what a dead executor takes with it: the blocks that Spark holds in memory and the shuffle files. Spark
takes a local session's driver itself as lost then and never registers it again: this file is the last of those that use
the tests' session.
"""

import csv
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms import blocks, design
from dplib.jobs.consistent_histograms.blocks import measure_in_blocks
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.job import JOB
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.rows import row_kinds
from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.progress import SILENT
from dplib.workflow.design import cost_of, natural_terms
from dplib.workflow.job import PreparedJob
from dplib.workflow.run import run_job
from dplib.workflow.run_keys import RunKeys
from tests.support.interpreted import interpreting, planning_once
from tests.support.rows_in_python import count_in_python

FIRST_DAY, N_DAYS, N_ITEMS = dt.date(1990, 1, 1), 56, 5
CONFIG = f"""
config_version: 1
job: consistent-histograms
dataset: shop
input: {{path: rows.csv, options: {{header: "true"}}, columns: {{day: day, item: item, quantity: n, unit: order}}}}
privacy: {{unit: order, max_rows_per_unit: 2, max_quantity: 3, budget: {{epsilon: 1}}}}
domain: {{items: [i0, i1, i2, i3, i4], first_day: {FIRST_DAY}, last_day: {FIRST_DAY + dt.timedelta(N_DAYS - 1)}}}
tree: {{branching: [4, 2, 7]}}
ledger: sqlite:///ledger.db
secret: file:dplib.key
"""
COUNTS = np.random.default_rng(5).integers(0, 4, (N_DAYS, N_ITEMS))
"""By day and item; a cell is one row, of an order of its own."""


@pytest.fixture(scope="module", autouse=True)
def planned_once(spark: SparkSession) -> Iterator[None]:
    """What is lost and found again depends neither on compiled expressions nor on the number of tasks."""
    with interpreting(spark), planning_once(spark):
        yield


def shuffle_files(spark: SparkSession) -> set[Path]:
    """The shuffle files of the tests' session."""
    folder = Path(spark.sparkContext.getConf().get("spark.local.dir") or "")
    return {path for path in folder.rglob("shuffle_*") if path.is_file()}


def lose_blocks(spark: SparkSession) -> set[Path]:
    """Drop the blocks in memory and delete all shuffle files; returns those."""
    held = dict(spark.sparkContext._jsc.getPersistentRDDs())
    assert held
    for blocks_in_memory in held.values():
        blocks_in_memory.unpersist(True)
    deleted = shuffle_files(spark)
    assert deleted
    for path in deleted:
        path.unlink()
    return deleted


@pytest.fixture
def between_passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Do something between the two passes of `measure_in_blocks`; jobs take the session that is there."""
    # Eight weeks in four blocks: results above a megabyte would be lost with the blocks of a local session, whose
    # only executor is the driver.
    monkeypatch.setattr(design, "MAX_BLOCK_CELLS", 128)
    combine = blocks.combine_digests

    def arrange(action: Callable[[], object]) -> None:
        def act_and_combine(key: bytes, digests: list[tuple[str, bytes]]) -> bytes:
            action()
            return combine(key, digests)

        monkeypatch.setattr(blocks, "combine_digests", act_and_combine)

    return arrange


@pytest.fixture
def place(tmp_path: Path, secret: bytes) -> Path:
    """Rows, a configuration, a secret and a ledger that can pay once."""
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["day", "item", "n", "order"])
        for order, (day, item) in enumerate(np.argwhere(COUNTS)):
            writer.writerow([FIRST_DAY + dt.timedelta(int(day)), f"i{item}", COUNTS[day, item], order])
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "dplib.key").write_text(secret.hex() + "\n", encoding="ascii")
    (tmp_path / "dplib.key").chmod(0o600)
    settings = prepared(tmp_path, "blocks").design
    terms = natural_terms(settings)
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", tmp_path), create=True)
    ledger.create_account("shop", terms, cost_of(settings, terms.currency))
    return tmp_path


def prepared(place: Path, layout: str) -> PreparedJob[Design]:
    """Eight weeks of the shop."""
    return JOB.prepare(place / "config.yaml", (f"publish.solver.layout={layout}",))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_lost_blocks_are_computed_again(
    spark: SparkSession,
    place: Path,
    tmp_path: Path,
    secret: bytes,
    between_passes: Callable[[Callable[[], object]], None],
) -> None:
    settings, keys = prepared(place, "blocks").design, RunKeys("test", secret, secret, secret)
    assert settings.blocks.n_blocks == 4
    assert (COUNTS.shape[1],) == row_kinds(settings).shape[:1]
    lost: list[set[Path]] = []
    between_passes(lambda: lost.append(lose_blocks(spark)))
    cells = [(int(day), int(item), int(COUNTS[day, item])) for day, item in np.argwhere(COUNTS)]
    rows = spark.createDataFrame(cells, "day int, row_type int, quantity long")
    disturbed = measure_in_blocks(rows, settings, keys, tmp_path / "disturbed")
    # Spark wrote files of the same shuffles again: the second pass did not find what the first one had made.
    shuffles = {path.name.split("_")[1] for path in lost[0]}
    assert {path.name.split("_")[1] for path in shuffle_files(spark)} & shuffles
    assert measure_on_driver(settings, COUNTS, keys, tmp_path / "driver") == disturbed
    assert content(tmp_path / "disturbed") == content(tmp_path / "driver") != {}


def test_an_input_that_changes_meanwhile_is_refused(
    spark: SparkSession,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    between_passes: Callable[[Callable[[], object]], None],
) -> None:
    rows = place / "rows.csv"

    def change() -> None:
        lose_blocks(spark)
        rows.write_text(rows.read_text().replace(",i3,", ",i4,"))

    between_passes(change)
    with pytest.raises(IntegrityError, match="input must not change while it is read"):
        run_job(prepared(place, "blocks"), stage="measure", progress=SILENT)
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", place))
    assert [(run.state.value, run.measurement) for run in ledger.runs("shop")] == [("reserved", None)]
    assert [path.name for path in (place / "releases").iterdir()] == [".lock"]
    # The reservation pays for the retry, which measures what is there now.
    count_in_python(monkeypatch)
    run_job(prepared(place, "driver"), stage="measure", progress=SILENT)
    assert [run.state.value for run in ledger.runs("shop")] == ["measured"]
    assert ledger.balance("shop").left == 0
    assert ledger.audit() == []
