"""The job ``network-statistics``: from a list of edges to private statistics of the graph."""

from collections.abc import Iterator
from pathlib import Path

from dplib.config.edge_input import EdgeInput
from dplib.config.network_releases import ReportInput
from dplib.jobs.network_statistics.check import check_tables
from dplib.jobs.network_statistics.config import NAME, NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.example import EXAMPLE
from dplib.jobs.network_statistics.plan import make_plan
from dplib.jobs.network_statistics.query import Answer, query_release
from dplib.jobs.network_statistics.run import judge, measure, open_input, publish
from dplib.jobs.network_statistics.terminal import show_release, shown_answers, shown_plan, shown_rehearsal
from dplib.jobs.network_statistics.trial import TRIAL
from dplib.release.manifest import Manifest
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import inspect_edges, judge_edges, open_edges
from dplib.spark.graphs.reports import inspect_reports, judge_reports, open_reports
from dplib.spark.rows.inspection import Inspection
from dplib.workflow.job import Job, Question
from dplib.workflow.plan import planned
from dplib.workflow.prepared import Prepared, resolver
from dplib.workflow.shown import Shown


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    design, vertices = prepared.design, prepared.design.vertices
    if design.reported is not None:
        reports = open_reports(spark, prepared.source(ReportInput), prepared.base)
        return inspect_reports(judge_reports(reports, vertices))
    rows = open_edges(spark, prepared.source(EdgeInput), prepared.base, vertices)
    bound = design.largest_degree if design.projected else None
    return inspect_edges(judge_edges(rows, vertices, for_owner=True), vertices, bound)


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Statistics by name, and vertices."""
    answers = query_release(release, manifest, asked.names, asked.start, asked.end)
    return answers, shown_answers("Statistics", answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=NetworkStatisticsConfig,
    open_input=open_input,
    measure=measure,
    publish=publish,
    trial=TRIAL,
    judge=judge,
    resolve=resolver(NetworkStatisticsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    inspect=inspect,
    rehearse=shown_rehearsal,
    query=query,
    verify=check_tables,
)
"""The job."""
