"""The greedy ordered projection where no process sees all edges: blocks of vertices vote on the edges between them.

Vertices are divided into blocks, and a block holds all edges with an end in it, so an edge between two blocks is held
by both. In a round each block votes on its undecided edges from what it knows of its own ends:

    kept       at its ends in the block, fewer undecided edges come before it than the end has room for
    dropped    an end in the block is full
    waiting    anything else

The edge's fate is the worst of the two votes (`worst_votes`): kept if both blocks would keep it, dropped if one end is
full. That is a round of `dplib.graphs.statistics.truncation` but for edges that the *other* end drops in the same
round: they still count as undecided here, which may make an edge wait, never err. So the result is the sequential one,
by the same proof.

Both blocks list the edges between them in the public order. Votes and fates are arrays along the undecided ones among
them, so what travels is two bits an undecided edge, and no vertex.

Cost: O(m log m) to start a block of m edges, O(m) a round; 21 bytes an edge.

References: as `dplib.graphs.statistics.truncation`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dplib.arrays import ByteArray, IntArray
from dplib.graphs.mixing import vertex_colours
from dplib.graphs.statistics.truncation import edge_order, keep_while_room

Pair = tuple[int, int]
KEPT, WAITING, DROPPED = 0, 1, 2
"""Votes and fates, from the best to the worst."""


@dataclass(frozen=True, eq=False)
class ProjectionBlock:
    """The edges of one block and their fates.

    Attributes:
        source: one end of each edge, grouped by the block of the other end, in the public order there, shape (m,).
        target: the other end.
        bounds: first edge of each group, with the end appended, shape (n_blocks + 1,).
        vertex: the block's vertices with edges, shape (k,).
        half: for each of them its edges in the public order, as positions in ``source``, shape (h,).
        first: where each starts in ``half``, shape (k,).
        fate: shape (m,).
    """

    source: IntArray
    target: IntArray
    bounds: IntArray
    vertex: IntArray
    half: IntArray
    first: IntArray
    fate: ByteArray

    def waiting(self, other: int) -> IntArray:
        """Positions of the undecided edges shared with another block (or within this one), in their order."""
        begin, end = self.bounds[other], self.bounds[other + 1]
        found: IntArray = np.flatnonzero(self.fate[begin:end] == WAITING) + begin
        return found

    def at_vertices(self, fate: int) -> IntArray:
        """How many edges of a fate each vertex has, shape (k,)."""
        found = np.concatenate([[0], np.cumsum(self.fate[self.half] == fate)])
        at: IntArray = np.diff(found[np.append(self.first, len(self.half))])
        return at


def start_block(block: int, n_blocks: int, source: IntArray, target: IntArray, salt: int) -> ProjectionBlock:
    """Lay out a block.

    Args:
        block: its number: that of the colour of its vertices (`dplib.graphs.statistics.triangles.vertex_colours`).
        n_blocks: how many blocks there are.
        source: one end of each edge with an end in the block, every edge once, in any order.
        target: the other end.
        salt: of the public order.
    """
    order = edge_order(source, target, salt)
    source, target = source[order], target[order]
    own_source = vertex_colours(source, n_blocks) == block
    other = np.where(own_source, vertex_colours(target, n_blocks), vertex_colours(source, n_blocks))
    grouped = np.argsort(other, kind="stable")
    place = np.empty(len(source), dtype=np.int64)
    place[grouped] = np.arange(len(source))
    # An edge inside the block is an edge of two of its vertices; edges come in the public order at each of them.
    inside = other == block
    edge = np.concatenate([np.arange(len(source)), np.flatnonzero(inside)])
    vertex = np.concatenate([np.where(own_source, source, target), target[inside]])
    by_vertex = np.lexsort((edge, vertex))
    first = np.flatnonzero(np.diff(vertex[by_vertex], prepend=-1))
    return ProjectionBlock(
        source[grouped],
        target[grouped],
        np.searchsorted(other[grouped], np.arange(n_blocks + 1)).astype(np.int64),
        vertex[by_vertex][first],
        place[edge[by_vertex]],
        first,
        np.full(len(source), WAITING, dtype=np.uint8),
    )


def block_votes(state: ProjectionBlock, bound: int) -> list[ByteArray]:
    """How a block votes on its undecided edges under the bound D: for each block, on those shared with it."""
    undecided = state.fate[state.half] == WAITING
    before = np.cumsum(undecided) - undecided
    sizes = np.diff(state.first, append=len(state.half))
    room = np.repeat(bound - state.at_vertices(KEPT), sizes)
    place = before - np.repeat(before[state.first], sizes)
    votes = np.full(len(state.source), KEPT, dtype=np.uint8)
    # The worst vote last: an edge inside the block is voted on at both ends.
    votes[state.half[undecided & (place >= room)]] = WAITING
    votes[state.half[undecided & (room <= 0)]] = DROPPED
    return [votes[state.waiting(other)] for other in range(len(state.bounds) - 1)]


def worst_votes(votes: Sequence[Sequence[ByteArray]]) -> dict[Pair, ByteArray]:
    """The fates that the votes of all blocks in order decide: of the undecided edges of each pair of blocks i <= j."""
    pairs = [(i, j) for i in range(len(votes)) for j in range(i, len(votes)) if len(votes[i][j])]
    return {(i, j): np.maximum(votes[i][j], votes[j][i]) for i, j in pairs}


def take_fates(block: int, state: ProjectionBlock, fates: Mapping[Pair, ByteArray]) -> ProjectionBlock:
    """The block after a round with the fates of `worst_votes` or `finish`; those of other blocks are passed over."""
    fate = state.fate.copy()
    for pair, decided in fates.items():
        if block in pair:
            fate[state.waiting(sum(pair) - block)] = decided
    return replace(state, fate=fate)


@dataclass(frozen=True, eq=False)
class Rest:
    """What one process needs to decide a block's undecided edges.

    Attributes:
        edges: both ends of the undecided edges shared with this block and those after it, in their order, shape (2, r).
        sizes: how many they are for each such block, shape (n_blocks - block,).
        vertex: the block's vertices with undecided edges.
        room: how many edges each of them may still keep.
    """

    edges: IntArray
    sizes: IntArray
    vertex: IntArray
    room: IntArray


def block_rest(block: int, state: ProjectionBlock, bound: int) -> Rest:
    """What is left of a block to decide."""
    lists = [state.waiting(other) for other in range(block, len(state.bounds) - 1)]
    edges, waiting = np.concatenate(lists), state.at_vertices(WAITING) > 0
    return Rest(
        np.stack([state.source[edges], state.target[edges]]),
        np.array([len(each) for each in lists], dtype=np.int64),
        state.vertex[waiting],
        bound - state.at_vertices(KEPT)[waiting],
    )


def finish(rests: Sequence[Rest], salt: int) -> dict[Pair, ByteArray]:
    """Decide all undecided edges one by one, from what `block_rest` returned of each block in order; no fate waits.

    It is quicker than rounds where few are left.
    """
    vertex, room = (np.concatenate([getattr(each, name) for each in rests]) for name in ("vertex", "room"))
    by_number = np.argsort(vertex)
    source, target = np.concatenate([each.edges for each in rests], axis=1)
    ends = np.searchsorted(vertex, np.stack([source, target]), sorter=by_number)
    kept = keep_while_room(ends[0], ends[1], edge_order(source, target, salt), room[by_number])
    pairs = [(i, i + step) for i, each in enumerate(rests) for step in range(len(each.sizes))]
    fates = np.split(
        np.where(kept, KEPT, DROPPED).astype(np.uint8), np.cumsum(np.concatenate([each.sizes for each in rests]))[:-1]
    )
    return {pair: found for pair, found in zip(pairs, fates, strict=True) if len(found)}
