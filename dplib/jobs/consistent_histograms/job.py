"""The job ``consistent-histograms``: from event rows to consistent counts by item and day."""

from collections.abc import Iterator
from pathlib import Path

from dplib.jobs.consistent_histograms.check import check_tables
from dplib.jobs.consistent_histograms.config import NAME, ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.example import EXAMPLE
from dplib.jobs.consistent_histograms.plan import by_answer, make_plan, query_errors
from dplib.jobs.consistent_histograms.query import Answer, ask
from dplib.jobs.consistent_histograms.terminal import show_release, shown_answers, shown_plan
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.workflow.job import Job, publishing_of, stages_of
from dplib.workflow.plan import planned
from dplib.workflow.prepared import resolver
from dplib.workflow.shown import Shown


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Answers for a range of days."""
    answers = ask(release, manifest, asked)
    return answers, shown_answers(answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=ConsistentHistogramsConfig,
    resolve=resolver(ConsistentHistogramsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    query=query,
    verify=check_tables,
    publishing=publishing_of("dplib.jobs.consistent_histograms.publication"),
    stages=stages_of("dplib.jobs.consistent_histograms.run"),
    errors=lambda design: by_answer(query_errors(design, Errors(design))),
)
"""The job."""
