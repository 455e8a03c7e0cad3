"""The local model: what every vertex reports, what it protects, and what the reports say.

Reports. *Degree*: d + discrete Laplace noise. *Bits*: one randomized bit for each vertex that is declared **later**, so
that every pair of vertices, one entry of the symmetric matrix, is reported by its earlier end alone.

Guarantee: edge local differential privacy. For two graphs that differ in one edge, the probabilities of any transcript
of *all* reports differ by at most e^epsilon, epsilon being the sum over what is reported; and so for any part of them.
An edge stands in two neighbour lists. Its bit is reported once, by one end. Its share of the degrees: with `counting:
both_ends` it moves two reports by 1 each, and each report gets noise of scale 2 / epsilon_i (per report epsilon_i / 2),
so that both together cost epsilon_i; with `one_end` only the earlier end counts it, with noise of scale 1 / epsilon_i.
(Were every end to report at epsilon_i, the edge would cost 2 epsilon_i.) A vertex's whole list is protected by epsilon
times its edges, not by epsilon.

Simulation and server. With rows that are edges the job draws the reports itself: it holds the graph, so the guarantee
is for readers of the transcript and not against anyone who runs it. Every vertex draws from a stream of its own, named
by the measurement key and the vertex, so that a report that is computed again is the same report. With rows that are
reports (`input.columns.vertex`) vertices made them where the graph never left them, at the public epsilon of the
settings, and the job only estimates; what it charges is what the reports have spent.

Estimates: `dplib.graphs.statistics.reported_degrees`, `dplib.graphs.statistics.noisy_graph`; unbiased where silence
does not go by degree.

References:
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith: What can we learn privately? SIAM J. Comput. 40(3), 2011.
    Qin, Yu, Yang, Khalil, Xiao, Ren: Generating synthetic decentralized social graphs with local differential privacy.
    CCS 2017 (edge local privacy).
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.noisy_graph import estimate_triangles
from dplib.graphs.statistics.reported_degrees import Tally, estimate_sum, in_range, stars_of
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.noisy_graph_tables import passing_of
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.mechanisms.local.local_degrees import edges_variance, estimate_edges


@dataclass(frozen=True)
class Estimated:
    """Estimates of one statistic.

    Attributes:
        value: shape (size,).
        std_error: of each, estimated from the reports where it depends on the graph, shape (size,).
    """

    value: FloatArray
    std_error: FloatArray


def estimate_derived(design: Design, reports: IntArray | None, parts: WholeGraph) -> dict[Statistic, Estimated]:
    """Estimate what was not reported from what was: `reported` degrees, None where there are none, and bits."""
    found: dict[Statistic, Estimated] = {}
    for each in design.derived:
        if each.statistic is Statistic.TRIANGLES:
            found[each.statistic] = _triangles(design, parts)
        else:
            assert reports is not None
            found[each.statistic] = _of_degrees(design, each.statistic, reports)
    return found


def reported(design: Design, degrees: IntArray, parts: WholeGraph) -> IntArray:
    """The degrees of those who reported one."""
    told = np.ones(design.n_vertices, dtype=np.bool_)
    told[parts.silent(Statistic.DEGREE_SEQUENCE)] = False
    return degrees[told]


def edges_error(design: Design) -> float:
    """Standard error of the number of edges where every vertex reports its degree, from the settings alone."""
    return float(np.sqrt(edges_variance(design.n_vertices, design.degree_protocol)))


def estimate_degrees(design: Design, reports: IntArray | Tally, low: int, high: int) -> tuple[float, float]:
    """Vertices with a degree in a range of bins, of which the last holds all higher ones, and the standard error."""
    return _of_range(design, float(design.degree_protocol.scale), reports, low, high)


def _of_range(design: Design, scale: float, reports: IntArray | Tally, low: int, high: int) -> tuple[float, float]:
    last = None if high == design.last_bin else high
    value, variance = estimate_sum(in_range(low, last), reports, scale, design.n_vertices)
    return value, float(np.sqrt(variance))


def _of_degrees(design: Design, statistic: Statistic, reports: IntArray) -> Estimated:
    protocol, n = design.degree_protocol, design.n_vertices
    if statistic is Statistic.EDGE_COUNT:
        if len(reports) == 0:
            return Estimated(np.zeros(1), np.full(1, np.inf))
        more, variance = n / len(reports), edges_variance(len(reports), protocol)
        return Estimated(np.array([estimate_edges(reports, protocol) * more]), np.array([variance**0.5 * more]))
    if statistic is Statistic.K_STARS:
        stars = design.config.graph.stars
        value, variance = estimate_sum(stars_of(stars), reports, float(protocol.scale), n)
        return Estimated(np.array([value]), np.array([variance**0.5]))
    tally, scale = Tally.of(reports), float(protocol.scale)
    bins = [_of_range(design, scale, tally, each, each) for each in range(design.last_bin + 1)]
    values, errors = (np.array(column, dtype=np.float64) for column in zip(*bins, strict=True))
    return Estimated(values, errors)


def _triangles(design: Design, parts: WholeGraph) -> Estimated:
    assert parts.graph is not None
    graph = parts.graph
    non_respondents = np.zeros(design.n_vertices, dtype=np.bool_)
    non_respondents[parts.silent(Statistic.ADJACENCY)] = True
    value, variance = estimate_triangles(graph.edges, passing_of(graph.law), non_respondents)
    return Estimated(np.array([value]), np.array([variance**0.5]))
