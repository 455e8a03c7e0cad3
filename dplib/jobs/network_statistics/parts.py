"""The parts of a release that are no plain noisy numbers: how their budget becomes a law, and what they refuse.

Noisy graph (``adjacency``). Its epsilon pays for a noisy edge count that sets the threshold (a tenth, unless the
threshold is declared) and for the matrix. One edge changes one pair of the upper triangle, the edges of a vertex at
most D pairs: with L1 = 1 or D, a pair gets noise for the matrix's epsilon / L1 (`dplib.mechanisms.noisy_adjacency`).
The threshold depends on settings and on the noisy count only, so thresholding is post-processing.

Choices (``split``, ``coverage``): the exponential mechanism over declared candidates with rate epsilon / D, D the
score's sensitivity. It may be epsilon / D and not epsilon / (2 D), since no score falls when edges come
(`dplib.mechanisms.exponential`, monotone losses): an edge inside a group adds to a split's score and any other leaves
it, an edge at a seed can only add to what is covered; between vertex neighbours all edges of one vertex come or go
together. Sensitivities: one edge moves the edges inside groups, or the covered vertices, by at most 1, the edges of a
vertex by at most D (for a split times the weight of an edge in its score, the denominator of the resolution).

Local reports: `dplib.jobs.network_statistics.local`.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from math import log

from dplib.config.network_releases import LocalSettings
from dplib.graphs.statistics.network_sensitivity import Bounding, DegreeBound, Sensitivity, Statistic
from dplib.jobs.network_statistics.config import NetworkRelease
from dplib.mechanisms.exponential import exponential_rate
from dplib.mechanisms.noisy_adjacency import MAX_EXPONENT, ThresholdLaw, threshold_for
from dplib.privacy.noise import Law
from dplib.validate import require

NOISY_GRAPH, REPORTED_BITS = "noisy_adjacency", "randomized_response"
COUNT_SHARE = Fraction(1, 10)
"""Of a noisy graph's budget, for the edge count that sets its threshold."""
LOCAL_REPORTS = (Statistic.DEGREE_SEQUENCE, Statistic.ADJACENCY)
"""What vertices can report."""
MAX_FALSE = 1 << 24
"""False edges of a noisy graph at most, as expected."""
MAX_REPORTERS = 1 << 12
"""Vertices that can report bits at most: there is one for each pair, and triangles multiply the whole matrix."""
MAX_SCORE = 1 << 61
"""Of a candidate in any graph at most, in magnitude: an exact public bound."""
_MIN, _MAX = Fraction(1, 1000), Fraction(1000)


def count_epsilon(config: NetworkRelease, epsilon: Fraction) -> Fraction | None:
    """What the noisy edge count of a noisy graph gets of its epsilon; None where the threshold is declared."""
    matched = config.privacy.model == "central" and config.graph.adjacency.threshold == "match_edges"
    return epsilon * COUNT_SHARE if matched else None


def pair_epsilon(config: NetworkRelease, epsilon: Fraction, l1: int) -> Fraction:
    """The privacy of one pair of the matrix."""
    return (epsilon - (count_epsilon(config, epsilon) or 0)) / l1


def threshold_law(config: NetworkRelease, n: int, epsilon: Fraction, l1: int, noisy_edges: int) -> ThresholdLaw:
    """Noise and threshold of a noisy graph, for a sensitivity l1 of the whole statistic.

    The noisy edge count is not looked at where the threshold is declared.
    """
    given, own = config.graph.adjacency, pair_epsilon(config, epsilon, l1)
    if config.privacy.model == "local":
        return ThresholdLaw(own)
    if given.threshold == "match_edges":
        return threshold_for(float(noisy_edges), n * (n - 1) // 2, own, given.steps)
    return ThresholdLaw(own, given.threshold, given.steps)


def require_noisy_graph(config: NetworkRelease, n: int, epsilon: Fraction, l1: int) -> None:
    """Refuse a noisy graph that would have too many false edges or a useless noise.

    Raises:
        ConfigError: naming the setting.
    """
    own, given = pair_epsilon(config, epsilon, l1), config.graph.adjacency
    most = _MAX
    if config.privacy.model == "local":
        most = Fraction(MAX_EXPONENT)
    elif given.threshold != "match_edges":
        most = min(most, Fraction(MAX_EXPONENT * given.steps, given.threshold))
    rule = f"give one pair of adjacency an epsilon from 1/1000 to {float(most):.6g}"
    require(_MIN <= own <= most, "privacy.budget", rule, f"{float(own):.3g}")
    n_pairs = n * (n - 1) // 2
    if config.privacy.model == "local":
        rule = f"be at most {MAX_REPORTERS} for reported bits, one for each pair"
        require(n <= MAX_REPORTERS, "graph.vertices", rule, n)
    elif given.threshold != "match_edges":
        false = n_pairs * float(threshold_law(config, n, epsilon, l1, 0).other_passes)
        rule = f"let at most {MAX_FALSE} false edges pass"
        require(false <= MAX_FALSE, "graph.adjacency.threshold", rule, f"one that lets about {false:.3g} pass")


def require_split(config: NetworkRelease, n: int) -> None:
    """Refuse a resolution with which the score of some graph would not fit 64 bits.

    Raises:
        ConfigError: naming `graph.split.resolution`.
    """
    assert config.graph.split is not None
    resolution, name = config.graph.split.resolution, "graph.split.resolution"
    require(resolution >= 0, name, "be at least 0", resolution)
    most = MAX_SCORE // max(n * (n - 1) // 2, 1)
    rule = f"be a fraction of whole numbers up to {most}, so that scores of {n} vertices fit 64 bits"
    short = max(resolution.numerator, resolution.denominator) <= most
    require(short, name, rule, resolution if len(str(resolution)) < 60 else "a longer one")


def choice_rate(epsilon: Fraction, sensitivity: int, unit: int) -> Fraction:
    """Rate of the exponential mechanism; ``unit`` is how much one edge counts in the score."""
    return exponential_rate(epsilon, Fraction(sensitivity * unit), monotone=True)


def score_unit(config: NetworkRelease, statistic: Statistic) -> int:
    """How much one edge counts in the score of a choice."""
    split = config.graph.split
    return split.resolution.denominator if statistic is Statistic.SPLIT and split is not None else 1


def choice_gap(rate: Fraction, n_candidates: int) -> float:
    """With probability 95 % the chosen score is at most so far below the best one: ln(k / 0.05) / rate.

    (McSherry, Talwar, FOCS 2007: a score s below the best is chosen with probability at most e^(-rate s).)
    """
    return log(n_candidates / 0.05) / float(rate)


def reported_degrees(local: LocalSettings) -> Sensitivity:
    """How much one edge moves all reported degrees together."""
    return Sensitivity(2, 2) if local.counting == "both_ends" else Sensitivity(1, 1)


def require_local(config: NetworkRelease, bound: DegreeBound, wanted: Sequence[Statistic]) -> None:
    """Refuse what the local model does not have.

    Raises:
        ConfigError: naming the setting.
    """
    reported = ", ".join(LOCAL_REPORTS)
    for statistic in wanted:
        rule = f"be reported by a vertex in the local model ({reported}); others are estimated from these"
        require(statistic in LOCAL_REPORTS, f"graph.statistics.{statistic}", rule, statistic)
    neighbors = config.privacy.neighbors
    require(neighbors == "edge", "privacy.neighbors", "be edge in the local model", neighbors)
    pure = config.privacy.mechanism is Law.LAPLACE
    require(pure, "privacy.budget", "be epsilon alone in the local model", "another")
    bounding = bound.bounding
    rule = "be none or promised in the local model: nobody sees the graph that a projection would cut"
    require(bounding is not Bounding.PROJECTED, "graph.degree_bound.bounding", rule, bounding)


def require_reported(wanted: Sequence[Statistic], reported: AbstractSet[str]) -> None:
    """Refuse reports that tell something else (degree, bits) than the statistics that are asked for.

    Raises:
        ConfigError: naming the column.
    """
    columns = {Statistic.DEGREE_SEQUENCE: "degree", Statistic.ADJACENCY: "bits"}
    needed = {columns[each] for each in wanted}
    for role in sorted(needed ^ reported):
        rule = "be set where" if role in needed else "be absent where no"
        state = "nothing" if role in needed else "a column"
        require(False, f"input.columns.{role}", f"{rule} {role} is among graph.statistics", state)
