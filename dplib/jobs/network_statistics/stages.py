"""What runs of ``network-statistics`` are made of: all that needs Spark or looks at rows."""

from dplib.config.edge_input import EdgeInput
from dplib.config.network_releases import ReportInput
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.rehearse import shown_rehearsal
from dplib.jobs.network_statistics.run import judge, measure, open_input, publish
from dplib.jobs.network_statistics.trial import TRIAL
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import inspect_edges, judge_edges, open_edges
from dplib.spark.graphs.reports import inspect_reports, judge_reports, open_reports
from dplib.spark.rows.inspection import Inspection
from dplib.workflow.job import Stages
from dplib.workflow.prepared import Prepared


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    design, vertices = prepared.design, prepared.design.vertices
    if design.reported is not None:
        reports = open_reports(spark, prepared.source(ReportInput), prepared.base)
        return inspect_reports(judge_reports(reports, vertices))
    rows = open_edges(spark, prepared.source(EdgeInput), prepared.base, vertices)
    bound = design.largest_degree if design.projected else None
    return inspect_edges(judge_edges(rows, vertices, for_owner=True), vertices, bound)


STAGES = Stages(
    open_input=open_input,
    measure=measure,
    publish=publish,
    trial=TRIAL,
    judge=judge,
    inspect=inspect,
    rehearse=shown_rehearsal,
)
"""The stages."""
