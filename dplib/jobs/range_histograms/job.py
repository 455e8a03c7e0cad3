"""The job ``range-histograms``: from rows to histograms that answer every range with its exact standard error."""

from collections.abc import Iterator
from pathlib import Path

from dplib.config.value_input import HistogramInput
from dplib.jobs.range_histograms.check import check_tables
from dplib.jobs.range_histograms.config import NAME, RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.example import EXAMPLE
from dplib.jobs.range_histograms.plan import make_plan
from dplib.jobs.range_histograms.query import Answer, query_release
from dplib.jobs.range_histograms.run import judge, measure, open_input, publish
from dplib.jobs.range_histograms.terminal import show_release, shown_answers, shown_plan, shown_rehearsal
from dplib.jobs.range_histograms.trial import TRIAL
from dplib.release.manifest import Manifest
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.bins import open_values
from dplib.spark.rows.inspect import inspect_values
from dplib.spark.rows.inspection import Inspection
from dplib.workflow.job import Job, Question
from dplib.workflow.plan import planned
from dplib.workflow.prepared import Prepared, resolver
from dplib.workflow.shown import Shown


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    source, domain = prepared.source(HistogramInput), prepared.design.bins.row_domain
    rows = open_values(spark, source, domain, prepared.base)
    return inspect_values(rows, source, domain, prepared.design.config.privacy.rows_per_unit)


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Answers for a range of bins."""
    answers = query_release(release, manifest, asked.names, asked.start, asked.end)
    return answers, shown_answers(f"Counts of {answers[0].range}", answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=RangeHistogramsConfig,
    open_input=open_input,
    measure=measure,
    publish=publish,
    trial=TRIAL,
    judge=judge,
    resolve=resolver(RangeHistogramsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    inspect=inspect,
    rehearse=shown_rehearsal,
    query=query,
    verify=check_tables,
)
"""The job."""
