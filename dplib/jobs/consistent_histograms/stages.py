"""What runs of ``consistent-histograms`` are made of: all that needs Spark or looks at rows."""

from dplib.config.event_input import Input
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.rehearse import shown_rehearsal
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.run import judge, measure, open_input, publish
from dplib.jobs.consistent_histograms.trial import TRIAL
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.inspect import inspect_rows
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.read import open_rows
from dplib.workflow.job import Stages
from dplib.workflow.prepared import Prepared


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    source = prepared.source(Input)
    rows = open_rows(spark, source, prepared.base)
    return inspect_rows(rows, source, prepared.design.config.privacy, row_domain(prepared.design))


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
