"""The private part: exact statistics of the edges, their keyed digest, and the one draw of noise.

Privacy statement: `dplib.network_statistics.design`. The digest is taken from the canonical edges themselves, of which
every statistic, and the scale of every ladder, is a function: the same graph gets the same noise in every retry and
layout, two different graphs never share noise. Edges, exact statistics and rungs leave this module in no form.

Cost: linear in vertices and edges, but for triangles, O(m^(3/2)) at worst (`dplib.graphs.triangles`).
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from dplib.graphs.common_neighbors import common_neighbor_front
from dplib.graphs.degrees import (
    cumulative_histogram,
    degree_histogram,
    edge_count,
    k_stars,
    largest_degree,
    second_largest_degree,
    sorted_degrees,
    vertex_degrees,
)
from dplib.graphs.ladder_rungs import Rungs, common_neighbor_rungs, exact_rungs, largest_rung, second_degree_rungs
from dplib.graphs.network_sensitivity import Bounding, Statistic
from dplib.graphs.triangles import count_triangles
from dplib.graphs.truncation import edge_order, project_in_order
from dplib.mechanisms.ladder import draw_ladder
from dplib.mechanisms.smooth_noise import draw_smooth_cauchy
from dplib.mechanisms.tree_counts import SAMPLERS, add_clamped
from dplib.network_statistics.design import LADDER, SMOOTH, Design, Measurement
from dplib.network_statistics.tables import write_measurement
from dplib.randomness.keyed import KeyedStream
from dplib.release.digest import block_digest, combine_digests
from dplib.release.lifecycle import MeasurementKeys
from dplib.release.run_keys import RunKeys

IntArray = npt.NDArray[np.int64]
MOST = 2**62
"""Larger counts of stars are cut to this before the noise, which changes no count by more than before."""


def exact_statistics(design: Design, source: IntArray, target: IntArray) -> dict[Statistic, IntArray]:
    """The true statistics. NOT PRIVATE.

    Args:
        design: the design.
        source: one end of each edge, every edge once and no loops, shape (m,); projected already where the design does.
        target: the other end.

    Returns:
        Statistic to its numbers, shape (size,).
    """
    n = design.n_vertices
    degrees = vertex_degrees(n, source, target)
    found = {}
    for each in design.measurements:
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
                numbers = count_triangles(n, source, target)
        found[each.statistic] = np.atleast_1d(np.asarray(numbers, dtype=np.int64))
    return found


def project(design: Design, source: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
    """The edges that the design's statistics are of: cut to the degree bound where it is projected."""
    if not design.projected:
        return source, target
    salt = design.config.graph.degree_bound.salt
    order = edge_order(source, target, salt)
    kept = project_in_order(design.n_vertices, source, target, design.largest_degree, order)
    return source[kept], target[kept]


def measure_edges(
    design: Design, source: IntArray, target: IntArray, keys: RunKeys, directory: Path
) -> MeasurementKeys:
    """Count, draw the noise of every statistic once and store the measurement.

    Args:
        design: the design.
        source: one end of each edge, every edge once, no loops, sorted, shape (m,).
        target: the other end.
        keys: the run's sub-keys.
        directory: staging directory; gets ``measurement/``.
    """
    edges = np.stack([source, target])
    digest = combine_digests(keys.digest, [("edges", block_digest(keys.digest, "edges", edges))])
    noisy = noisy_statistics(design, source, target, keys.measurement(digest))
    write_measurement(directory, design, noisy)
    return keys.recorded(digest)


def noisy_statistics(design: Design, source: IntArray, target: IntArray, key: bytes) -> dict[Statistic, IntArray]:
    """Statistics with their noise, from streams under a key that depends on the edges."""
    source, target = project(design, source, target)
    exact = exact_statistics(design, source, target)
    return {
        each.statistic: _noisy(design, each, exact[each.statistic], source, target, key) for each in design.measurements
    }


def _noisy(
    design: Design, measured: Measurement, exact: IntArray, source: IntArray, target: IntArray, key: bytes
) -> IntArray:
    stream = KeyedStream(key, str(measured.statistic), "graph", 0)
    if measured.mechanism not in (LADDER, SMOOTH):
        assert measured.parameter is not None
        return add_clamped(exact, SAMPLERS[measured.mechanism](stream, measured.parameter, len(exact)))
    draw = draw_ladder if measured.mechanism == LADDER else draw_smooth_cauchy
    return draw(stream, int(exact[0]), rungs_of(design, source, target), measured.epsilon)


def largest_rung_of(design: Design) -> int:
    """The public cap of the ladder."""
    promised = design.bound.largest if design.bound.bounding is Bounding.PROMISED else None
    return largest_rung(design.n_vertices, promised)


def rungs_of(design: Design, source: IntArray, target: IntArray) -> Rungs:
    """The ladder function of triangles. NOT PRIVATE."""
    n, cap = design.n_vertices, largest_rung_of(design)
    match design.config.graph.triangles.rungs:
        case "second_degree":
            return second_degree_rungs(second_largest_degree(vertex_degrees(n, source, target)), cap)
        case "common_neighbors":
            return common_neighbor_rungs(common_neighbor_front(n, source, target), cap)
        case _:
            return exact_rungs(common_neighbor_front(n, source, target), cap)
