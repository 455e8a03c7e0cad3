"""Estimates, errors and published integers from noisy statistics; sees no edge and draws no noise.

estimates    Single numbers and the cumulative histogram: as drawn, unbiased. Degree histogram: the nearest numbers
             whose sum is the public n; with B bins of variance v a sum of k bins has the variance v (k - k^2 / B),
             exactly. Sorted degrees: isotonic regression, whose error depends on the degrees and is not stated.
             Noisy graph: edges of blocks without the bias of the threshold; where its two probabilities do not
             mirror each other, the estimate stands in the error for the edges it does not know. Local model:
             `dplib.jobs.network_statistics.local`. Choices are no numbers and have none.
published    Integers that a graph could have: within their public range; histograms not negative with sum n; cumulative
             histograms and sorted degrees ascending.

References:
    Hay, Li, Miklau, Jensen: Accurate estimation of the degree distribution of private networks. ICDM 2009.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.range_publication import publish_range_counts
from dplib.graphs.statistics.degree_estimates import estimate_from_cumulative, estimate_sorted_degrees
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.reported_degrees import worst_bin_variance
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.local import edges_error, estimate_derived, reported
from dplib.jobs.network_statistics.noisy_graph_tables import pairs_of_blocks, passing_of, reported_pairs
from dplib.jobs.network_statistics.parts import threshold_law
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.privacy.noise import Law
from dplib.privacy.noise_quantile import Z95, DrawLaw, Draws, one_draw
from dplib.privacy.noise_quantile import half_width as quantile
from dplib.projection.rounding import round_to_totals
from dplib.trees.interval_tree import IntervalTree

_MAX = 2**62


@dataclass(frozen=True, eq=False)
class Results:
    """What is made of a measurement, by statistic, each of shape (size,).

    Attributes:
        estimate: see the module's text.
        std_error: NaN where it is not stated.
        count: published integers.
        reports: in the local model the reported degrees of those who reported one.
    """

    estimate: dict[Statistic, FloatArray]
    std_error: dict[Statistic, FloatArray]
    count: dict[Statistic, IntArray]
    reports: IntArray | None = None


def make_results(design: Design, noisy: dict[Statistic, npt.NDArray[np.generic]], parts: WholeGraph) -> Results:
    """Make estimates, errors and integers of all statistics, from noisy numbers, shape (size,), and the whole graph."""
    degrees = noisy.get(Statistic.DEGREE_SEQUENCE)
    own = degrees.astype(np.int64) if design.local and degrees is not None else None
    results = Results({}, {}, {}, None if own is None else reported(design, own, parts))
    for each in design.measurements:
        drawn = noisy[each.statistic].astype(np.float64)
        results.std_error[each.statistic] = np.full(each.size, std_error(design, each.statistic))
        if each.statistic is Statistic.ADJACENCY:
            _add_blocks(design, drawn, parts, results)
            continue
        results.estimate[each.statistic] = _estimate(design, each.statistic, drawn)
        results.count[each.statistic] = _integers(design, each.statistic, drawn, noisy[each.statistic])
    if degrees is not None:
        for column in (results.estimate, results.std_error):
            column[Statistic.DEGREE_SEQUENCE][parts.silent(Statistic.DEGREE_SEQUENCE)] = np.nan
    for statistic, found in estimate_derived(design, results.reports, parts).items():
        results.estimate[statistic], results.std_error[statistic] = found.value, found.std_error
        # Stars of reported degrees can leave 64 bits.
        whole = np.clip(np.rint(found.value), -_MAX, _MAX).astype(np.int64)
        results.count[statistic] = _integers(design, statistic, found.value, whole)
    return results


def _add_blocks(design: Design, drawn: FloatArray, parts: WholeGraph, results: Results) -> None:
    """Edges of the whole graph and of blocks, from the pairs that appear in them."""
    assert parts.graph is not None
    passing, statistic = passing_of(parts.graph.law), Statistic.ADJACENCY
    pairs, told = pairs_of_blocks(design), reported_pairs(design, parts.silent(statistic)).astype(np.float64)
    more = pairs / np.maximum(told, 1)
    found = passing.estimate(drawn, told)
    results.std_error[statistic] = np.sqrt(passing.variance(found, told)) * more
    results.estimate[statistic] = found * more
    results.count[statistic] = np.clip(np.rint(found * more), 0, pairs).astype(np.int64)


def std_error(design: Design, statistic: Statistic, n_bins: int = 1) -> float:
    """Standard error of a measured statistic's estimate, or of a sum of bins; NaN where it is not stated."""
    measured = design.find(statistic)
    if measured is None and statistic is Statistic.EDGE_COUNT:
        return edges_error(design)
    if measured is None or statistic is Statistic.SORTED_DEGREES:
        return float("nan")
    if statistic is Statistic.ADJACENCY:
        return whole_graph_error(design, None)
    variance = float("nan") if measured.noise is None else measured.noise.variance
    if statistic is Statistic.DEGREE_HISTOGRAM:
        variance *= n_bins - n_bins**2 / measured.size
    return float(np.sqrt(variance))


def half_width(design: Design, statistic: Statistic, error: float, n_bins: int = 1) -> float:
    """Half width of the 95 % interval of an estimate: of its noise's own law where that follows from the settings.

    In the local model numbers that sum many reports are close to normal. The estimated variance of a bin that few
    vertices are near can miss the one report that matters: such bins get the variance that one more vertex could bring
    and half a vertex for the step.

    Args:
        design: the design.
        statistic: a released one.
        error: its standard error; NaN where none is stated, and then so is the half width.
        n_bins: of a degree histogram: how many bins are summed.
    """
    measured = design.find(statistic)
    if not np.isfinite(error):
        return float("nan")
    if measured is None and statistic in (Statistic.EDGE_COUNT, Statistic.DEGREE_HISTOGRAM):
        scale = float(design.degree_protocol.scale)
        if statistic is Statistic.DEGREE_HISTOGRAM:
            return Z95 * float(np.hypot(error, np.sqrt(worst_bin_variance(scale, 1)))) + 0.5
        sums = Draws(DrawLaw(Law.LAPLACE, scale), 1.0, float(design.n_vertices))
        return float(quantile([sums]) / np.sqrt(sums.variance) * error)
    if measured is None or measured.noise is None:
        return Z95 * error
    law = DrawLaw.of(measured.noise)
    if statistic is not Statistic.DEGREE_HISTOGRAM:
        return quantile(one_draw(law))
    return quantile(bin_draws(law, measured.size, n_bins))


def bin_draws(law: DrawLaw, size: int, n_bins: int) -> tuple[Draws, ...]:
    """The noise of a sum of bins of a degree histogram, after least squares under the public sum of all its bins."""
    inside, outside = 1 - n_bins / size, n_bins / size
    draws = Draws(law, inside, float(n_bins)), Draws(law, outside, float(size - n_bins))
    return tuple(each for each in draws if each.coefficient * each.count > 0)


def block_intervals(design: Design, estimate: FloatArray, parts: WholeGraph) -> FloatArray:
    """The 95 % intervals of the edges of the whole graph and of blocks, (n_keys, 2), of estimates, shape (n_keys,)."""
    assert parts.graph is not None
    passing = passing_of(parts.graph.law)
    pairs = pairs_of_blocks(design)
    told = reported_pairs(design, parts.silent(Statistic.ADJACENCY))
    more = pairs / np.maximum(told, 1)
    # A block of one vertex has no pair.
    seen = np.divide(estimate, more, out=np.zeros_like(more), where=more > 0)
    drawn = np.rint(seen * (passing.edge - passing.other) + told * passing.other).astype(np.int64)
    found = [passing.interval(int(each), int(all_)) for each, all_ in zip(drawn, told, strict=True)]
    return np.asarray(np.array(found) * more[:, np.newaxis], dtype=np.float64)


def whole_graph_error(design: Design, n_edges: int | None) -> float:
    """Standard error of the number of edges that a noisy graph tells, if the graph has ``n_edges``.

    NaN for None where the error depends on the graph.
    """
    measured = design.find(Statistic.ADJACENCY)
    assert measured is not None
    n = design.n_vertices
    law = threshold_law(design.config, n, measured.epsilon, measured.sensitivity.l1, n_edges or 0)
    passing = passing_of(law)
    if n_edges is None and not passing.symmetric:
        return float("nan")
    pairs = np.array([float(n * (n - 1) // 2)])
    return float(np.sqrt(passing.variance(np.array([float(n_edges or 0)]), pairs)[0]))


def _estimate(design: Design, statistic: Statistic, drawn: FloatArray) -> FloatArray:
    if statistic is Statistic.DEGREE_HISTOGRAM:
        return np.asarray(drawn - (drawn.sum() - design.n_vertices) / len(drawn))
    if statistic is Statistic.SORTED_DEGREES:
        return estimate_sorted_degrees(drawn, design.largest_degree)
    return drawn


def _integers(design: Design, statistic: Statistic, drawn: FloatArray, noisy: npt.NDArray[np.generic]) -> IntArray:
    n = design.n_vertices
    match statistic:
        case Statistic.DEGREE_HISTOGRAM:
            return _histogram(drawn, n)
        case Statistic.CUMULATIVE_HISTOGRAM:
            return np.cumsum(_whole(estimate_from_cumulative(drawn, n), n))[:-1].astype(np.int64)
        case Statistic.DEGREE_SEQUENCE:
            return np.clip(noisy.astype(np.int64), 0, design.largest_degree)
        case Statistic.SPLIT | Statistic.COVERAGE:
            return np.zeros(0, dtype=np.int64)
        case Statistic.SORTED_DEGREES:
            return np.rint(estimate_sorted_degrees(drawn, design.largest_degree)).astype(np.int64)
    return np.clip(noisy.astype(np.int64), 0, largest_value(design, statistic))


def largest_value(design: Design, statistic: Statistic) -> int:
    """The largest value that a single number can have in any graph under the degree bound."""
    n, largest, stars = design.n_vertices, design.largest_degree, design.config.graph.stars
    most = {
        Statistic.EDGE_COUNT: n * largest // 2,
        Statistic.LARGEST_DEGREE: largest,
        Statistic.K_STARS: n * comb(largest, stars),
        Statistic.TRIANGLES: n * comb(largest, 2) // 3,
    }
    return min(most[statistic], _MAX)


def _histogram(drawn: FloatArray, n: int) -> IntArray:
    """Non-negative whole numbers with sum n near noisy bins, so that runs of degrees keep their accuracy."""
    if len(drawn) == 1:
        return np.array([n], dtype=np.int64)
    flat = IntervalTree.from_level_edges([[0, len(drawn)], np.arange(len(drawn) + 1)])
    variance = np.append(0.0, np.ones(len(drawn)))
    return publish_range_counts(flat, np.append(float(n), drawn), variance, np.array([n]))[1:]


def _whole(histogram: FloatArray, n: int) -> IntArray:
    """Non-negative numbers with sum n, rounded by largest remainders."""
    offsets = np.zeros(1, dtype=np.int64)
    return round_to_totals(histogram[:, np.newaxis], offsets, np.array([[n]], dtype=np.int64))[:, 0]
