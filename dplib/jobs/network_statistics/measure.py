"""The private part: exact statistics of the edges, their keyed digest, and noise drawn exactly once.

Privacy statement: `dplib.jobs.network_statistics.design`. The digest is taken from the canonical edges themselves, of
which every statistic, and the scale of every ladder, is a function: the same graph gets the same noise in every retry
and layout, two different graphs never share noise. Edges, exact statistics and rungs leave this module in no form.

Two layouts with the same bytes. *Driver*: the edges fit one process. *Spark*: blocks of edges stay with the executors
(`dplib.jobs.network_statistics.distributed`). Both count the same counts, from which everything else follows here.

Cost: linear in vertices and edges, but for triangles, O(m^(3/2)) at worst (`dplib.graphs.statistics.triangles`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.mixing import vertex_colours
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.common_neighbors import common_neighbor_frontier
from dplib.graphs.statistics.degrees import (
    cumulative_histogram,
    degree_histogram,
    edge_count,
    k_stars,
    largest_degree,
    second_largest_degree,
    sorted_degrees,
)
from dplib.graphs.statistics.ladder_rungs import (
    Rungs,
    common_neighbor_rungs,
    exact_rungs,
    largest_rung,
    second_degree_rungs,
)
from dplib.graphs.statistics.network_sensitivity import Bounding, Statistic
from dplib.graphs.statistics.star_rungs import Pair, StarRungs, star_pairs
from dplib.graphs.statistics.triangles import count_triangles
from dplib.graphs.statistics.truncation import project_graph
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measurements import LADDER, SMOOTH, WHOLE, Measurement
from dplib.jobs.network_statistics.noisy_graph_tables import write_whole_graph
from dplib.jobs.network_statistics.tables import Tables
from dplib.jobs.network_statistics.whole_graph import draw_whole_graph, exact_whole_graph
from dplib.mechanisms.ladder import draw_ladder
from dplib.mechanisms.smooth_noise import draw_smooth_cauchy
from dplib.mechanisms.tree_counts import add_noise
from dplib.randomness.keyed import KeyedStream
from dplib.release.digest import block_digest, combine_digests
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

MOST = 2**62
"""Larger counts of stars are cut to this before the noise, which changes no count by more than before."""
DIGEST_BLOCKS = 64
"""Blocks of edges whose digests make the graph's; layouts split the edges into a divisor of it."""


@dataclass(frozen=True, eq=False)
class ExactCounts:
    """What the exact statistics and the rungs are functions of. NOT PRIVATE.

    Attributes:
        degrees: of all vertices, in any order, shape (n,).
        triangles: their number; 0 where it is not measured.
        frontier: `dplib.graphs.statistics.common_neighbors`; None where no rungs need it.
        star_pairs: `dplib.graphs.statistics.star_rungs`; none where no rungs need them.
    """

    degrees: IntArray
    triangles: int = 0
    frontier: IntArray | None = None
    star_pairs: tuple[Pair, ...] = ()


def exact_counts(design: Design, graph: SimpleGraph) -> ExactCounts:
    """Count in this process; the graph is projected already where the design does."""
    return ExactCounts(
        graph.degrees(),
        count_triangles(graph) if counts_triangles(design) else 0,
        common_neighbor_frontier(graph) if needs_frontier(design) else None,
        star_pairs(graph) if needs_star_pairs(design) else (),
    )


def counts_triangles(design: Design) -> bool:
    """Whether triangles are measured."""
    return any(each.statistic is Statistic.TRIANGLES for each in design.measurements)


def needs_frontier(design: Design) -> bool:
    """Whether triangles are measured with rungs that common neighbours decide."""
    triangles = design.find(Statistic.TRIANGLES)
    follows = triangles is not None and triangles.mechanism in (LADDER, SMOOTH)
    return follows and design.config.graph.triangles.rungs != "second_degree"


def needs_star_pairs(design: Design) -> bool:
    """Whether stars are measured with a ladder."""
    stars = design.find(Statistic.K_STARS)
    return stars is not None and stars.mechanism == LADDER


def exact_statistics(design: Design, graph: SimpleGraph) -> dict[Statistic, IntArray]:
    """The true statistics of a graph whose edges are here; see `exact_counts`. NOT PRIVATE."""
    return statistics_of(design, exact_counts(design, graph)) | exact_whole_graph(design, graph)


def statistics_of(design: Design, counts: ExactCounts) -> dict[Statistic, IntArray]:
    """The true statistics that are functions of the counts. NOT PRIVATE.

    Returns:
        Statistic to its numbers, shape (size,).
    """
    degrees = counts.degrees
    found = {}
    for each in design.measurements:
        if each.statistic in WHOLE:
            continue
        match each.statistic:
            case Statistic.EDGE_COUNT:
                numbers: IntArray | int = edge_count(degrees)
            case Statistic.LARGEST_DEGREE:
                numbers = largest_degree(degrees)
            case Statistic.DEGREE_HISTOGRAM:
                numbers = degree_histogram(degrees, design.last_bin)
            case Statistic.CUMULATIVE_HISTOGRAM:
                numbers = cumulative_histogram(degree_histogram(degrees, design.last_bin))
            case Statistic.SORTED_DEGREES:
                numbers = sorted_degrees(degrees)
            case Statistic.K_STARS:
                numbers = min(k_stars(degrees, design.config.graph.stars), MOST)
            case _:
                numbers = counts.triangles
        found[each.statistic] = np.atleast_1d(np.asarray(numbers, dtype=np.int64))
    return found


def project(design: Design, graph: SimpleGraph) -> SimpleGraph:
    """The graph that the design's statistics are of: cut to the degree bound where it is projected."""
    if not design.projected:
        return graph
    return project_graph(graph, design.largest_degree, design.config.graph.degree_bound.salt)


def measure_edges(design: Design, graph: SimpleGraph, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count, draw the noise of every statistic once and store it as ``measurement/`` of the staging directory."""
    digest = combine_digests(keys.digest, edge_digests(keys.digest, graph.source, graph.target, range(DIGEST_BLOCKS)))
    projected = project(design, graph)
    write_noisy(design, exact_counts(design, projected), projected, keys.measurement(digest), directory)
    return keys.recorded(digest)


def write_noisy(design: Design, counts: ExactCounts, graph: SimpleGraph, key: bytes, directory: Path) -> None:
    """Draw the noise of every statistic once, under a key that depends on the edges, and store the measurement.

    The counts are of the graph, projected where the design does, which is looked at where the design needs edges only.
    """
    parts = draw_whole_graph(design, graph, key)
    Tables(directory, design).write_measurement(noisy_numbers(design, counts, key) | parts.numbers)
    write_whole_graph(directory, parts)


def edge_digests(key: bytes, source: IntArray, target: IntArray, blocks: Iterable[int]) -> list[tuple[str, bytes]]:
    """Digests of blocks of edges; an edge belongs to the block of its smaller end.

    Args:
        key: sub-key kept for digests.
        source: the smaller end of each edge, all edges of the blocks, sorted by both ends, shape (m,).
        target: the greater end.
        blocks: which of the `DIGEST_BLOCKS`.
    """
    block = vertex_colours(source, DIGEST_BLOCKS).astype(np.uint8)
    order = np.argsort(block, kind="stable")
    edges, bounds = np.stack([source, target])[:, order], np.searchsorted(block[order], np.arange(DIGEST_BLOCKS + 1))
    named = [(digest_name(each), edges[:, bounds[each] : bounds[each + 1]]) for each in blocks]
    return [(name, block_digest(key, name, held)) for name, held in named]


def digest_name(block: int) -> str:
    """The name of a block of edges in the digest."""
    return f"edges {block}"


def noisy_statistics(design: Design, graph: SimpleGraph, key: bytes) -> dict[Statistic, IntArray]:
    """Statistics with their noise of a graph whose edges are here; see `noisy_numbers`."""
    projected = project(design, graph)
    return (
        noisy_numbers(design, exact_counts(design, projected), key) | draw_whole_graph(design, projected, key).numbers
    )


def noisy_numbers(design: Design, counts: ExactCounts, key: bytes) -> dict[Statistic, IntArray]:
    """Statistics with their noise, from streams under a key that depends on the edges."""
    exact = statistics_of(design, counts)
    return {
        each.statistic: _noisy(design, each, exact[each.statistic], counts, key)
        for each in design.measurements
        if each.statistic in exact
    }


def _noisy(design: Design, measured: Measurement, exact: IntArray, counts: ExactCounts, key: bytes) -> IntArray:
    stream = KeyedStream(key, str(measured.statistic), "graph", 0)
    if measured.noise is not None:
        return add_noise(exact, measured.noise, stream)
    if measured.statistic is Statistic.K_STARS:
        return draw_ladder(stream, int(exact[0]), star_rungs(design, counts.star_pairs), measured.epsilon)
    draw = draw_ladder if measured.mechanism == LADDER else draw_smooth_cauchy
    return draw(stream, int(exact[0]), rungs_of(design, counts), measured.epsilon)


def largest_rung_of(design: Design) -> int:
    """The public cap of the ladder."""
    promised = design.bound.largest if design.bound.bounding is Bounding.PROMISED else None
    return largest_rung(design.n_vertices, promised)


def star_rungs(design: Design, pairs: tuple[Pair, ...]) -> StarRungs:
    """The ladder function of stars if the graph has these widest pairs. NOT PRIVATE where it has."""
    return StarRungs(pairs, design.config.graph.stars - 1, design.largest_degree - 1)


def rungs_of(design: Design, counts: ExactCounts) -> Rungs:
    """The ladder function of triangles. NOT PRIVATE."""
    cap = largest_rung_of(design)
    if counts.frontier is None:
        return second_degree_rungs(second_largest_degree(counts.degrees), cap)
    made = common_neighbor_rungs if design.config.graph.triangles.rungs == "common_neighbors" else exact_rungs
    return made(counts.frontier, cap)
