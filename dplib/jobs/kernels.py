"""Machine code that first runs would wait for, compiled beforehand: by set-up and by ``dplib doctor --compile``.

Whatever a job calls it calls with arrays of the same kinds, however large they are. So each job's example is planned
and its publication tried, in small, and what the examples do not ask for is called once: cuts of a graph in each way,
summaries of points, reports of users, errors of ranges on deep trees.
"""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dplib.clustering.central.simhash import SimHash
from dplib.clustering.central.swaps import ExchangeCosts
from dplib.clustering.projection import Projection
from dplib.clustering.space import Space
from dplib.clustering.sums import nearest, squared_distances, sums_by_label
from dplib.consistency.answer_coefficients import leaf_coefficients
from dplib.estimates.range_noise import RangeNoise
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cuts.cycle_arcs import Arcs
from dplib.graphs.cuts.flow_branching import branched_cuts
from dplib.graphs.cuts.karger import contraction_cuts
from dplib.graphs.cuts.karger_stein import karger_stein_cuts
from dplib.graphs.cuts.kernel import kernel
from dplib.graphs.cuts.local_flows import least_by_flows
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.cuts.packed_cuts import PackedCuts
from dplib.graphs.cuts.path_masses import Decay
from dplib.graphs.cuts.signed_cuts import small_cuts
from dplib.graphs.cuts.tree_packing import certified_trees, pack_trees
from dplib.graphs.cuts.two_respecting import least_cut_of_trees
from dplib.graphs.edges import canonical, cut_values, pack_sides
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.common_neighbors import common_neighbor_frontier
from dplib.graphs.statistics.truncation import project_graph
from dplib.jobs.table import JOBS, job_named
from dplib.mechanisms.cuts.cut_draws import WeighedCuts, decay_table
from dplib.mechanisms.local.choose_oracle import OracleName, choose_oracle
from dplib.mechanisms.local.vector_sums import VectorSums
from dplib.page.account_state import AccountState
from dplib.randomness.keyed import KEY_BYTES, KeyedStream
from dplib.randomness.user_streams import UserStreams, number_users
from dplib.trees.coverage import ExplicitRanges
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.mean_errors import padded_mean_error
from dplib.trees.shapes import branching_edges
from dplib.workflow.design import cost_of, natural_terms
from dplib.workflow.dry_publication import try_publication, unseen

N_VERTICES = 40
"""Of the graph: more than those whose cuts are all listed."""
N_LONG = 1_000


def compile_kernels() -> None:
    """Compile and keep (`dplib.kept_code`) what runs of the jobs' examples call."""
    with TemporaryDirectory(prefix="dplib-kernels-") as name:
        for job in JOBS:
            path = Path(name, f"{job}.yaml")
            path.write_text(job_named(job).example, encoding="utf-8")
            prepared = job_named(job).prepare(path)
            prepared.job.plan(prepared.design, prepared.key.settings_hash)
            terms = natural_terms(prepared.design)
            cost = cost_of(prepared.design, terms.currency)
            account = AccountState(terms.currency, cost, Fraction(0), cost)
            try_publication(prepared, unseen, account, page=False)
    _find_cuts()
    _count_edges()
    _sum_points()
    _read_reports()
    _find_range_errors()


def _find_cuts() -> None:
    around = np.arange(N_VERTICES)
    source, target = np.tile(around, 2), np.concatenate([around + 1, around + 7]) % N_VERTICES
    graph = canonical(N_VERTICES, source, target, np.full(len(source), 2))
    value = minimum_cut(graph).value
    near_minimum_cuts(graph, value + 1)
    least_by_flows(graph, value + 1, most_steps=N_VERTICES**2)
    branched_cuts(graph, value, limit=10)
    least_cut_of_trees(graph, pack_trees(graph, value).trees)
    contraction_cuts(graph, value, n_left=6, seed=0, first_trial=0, n_trials=1)
    karger_stein_cuts(graph, value, 1, seed=0, first_run=0, n_runs=1)
    cactus_of_graph(graph, value)
    Arcs(graph).least(2 * N_VERTICES)
    cut_values(graph, pack_sides(np.tri(3, N_VERTICES, -1, dtype=np.bool_)))
    small_cuts(np.add.outer(around, around) % 5 - 2)
    ring = np.arange(N_LONG)
    # Weighed row by row in a dense graph, by ranges in a long ring.
    for each in (canonical(N_VERTICES, *np.triu_indices(N_VERTICES, 1)), canonical(N_LONG, ring, (ring + 1) % N_LONG)):
        least = minimum_cut(each).value
        own = kernel(each, least)
        decay = Decay(*decay_table(Fraction(1), 0, own.graph.n_vertices))
        cuts = PackedCuts(own.graph, own.label, certified_trees(own.graph, least).trees, least, least, decay)
        WeighedCuts(cuts, least, Fraction(1)).draw(KeyedStream(bytes(KEY_BYTES), "kernels"), 1)


def _count_edges() -> None:
    graph = SimpleGraph(N_VERTICES, *np.triu_indices(N_VERTICES, 1))
    common_neighbor_frontier(graph)
    project_graph(graph, 3, 0)


def _sum_points() -> None:
    space = Space.ball([0.0, 0.0], 1.0)
    rows = np.linspace(-0.5, 0.5, 2 * N_VERTICES).reshape(-1, 2)
    points = space.to_units(rows)
    sums_by_label(points, nearest(points, points), len(points))
    squared_distances(points, points)
    SimHash.through(points[0], 4, 0).codes(points)
    ExchangeCosts(Projection(None, space), points, np.arange(2), 1, 1 << 40)(points)


def _read_reports() -> None:
    users = UserStreams(bytes(KEY_BYTES), number_users(np.arange(N_VERTICES)), "kernels")
    values, epsilon = np.arange(N_VERTICES) % 4, Fraction(1)
    for name in OracleName:
        oracle: Any = choose_oracle(4, epsilon, name)  # whose reports are its own
        reports = oracle.randomize(users, values)
        _ = oracle.estimate(oracle.aggregate(reports))
        # As they are read from bytes.
        reports.flags.writeable = False
        oracle.aggregate(reports)
    vectors = VectorSums(4, 2, 4, epsilon)
    vectors.aggregate(vectors.randomize(users, values, np.ones((N_VERTICES, 2), dtype=np.int64)))


def _find_range_errors() -> None:
    tree = IntervalTree.from_level_edges(branching_edges(N_LONG, [2] * 10))
    even, lo = np.ones(tree.n_nodes), np.arange(N_VERTICES)
    RangeNoise(tree, even, even).of(lo, lo + 1)
    for n_series in (1, 2):
        each = np.ones((tree.n_nodes, n_series))
        tree_blue_deep(tree, each, each)
    with_gap = np.where(np.arange(tree.n_nodes) == tree.leaf_nodes[0], np.inf, even)
    leaf_coefficients(tree, with_gap, np.ones(tree.n_leaves))
    ExplicitRanges(tree.n_leaves, lo, lo + 1).containing(tree.lo, tree.hi)
    padded_mean_error(N_LONG**3, [N_LONG] * 3, np.ones(4))


if __name__ == "__main__":
    compile_kernels()
