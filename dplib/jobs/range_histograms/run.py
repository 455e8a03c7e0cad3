"""The job's own part of a run: open the rows, count and draw the noise once, estimate and publish."""

from dataclasses import replace
from pathlib import Path

from dplib.config.value_input import HistogramInput
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.faint import faint_groups
from dplib.jobs.range_histograms.measure import measure_in_blocks, measure_on_driver
from dplib.jobs.range_histograms.publish import (
    layout_of,
    manifest_fields,
    promise,
    results_in_blocks,
    results_on_driver,
    write_tables,
)
from dplib.jobs.range_histograms.rehearse import shown_rehearsal
from dplib.jobs.range_histograms.stream_run import measure_day, publish_version
from dplib.jobs.range_histograms.tables import read_strategy, write_strategy
from dplib.jobs.range_histograms.trial import TRIAL
from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.release.release_tables import read_measure
from dplib.release.staging import MEASUREMENT
from dplib.spark.engine.blocks import DataFrame, SparkSession
from dplib.spark.rows.bins import bin_rows, open_values
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.inspect import inspect_values
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.quality_rows import judged_values
from dplib.workflow.job import Publishing, Resources, Stages
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import Made, finish_release, page_of
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the rows and check their schema."""
    source, domain = job.prepared.source(HistogramInput), job.design.bins.row_domain
    return open_values(job.spark(), source, domain, job.prepared.base)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count, draw the noise once and store it."""
    if job.design.stream is not None:
        return measure_day(job, rows, keys, directory)
    design, cap = job.design, job.design.config.privacy.rows_per_unit
    write_strategy(directory, design)
    counted = bin_rows(rows, job.prepared.source(HistogramInput), design.bins.row_domain)
    bounded = bound_rows(counted, cap, cap, keys.bounding)
    if design.sums is not None or (layout_of(design) == "driver" and design.n_blocks == 1):
        with job.stage("counting"):
            counts = count_cells(bounded, len(design.bins.groups), design.bins.n_bins)
        with job.stage("drawing noise"):
            return measure_on_driver(design, counts, keys, directory)
    with job.stage("counting and drawing noise, groups in parallel"):
        return measure_in_blocks(bounded, design, keys, directory)


def judge(job: Resources[Design], rows: DataFrame) -> JudgedRows:
    """The rows after their rules, for the quality of the input."""
    source, design = job.prepared.source(HistogramInput), job.design
    return judged_values(rows, source, design.bins.row_domain, design.config.privacy.rows_per_unit)


def publish(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored measurement and write the rest of the release."""
    if job.design.stream is not None:
        publish_version(job, run, account, directory)
        return
    strategy = read_strategy(directory, job.design.noise)
    design = Design.of(job.design.config, strategy, read_measure(directory / MEASUREMENT))
    layout = layout_of(design)
    with job.stage("estimating and writing"):
        if layout == "driver":
            results = results_on_driver(design, directory)
        else:
            results = results_in_blocks(job.spark(), design, directory)
        summary = write_tables(design, results, directory)
        faint = faint_groups(design, summary, directory)
        page = page_of("dplib.jobs.range_histograms", design, summary, layout)
        made = Made(promise(design), faint, manifest_fields(design, layout), page)
        finish_release(replace(job.prepared, design=design), directory, run, account, made)


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    source, domain = prepared.source(HistogramInput), prepared.design.bins.row_domain
    rows = open_values(spark, source, domain, prepared.base)
    return inspect_values(rows, source, domain, prepared.design.config.privacy.rows_per_unit)


PUBLISHING = Publishing(publish=publish, trial=TRIAL)
"""How releases are made."""
STAGES = Stages(
    open_input=open_input,
    measure=measure,
    judge=judge,
    inspect=inspect,
    rehearse=shown_rehearsal,
)
"""What runs are made of."""
