"""Acceptance of minimum cuts: known graphs over Spark, against networkx in the same run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from dplib.config.edge_input import VertexDomain, WeightedEdgeInput, WeightSettings
from dplib.graphs.cactus.cactus_cuts import count_standard_cuts
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cuts.karger_stein import karger_stein_cuts, plan_runs
from dplib.graphs.cuts.minimum_cut import count_zero_cuts, minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import Graph, components, induced
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import open_edges
from dplib.spark.graphs.weighted_edges import collect_graph, judge_weighted_edges
from scripts.accept.claims import Check, Result
from scripts.accept.runs import needs_shared, session, shared
from tests.support.graph_oracles import sides

CORES = (34, 30, 20)
SEED, FAILURE = 20_251, 1e-9


@needs_shared
def real_graphs() -> Iterator[Result]:
    """Known graphs, read on Spark; minimum cuts against networkx and independent algorithms in the same run."""
    where = shared("graphs")
    with session() as spark:
        lesmis = read_graph(spark, where / "lesmis.gml", 77)
        worms = read_graph(spark, where / "celegansneural.gml", 297)
        email = read_graph(spark, where / "email-Eu-core.txt", 1_005)
        enron = read_graph(spark, where / "Email-Enron.txt.gz", 36_692)
    yield same_weights("lesmis: weights as networkx reads them", lesmis, summed(where / "lesmis.gml"))
    claim = "celegansneural: weights of both directions summed as networkx reads them"
    yield same_weights(claim, worms, summed(where / "celegansneural.gml"))
    yield from exact_cuts("lesmis", lesmis)
    yield from exact_cuts("celegansneural", worms)
    email_peer = simple(where / "email-Eu-core.txt")
    yield same_weights("email-Eu-core: edges as networkx reads them", email, email_peer)
    for k in CORES:
        core = nx.k_core(email_peer, k)
        inside = np.isin(np.arange(email.n_vertices), list(core))
        yield from exact_cuts(f"email-Eu-core, {k}-core of {len(core)} vertices", induced(email, inside)[0])
    yield from enron_end_to_end(enron, where / "Email-Enron.txt.gz")


def read_graph(spark: SparkSession, path: Path, n_vertices: int) -> Graph:
    """A graph by the job's reader; of lists without weights each pair once."""
    gml: dict[str, Any] = {"format": "gml", "options": {"label": "id"}, "columns": {"weight": "value"}}
    given = gml if path.suffix == ".gml" else {"format": "snap"}
    source = WeightedEdgeInput.model_validate({"path": str(path), **given})
    weights = WeightSettings(repeats="sum" if path.suffix == ".gml" else "once")
    domain = VertexDomain(n_vertices)
    judged = judge_weighted_edges(open_edges(spark, source, Path()), domain, weights)
    return collect_graph(judged, domain, weights)


def simple(path: Path) -> nx.Graph:
    """An edge list as networkx reads it, without loops."""
    graph = nx.read_edgelist(path, nodetype=int)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def summed(path: Path) -> nx.Graph:
    """A GML file as networkx reads it, edges of one pair summed."""
    graph = nx.Graph()
    for u, v, weight in nx.read_gml(path, label="id").edges(data="value"):
        if u != v:
            before = graph.get_edge_data(u, v, {"weight": 0})["weight"]
            graph.add_edge(u, v, weight=before + int(weight))
    return graph


def same_weights(claim: str, graph: Graph, peer: nx.Graph) -> Result:
    """Whether a graph has the edges and weights of networkx's."""
    ours = set(zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True))
    theirs = {(min(u, v), max(u, v), weight) for u, v, weight in peer.edges(data="weight", default=1)}
    return Result(claim, f"{len(theirs)} edges", f"{len(ours)} edges", ours == theirs)


def exact_cuts(name: str, graph: Graph) -> Iterator[Result]:
    """The value by networkx's Stoer-Wagner; all minimum cuts by Karger-Stein runs, and their number by the cactus."""
    value = minimum_cut(graph).value
    peer = nx.Graph()
    peer.add_weighted_edges_from(zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True))
    theirs = nx.stoer_wagner(peer)[0]
    yield Result(f"{name}: minimum cut value, networkx stoer_wagner", f"{theirs}", f"{value}", value == theirs)
    found = near_minimum_cuts(graph, value)
    n_cuts = count_standard_cuts(cactus_of_graph(graph, value))
    runs = plan_runs(graph.n_vertices, 1, FAILURE)
    by_runs = karger_stein_cuts(graph, value, 1, SEED, 0, runs.n_trials)
    same = found.complete and sides(found.cuts.sides()) == sides(by_runs.sides()) and len(found.cuts) == n_cuts
    claim = f"{name}: all minimum cuts, {runs.n_trials} Karger-Stein runs and the cactus's count"
    yield Result(claim, f"{len(by_runs)} and {n_cuts}", f"{len(found.cuts)}", same)


def enron_end_to_end(graph: Graph, path: Path) -> Iterator[Result]:
    """Email-Enron from the file over Spark to its cuts: not connected, and the largest component has bridges."""
    peer = simple(path)
    yield same_weights("Email-Enron over Spark: edges as networkx reads them", graph, peer)
    n_components, component = components(graph)
    parts = nx.number_connected_components(peer)
    zero = minimum_cut(graph).value == 0 and count_zero_cuts(graph) == 2 ** (parts - 1) - 1
    claim = "Email-Enron: not connected, value 0 and 2^(c - 1) - 1 minimum cuts for c components"
    yield Result(claim, f"c = {parts}", f"c = {n_components}", zero and n_components == parts)
    largest, _ = induced(graph, component == np.bincount(component).argmax())
    value = minimum_cut(largest).value
    n_bridges = sum(1 for _ in nx.bridges(peer.subgraph(max(nx.connected_components(peer), key=len))))
    n_cuts = count_standard_cuts(cactus_of_graph(largest, value))
    claim = "Email-Enron, largest component: value 1, its minimum cuts are networkx's bridges (cactus)"
    yield Result(claim, f"1, {n_bridges}", f"{value}, {n_cuts}", (value, n_cuts) == (1, n_bridges))
    found = near_minimum_cuts(largest, value)
    claim = "Email-Enron, largest component: minimum cuts listed"
    yield Result(claim, f"{n_bridges}, complete", f"{len(found.cuts)}", found.complete and len(found.cuts) == n_bridges)


CHECKS: tuple[Check, ...] = (real_graphs,)
