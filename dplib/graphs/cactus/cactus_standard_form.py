"""The standard form of a cactus (ALG_std): equal arrays for equal sets of minimum cuts.

One graph has many cacti: a ring of three nodes may be three tree edges, an edge may be cut in two by an empty node. In
the standard form every p-cut is one tree edge and the rings stand for t-cuts only: each ring has at least four nodes,
all empty and each with exactly one tree edge; every leaf holds a vertex; an empty node off the rings has at least three
edges. So the number of minimum cuts is the number of tree edges plus ``l (l - 3) / 2`` for every ring of length ``l``.
The nodes are then numbered in one way, so that two cacti are equivalent exactly if their standard forms are equal.

Guarantee: algorithm 2 of Zhou, which was checked (not proved) to give the standard form of every valid cactus;
`dplib.graphs.cactus.cactus.checked_cactus` refuses the others. Cost: linear in the cactus but for sorting.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
algorithm 2.
"""

import itertools

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.cactus.cactus import Cactus, checked_cactus
from dplib.graphs.cactus.cactus_cuts import walk


def standard_form(cactus: Cactus) -> Cactus:
    """Return the standard form of a valid cactus, in the numbering of `numbered`."""
    edges = [(int(one), int(other)) for one, other in cactus.tree_edges]
    # Steps 1 and 2: a double edge is one edge of twice the weight.
    edges += [(int(ring[0]), int(ring[1])) for ring in cactus.rings if len(ring) == 2]
    merged = list(range(cactus.n_nodes))
    rings: list[list[int]] = []
    for ring in cactus.rings:
        if len(ring) == 2:
            continue
        # Steps 3 to 16: an empty node takes the place of each ring node, which hangs from it by an edge.
        first = len(merged)
        places = list(range(first, first + len(ring)))
        edges += [(place, int(node)) for place, node in zip(places, ring, strict=True)]
        # Step 17: three places become one, for a ring of three adds nothing to its p-cuts.
        merged += places if len(ring) > 3 else [first] * 3
        if len(ring) > 3:
            rings.append(places)
    edges = [(merged[one], merged[other]) for one, other in edges]
    return numbered(_drop_links(edges, rings, cactus.node_of, len(merged)))


def equivalent(one: Cactus, other: Cactus) -> bool:
    """Return whether two cacti on the same vertices stand for the same minimum cuts, without listing them."""
    return standard_form(one).equals(standard_form(other))


def numbered(cactus: Cactus) -> Cactus:
    """Return a valid cactus with its nodes, edges and rings in the one order that its vertices fix.

    Nodes are sorted by the smallest vertex at or below them, seen from the node of vertex 0, and then from the root
    outwards: nodes with the same smallest vertex lie on one way to the root. Edges lead outwards; rings start at their
    top and go on with the neighbour that has the smaller vertex below.
    """
    rooted = walk(cactus)
    order = np.lexsort((rooted.depth, rooted.lowest))
    rank = np.empty(cactus.n_nodes, dtype=np.int64)
    rank[order] = np.arange(cactus.n_nodes)
    blocks = [rank[list(block)].tolist() for block in rooted.blocks]
    edges, rings = blocks[: len(cactus.tree_edges)], blocks[len(cactus.tree_edges) :]
    turned = [ring if ring[1] <= ring[-1] else [ring[0], *ring[:0:-1]] for ring in rings]
    return checked_cactus(cactus.n_nodes, rank[cactus.node_of], sorted(edges), sorted(turned))


def _drop_links(edges: list[tuple[int, int]], rings: list[list[int]], node_of: IntArray, n_places: int) -> Cactus:
    """Steps 18 to 24: an empty node off the rings with two edges goes, and these become one edge."""
    kept = np.zeros(n_places, dtype=np.bool_)
    kept[node_of] = True
    for ring in rings:
        kept[ring] = True
    touching: list[list[int]] = [[] for _ in range(n_places)]
    for number, edge in enumerate(edges):
        for node in edge:
            touching[node].append(number)
    for node in np.flatnonzero(~kept).tolist():
        if len(touching[node]) != 2:
            continue
        gone, stays = touching[node]
        far = sum(edges[gone]) - node
        edges[stays] = (sum(edges[stays]) - node, far)
        edges[gone] = (-1, -1)
        touching[far][touching[far].index(gone)] = stays
        touching[node] = []
    left = np.array([edge for edge in edges if edge[0] >= 0], dtype=np.int64)
    used = np.unique([*node_of.tolist(), *left.ravel().tolist(), *itertools.chain(*rings)])
    names = [np.searchsorted(used, ring) for ring in rings]
    return checked_cactus(len(used), np.searchsorted(used, node_of), np.searchsorted(used, left), names)
