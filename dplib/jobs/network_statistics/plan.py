"""What a run will cost and how accurate it will be, from settings alone: reads no rows, spends nothing."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.graphs.statistics.ladder_rungs import second_degree_rungs
from dplib.graphs.statistics.network_sensitivity import Bounding, Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import std_error
from dplib.jobs.network_statistics.measure import largest_rung_of, star_rungs
from dplib.jobs.network_statistics.measurements import LADDER, NOISE_FORMAT, SMOOTH, Measurement
from dplib.jobs.network_statistics.noisy_graph_plan import (
    ModelError,
    PlannedChoice,
    PlannedGraph,
    compared_models,
    noisy_graph_notes,
    planned_choices,
    planned_graphs,
)
from dplib.jobs.network_statistics.publish import invariants
from dplib.mechanisms.ladder import MAX_EPSILON, ladder_mean_error
from dplib.mechanisms.smooth_noise import smooth_cauchy_quantile
from dplib.privacy.calibration import pure_epsilon_from_rho
from dplib.privacy.noise import Law
from dplib.privacy.rounding import fraction_text
from dplib.workflow.plan import JobPlan, PlanFrame

ASSUMED_STEP = 4
"""Factor between the assumed degrees of the table of triangle errors."""


@dataclass(frozen=True)
class PlannedStatistic:
    """How one statistic is measured, and how far off it will be.

    Attributes:
        statistic: which.
        numbers: how many it has.
        share: of the budget, exactly.
        mechanism: of its noise.
        l1: sensitivity.
        l2_squared: squared L2 sensitivity.
        parameter: scale b or sigma^2; None where it depends on the graph and is withheld.
        noise: standard deviation of one noisy number; None in the same case.
        std_error: of one estimate; None where it depends on the graph.
    """

    statistic: str
    numbers: int
    share: str
    mechanism: str
    l1: int
    l2_squared: int
    parameter: str | None
    noise: float | None
    std_error: float | None


@dataclass(frozen=True)
class TriangleError:
    """Errors of a triangle count if the graph has a certain width, each at what its share of the budget buys.

    Attributes:
        width: assumed second-largest degree (rungs second_degree) or largest number of common neighbours.
        ladder: mean absolute error.
        smooth: median absolute error; the noise has no mean.
        global_laplace: mean absolute error of noise for the worst graph.
    """

    width: int
    ladder: float
    smooth: float
    global_laplace: float


@dataclass(frozen=True)
class StarError:
    """Errors of a count of stars if the graph has a certain width, at the budget of its share.

    Attributes:
        width: assumed degree of the two vertices with most edges.
        ladder: mean absolute error.
        worst_graph: mean absolute error of noise for the worst graph.
    """

    width: int
    ladder: float
    worst_graph: float


@dataclass(frozen=True)
class Plan(JobPlan):
    """Everything that can be said before a row is read."""

    n_vertices: int
    statistics: tuple[PlannedStatistic, ...]
    triangles: tuple[TriangleError, ...]
    stars: tuple[StarError, ...]
    graphs: tuple[PlannedGraph, ...]
    choices: tuple[PlannedChoice, ...]
    models: tuple[ModelError, ...]

    def stated_errors(self) -> dict[str, float]:
        """Of each statistic whose error does not depend on the graph."""
        return {each.statistic: each.std_error for each in self.statistics if each.std_error is not None}


def make_plan(design: Design, settings_hash: str) -> Plan:
    """Make the plan of a design."""
    caps = {"edges at a vertex": design.largest_degree}
    return Plan(
        frame=PlanFrame.of(design, caps, plan_notes(design), settings_hash),
        n_vertices=design.n_vertices,
        statistics=tuple(planned(design, each) for each in design.measurements),
        triangles=triangle_errors(design),
        stars=star_errors(design),
        graphs=planned_graphs(design),
        choices=planned_choices(design),
        models=compared_models(design),
    )


def planned(design: Design, each: Measurement) -> PlannedStatistic:
    """What the plan says of one statistic."""
    error = std_error(design, each.statistic)
    return PlannedStatistic(
        statistic=each.statistic,
        numbers=each.size,
        share=fraction_text(each.share),
        mechanism=each.mechanism,
        l1=each.sensitivity.l1,
        l2_squared=each.sensitivity.l2_squared,
        parameter=None if each.noise is None else fraction_text(each.noise.parameter),
        noise=None if each.noise is None else float(np.sqrt(each.noise.variance)),
        std_error=None if np.isnan(error) else error,
    )


def triangle_errors(design: Design) -> tuple[TriangleError, ...]:
    """Errors of the ladder and of smooth sensitivity over a range of assumed degrees; none where neither is used."""
    measured = design.find(Statistic.TRIANGLES)
    if measured is None or measured.mechanism not in (LADDER, SMOOTH):
        return ()
    cap = largest_rung_of(design)
    for_ladder, for_smooth = _adaptive_epsilons(design, measured)
    widest = _worst_graph_error(design, measured, max(1, cap))
    widths = [ASSUMED_STEP**k for k in range(16) if ASSUMED_STEP**k < cap]
    found = []
    for width in [*widths, cap]:
        rungs = second_degree_rungs(width, cap)
        ladder, smooth = ladder_mean_error(rungs, for_ladder), smooth_cauchy_quantile(rungs, for_smooth, 0.5)
        found.append(TriangleError(width, ladder, smooth, widest))
    return tuple(found)


def _adaptive_epsilons(design: Design, measured: Measurement) -> tuple[Fraction, Fraction]:
    """What its share buys a ladder and smooth sensitivity: of a budget in rho, the ladder twice as much."""
    own, twice = measured.epsilon, 1 if design.config.privacy.mechanism is Law.LAPLACE else 2
    if measured.mechanism == SMOOTH:
        return min(own * twice, MAX_EPSILON), own
    return own, pure_epsilon_from_rho(measured.event.rho) if twice == 2 else own


def _worst_graph_error(design: Design, measured: Measurement, cap: int) -> float:
    """Mean absolute error of the noise that the share pays for if any edge may change the number by the cap."""
    if design.config.privacy.mechanism is Law.LAPLACE:
        return _laplace_mean_error(Fraction(cap) / measured.epsilon)
    # sqrt(2 / pi) of sigma = cap / sqrt(2 rho).
    return float(cap / np.sqrt(np.pi * float(measured.event.rho)))


def star_errors(design: Design) -> tuple[StarError, ...]:
    """Errors of the ladder over a range of assumed degrees; none where it is not used, or had wider rungs."""
    measured = design.find(Statistic.K_STARS)
    if measured is None or measured.mechanism != LADDER or design.noise_format != NOISE_FORMAT:
        return ()
    worst = _worst_graph_error(design, measured, measured.sensitivity.l1)
    most = design.largest_degree - 1
    widths = [ASSUMED_STEP**k for k in range(16) if ASSUMED_STEP**k < most]
    return tuple(
        StarError(width, ladder_mean_error(star_rungs(design, ((width, width),)), measured.epsilon), worst)
        for width in [*widths, most]
    )


def _laplace_mean_error(scale: Fraction) -> float:
    """Mean absolute value 2q / (1 - q^2), q = e^(-1/scale), of discrete Laplace noise."""
    q = float(np.exp(-1 / float(scale)))
    variance = Law.LAPLACE.variance(scale)
    # 2q / (1 - q^2) = variance (1 - q) / (1 + q), without cancellation for large scales.
    return variance * float(-np.expm1(-1 / float(scale))) / (1 + q)


def plan_notes(design: Design) -> tuple[str, ...]:
    """Sentences about what the settings mean."""
    notes = [*invariants(design), *design.reading_notes, *noisy_graph_notes(design)]
    measured = {each.statistic for each in design.measurements}
    if design.projected:
        notes.append(
            f"All statistics are of the graph cut to at most {design.largest_degree} edges at a vertex; what the cut "
            "takes away is a bias that no standard error holds."
        )
    if design.config.privacy.neighbors == "vertex" and design.bound.bounding is Bounding.NONE:
        notes.append("Between vertices and without a degree bound noise covers a vertex with an edge to every other.")
    if design.last_bin < design.largest_degree:
        notes.append(f"The last bin of degree histograms, {design.last_bin}, holds all higher degrees too.")
    if Statistic.SORTED_DEGREES in measured:
        notes.append(
            "The error of sorted degrees after isotonic regression is in all at most that of the noise, often far less."
        )
    following = [str(each.statistic) for each in design.measurements if each.mechanism in (LADDER, SMOOTH)]
    if following:
        names = " and ".join(following)
        notes.append(f"The noise of {names} follows the graph: its scale is private, so no standard error is stated.")
    if Statistic.TRIANGLES in following:
        notes.append(
            "Beside the ladder's mean error stands the median of smooth sensitivity, whose noise has no mean: one "
            "error in twenty is above 12.7 times that median."
        )
    return tuple(notes)
