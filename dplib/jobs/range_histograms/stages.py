"""What runs of ``range-histograms`` are made of: all that needs Spark or looks at rows."""

from dplib.config.value_input import HistogramInput
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.rehearse import shown_rehearsal
from dplib.jobs.range_histograms.run import judge, measure, open_input, publish
from dplib.jobs.range_histograms.trial import TRIAL
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.bins import open_values
from dplib.spark.rows.inspect import inspect_values
from dplib.spark.rows.inspection import Inspection
from dplib.workflow.job import Stages
from dplib.workflow.prepared import Prepared


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    source, domain = prepared.source(HistogramInput), prepared.design.bins.row_domain
    rows = open_values(spark, source, domain, prepared.base)
    return inspect_values(rows, source, domain, prepared.design.config.privacy.rows_per_unit)


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
