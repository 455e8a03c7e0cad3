"""Statistics that need the edges themselves: degrees by vertex, the noisy graph, choices, local reports. Private part.

Guarantees: `dplib.jobs.network_statistics.parts`; of the local model `dplib.jobs.network_statistics.local`. All draws
come from streams under a key that depends on the edges.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.candidate_scores import coverage_scores, split_scores
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.noisy_graph import count_in_blocks
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measurements import Measurement
from dplib.jobs.network_statistics.parts import choice_rate, count_epsilon, score_unit, threshold_law
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.mechanisms.exponential import draw_exponential
from dplib.mechanisms.local.local_degrees import simulate_reports
from dplib.mechanisms.local.randomized_response import report_later_neighbors
from dplib.mechanisms.noisy_adjacency import ThresholdLaw, draw_noisy_adjacency
from dplib.mechanisms.tree_counts import add_exactly, add_noise
from dplib.randomness.keyed import KeyedStream, derive_key


@dataclass(frozen=True, eq=False)
class NoisyGraph:
    """A noisy graph, or the bits that vertices reported.

    Attributes:
        edges: the pairs that are there.
        law: noise and threshold.
        noisy_edges: the noisy count that set the threshold; 0 where it was declared.
    """

    edges: SimpleGraph
    law: ThresholdLaw
    noisy_edges: int


@dataclass(frozen=True, eq=False)
class WholeGraph:
    """What the statistics of `measurements.WHOLE` became.

    Attributes:
        numbers: by statistic, shape (size,).
        graph: the noisy graph; None where none is measured.
        choices: statistic to the position of the chosen candidate.
        non_respondents: in the local model: statistic to the vertices that sent no report.
    """

    numbers: dict[Statistic, IntArray]
    graph: NoisyGraph | None = None
    choices: dict[Statistic, int] = field(default_factory=dict)
    non_respondents: dict[Statistic, IntArray] = field(default_factory=dict)

    def silent(self, statistic: Statistic) -> IntArray:
        """The vertices that sent no report of a statistic; none in the central model."""
        return self.non_respondents.get(statistic, np.zeros(0, dtype=np.int64))


def exact_whole_graph(design: Design, graph: SimpleGraph) -> dict[Statistic, IntArray]:
    """The true numbers of the statistics of `measurements.WHOLE`, of a graph that is projected already. NOT PRIVATE."""
    found: dict[Statistic, IntArray] = {}
    for each in design.measurements:
        match each.statistic:
            case Statistic.DEGREE_SEQUENCE:
                found[each.statistic] = _degrees(design, graph)
            case Statistic.ADJACENCY:
                found[each.statistic] = block_counts(design, graph)
            case Statistic.SPLIT | Statistic.COVERAGE:
                found[each.statistic] = np.zeros(0, dtype=np.int64)
    return found


def block_counts(design: Design, graph: SimpleGraph) -> IntArray:
    """Edges in all and, where blocks are declared, inside each and between every two."""
    declared = design.declared
    total = np.array([graph.n_edges], dtype=np.int64)
    if not declared.blocks:
        return total
    return np.concatenate([total, count_in_blocks(graph, declared.block_of, len(declared.blocks))])


def draw_whole_graph(design: Design, graph: SimpleGraph, key: bytes) -> WholeGraph:
    """Draw all `measurements.WHOLE` once; arguments as of `exact_whole_graph`, and a key that depends on the edges."""
    numbers: dict[Statistic, IntArray] = {}
    choices: dict[Statistic, int] = {}
    noisy = None
    for each in design.measurements:
        match each.statistic:
            case Statistic.DEGREE_SEQUENCE:
                numbers[each.statistic] = _noisy_degrees(design, each, graph, key)
            case Statistic.ADJACENCY:
                draw = _reported_bits if design.local else _noisy_graph
                noisy = draw(design, each, graph, key)
                numbers[each.statistic] = block_counts(design, noisy.edges)
            case Statistic.SPLIT | Statistic.COVERAGE:
                choices[each.statistic] = _choice(design, each, graph, key)
                numbers[each.statistic] = np.zeros(0, dtype=np.int64)
    return WholeGraph(numbers, noisy, choices)


def _degrees(design: Design, graph: SimpleGraph) -> IntArray:
    if design.local:
        return design.degree_protocol.true_degrees(graph.n_vertices, graph.source, graph.target)
    return graph.degrees()


def _noisy_degrees(design: Design, measured: Measurement, graph: SimpleGraph, key: bytes) -> IntArray:
    degrees = _degrees(design, graph)
    if measured.noise is None or design.local:
        # One stream a vertex: a report that is computed again is the same report.
        return simulate_reports(derive_key(key, "reports"), degrees, design.degree_protocol)
    return add_noise(degrees, measured.noise, KeyedStream(key, str(measured.statistic), "graph", 0))


def _noisy_graph(design: Design, measured: Measurement, graph: SimpleGraph, key: bytes) -> NoisyGraph:
    epsilon, l1 = measured.epsilon, measured.sensitivity.l1
    own = count_epsilon(design.config, epsilon)
    noisy = 0
    if own is not None:
        noise = draw_discrete_laplace(KeyedStream(key, "adjacency", "count", 0), Fraction(l1) / own, 1)
        noisy = int(add_exactly(np.array([graph.n_edges], dtype=np.int64), noise)[0])
    n = graph.n_vertices
    law = threshold_law(design.config, n, epsilon, l1, noisy)
    stream = KeyedStream(key, "adjacency", "pairs", 0)
    return NoisyGraph(SimpleGraph(n, *draw_noisy_adjacency(stream, n, graph.source, graph.target, law)), law, noisy)


def _reported_bits(_: Design, measured: Measurement, graph: SimpleGraph, key: bytes) -> NoisyGraph:
    n, epsilon = graph.n_vertices, measured.epsilon
    bounds = np.searchsorted(graph.source, np.arange(n + 1))
    own_key, first, second = derive_key(key, "reports"), [], []
    for user in range(n):
        bits = report_later_neighbors(own_key, user, graph.target[bounds[user] : bounds[user + 1]], n, epsilon)
        ones = np.flatnonzero(bits) + user + 1
        first.append(np.full(len(ones), user, dtype=np.int64))
        second.append(ones.astype(np.int64))
    return NoisyGraph(SimpleGraph(n, np.concatenate(first), np.concatenate(second)), ThresholdLaw(epsilon), 0)


def _choice(design: Design, measured: Measurement, graph: SimpleGraph, key: bytes) -> int:
    split, declared = design.config.graph.split, design.declared
    if measured.statistic is Statistic.SPLIT:
        assert split is not None
        scores = split_scores(graph, list(declared.splits.values()), split.resolution)
    else:
        scores = coverage_scores(graph, list(declared.seeds.values()))
    rate = choice_rate(measured.epsilon, measured.sensitivity.l1, score_unit(design.config, measured.statistic))
    return int(draw_exponential(KeyedStream(key, str(measured.statistic), "choice", 0), -scores, rate)[0])
