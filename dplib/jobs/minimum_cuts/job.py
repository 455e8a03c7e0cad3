"""The job ``minimum-cuts``: from a list of edges to private facts about the minimum cuts of the graph."""

from collections.abc import Iterator
from pathlib import Path

from dplib.config.edge_input import EdgeInput
from dplib.jobs.minimum_cuts.check import check_tables
from dplib.jobs.minimum_cuts.config import NAME, MinimumCutsConfig
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.example import EXAMPLE
from dplib.jobs.minimum_cuts.plan import make_plan
from dplib.jobs.minimum_cuts.query import Answer, query_release
from dplib.jobs.minimum_cuts.run import judge, measure, open_input, publish
from dplib.jobs.minimum_cuts.terminal import show_release, shown_answers, shown_plan, shown_rehearsal
from dplib.jobs.minimum_cuts.trial import TRIAL
from dplib.release.manifest import Manifest
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import open_edges
from dplib.spark.graphs.weighted_edges import inspect_weighted_edges, judge_weighted_edges
from dplib.spark.rows.inspection import Inspection
from dplib.workflow.job import Job, Question
from dplib.workflow.plan import planned
from dplib.workflow.prepared import Prepared, resolver
from dplib.workflow.shown import Shown


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    config, vertices = prepared.design.config, prepared.design.vertices
    rows = open_edges(spark, prepared.source(EdgeInput), prepared.base, vertices)
    judged = judge_weighted_edges(rows, vertices, config.graph.weights, config.row_cap, for_owner=True)
    return inspect_weighted_edges(judged, vertices, config.graph.weights, config.pair_cap)


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """Numbers, cuts, or what is around vertices."""
    answers = query_release(release, manifest, asked.names, asked.start, asked.end)
    return answers, shown_answers("Answers", answers)


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=MinimumCutsConfig,
    open_input=open_input,
    measure=measure,
    publish=publish,
    trial=TRIAL,
    judge=judge,
    resolve=resolver(MinimumCutsConfig, Design.resolve),
    plan=planned(make_plan, shown_plan),
    show=show_release,
    inspect=inspect,
    rehearse=shown_rehearsal,
    query=query,
    verify=check_tables,
)
"""The job."""
