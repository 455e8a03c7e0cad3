"""The job's own part of a run: open the rows, ask the method's questions once, estimate and publish."""

from contextlib import ExitStack
from pathlib import Path

from dplib.config.point_input import PointInput
from dplib.jobs.kmeans.assign import assign_to_centers
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.faint import faint_centers
from dplib.jobs.kmeans.measure import measure_points, measure_reports, measure_users
from dplib.jobs.kmeans.publish import manifest_fields, promise, write_tables
from dplib.jobs.kmeans.rehearse import shown_rehearsal
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.jobs.kmeans.trial import TRIAL
from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.spark.engine.blocks import DataFrame, SparkSession
from dplib.spark.points.point_reports import inspect_point_reports, merge_reports, open_point_reports
from dplib.spark.points.point_rows import inspect_points, open_points
from dplib.spark.points.points import NAME_WORDS, SparkPoints, SparkRows, block_users
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.quality_rows import judged_points
from dplib.workflow.job import Publishing, Resources, Stages
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import Made, finish_release, page_of
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the rows and check their schema."""
    source = job.prepared.source(PointInput)
    if job.design.from_reports:
        return open_point_reports(job.spark(), source, job.prepared.base)
    return open_points(job.spark(), source, job.prepared.base)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Read the points and ask the method's questions, every answer with noise drawn once; store the answers."""
    design = job.design
    if design.from_reports:
        with job.stage("adding up the reports"):
            merged = merge_reports(rows, ReportReader(design.collection))
            return measure_reports(design, merged, keys, directory)
    with ExitStack() as stack:
        if design.local:
            users = block_users(rows, design.frame, keys.bounding)
            source = SparkPoints(users, NAME_WORDS + design.frame.space.dimension)
            stack.callback(source.release)
            with job.stage("simulating the users' reports"):
                source.load()
                return measure_users(design, source, keys, directory)
        reader = SparkRows(rows, design.frame, design.config.privacy.rows_per_unit, keys.bounding)
        stack.callback(reader.release)
        with job.stage("clustering with noise"):
            return measure_points(design, reader, keys, directory)


def judge(job: Resources[Design], rows: DataFrame) -> JudgedRows:
    """The rows after their rules, for the quality of the input."""
    design = job.design
    return judged_points(rows, design.frame, design.config.privacy.rows_per_unit, not design.radius_is_private)


def publish(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored measurement and write the rest of the release."""
    design = job.design
    with job.stage("estimating and writing"):
        results = write_tables(design, directory)
        made = Made(
            promise(design),
            faint_centers(design, results),
            manifest_fields(design, results),
            page_of("dplib.jobs.kmeans", design, results),
        )
        finish_release(job.prepared, directory, run, account, made)


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule keeps, drops and clips."""
    design, source = prepared.design, prepared.source(PointInput)
    if design.from_reports:
        reports = open_point_reports(spark, source, prepared.base)
        return inspect_point_reports(reports, ReportReader(design.collection))
    rows = open_points(spark, source, prepared.base, for_owner=True)
    return inspect_points(rows, design.frame, design.config.privacy.rows_per_unit)


PUBLISHING = Publishing(publish=publish, trial=TRIAL)
"""How releases are made."""
STAGES = Stages(
    open_input=open_input,
    measure=measure,
    judge=judge,
    inspect=inspect,
    rehearse=shown_rehearsal,
    assign=assign_to_centers,
)
"""What runs are made of."""
