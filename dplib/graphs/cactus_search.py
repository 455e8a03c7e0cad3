"""The cactus of a connected graph in standard form from the graph itself, without a list of its minimum cuts.

Take any edge. If its ends are better connected than the minimum cut value, no minimum cut separates them and they
become one vertex. Else the minimum cuts that separate them are a chain (`dplib.graphs.chain_of_cuts`), which is a path
of the cactus: every cut that crosses no other is a tree edge. Between two such cuts that follow each other stands one
node. A run of cuts between them that are crossed belongs to one ring, which the path goes around the long way: it has
a node for each part along the run and one at either end. (Cut ``j`` is crossed exactly if the parts on both sides of it
together are the side of a minimum cut: an edge joins neighbours on the ring only.) Every other minimum cut lies
within one part; so each part is searched on its own, with the rest of the graph as one vertex that marks where its
cactus hangs. Bridges are taken apart first, all at once.

Cost: every search joins two vertices or separates them for good, so there are fewer flows than vertices, most of them
in small parts; a ring of any length takes one. No cut is stored: memory is linear in the graph.

Notation: a *token* is a vertex of the graph or a mark; the nodes of the cactus are the tokens that end up together.

References: Karzanov, Timofeev 1986; Nagamochi, Nakao, Ibaraki, "A fast algorithm for cactus representations of minimum
cuts", 2000 (the decomposition by the parts of a chain); Dinitz, Karzanov, Lomonosov 1976.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dplib.graphs.bridges import bridges
from dplib.graphs.cactus import BoolArray, Cactus, IntArray, checked_cactus
from dplib.graphs.cactus_standard_form import numbered
from dplib.graphs.chain_of_cuts import chain_parts
from dplib.validate import require

_EXACT = "be the minimum cut value of the graph"


@dataclass(frozen=True, eq=False)
class _Piece:
    """A graph of ``n`` vertices; its edges (each pair once) join ``source`` to ``target``; token ``i`` at ``at[i]``."""

    n: int
    source: IntArray
    target: IntArray
    weight: IntArray
    tokens: IntArray
    at: IntArray


@dataclass
class _Skeleton:
    """What is known of the cactus: nodes as classes of tokens, edges and rings between tokens."""

    n_tokens: int
    nodes: list[IntArray] = field(default_factory=list)
    tree_edges: list[tuple[int, int]] = field(default_factory=list)
    rings: list[list[int]] = field(default_factory=list)

    def new_tokens(self, n: int) -> IntArray:
        """Return ``n`` new marks."""
        self.n_tokens += n
        return np.arange(self.n_tokens - n, self.n_tokens)


def cactus_of_graph(
    n_vertices: int, source: npt.ArrayLike, target: npt.ArrayLike, weight: npt.ArrayLike, min_cut_value: int
) -> Cactus:
    """Return the cactus in standard form of a connected graph.

    Args:
        n_vertices: number of vertices, at least 1.
        source: one end of each edge, shape (n_edges,). Vertices that no minimum cut separates should be one vertex
            already (by a kernel) where the graph is large.
        target: the other end, likewise.
        weight: positive integers, likewise.
        min_cut_value: the exact minimum cut value; of no use with one vertex.

    Raises:
        ConfigError: the graph is not connected, or ``min_cut_value`` is another than its own.
    """
    vertices = np.arange(n_vertices)
    one, other, heavy = (np.asarray(values, dtype=np.int64) for values in (source, target, weight))
    whole = _merged(_Piece(n_vertices, one, other, heavy, vertices, vertices), vertices)
    require(_components(whole, whole.weight > 0)[0] == 1, "graph", "be connected", "separate parts")
    skeleton = _Skeleton(n_vertices)
    pieces = _without_bridges(whole, min_cut_value, skeleton)
    while pieces:
        pieces += _without_bridges(_cut_chain(pieces.pop(), min_cut_value, skeleton), min_cut_value, skeleton)
    found = len(skeleton.tree_edges) > 0 or n_vertices == 1
    require(found, "min_cut_value", "be the minimum cut value of the graph", "a smaller one")
    node_of = np.empty(skeleton.n_tokens, dtype=np.int64)
    sizes = [len(tokens) for tokens in skeleton.nodes]
    node_of[np.concatenate(skeleton.nodes)] = np.repeat(np.arange(len(sizes)), sizes)
    edges = node_of[np.array(skeleton.tree_edges, dtype=np.int64).reshape(-1, 2)]
    rings = [node_of[ring] for ring in skeleton.rings]
    return numbered(checked_cactus(len(sizes), node_of[:n_vertices], edges, rings))


def _components(piece: _Piece, kept: BoolArray) -> tuple[int, IntArray]:
    """Number and labels of the connected components when only the ``kept`` edges stay."""
    ends = (piece.source[kept], piece.target[kept])
    n_components, label = connected_components(coo_array((np.ones(len(ends[0])), ends), shape=(piece.n, piece.n)))
    return int(n_components), label.astype(np.int64)


def _merged(piece: _Piece, merged: IntArray) -> _Piece:
    """The graph in which vertex ``v`` is called ``merged[v]``, any numbers: loops gone, edges side by side added up."""
    names, label = np.unique(merged, return_inverse=True)
    one, other = label[piece.source], label[piece.target]
    kept = one != other
    low, high = np.minimum(one, other)[kept], np.maximum(one, other)[kept]
    key, place = np.unique(low * len(names) + high, return_inverse=True)
    total = np.zeros(len(key), dtype=np.int64)
    np.add.at(total, place, piece.weight[kept])
    return _Piece(len(names), key // len(names), key % len(names), total, piece.tokens, label[piece.at])


def _without_bridges(piece: _Piece, value: int, skeleton: _Skeleton) -> list[_Piece]:
    """Take a graph, connected or not, apart at its bridges; the connected parts with more than one vertex.

    A bridge of the minimum cut's weight is a tree edge; a heavier one joins its ends. Lone vertices are nodes.
    """
    bridge = bridges(piece.n, piece.source, piece.target)
    tight = bridge & (piece.weight == value)
    require(bool((piece.weight[bridge] >= value).all()), "min_cut_value", _EXACT, "a greater one")
    marks = skeleton.new_tokens(2 * int(tight.sum())).reshape(2, -1)
    skeleton.tree_edges += zip(*marks.tolist(), strict=True)
    tokens = np.concatenate([piece.tokens, *marks])
    at = np.concatenate([piece.at, piece.source[tight], piece.target[tight]])
    loose = _Piece(piece.n, piece.source[~tight], piece.target[~tight], piece.weight[~tight], tokens, at)
    return _apart(_merged(loose, _components(piece, bridge & ~tight)[1]), skeleton)


def _apart(piece: _Piece, skeleton: _Skeleton) -> list[_Piece]:
    """The connected components with more than one vertex, each a graph of its own; the others are nodes."""
    n_components, label = _components(piece, piece.weight > 0)
    size = np.bincount(label, minlength=n_components)
    first = np.cumsum(size) - size
    local = np.empty(piece.n, dtype=np.int64)
    order = np.argsort(label, kind="stable")
    local[order] = np.arange(piece.n) - first[label[order]]
    edges = _grouped(label[piece.source], n_components)
    tokens = _grouped(label[piece.at], n_components)
    skeleton.nodes += [piece.tokens[tokens[number]] for number in np.flatnonzero(size == 1)]
    return [
        _Piece(
            int(size[number]),
            local[piece.source[edges[number]]],
            local[piece.target[edges[number]]],
            piece.weight[edges[number]],
            piece.tokens[tokens[number]],
            local[piece.at[tokens[number]]],
        )
        for number in np.flatnonzero(size > 1)
    ]


def _grouped(label: IntArray, n_labels: int) -> list[IntArray]:
    """The places of each label."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, n_labels)))


def _cut_chain(piece: _Piece, value: int, skeleton: _Skeleton) -> _Piece:
    """Search along one edge: join its ends, or lay down a path of the cactus and go on in its separate parts."""
    heaviest = int(piece.weight.argmax())
    start, end = int(piece.source[heaviest]), int(piece.target[heaviest])
    flow, part = chain_parts(piece.n, piece.source, piece.target, piece.weight, start, end, value)
    require(flow >= value, "min_cut_value", _EXACT, "a greater one")
    if flow > value:
        merged = np.arange(piece.n)
        merged[end] = start
        return _merged(piece, merged)
    marks = skeleton.new_tokens(int(part[end]) + 1)
    _lay_path(piece, part, marks, value, skeleton)
    # The rest of the graph, seen from a part, is one vertex: at the ends it is joined to the edge's own end.
    rest = piece.n + np.arange(len(marks))
    rest[0], rest[-1] = start, end
    across = part[piece.source] != part[piece.target]
    one, other = piece.source[across], piece.target[across]
    split = _Piece(
        piece.n + len(marks),
        np.concatenate([piece.source[~across], one, other]),
        np.concatenate([piece.target[~across], rest[part[one]], rest[part[other]]]),
        np.concatenate([piece.weight[~across], piece.weight[across], piece.weight[across]]),
        np.concatenate([piece.tokens, marks]),
        np.concatenate([piece.at, rest]),
    )
    names = np.arange(split.n)
    names[[piece.n, piece.n + len(marks) - 1]] = start, end
    return _merged(split, names)


def _lay_path(piece: _Piece, part: IntArray, marks: IntArray, value: int, skeleton: _Skeleton) -> None:
    """Add the chain's cuts to the cactus as tree edges and rings between the parts' marks."""
    n_parts = len(marks)
    one, other = part[piece.source], part[piece.target]
    across = one != other
    degree = np.zeros(n_parts, dtype=np.int64)
    np.add.at(degree, one[across], piece.weight[across])
    np.add.at(degree, other[across], piece.weight[across])
    beside = np.zeros(n_parts - 1, dtype=np.int64)
    near = np.abs(one - other) == 1
    np.add.at(beside, np.minimum(one, other)[near], piece.weight[near])
    crossed = degree[:-1] + degree[1:] - 2 * beside == value
    crossed[[0, -1]] = False
    last, cut = int(marks[0]), 0
    while cut < n_parts - 1:  # cut number `cut` lies behind part number `cut` and is crossed by none
        run = cut + 1
        while run < n_parts - 1 and crossed[run]:
            run += 1
        if run == cut + 1:
            skeleton.tree_edges.append((last, int(marks[run])))
            last = int(marks[run])
        else:
            ends = skeleton.new_tokens(2)
            skeleton.nodes += [ends[:1], ends[1:]]
            skeleton.rings.append([int(ends[0]), *marks[cut + 1 : run + 1].tolist(), int(ends[1])])
            skeleton.tree_edges.append((last, int(ends[0])))
            last = int(ends[1])
        cut = run
