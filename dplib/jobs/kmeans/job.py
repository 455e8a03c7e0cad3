"""The job ``kmeans``: from rows of numbers to centers of clusters with weights and errors."""

from collections.abc import Iterator
from pathlib import Path

from dplib.config.point_input import PointInput
from dplib.jobs.kmeans.assign import assign_to_centers
from dplib.jobs.kmeans.check import check_tables
from dplib.jobs.kmeans.config import NAME, KMeansConfig
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.example import EXAMPLE
from dplib.jobs.kmeans.plan import make_plan
from dplib.jobs.kmeans.query import Answer, query_release
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.jobs.kmeans.run import judge, measure, open_input, publish
from dplib.jobs.kmeans.terminal import show_release, shown_answers, shown_plan, shown_rehearsal
from dplib.jobs.kmeans.trial import TRIAL
from dplib.release.manifest import Manifest
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.points.point_reports import inspect_point_reports, open_point_reports
from dplib.spark.points.point_rows import inspect_points, open_points
from dplib.spark.rows.inspection import Inspection
from dplib.validate import require
from dplib.workflow.job import Job, Question
from dplib.workflow.plan import planned
from dplib.workflow.prepared import Prepared, resolver
from dplib.workflow.shown import Shown


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule keeps, drops and clips."""
    design, source = prepared.design, prepared.source(PointInput)
    if design.from_reports:
        reports = open_point_reports(spark, source, prepared.base)
        return inspect_point_reports(reports, ReportReader(design.collection))
    rows = open_points(spark, source, prepared.base, for_owner=True)
    return inspect_points(rows, design.frame, design.config.privacy.rows_per_unit)


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Centers by number, or the one nearest to a point."""
    require(asked.end is None, "--to", "be absent for a release of k-means", asked.end)
    answers = query_release(release, manifest, asked.names, asked.start)
    title = "Centers" if asked.start is None else f"Nearest center of {asked.start}"
    return answers, shown_answers(title, answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=KMeansConfig,
    open_input=open_input,
    measure=measure,
    publish=publish,
    trial=TRIAL,
    judge=judge,
    resolve=resolver(KMeansConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    inspect=inspect,
    rehearse=shown_rehearsal,
    query=query,
    verify=check_tables,
    assign=assign_to_centers,
)
"""The job."""
