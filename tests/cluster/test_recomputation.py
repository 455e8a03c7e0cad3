"""Blocks that are lost between the two passes of the measurement, in local mode: computed again, or refused.

What is lost is what a dead executor takes with it: the blocks that Spark holds in memory and the shuffle files.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms import blocks, design
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.job import JOB
from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.progress import SILENT
from dplib.release.membership import RESERVATION
from dplib.workflow.job import PreparedJob
from dplib.workflow.run import run_job
from tests.cluster.conftest import RELEASE, assert_paid_once


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
def between_passes(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Do something between the two passes of `measure_in_blocks`; jobs take the session that is there."""
    # A year in eight blocks: results above a megabyte would be lost with the blocks of a local session, whose
    # only executor is the driver.
    monkeypatch.setattr(design, "MAX_BLOCK_CELLS", 4096)
    combine = blocks.combine_digests

    def arrange(action: Callable[[], object]) -> None:
        def act_and_combine(key: bytes, digests: list[tuple[str, bytes]]) -> bytes:
            action()
            return combine(key, digests)

        monkeypatch.setattr(blocks, "combine_digests", act_and_combine)

    return arrange


def prepare_year(place: Path) -> PreparedJob[Design]:
    """One year of the shop, measured in blocks."""
    year = ("domain.last_day=1990-12-31", "tree.branching=[8,7,7]", "publish.solver.layout=blocks")
    prepared = JOB.prepare(place / "config.yaml", year)
    assert prepared.design.blocks.n_blocks == 8
    return prepared


def measure(place: Path) -> dict[str, bytes]:
    """Measure in blocks and return the stored files, without the random text of the reservation."""
    run_job(prepare_year(place), stage="measure", progress=SILENT)
    stored = place / "releases" / RELEASE
    files = (path for path in stored.rglob("*") if path.is_file() and path.name != RESERVATION)
    return {str(path.relative_to(stored)): path.read_bytes() for path in files}


def test_lost_blocks_are_computed_again(
    spark: SparkSession, shop: Path, place: Path, tmp_path: Path, between_passes: Callable[[Callable[[], object]], None]
) -> None:
    before: list[set[Path]] = []
    between_passes(lambda: before.append(lose_blocks(spark)))
    disturbed = measure(place)
    # Spark wrote files of the same shuffles again: the second pass did not find what the first one had made.
    lost = {path.name.split("_")[1] for path in before[0]}
    assert {path.name.split("_")[1] for path in shuffle_files(spark)} & lost
    between_passes(lambda: None)
    place.rename(tmp_path / "disturbed")
    assert measure(_copy(shop, place)) == disturbed


def _copy(shop: Path, place: Path) -> Path:
    place.mkdir()
    for name in ("config.yaml", "rows.csv", "dplib.key", "ledger.db"):
        (place / name).write_bytes((shop / name).read_bytes())
    (place / "dplib.key").chmod(0o600)
    return place


def test_an_input_that_changes_meanwhile_is_refused(
    spark: SparkSession, shop: Path, place: Path, between_passes: Callable[[Callable[[], object]], None]
) -> None:
    rows = place / "rows.csv"
    original = rows.read_text()

    def change() -> None:
        lose_blocks(spark)
        rows.write_text(original.replace(",i7,", ",i8,"))

    between_passes(change)
    with pytest.raises(IntegrityError, match="input must not change while it is read"):
        measure(place)
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", place))
    runs = ledger.runs("shop")
    assert [(run.state.value, run.measurement) for run in runs] == [("reserved", None)]
    assert [path.name for path in (place / "releases").iterdir()] == [".lock"]
    # The reservation pays for the retry, which measures what is there now.
    between_passes(lambda: None)
    measured = measure(place)
    assert any(name.startswith("measurement/") for name in measured)
    run_job(prepare_year(place), progress=SILENT)
    assert_paid_once(place)
