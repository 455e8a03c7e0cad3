"""Bounding the degrees: the greedy ordered projection, one edge at a time.

Projection to degree at most D: go through the edges in an order fixed for every *possible* edge without looking at the
graph; keep an edge if both of its ends have kept fewer than D edges so far. Day, Li and Lyu's algorithm. The order here
is a hash of the pair of vertices with a public salt, so it can be had anywhere without a shuffle; equal hashes are
resolved by the pair itself.

Stability (the reason for this projection). Let G' be G without the edges of vertex v, and run both side by side. Let
delta(u) be u's kept degree in G less that in G', and Phi the sum of |delta(u)| over u other than v.

- An edge at v exists in G only. If it is kept, Phi grows by at most 1; that happens k <= D times.
- An edge (x, y) away from v is offered to both. If both decide alike, delta stays. If it is kept in G only, one end,
  say x, is full in G' and not in G: delta(x) < 0 rises towards 0, and |delta(y)| grows by at most 1. Phi does not grow.
  The other way round is the same.

So the kept degree of v changes by k <= D and the other kept degrees by at most k together. For one edge more, Phi <= 2
in the same way. What is a sum over vertices of a function of the degree (edges, histogram, k-stars, degree sequence) is
therefore stable. What depends on *which* edges are kept is not: a chain of swaps runs through the whole graph
(triangles, adjacency, cuts).

Rounds (`dplib.graphs.statistics.projection_blocks`). First every undecided edge with a full end is rejected; then one
is accepted if at both ends fewer undecided edges come before it than the end has room for. This is the sequential
result. Accepted: whatever the earlier undecided edges turn out to be, room is left when its turn comes. Rejected: an
undecided edge e at u always keeps room at u against the accepted edges after it (they were accepted with e counted
before them), so if no room is left, D edges before e were accepted. Each round decides at least the first undecided
edge; a random order needs about 10 rounds, of which the last decide few edges.

Cost: O(m log m) for the order, then O(m); a round is O(m log m).

References:
    Day, Li, Lyu: Publishing graph degree distribution with node differential privacy. SIGMOD 2016, algorithm 1 (the
    projection), lemma 1 (its stability where the vertex vanishes).
    Blelloch, Fineman, Shun: Greedy sequential maximal independent set and matching are parallel on average. SPAA 2012
    (rounds of a random order).
"""

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.compiled import compiled
from dplib.graphs.mixing import mix_pairs
from dplib.graphs.simple_graph import SimpleGraph
from dplib.validate import at_least


def edge_order(source: IntArray, target: IntArray, salt: int) -> IntArray:
    """Sort the edges by the hash of their pair and a public salt, smallest first; their positions, shape (m,)."""
    low, high = np.minimum(source, target), np.maximum(source, target)
    return np.lexsort((high, low, mix_pairs(source, target, salt))).astype(np.int64)


def project_graph(graph: SimpleGraph, bound: int, salt: int) -> SimpleGraph:
    """Keep edges one after another, in the order of `edge_order`, while both ends have room for D edges."""
    room = np.full(graph.n_vertices, at_least("degree bound", bound, 1), dtype=np.int64)
    order = edge_order(graph.source, graph.target, salt)
    return graph.only(keep_while_room(graph.source, graph.target, order, room))


def keep_while_room(source: IntArray, target: IntArray, order: IntArray, room: IntArray) -> BoolArray:
    """The same for edges in any order, from where some rounds have left off: few edges are quicker decided one by one.

    Args:
        source: one end of each undecided edge, shape (m,).
        target: the other end.
        order: their positions in the public order.
        room: how many edges each vertex may still keep, shape (n,).

    Returns:
        Whether each edge is kept, shape (m,).
    """
    # Compiled code is made for each kind of array.
    ends = np.ascontiguousarray(source), np.ascontiguousarray(target)
    return _keep_greedily(*ends, order, room.copy())


@compiled
def _keep_greedily(source: IntArray, target: IntArray, order: IntArray, room: IntArray) -> BoolArray:
    kept = np.zeros(len(source), dtype=np.bool_)
    for edge in order:
        u, v = source[edge], target[edge]
        if room[u] > 0 and room[v] > 0:
            room[u] -= 1
            room[v] -= 1
            kept[edge] = True
    return kept
