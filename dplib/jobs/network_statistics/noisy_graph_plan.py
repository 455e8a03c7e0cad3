"""What the plan and the page say of noisy graphs and choices, and of the central model beside the local one."""

from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, pi

import numpy as np

from dplib.graphs.statistics.ladder_rungs import largest_rung, second_degree_rungs
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.noisy_graph import Passing, triangle_variance
from dplib.graphs.statistics.reported_degrees import worst_bin_variance
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import whole_graph_error
from dplib.jobs.network_statistics.measurements import Measurement
from dplib.jobs.network_statistics.noisy_graph_tables import passing_of
from dplib.jobs.network_statistics.parts import choice_gap, choice_rate, count_epsilon, score_unit, threshold_law
from dplib.mechanisms.ladder import ladder_mean_error
from dplib.mechanisms.local.local_degrees import Counting, DegreeProtocol, edges_variance
from dplib.mechanisms.local.randomized_response import reports_variance
from dplib.privacy.budget import PureDP
from dplib.privacy.noise import Law
from dplib.privacy.rounding import fraction_text

ASSUMED_DEGREES = (1, 4, 16, 64, 256)
"""Average degrees for which the plan says what a noisy graph would look like."""
MAX_COMPARED = 500
"""Epsilon up to which the models are compared; beyond it errors are nothing but rounding."""
MIN_LADDER = Fraction(1, 1000)
"""Epsilon from which the ladder mechanism has an error."""
COMPARED_DEGREE = 16
"""Degree of all vertices of the graph whose triangles both models are compared on."""


@dataclass(frozen=True)
class PlannedGraph:
    """A noisy graph, if the graph has this many edges.

    Attributes:
        edges: the assumed number.
        threshold: in steps; for reported bits 1 of 1.
        missing: probability that an edge of the graph is not in the noisy one.
        false: probability that another pair is.
        expected_edges: of the noisy graph.
        expected_false: those among them that the graph does not have.
        std_error: of the number of edges that the noisy graph tells.
    """

    edges: int
    threshold: int
    missing: float
    false: float
    expected_edges: float
    expected_false: float
    std_error: float


@dataclass(frozen=True)
class PlannedChoice:
    """A choice by the exponential mechanism.

    Attributes:
        statistic: which.
        candidates: how many are declared.
        rate: exponent a unit of the score, exactly.
        unit: of the score: how much one edge counts.
        within: with probability 95 % the chosen score is at most so far below the best, in edges or vertices.
    """

    statistic: str
    candidates: int
    rate: str
    unit: int
    within: float


@dataclass(frozen=True)
class ModelError:
    """Standard errors of one number (of triangles: mean absolute errors), each model spending the whole budget on it.

    Attributes:
        number: what.
        central: by the central mechanism.
        local: from reports of all vertices.
        how: from which reports, and for which graph where it matters.
    """

    number: str
    central: float
    local: float
    how: str


def planned_graphs(design: Design) -> tuple[PlannedGraph, ...]:
    """The noisy graph for some sizes of the graph; empty where none is released."""
    measured = design.find(Statistic.ADJACENCY)
    if measured is None:
        return ()
    n, found = design.n_vertices, []
    n_pairs = comb(n, 2)
    for edges in sorted({min(max(1, n * degree // 2), n_pairs) for degree in ASSUMED_DEGREES}):
        law = threshold_law(design.config, n, measured.epsilon, measured.sensitivity.l1, edges)
        passing, (kept, false) = passing_of(law), law.expected(edges, n_pairs)
        error = whole_graph_error(design, edges)
        found.append(PlannedGraph(edges, law.threshold, 1 - passing.edge, passing.other, kept + false, false, error))
    return tuple(found)


def planned_choices(design: Design) -> tuple[PlannedChoice, ...]:
    """How close to the best the choices will be."""
    found = []
    for each in design.measurements:
        if each.statistic in (Statistic.SPLIT, Statistic.COVERAGE):
            unit, n_candidates = score_unit(design.config, each.statistic), n_candidates_of(design, each)
            rate = choice_rate(each.epsilon, each.sensitivity.l1, unit)
            within = choice_gap(rate, n_candidates) / unit
            found.append(PlannedChoice(each.statistic, n_candidates, fraction_text(rate), unit, within))
    return tuple(found)


def n_candidates_of(design: Design, measured: Measurement) -> int:
    """How many candidates are declared."""
    return len(design.declared.splits if measured.statistic is Statistic.SPLIT else design.declared.seeds)


def compared_models(design: Design) -> tuple[ModelError, ...]:
    """The central model beside the local one, between edge neighbours and at a pure epsilon; else empty."""
    budget = design.config.privacy.budget.budget()
    if not isinstance(budget, PureDP) or design.config.privacy.neighbors != "edge":
        return ()
    n, epsilon = design.n_vertices, Fraction(budget.epsilon)
    if epsilon > MAX_COMPARED:
        return ()
    flipped = 1 / (1 + exp(float(epsilon)))
    bits, one = Passing(1 - flipped, flipped), DegreeProtocol(epsilon, Counting.ONE_END)
    both = DegreeProtocol(epsilon, Counting.BOTH_ENDS)
    single, noise = _laplace(1 / epsilon), bits.noise
    return (
        ModelError("edge count", single, edges_variance(n, both) ** 0.5, "noisy degrees, both ends"),
        ModelError("edge count", single, edges_variance(n, one) ** 0.5, "noisy degrees, one end"),
        ModelError("edge count", single, reports_variance(comb(n, 2), epsilon) ** 0.5, "randomized bits"),
        ModelError("degree of one vertex", _laplace(2 / epsilon), _laplace(both.scale), "noisy degrees, both ends"),
        ModelError(
            "vertices of one degree",
            _laplace(4 / epsilon),
            worst_bin_variance(float(both.scale), n) ** 0.5,
            "noisy degrees, both ends; at most, whatever the graph",
        ),
        *((_compared_triangles(n, epsilon, noise),) if epsilon >= MIN_LADDER and n > 2 else ()),
    )


def _compared_triangles(n: int, epsilon: Fraction, noise: float) -> ModelError:
    """Mean absolute errors if every vertex has the same degree: the least that randomized bits can do."""
    degree = min(COMPARED_DEGREE, n - 1)
    wedges, n_pairs = n * comb(degree, 2), comb(n, 2)
    # Sums of squares are least where the common neighbours are spread evenly; being integers, at least their sum.
    squared_common = max(wedges, wedges**2 / n_pairs)
    local = triangle_variance(n, n * degree / 2, squared_common, noise) ** 0.5 * (2 / pi) ** 0.5
    central = ladder_mean_error(second_degree_rungs(degree, largest_rung(n)), epsilon)
    how = f"randomized bits, at least; if every vertex has {degree} edges; central: ladder"
    return ModelError("triangles", central, local, how)


def noisy_graph_notes(design: Design) -> list[str]:
    """Sentences on noisy graphs, choices and the local model."""
    notes = []
    adjacency = design.find(Statistic.ADJACENCY)
    if adjacency is not None and not design.local:
        own = count_epsilon(design.config, adjacency.epsilon)
        spent = f"; a tenth of its budget buys the noisy edge count that sets the threshold ({own})" if own else ""
        notes.append(
            "The noisy graph is the noisy adjacency matrix, of which the pairs at or above the threshold are kept"
            f"{spent}. Thresholding is post-processing, done without going through all pairs."
        )
    if planned_choices(design):
        notes.append(
            "Candidates are declared and public, made without the graph. What is released is which one was chosen; no "
            "score is."
        )
    if design.local:
        notes += local_notes(design)
    return notes


def local_notes(design: Design) -> list[str]:
    """What the local model promises, word by word."""
    counting = design.config.graph.local.counting
    notes = [
        "Edge local differential privacy: for two graphs that differ in one edge, the probability of all reports "
        "together changes at most by the factor e^epsilon. A vertex's whole list of edges is not protected by epsilon, "
        "but by epsilon times its edges.",
    ]
    if design.find(Statistic.DEGREE_SEQUENCE) is not None:
        notes.append(
            "Degrees: an edge counts in the reports of both of its ends, so each report gets noise for half of the "
            "epsilon of degrees."
            if counting == "both_ends"
            else "Degrees: an edge counts in the report of its earlier end alone, at the whole epsilon of degrees."
        )
    if design.find(Statistic.ADJACENCY) is not None:
        notes.append(
            "Bits: of the symmetric matrix every vertex reports the pairs with vertices declared after it, so that an "
            "edge is reported once. If both ends reported it, it would cost twice the epsilon."
        )
    if design.reported is not None:
        notes.append(
            "The rows are reports that vertices made themselves at this epsilon; the job sees nothing else and draws "
            "nothing, so the secret that the guarantee rests on is each vertex's own. "
            "The account is charged what the reports have spent, again for every release that reads them. Estimates "
            "are scaled up for vertices without a report, as if silence did not go by their edges."
        )
    else:
        notes.append(
            "Simulated: the job holds the graph and draws every vertex's report itself. The guarantee is for readers "
            "of the reports, not against anyone who runs the job."
        )
    return notes


def _laplace(scale: Fraction) -> float:
    return float(np.sqrt(Law.LAPLACE.variance(scale)))
