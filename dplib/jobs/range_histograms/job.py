"""The job ``range-histograms``: from rows to histograms that answer every range with its exact standard error."""

from collections.abc import Iterator
from pathlib import Path

from dplib.jobs.range_histograms.check import check_tables
from dplib.jobs.range_histograms.config import NAME, RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.example import EXAMPLE
from dplib.jobs.range_histograms.plan import make_plan, stated_errors
from dplib.jobs.range_histograms.query import Answer, ask
from dplib.jobs.range_histograms.terminal import show_release, shown_answers, shown_plan
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.workflow.job import Job, publishing_of, stages_of
from dplib.workflow.plan import planned
from dplib.workflow.prepared import resolver
from dplib.workflow.shown import Shown


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Answers for a range of bins."""
    answers = ask(release, manifest, asked)
    return answers, shown_answers("Counts" if asked.by else f"Counts of {answers[0].range}", answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=RangeHistogramsConfig,
    resolve=resolver(RangeHistogramsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    query=query,
    verify=check_tables,
    publishing=publishing_of("dplib.jobs.range_histograms.run"),
    stages=stages_of("dplib.jobs.range_histograms.run"),
    errors=stated_errors,
)
"""The job."""
