"""The job's own part of a run: open the list of edges, measure once, estimate and publish."""

from pathlib import Path

from dplib.config.edge_input import EdgeInput
from dplib.graphs.cuts.cut_list import CutList
from dplib.graphs.edges import Graph
from dplib.jobs.minimum_cuts.design import SAMPLED, Design
from dplib.jobs.minimum_cuts.faint import faint_numbers
from dplib.jobs.minimum_cuts.measure import measure_graph
from dplib.jobs.minimum_cuts.padded_graph import ListCuts
from dplib.jobs.minimum_cuts.publish import manifest_fields, promise, write_tables
from dplib.jobs.minimum_cuts.rehearse import shown_rehearsal
from dplib.jobs.minimum_cuts.tables import Tables
from dplib.jobs.minimum_cuts.trial import TRIAL
from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.spark.engine.blocks import DataFrame, SparkSession
from dplib.spark.graphs.cut_trials import Method, search_cuts
from dplib.spark.graphs.edges import open_edges
from dplib.spark.graphs.weighted_edges import collect_graph, inspect_weighted_edges, judge_weighted_edges
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.quality_rows import judged_weighted_edges
from dplib.workflow.job import Publishing, Resources, Stages
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import Made, finish_release, page_of
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

TRIAL_TASKS = 64
"""Tasks among which random trials are shared out; what they find does not depend on it."""


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the list of edges and check its schema."""
    return open_edges(job.spark(), job.prepared.source(EdgeInput), job.prepared.base, job.design.vertices)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Read the graph, find its cuts, draw the noise once and store it."""
    design = job.design
    config, weights = design.config, design.config.graph.weights
    with job.stage("reading the edges"):
        judged = judge_weighted_edges(rows, design.vertices, weights, config.row_cap)
        graph = collect_graph(judged, design.vertices, weights, config.pair_cap)
    with job.stage("finding cuts and drawing noise"):
        return measure_graph(design, graph, keys, directory, lister(job))


def lister(job: Resources[Design]) -> ListCuts | None:
    """How sampled_cuts lists cuts by random trials as tasks; None where it packs trees on the driver and lists none."""
    design = job.design
    plan = design.enumeration.trials(design.n_vertices) if design.asks(SAMPLED) else None
    if plan is None:
        return None
    method: Method = "karger" if design.enumeration.method == "karger" else "karger-stein"

    def by_trials(graph: Graph, bound: int, seed: int) -> CutList | None:
        return search_cuts(job.spark(), graph, bound, plan, seed, TRIAL_TASKS, method)

    return by_trials


def judge(job: Resources[Design], rows: DataFrame) -> JudgedRows:
    """The rows after their rules, for the quality of the input."""
    config = job.design.config
    return judged_weighted_edges(rows, job.design.vertices, config.graph.weights, config.row_cap)


def publish(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored measurement and write the rest of the release."""
    design = job.design
    with job.stage("estimating and writing"):
        results = write_tables(design, directory)
        faint = faint_numbers(design, Tables(directory, design).read_measurement())
        made = Made(
            promise(design), faint, manifest_fields(design), page_of("dplib.jobs.minimum_cuts", design, results)
        )
        finish_release(job.prepared, directory, run, account, made)


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    config, vertices = prepared.design.config, prepared.design.vertices
    rows = open_edges(spark, prepared.source(EdgeInput), prepared.base, vertices)
    judged = judge_weighted_edges(rows, vertices, config.graph.weights, config.row_cap, for_owner=True)
    return inspect_weighted_edges(judged, vertices, config.graph.weights, config.pair_cap)


PUBLISHING = Publishing(publish=publish, trial=TRIAL)
"""How releases are made."""
STAGES = Stages(
    open_input=open_input,
    measure=measure,
    judge=judge,
    inspect=inspect,
    rehearse=shown_rehearsal,
)
"""What runs are made of."""
