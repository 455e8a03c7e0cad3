"""Exact counts of a graph whose edges are in blocks on Spark: degrees, triangles, common neighbours.

*Degrees.* A block knows all edges of its vertices; only how many vertices have each degree leaves it.

*Triangles.* Colour blocks (`dplib.graphs.statistics.triangles`): a task gets the edges between three colours and counts
the triangles with exactly these colours by masked products of sparse matrices. No wedge is ever written: with c colours
each edge travels to c tasks.

*Pairs of large degree.* The few vertices of the largest degrees reach the driver, then of each block three numbers
(`dplib.graphs.statistics.star_rungs`).

*Common neighbours.* A task gets the whole blocks of two colours and finds the frontier of the pairs between them
(`dplib.graphs.statistics.common_neighbors`): each edge travels to 2c tasks at most.

Sums and largest entries of integers do not depend on partitions, retries or the number of colours. All numbers here are
exact: private until noise is added.

Cost: one job each, one shuffle but for degrees; C(c + 2, 3) tasks of about 6m/c^2 edges for triangles, C(c + 1, 2)
tasks of about 4m/c edges for common neighbours.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations_with_replacement

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.mixing import vertex_colours
from dplib.graphs.statistics.common_neighbors import Neighborhoods, merge_frontiers, pair_frontier
from dplib.graphs.statistics.star_rungs import Nearness, Pair, TopDegrees, widest_pairs
from dplib.graphs.statistics.triangles import colour_tasks, count_task_triangles, split_for_tasks
from dplib.spark.engine.blocks import Block, DataFrame, collect_blocks, map_blocks
from dplib.spark.engine.regroup import map_parts, split_blocks
from dplib.spark.graphs.edge_blocks import edge_bytes, edge_words, read_ends, unpack_edges

Parts = Mapping[int, Block]


def degree_counts(blocks: DataFrame, n_blocks: int, n_vertices: int) -> IntArray:
    """Count the vertices of each degree.

    Args:
        blocks: from `dplib.spark.graphs.edge_blocks.make_edge_blocks`.
        n_blocks: number of colours.
        n_vertices: n; vertices without an edge stand in no block.

    Returns:
        Vertices of degree 0, 1, ... up to the largest, with sum n. NOT PRIVATE.
    """
    found = collect_blocks(map_blocks(blocks, partial(_count_degrees, n_blocks), ["counts"]), "count the degrees")
    parts = [np.frombuffer(columns["counts"], "<i8") for _, columns in found]
    counts = np.zeros(max([1, *map(len, parts)]), dtype=np.int64)
    for part in parts:
        counts[: len(part)] += part
    counts[0] = n_vertices - counts.sum()
    return counts


def count_triangles_in_blocks(blocks: DataFrame, n_blocks: int) -> int:
    """Count the triangles; see `degree_counts` for the arguments. NOT PRIVATE."""
    pieces = split_blocks(blocks, partial(_split_for_triangles, n_blocks), ["edges"])
    count = partial(_count_triangles, n_blocks)
    counted = _map_tasks(pieces, count, "count", len(colour_tasks(n_blocks)), "count the triangles")
    return sum(int.from_bytes(each, "little") for each in counted)


def frontier_in_blocks(blocks: DataFrame, n_blocks: int, degrees: IntArray) -> IntArray:
    """The frontier of the common neighbours of all pairs (`dplib.graphs.statistics.common_neighbors`).

    Args:
        blocks: from `dplib.spark.graphs.edge_blocks.make_edge_blocks`.
        n_blocks: number of colours.
        degrees: vertices of each degree, from `degree_counts`.

    Returns:
        As `common_neighbor_frontier`. NOT PRIVATE.
    """
    pairs = list(combinations_with_replacement(range(n_blocks), 2))
    pieces = split_blocks(blocks, partial(_split_for_pairs, n_blocks), ["edges"])
    find = partial(_find_frontier, n_blocks)
    found = _map_tasks(pieces, find, "frontier", len(pairs), "count the common neighbours")
    frontiers = [np.frombuffer(each, "<i8").astype(np.int64) for each in found]
    if degrees[0] and degrees.sum() > 1:
        # A vertex without an edge and one of the largest degree have no common neighbour; no task sees the former.
        frontiers.append(np.array([len(degrees) - 1], dtype=np.int64))
    return merge_frontiers(frontiers)


def star_pairs_in_blocks(blocks: DataFrame, n_blocks: int, degrees: IntArray) -> tuple[Pair, ...]:
    """The widest pairs of stars, as `star_pairs`; see `frontier_in_blocks` for the arguments. NOT PRIVATE."""
    top = TopDegrees.of(degrees)
    wanted = [degree for degree, asked in zip((top.largest, top.second), top.asked, strict=True) if asked]
    names = ["first", "second"]
    chosen = [np.zeros(0, dtype=np.int64)] * 2
    if top.largest > 0 and wanted:
        named = map_blocks(blocks, partial(_vertices_of_degrees, n_blocks, wanted), names)
        found = [columns for _, columns in collect_blocks(named, "find the largest degrees")]
        chosen = [np.sort(np.frombuffer(b"".join(each[name] for each in found), "<i8")) for name in names]
    near = map_blocks(blocks, partial(_nearness, n_blocks, chosen[0], chosen[1]), ["near"])
    told = [np.frombuffer(columns["near"], "<i8").tolist() for _, columns in collect_blocks(near, "compare them")]
    # Vertices without an edge stand in no block, and are next to nobody.
    alone = [Nearness(0, 0, 0)] if degrees[0] and top.largest > 0 else []
    return widest_pairs(top, Nearness.together([*(Nearness(*each) for each in told), *alone]))


def _map_tasks(
    pieces: DataFrame, function: Callable[[int, Parts], bytes], name: str, n_tasks: int, task: str
) -> list[bytes]:
    """What each task makes of its pieces; a partition a task, so that none waits behind others by chance."""
    mapped = map_parts(pieces.repartition(n_tasks, "part"), partial(_alone, function, name), [name])
    numbered = mapped.select("part", name).toDF("block", name)
    return [columns[name] for _, columns in collect_blocks(numbered, task)]


def _alone(function: Callable[[int, Parts], bytes], name: str, part: int, pieces: Parts) -> dict[int, Block]:
    return {0: {name: function(part, pieces)}}


def _count_degrees(n_blocks: int, block: int, columns: Block) -> Block:
    _, degrees, _ = _own(n_blocks, block, columns)
    return {"counts": np.bincount(degrees).astype("<i8").tobytes()}


def _own(n_blocks: int, block: int, columns: Block) -> tuple[IntArray, IntArray, tuple[IntArray, IntArray]]:
    """A block's own vertices, their degrees, and its edges."""
    source, target = read_ends(columns["edges"])
    ends = np.concatenate([source, target])
    vertex, degrees = np.unique(ends[vertex_colours(ends, n_blocks) == block], return_counts=True)
    return vertex, degrees, (source, target)


def _vertices_of_degrees(n_blocks: int, wanted: Sequence[int], block: int, columns: Block) -> Block:
    vertex, degrees, _ = _own(n_blocks, block, columns)
    held = [vertex[degrees == degree].astype("<i8").tobytes() for degree in wanted] + [b""]
    return {"first": held[0], "second": held[1]}


def _nearness(n_blocks: int, top: IntArray, second: IntArray, block: int, columns: Block) -> Block:
    vertex, _, edges = _own(n_blocks, block, columns)
    near = Nearness.of(vertex, edges, top, second)
    return {"near": np.array([near.apart, near.inside_top, near.inside_second], dtype="<i8").tobytes()}


def _split_for_triangles(n_blocks: int, block: int, columns: Block) -> dict[int, Block]:
    words = edge_words(columns["edges"])
    # An edge between two colours stands in two blocks; that of its smaller end sends it.
    words = words[vertex_colours(unpack_edges(words)[0], n_blocks) == block]
    tasks = split_for_tasks(*unpack_edges(words), n_blocks)
    return {task: {"edges": edge_bytes(words[held])} for task, held in tasks.items()}


def _count_triangles(n_blocks: int, task: int, pieces: Parts) -> bytes:
    source, target = unpack_edges(np.concatenate([edge_words(piece["edges"]) for piece in pieces.values()]))
    return count_task_triangles(source, target, n_blocks, task).to_bytes(8, "little")


def _split_for_pairs(n_blocks: int, block: int, columns: Block) -> dict[int, Block]:
    tasks = [min(block, other) * n_blocks + max(block, other) for other in range(n_blocks)]
    return {task: {"edges": columns["edges"]} for task in tasks}


def _find_frontier(n_blocks: int, task: int, pieces: Parts) -> bytes:
    ends = {block: np.stack(read_ends(piece["edges"])) for block, piece in pieces.items()}
    vertices = np.unique(np.concatenate([each.reshape(-1) for each in ends.values()]))
    colours = vertex_colours(vertices, n_blocks)
    sides = {}
    for block, each in ends.items():
        source, target = np.searchsorted(vertices, each)
        sides[block] = Neighborhoods.from_edges(np.flatnonzero(colours == block), source, target)
    frontier = pair_frontier(len(vertices), sides[task // n_blocks], sides[task % n_blocks])
    return frontier.astype("<i8").tobytes()
