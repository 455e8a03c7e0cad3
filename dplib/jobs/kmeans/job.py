"""The job ``kmeans``: from rows of numbers to centers of clusters with weights and errors."""

from collections.abc import Iterator
from pathlib import Path

from dplib.jobs.kmeans.check import check_tables
from dplib.jobs.kmeans.config import NAME, KMeansConfig
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.example import EXAMPLE
from dplib.jobs.kmeans.plan import make_plan
from dplib.jobs.kmeans.query import Answer, ask
from dplib.jobs.kmeans.terminal import show_release, shown_answers, shown_plan
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.workflow.job import Job, publishing_of, stages_of
from dplib.workflow.plan import planned
from dplib.workflow.prepared import resolver
from dplib.workflow.shown import Shown


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Centers by number, or the one nearest to a point."""
    answers = ask(release, manifest, asked)
    title = "Centers" if asked.start is None else f"Nearest center of {asked.start}"
    return answers, shown_answers(title, answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=KMeansConfig,
    resolve=resolver(KMeansConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    query=query,
    verify=check_tables,
    publishing=publishing_of("dplib.jobs.kmeans.run"),
    stages=stages_of("dplib.jobs.kmeans.run"),
)
"""The job."""
