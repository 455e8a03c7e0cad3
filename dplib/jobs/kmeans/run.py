"""The job's own part of a run: open the rows, ask the method's questions once, estimate and publish."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dplib.config.point_input import PointInput
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.estimate import Results
from dplib.jobs.kmeans.faint import faint_centers
from dplib.jobs.kmeans.measure import measure_points, measure_reports, measure_users
from dplib.jobs.kmeans.publish import manifest_fields, promise, write_tables
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.points.point_reports import merge_reports, open_point_reports
from dplib.spark.points.point_rows import open_points
from dplib.spark.points.points import NAME_WORDS, SparkPoints, SparkRows, block_users
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.quality_rows import judged_points
from dplib.workflow.job import Resources
from dplib.workflow.publication import Made, finish_release
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

if TYPE_CHECKING:
    from dplib.page.frame import PageFrame


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
            partial(_page, design, results),
        )
        finish_release(job.prepared, directory, run, account, made)


def _page(design: Design, results: Results, frame: "PageFrame") -> str:
    # Imported where it is needed: drawing takes seconds to load, and most commands draw nothing.
    from dplib.jobs.kmeans.page import build_page

    return build_page(design, results, frame)
