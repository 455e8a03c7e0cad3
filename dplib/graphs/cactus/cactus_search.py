"""The cactus of a connected graph in standard form from the graph itself, without a list of its minimum cuts.

Take any edge. If its ends are better connected than the minimum cut value, no minimum cut separates them and they
become one vertex. Else the minimum cuts that separate them are a chain (`dplib.graphs.cactus.chain_of_cuts`), which is
a path of the cactus: every cut that crosses no other is a tree edge. Between two such cuts that follow each other
stands one node. A run of cuts between them that are crossed belongs to one ring, which the path goes around the long
way: it has a node for each part along the run and one at either end. (Cut ``j`` is crossed exactly if the parts on both
sides of it together are the side of a minimum cut: an edge joins neighbours on the ring only.) Every other minimum cut
lies within one part; so each part is searched on its own, with the rest of the graph as one vertex that marks where its
cactus hangs. A kernel joins most of what no minimum cut separates before, and bridges are taken apart all at once.

Cost: every search joins two vertices or separates them for good, so there are fewer flows than vertices, most of them
in small parts; a ring of any length takes one. No cut is stored: memory is linear in the graph.

Notation: a *token* is a vertex of the graph or a mark; the nodes of the cactus are the tokens that end up together.

References: Karzanov, Timofeev 1986; Nagamochi, Nakao, Ibaraki, "A fast algorithm for cactus representations of minimum
cuts", 2000 (the decomposition by the parts of a chain); Dinitz, Karzanov, Lomonosov 1976.
"""

from dataclasses import dataclass, field

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.cactus.cactus import Cactus, checked_cactus
from dplib.graphs.cactus.cactus_standard_form import numbered
from dplib.graphs.cactus.chain_of_cuts import chain_parts
from dplib.graphs.cuts.bridges import bridges
from dplib.graphs.cuts.kernel import kernel
from dplib.graphs.edges import Graph, components, connected_labels, merge_edges
from dplib.validate import require

_EXACT = "be the minimum cut value of the graph"


@dataclass(frozen=True, eq=False)
class _Piece:
    """A graph with tokens on its vertices: number ``tokens[i]`` on vertex ``at[i]``."""

    graph: Graph
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


def cactus_of_graph(graph: Graph, min_cut_value: int) -> Cactus:
    """Return the cactus in standard form of a connected graph.

    Args:
        graph: of at least one vertex.
        min_cut_value: its exact minimum cut value; of no use with one vertex.

    Raises:
        ConfigError: the graph is not connected, or ``min_cut_value`` is another than its own.
    """
    require(components(graph)[0] == 1, "graph", "be connected", "no vertex or separate parts")
    small = kernel(graph, min_cut_value)
    vertices = np.arange(graph.n_vertices)
    skeleton = _Skeleton(graph.n_vertices)
    pieces = _without_bridges(_Piece(small.graph, vertices, small.label), min_cut_value, skeleton)
    while pieces:
        pieces += _without_bridges(_cut_chain(pieces.pop(), min_cut_value, skeleton), min_cut_value, skeleton)
    found = len(skeleton.tree_edges) > 0 or graph.n_vertices == 1
    require(found, "min_cut_value", "be the minimum cut value of the graph", "a smaller one")
    node_of = np.empty(skeleton.n_tokens, dtype=np.int64)
    sizes = [len(tokens) for tokens in skeleton.nodes]
    node_of[np.concatenate(skeleton.nodes)] = np.repeat(np.arange(len(sizes)), sizes)
    edges = node_of[np.array(skeleton.tree_edges, dtype=np.int64).reshape(-1, 2)]
    rings = [node_of[ring] for ring in skeleton.rings]
    return numbered(checked_cactus(len(sizes), node_of[vertices], edges, rings))


def _without_bridges(piece: _Piece, value: int, skeleton: _Skeleton) -> list[_Piece]:
    """Take a graph, connected or not, apart at its bridges; the connected parts with more than one vertex.

    A bridge of the minimum cut's weight is a tree edge; a heavier one joins its ends. Lone vertices are nodes.
    """
    n, source, target, weight = _arrays(piece.graph)
    bridge = bridges(n, source, target)
    require(bool((weight[bridge] >= value).all()), "min_cut_value", _EXACT, "a greater one")
    tight = bridge & (weight == value)
    loose = bridge & ~tight
    marks = skeleton.new_tokens(2 * int(tight.sum())).reshape(2, -1)
    skeleton.tree_edges += zip(*marks.tolist(), strict=True)
    n_names, name = connected_labels(n, source[loose], target[loose])
    edges = merge_edges(n_names, name[source[~tight]], name[target[~tight]], weight[~tight])
    at = np.concatenate([piece.at, source[tight], target[tight]])
    return _apart(_Piece(Graph(n_names, *edges), np.concatenate([piece.tokens, *marks]), name[at]), skeleton)


def _arrays(graph: Graph) -> tuple[int, IntArray, IntArray, IntArray]:
    return graph.n_vertices, graph.source, graph.target, graph.weight


def _apart(piece: _Piece, skeleton: _Skeleton) -> list[_Piece]:
    """The connected components with more than one vertex, each a graph of its own; the others are nodes."""
    n, source, target, weight = _arrays(piece.graph)
    n_components, label = components(piece.graph)
    size = np.bincount(label, minlength=n_components)
    first = np.cumsum(size) - size
    local = np.empty(n, dtype=np.int64)
    order = np.argsort(label, kind="stable")
    local[order] = np.arange(n) - first[label[order]]
    edges = _grouped(label[source], n_components)
    tokens = _grouped(label[piece.at], n_components)
    skeleton.nodes += [piece.tokens[tokens[number]] for number in np.flatnonzero(size == 1)]
    return [
        _Piece(
            Graph(int(size[number]), local[source[here]], local[target[here]], weight[here]),
            piece.tokens[tokens[number]],
            local[piece.at[tokens[number]]],
        )
        for number in np.flatnonzero(size > 1)
        if len(here := edges[number])
    ]


def _grouped(label: IntArray, n_labels: int) -> list[IntArray]:
    """The places of each label, ascending."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, n_labels)))


def _cut_chain(piece: _Piece, value: int, skeleton: _Skeleton) -> _Piece:
    """Search along one edge: join its ends, or lay down a path of the cactus and go on in its separate parts."""
    n, source, target, weight = _arrays(piece.graph)
    heaviest = int(weight.argmax())
    start, end = int(source[heaviest]), int(target[heaviest])
    flow, part = chain_parts(n, source, target, weight, start, end, value)
    require(flow >= value, "min_cut_value", _EXACT, "a greater one")
    if flow > value:
        # The last vertex takes the place of the one that goes.
        name = np.arange(n)
        name[-1], name[end] = end, start
        return _Piece(
            Graph(n - 1, *merge_edges(n - 1, name[source], name[target], weight)), piece.tokens, name[piece.at]
        )
    marks = skeleton.new_tokens(int(part[end]) + 1)
    _lay_path(piece.graph, part, marks, value, skeleton)
    # The rest of the graph, seen from a part, is one vertex: at the ends it is the edge's own end.
    rest = n - 1 + np.arange(len(marks))
    rest[0], rest[-1] = start, end
    across = part[source] != part[target]
    one, other = source[across], target[across]
    size = n + len(marks) - 2
    edges = merge_edges(
        size,
        np.concatenate([source[~across], one, other]),
        np.concatenate([target[~across], rest[part[one]], rest[part[other]]]),
        np.concatenate([weight[~across], weight[across], weight[across]]),
    )
    return _Piece(Graph(size, *edges), np.concatenate([piece.tokens, marks]), np.concatenate([piece.at, rest]))


def _lay_path(graph: Graph, part: IntArray, marks: IntArray, value: int, skeleton: _Skeleton) -> None:
    """Add the chain's cuts to the cactus as tree edges and rings between the parts' marks."""
    n_parts = len(marks)
    one, other, weight = part[graph.source], part[graph.target], graph.weight
    across = one != other
    degree = np.zeros(n_parts, dtype=np.int64)
    np.add.at(degree, one[across], weight[across])
    np.add.at(degree, other[across], weight[across])
    beside = np.zeros(n_parts - 1, dtype=np.int64)
    near = np.abs(one - other) == 1
    np.add.at(beside, np.minimum(one, other)[near], weight[near])
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
