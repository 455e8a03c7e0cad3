"""What runs of ``minimum-cuts`` are made of: all that needs Spark or looks at rows."""

from dplib.config.edge_input import EdgeInput
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.rehearse import shown_rehearsal
from dplib.jobs.minimum_cuts.run import judge, measure, open_input, publish
from dplib.jobs.minimum_cuts.trial import TRIAL
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import open_edges
from dplib.spark.graphs.weighted_edges import inspect_weighted_edges, judge_weighted_edges
from dplib.spark.rows.inspection import Inspection
from dplib.workflow.job import Stages
from dplib.workflow.prepared import Prepared


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    config, vertices = prepared.design.config, prepared.design.vertices
    rows = open_edges(spark, prepared.source(EdgeInput), prepared.base, vertices)
    judged = judge_weighted_edges(rows, vertices, config.graph.weights, config.row_cap, for_owner=True)
    return inspect_weighted_edges(judged, vertices, config.graph.weights, config.pair_cap)


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
