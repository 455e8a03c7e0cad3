"""Time of exact minimum cuts, of all cuts near the minimum and of Karger's trials, beside networkx in the same process.

Run it with ``python -m scripts.bench.minimum_cuts``. Times are processor time of one core, median of three after a
first call, which compiles; networkx runs once, and only where it ends within about a minute.
"""

import os
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import networkx as nx

from dplib.graphs.cactus.cactus_cuts import count_standard_cuts
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cuts.karger import contraction_cuts
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import Graph, canonical
from tests.support.cut_graphs import complete, ring_of_cliques, ring_with_chords

ROUNDS = 3
TRIALS = 5_000
MAX_FOR_NETWORKX = 2_000  # edges
MAX_FOR_TRIALS = 20_000
MAX_LISTED = 10**8  # cuts; a cactus stands for more


class Row(NamedTuple):
    """One graph; milliseconds, trials a second; None where it was not run."""

    name: str
    value: int
    value_ms: float
    near_ms: float | None
    cactus_ms: float
    networkx_ms: float | None
    trials: float | None


def graphs() -> dict[str, Graph]:
    """The graphs of the table."""
    return {
        "100 / 1,000": ring_with_chords(100, 1_000, 10),
        "1,000 / 10,000": ring_with_chords(1_000, 10_000, 10),
        "10,000 / 50,000": ring_with_chords(10_000, 50_000, 10),
        "100,000 / 500,000": ring_with_chords(100_000, 500_000, 10),
        "complete, 300": complete(300),
        "ring of 25,000 K4": ring_of_cliques(25_000),
        "torus 60 x 60": torus(60),
    }


def torus(side: int) -> Graph:
    """A square grid whose ends are joined."""
    peer = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side, periodic=True))
    return from_networkx(peer)


def from_networkx(peer: nx.Graph) -> Graph:
    """A graph of networkx with weights of 1."""
    source, target = zip(*peer.edges(), strict=True)
    return canonical(len(peer), source, target)


def run() -> list[Row]:
    """Time every graph."""
    return [row_of(name, graph) for name, graph in graphs().items()]


def row_of(name: str, graph: Graph) -> Row:
    """Time one graph."""
    value = minimum_cut(graph).value
    trials = None
    if graph.n_edges <= MAX_FOR_TRIALS:
        n_trials = TRIALS * 1_000 // max(graph.n_edges, 1_000)
        trials = 1e3 * n_trials / milliseconds(lambda: contraction_cuts(graph, value, 2, 1, 0, n_trials))
    near = None
    if count_standard_cuts(cactus_of_graph(graph, value)) <= MAX_LISTED:
        near = milliseconds(lambda: near_minimum_cuts(graph, value * 14 // 10, 100_000))
    return Row(
        name,
        value,
        milliseconds(lambda: minimum_cut(graph)),
        near,
        milliseconds(lambda: cactus_of_graph(graph, value)),
        networkx_milliseconds(graph, value) if graph.n_edges <= MAX_FOR_NETWORKX else None,
        trials,
    )


def networkx_milliseconds(graph: Graph, value: int) -> float:
    """Stoer and Wagner's algorithm of networkx, whose answer must be ours."""
    peer = nx.Graph()
    peer.add_weighted_edges_from(zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True))
    started = time.process_time()
    theirs = nx.stoer_wagner(peer)[0]
    elapsed = time.process_time() - started
    if theirs != value:
        raise AssertionError(f"minimum cut values must be equal, got {value} and {theirs}")
    return 1e3 * elapsed


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median processor time after a first call, which compiles."""
    work()
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return 1e3 * median(taken)


def main() -> None:
    print(f"milliseconds of processor time, one core, median of {ROUNDS}; load {os.getloadavg()[0]:.1f}")
    heads = ("value", "exact value", "cuts <= 1.4", "cactus", "networkx", "Karger trials/s")
    print(f"{'graph':<20}" + "".join(f"{head:>16}" for head in heads))
    for row in run():
        cells = [f"{row.value}", shown(row.value_ms, 1), shown(row.near_ms, 1), shown(row.cactus_ms, 1)]
        cells += [shown(row.networkx_ms), shown(row.trials)]
        print(f"{row.name:<20}" + "".join(f"{cell:>16}" for cell in cells))


def shown(number: float | None, digits: int = 0) -> str:
    return "-" if number is None else f"{number:,.{digits}f}"


if __name__ == "__main__":
    main()
