"""The minimum cuts that a cactus stands for, and the order in which to walk it.

Rooted at the node of vertex 0, every block (tree edge or ring) hangs from its *top* node. The side of a minimum cut
without vertex 0 is then everything below one tree edge, or below an arc of neighbouring ring nodes that leaves out the
top: one row of the cut set. Both sides hold a vertex in every valid cactus, so each such pair of edges is a cut; cuts
that the cactus stands for twice come once.

Cost: the cut set has up to ``n (n - 1) / 2`` rows of ``n_vertices`` entries; `count_standard_cuts` lists nothing.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
definition 3.2.1 (equation 3.5 with its sides in order).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cactus.cactus import Cactus
from dplib.validate import require


@dataclass(frozen=True)
class Walk:
    """A cactus from the node of vertex 0 outwards.

    Attributes:
        blocks: the nodes of each tree edge, then of each ring, the top first and each ring in its cyclic order.
        order: blocks from the root outwards.
        block_above: the block that each node hangs from, -1 for the root, shape (n_nodes,).
        depth: number of blocks between each node and the root, shape (n_nodes,).
        lowest: the smallest vertex at or below each node, shape (n_nodes,).
    """

    blocks: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    block_above: IntArray
    depth: IntArray
    lowest: IntArray


def walk(cactus: Cactus) -> Walk:
    """Return the cactus rooted at the node of vertex 0."""
    blocks = [block.tolist() for block in (*cactus.tree_edges, *cactus.rings)]
    touching: list[list[int]] = [[] for _ in range(cactus.n_nodes)]
    for number, block in enumerate(blocks):
        for node in block:
            touching[node].append(number)
    above = np.full(cactus.n_nodes, -1)
    depth = np.zeros(cactus.n_nodes, dtype=np.int64)
    order, reached = [], [int(cactus.node_of[0])]
    for top in reached:  # grows as blocks are met
        for number in touching[top]:
            if number == above[top]:
                continue
            at = blocks[number].index(top)
            blocks[number] = blocks[number][at:] + blocks[number][:at]
            below = blocks[number][1:]
            above[below], depth[below] = number, depth[top] + 1
            order.append(number)
            reached += below
    lowest = np.full(cactus.n_nodes, cactus.n_vertices)
    np.minimum.at(lowest, cactus.node_of, np.arange(cactus.n_vertices))
    for number in reversed(order):
        top, *below = blocks[number]
        lowest[top] = min(lowest[top], lowest[below].min())
    return Walk(tuple(tuple(block) for block in blocks), tuple(order), above, depth, lowest)


def cut_set(cactus: Cactus) -> BoolArray:
    """Return all cuts that the cactus stands for, shape (n_cuts, n_vertices), in the form of `canonical_cuts`."""
    rooted = walk(cactus)
    below = cactus.node_of == np.arange(cactus.n_nodes)[:, None]
    cuts = [np.zeros((0, cactus.n_vertices), dtype=np.bool_)]
    for number in reversed(rooted.order):
        top, *rest = rooted.blocks[number]
        cuts += [np.logical_or.accumulate(below[rest[first:]], axis=0) for first in range(len(rest))]
        below[top] |= below[rest].any(axis=0)
    return canonical_cuts(np.concatenate(cuts))


def count_standard_cuts(cactus: Cactus) -> int:
    """Return the number of minimum cuts of a cactus in standard form: tree edges and t-cuts of the rings."""
    return len(cactus.tree_edges) + sum(len(ring) * (len(ring) - 3) // 2 for ring in cactus.rings)


def canonical_cuts(cuts: npt.ArrayLike) -> BoolArray:
    """Return a set of cuts in its one form: rows without vertex 0, sorted by size and then by vertices.

    Of ``cuts``, shape (n_cuts, n_vertices), one may come more than once and by either side.

    Raises:
        ConfigError: the matrix has no two dimensions, or a side is empty.
    """
    given = np.asarray(cuts, dtype=np.bool_)
    require(given.ndim == 2 and given.shape[1] > 0, "cuts", "be a matrix with one column a vertex", given.shape)
    sides = given ^ given[:, :1]
    require(bool(sides.any(axis=1).all()), "cuts", "have a vertex on both sides", "a cut with an empty side")
    first = np.unique(np.packbits(sides, axis=1), axis=0, return_index=True)[1]
    sides = sides[first]
    # Big-endian bits sort a smaller vertex first; reversed keys make the size lead.
    order = np.lexsort((*np.packbits(~sides, axis=1).T[::-1], sides.sum(axis=1)))
    return np.ascontiguousarray(sides[order])
