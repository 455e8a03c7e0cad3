"""The job's own part of a run: open the rows, select keys round by round, and publish them."""

from pathlib import Path

from dplib.config.key_input import KeyInput
from dplib.jobs.key_selection.design import STATISTIC, Design
from dplib.jobs.key_selection.rehearse import rehearse
from dplib.jobs.key_selection.tables import Selected, read_selected, write_measurement, write_tables
from dplib.ledger.runs import MeasuredRun
from dplib.metrics.faint_totals import find_faint
from dplib.page.account_state import AccountState
from dplib.page.guarantee import Promise
from dplib.randomness.keyed import derive_key
from dplib.spark.engine.blocks import DataFrame, SparkSession
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.keys import KEY_RULES, inspect_keys, judged_rows, keys_of_units, open_keys, select_round
from dplib.spark.rows.quality import JudgedRows
from dplib.workflow.job import Publishing, Resources, Stages, Trial
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import Made, finish_release, page_of
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the rows and check their schema."""
    return open_keys(job.spark(), job.prepared.source(KeyInput), job.prepared.base)


def judge(_: Resources[Design], rows: DataFrame) -> JudgedRows:
    """The rows after their rules, for the quality of the input."""
    return judged_rows(rows)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Select the keys and store them."""
    design, digest = job.design, selection_digest(keys)
    units = keys_of_units(rows, design.max_keys, keys.bounding).persist()
    found: list[tuple[bytes, int, int | None]] = []
    limit = design.config.selection.max_keys
    try:
        for number, selector in enumerate(design.selectors):
            if len(found) < limit:
                with job.stage(f"selecting keys, round {number + 1} of {len(design.selectors)}"):
                    gone, left = [key for key, _, _ in found], limit - len(found)
                    released = select_round(units, selector, gone, keys.measurement(digest), number, left)
                found += [(key, number + 1, noisy) for key, noisy in zip(*released, strict=True)]
    finally:
        units.unpersist()
    write_measurement(design, directory, Selected.of(found))
    return keys.recorded(digest)


def selection_digest(keys: RunKeys) -> bytes:
    """What stands for the digest of exact statistics: every key's own draw depends on its exact weight."""
    return derive_key(keys.digest, STATISTIC)


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Select among no keys."""
    write_measurement(design, directory, Selected((), (), ()))
    return keys.recorded(selection_digest(keys))


def publish(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Write the rest of the release from the stored keys."""
    design = job.design
    with job.stage("writing"):
        found = read_selected(design, directory)
        write_tables(design, directory, found)
        unit = design.config.privacy.unit
        caps = f"at most {design.max_keys} different keys of one {unit} in each round, however many rows it has"
        promise = Promise(caps, (), "Columns, cap, mechanism and budget")
        made = Made(
            promise, find_faint([]), design.manifest_fields(), page_of("dplib.jobs.key_selection", design, found)
        )
        finish_release(job.prepared, directory, run, account, made)


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule does to the rows, and the cap to the different keys of units."""
    return inspect_keys(open_keys(spark, prepared.source(KeyInput), prepared.base), prepared.design.max_keys)


PUBLISHING = Publishing(publish=publish, trial=Trial(lambda design, _: design, measure_nothing, KEY_RULES))
"""How releases are made."""
STAGES = Stages(
    open_input=open_input,
    measure=measure,
    judge=judge,
    inspect=inspect,
    rehearse=rehearse,
)
"""The stages."""
