"""The job's own part of a run: open the rows, count and draw the noise once."""

from pathlib import Path

from dplib.jobs.consistent_histograms.blocks import measure_in_blocks
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import layout_of
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.publication import laid_out
from dplib.jobs.consistent_histograms.rehearse import shown_rehearsal
from dplib.jobs.consistent_histograms.rows import row_domain, row_source
from dplib.jobs.consistent_histograms.stream_run import measure_day
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.spark.engine.blocks import DataFrame, SparkSession
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.inspect import inspect_rows
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.quality_rows import judged_events
from dplib.spark.rows.read import open_rows
from dplib.spark.rows.wide import bounded_rows
from dplib.workflow.job import Resources, Stages
from dplib.workflow.prepared import Prepared
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the rows and check their schema."""
    return open_rows(job.spark(), row_source(job.prepared), job.prepared.base)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count, draw the noise once and store it."""
    if job.design.config.stream is not None:
        return measure_day(job, rows, keys, directory)
    design, privacy = laid_out(job, job.design, keys.settings_hash), job.design.config.privacy
    Tables(directory, design).write_tree()
    domain = row_domain(design)
    bounded = bounded_rows(rows, row_source(job.prepared), privacy, domain, keys.bounding)
    if layout_of(design) == "driver":
        with job.stage("counting"):
            counts = count_cells(bounded, domain.n_days, domain.n_row_types)
        with job.stage("drawing noise"):
            return measure_on_driver(design, counts, keys, directory)
    with job.stage("counting and drawing noise in blocks"):
        return measure_in_blocks(bounded, design, keys, directory)


def judge(job: Resources[Design], rows: DataFrame) -> JudgedRows:
    """The rows after their rules, for the quality of the input."""
    return judged_events(rows, row_source(job.prepared), job.design.config.privacy, row_domain(job.design))


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    source = row_source(prepared)
    rows = open_rows(spark, source, prepared.base)
    return inspect_rows(rows, source, prepared.design.config.privacy, row_domain(prepared.design))


STAGES = Stages(
    open_input=open_input,
    measure=measure,
    judge=judge,
    inspect=inspect,
    rehearse=shown_rehearsal,
)
"""What runs are made of."""
