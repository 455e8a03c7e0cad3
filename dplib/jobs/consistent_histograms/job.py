"""The job ``consistent-histograms``: from event rows to consistent counts by item and day."""

from collections.abc import Iterator
from pathlib import Path

from dplib.config.event_input import Input
from dplib.jobs.consistent_histograms.check import check_tables
from dplib.jobs.consistent_histograms.config import NAME, ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.example import EXAMPLE
from dplib.jobs.consistent_histograms.plan import make_plan
from dplib.jobs.consistent_histograms.query import Answer, query_release
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.run import judge, measure, open_input, publish
from dplib.jobs.consistent_histograms.terminal import show_release, shown_answers, shown_plan, shown_rehearsal
from dplib.jobs.consistent_histograms.trial import TRIAL
from dplib.release.manifest import Manifest
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.inspect import inspect_rows
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.read import open_rows
from dplib.terminal.output import day_option
from dplib.workflow.job import Job, Question
from dplib.workflow.plan import planned
from dplib.workflow.prepared import Prepared, resolver
from dplib.workflow.shown import Shown


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    source = prepared.source(Input)
    rows = open_rows(spark, source, prepared.base)
    return inspect_rows(rows, source, prepared.design.config.privacy, row_domain(prepared.design))


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Answers for a range of days."""
    first_day, last_day = day_option("--from", asked.start), day_option("--to", asked.end)
    answers = query_release(release, manifest, asked.names, first_day, last_day)
    return answers, shown_answers(answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=ConsistentHistogramsConfig,
    open_input=open_input,
    measure=measure,
    publish=publish,
    trial=TRIAL,
    judge=judge,
    resolve=resolver(ConsistentHistogramsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    inspect=inspect,
    rehearse=shown_rehearsal,
    query=query,
    verify=check_tables,
)
"""The job."""
