"""What runs of ``kmeans`` are made of: all that needs Spark or looks at rows."""

from dplib.config.point_input import PointInput
from dplib.jobs.kmeans.assign import assign_to_centers
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.rehearse import shown_rehearsal
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.jobs.kmeans.run import judge, measure, open_input, publish
from dplib.jobs.kmeans.trial import TRIAL
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.points.point_reports import inspect_point_reports, open_point_reports
from dplib.spark.points.point_rows import inspect_points, open_points
from dplib.spark.rows.inspection import Inspection
from dplib.workflow.job import Stages
from dplib.workflow.prepared import Prepared


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule keeps, drops and clips."""
    design, source = prepared.design, prepared.source(PointInput)
    if design.from_reports:
        reports = open_point_reports(spark, source, prepared.base)
        return inspect_point_reports(reports, ReportReader(design.collection))
    rows = open_points(spark, source, prepared.base, for_owner=True)
    return inspect_points(rows, design.frame, design.config.privacy.rows_per_unit)


STAGES = Stages(
    open_input=open_input,
    measure=measure,
    publish=publish,
    trial=TRIAL,
    judge=judge,
    inspect=inspect,
    rehearse=shown_rehearsal,
    assign=assign_to_centers,
)
"""The stages."""
