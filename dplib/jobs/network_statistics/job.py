"""The job ``network-statistics``: from a list of edges to private statistics of the graph."""

from collections.abc import Iterator
from pathlib import Path

from dplib.jobs.network_statistics.check import check_tables
from dplib.jobs.network_statistics.config import NAME, NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.example import EXAMPLE
from dplib.jobs.network_statistics.plan import make_plan
from dplib.jobs.network_statistics.query import Answer, ask
from dplib.jobs.network_statistics.terminal import show_release, shown_answers, shown_plan
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.workflow.job import Job, publishing_of, stages_of
from dplib.workflow.plan import planned
from dplib.workflow.prepared import resolver
from dplib.workflow.shown import Shown


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Statistics by name, and vertices."""
    answers = ask(release, manifest, asked)
    return answers, shown_answers("Statistics", answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=NetworkStatisticsConfig,
    resolve=resolver(NetworkStatisticsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    query=query,
    verify=check_tables,
    publishing=publishing_of("dplib.jobs.network_statistics.run"),
    stages=stages_of("dplib.jobs.network_statistics.run"),
)
"""The job."""
