"""Answers about cuts of small graphs by enumeration and by definitions word for word; the stored reference cases."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cactus.cactus import Cactus, checked_cactus
from dplib.graphs.edges import Graph, canonical
from tests.support.cut_mechanism_laws import all_sides

CUT_CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "minimum_cuts.json").read_text())[
    "cases"
]
CUT_CASE_NAMES = [case["name"] for case in CUT_CASES]


def plus(graph: Graph, u: int, v: int, weight: int = 1) -> Graph:
    """The graph with more weight between two vertices."""
    return canonical(
        graph.n_vertices, np.append(graph.source, u), np.append(graph.target, v), np.append(graph.weight, weight)
    )


def case_graph(case: dict[str, Any]) -> Graph:
    return canonical(case["n"], *np.array(case["edges"], dtype=np.int64).reshape(-1, 3).T)


def cut_values(graph: Graph, cuts: BoolArray) -> IntArray:
    return np.asarray((cuts[:, graph.source] != cuts[:, graph.target]) @ graph.weight)


def minimum_cuts(graph: Graph) -> tuple[int, BoolArray]:
    """The minimum cut value and all minimum cuts."""
    cuts = all_sides(graph.n_vertices)
    values = cut_values(graph, cuts)
    return int(values.min()), cuts[values == values.min()]


def random_graph(rng: np.random.Generator, n: int, most_weight: int = 3) -> Graph:
    """A connected graph of random kind: any density, or few chords on a ring, or rings hung together."""
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    weight = np.zeros((n, n), dtype=np.int64)
    order = rng.permutation(n)
    kind = rng.integers(4)
    if kind == 0:  # any density
        kept = pairs[rng.random(len(pairs)) < rng.uniform(0.1, 1)]
        np.add.at(weight, tuple(kept.T), rng.integers(1, most_weight + 1, len(kept)))
    elif kind == 1 and n > 2:  # a ring, with chords
        np.add.at(weight, (order, np.roll(order, 1)), rng.integers(1, 3))
        for u, v in pairs[rng.random(len(pairs)) < 0.1]:
            weight[u, v] += 1
    else:  # rings and edges of equal strength that share vertices
        at = 1
        while at < n:
            size = min(int(rng.integers(1, 7)), n - at)
            ring = [int(order[rng.integers(at)]), *order[at : at + size].tolist()]
            if size > 1:
                np.add.at(weight, (ring, np.roll(ring, 1)), 1)
            else:
                weight[ring[0], ring[1]] += int(rng.integers(2, 4))
            at += size
    weight += weight.T
    for one, other in itertools.pairwise(_leaders(weight)):
        weight[one, other] = weight[other, one] = int(rng.integers(1, most_weight + 1))
    source, target = np.nonzero(np.triu(weight, 1))
    return canonical(n, source, target, weight[source, target])


def _leaders(weight: IntArray) -> list[int]:
    """One vertex of each connected component."""
    reach = np.linalg.matrix_power((weight > 0) | np.eye(len(weight), dtype=bool), len(weight))
    return [int(vertex) for vertex in np.unique(np.asarray(reach).argmax(axis=1))]


def sides(cuts: BoolArray) -> set[tuple[int, ...]]:
    """Cuts as sets of vertices without vertex 0."""
    given = np.asarray(cuts) ^ np.asarray(cuts)[:, :1]
    return {tuple(np.flatnonzero(cut).tolist()) for cut in given}


def case_cactus(case: dict[str, Any]) -> Cactus:
    """The standard cactus of a stored case, its nodes in the file's numbering."""
    given = case["cactus"]
    node_of = np.empty(case["n"], dtype=np.int64)
    for node, held in given["nodes"].items():
        node_of[held] = int(node)
    return checked_cactus(len(given["nodes"]), node_of, given["tree_edges"], given["rings"])


def crossing(one: BoolArray, other: BoolArray) -> bool:
    """Definition 3.1.1, word for word."""
    return all(bool(part.any()) for part in (one & other, one & ~other, ~one & other, ~one & ~other))


def bundles_by_definition(p_cuts: BoolArray) -> set[frozenset[tuple[int, ...]]]:
    """Definitions 3.1.4 to 3.1.6, read word for word; each bundle as the set of its p-cuts' outer sides."""
    every = frozenset(range(p_cuts.shape[1]))
    found = set()
    oriented = [frozenset(np.flatnonzero(cut).tolist()) for cut in p_cuts]
    for side in [*oriented, *(every - cut for cut in oriented)]:
        # The bundle of the cut on the side `side`: the cut itself, and the largest p-cuts that split it.
        within = [z for cut in oriented for z in (cut, every - cut) if z < side]
        between = {z: [middle for middle in within if z < middle] for z in within}
        largest = [z for z in within if not between[z]]
        found.add(frozenset(tuple(sorted(z)) for z in [*largest, every - side]))
    return found


def between_every_pair(t_cut: BoolArray, bundle: BoolArray) -> bool:
    """Definition 3.1.7 for t-cuts as it is printed; ``bundle`` holds outer sides."""
    every = frozenset(range(len(t_cut)))
    one = frozenset(np.flatnonzero(t_cut).tolist())
    outer = [frozenset(np.flatnonzero(side).tolist()) for side in bundle]
    return all(
        any(x < side and y < every - side for side in (one, every - one)) for x, y in itertools.combinations(outer, 2)
    )


def loosened(rng: np.random.Generator, cactus: Cactus) -> Cactus:
    """An equivalent cactus that is not in standard form, by random steps that keep the cut set."""
    n, node_of = cactus.n_nodes, cactus.node_of.copy()
    edges = [tuple(edge) for edge in cactus.tree_edges.tolist()]
    rings = [ring.tolist() for ring in cactus.rings]
    for number in range(len(rings)):  # a ring node and what hangs from it become one, where that is an edge
        for node in list(rings[number]):
            hanging = [edge for edge in edges if node in edge]
            if rng.random() < 0.5 and len(hanging) == 1 and node not in node_of:
                other = sum(hanging[0]) - node
                if other in rings[number]:
                    continue
                edges.remove(hanging[0])
                edges = [tuple(other if end == node else end for end in edge) for edge in edges]
                rings = [[other if end == node else end for end in ring] for ring in rings]
    for edge in list(edges):
        kind = rng.integers(4)
        if kind == 0:  # a double edge
            edges.remove(edge)
            rings.append(list(edge))
        elif kind == 1:  # an empty node on the edge
            edges.remove(edge)
            edges += [(edge[0], n), (n, edge[1])]
            n += 1
    degree = np.bincount(np.array(edges, dtype=int).ravel(), minlength=n)
    for node in range(cactus.n_nodes):  # an empty node with three edges becomes a ring of three
        hanging = [edge for edge in edges if node in edge]
        in_ring = any(node in ring for ring in rings)
        if degree[node] == 3 == len(hanging) and node not in node_of and not in_ring and rng.random() < 0.7:
            ends = [sum(edge) - node for edge in hanging]
            edges = [edge for edge in edges if node not in edge]
            rings.append(ends)
    used = sorted({*node_of.tolist(), *itertools.chain(*edges), *itertools.chain(*rings)})
    shuffled = dict(zip(used, rng.permutation(len(used)).tolist(), strict=True))
    turned = [np.roll([shuffled[node] for node in ring], rng.integers(len(ring))) for ring in rings]
    return checked_cactus(
        len(used), [shuffled[node] for node in node_of.tolist()], [[shuffled[a], shuffled[b]] for a, b in edges], turned
    )
