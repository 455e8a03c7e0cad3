"""The job ``minimum-cuts``: from a list of edges to private facts about the minimum cuts of the graph."""

from collections.abc import Iterator
from pathlib import Path

from dplib.jobs.minimum_cuts.check import check_tables
from dplib.jobs.minimum_cuts.config import NAME, MinimumCutsConfig
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.example import EXAMPLE
from dplib.jobs.minimum_cuts.plan import make_plan
from dplib.jobs.minimum_cuts.query import Answer, ask
from dplib.jobs.minimum_cuts.terminal import show_release, shown_answers, shown_plan
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.workflow.job import Job, publishing_of, stages_of
from dplib.workflow.plan import planned
from dplib.workflow.prepared import resolver
from dplib.workflow.shown import Shown


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Numbers, cuts, or what is around vertices."""
    answers = ask(release, manifest, asked)
    return answers, shown_answers("Answers", answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=MinimumCutsConfig,
    resolve=resolver(MinimumCutsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    query=query,
    verify=check_tables,
    publishing=publishing_of("dplib.jobs.minimum_cuts.run"),
    stages=stages_of("dplib.jobs.minimum_cuts.run"),
)
"""The job."""
