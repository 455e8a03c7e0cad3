"""What the refused releases about minimum cuts would have disclosed, exactly: the counterexamples of the refusals."""

from fractions import Fraction
from itertools import combinations
from math import exp

import numpy as np

from dplib.arrays import IntArray
from dplib.mechanisms.cuts.cut_statistics import GRID, count_steps
from dplib.mechanisms.exponential import exponential_probability
from tests.support.cut_audit import Audit, Neighbours, hockey, laplace_ranges, worst_of
from tests.support.cut_mechanism_laws import all_cuts, minimum_and_number, softmin


def ring_with_pendant(n: int, pendant: int) -> IntArray:
    """Pair weights of lemma 4.1.1: a unit ring of n - 1 vertices and vertex 0 hanging on one of them."""
    edges = {(1, 2): 0} | {tuple(sorted((v, v + 1 if v < n - 1 else 1))): 1 for v in range(1, n)} | {(0, 1): pendant}
    return np.array([edges.get(pair, 0) for pair in combinations(range(n), 2)])


def scale_one_count(n: int, epsilon: float = 1.0) -> Audit:
    """``log2(M + 3 n)`` with noise of scale 1 / epsilon, on the ring with a pendant edge of weight 1 or 2."""
    counts = [int(minimum_and_number(all_cuts(n, ring_with_pendant(n, pendant)))[1]) for pendant in (1, 2)]
    steps = np.array([[count_steps(count, n)] for count in counts])
    return Audit("count_scale_one", 1, epsilon, 0.0, hockey(*laplace_ranges(*steps, GRID / epsilon), epsilon))


def found_candidates(families: list[Neighbours], epsilon: float = 0.5) -> Audit:
    """A draw from the cuts within 1.45 of the private minimum: an edge takes a candidate away."""

    def divergence(family: Neighbours) -> float:
        laws = []
        for cuts in (family.before, family.after):
            law = np.where(cuts <= 1.45 * cuts.min(axis=1, keepdims=True), softmin(cuts, epsilon), 0)
            laws.append(law / law.sum(axis=1, keepdims=True))
        return hockey(laws[0], laws[1], epsilon)

    return worst_of("top_k_over_found_cuts", families, (epsilon, 0.0), divergence)


def exact_number_as_k(families: list[Neighbours], epsilon: float = 1.0) -> Audit:
    """As many cuts as there are minimum cuts: their number is an event of probability 1 or 0."""

    def divergence(family: Neighbours) -> float:
        counts = [minimum_and_number(cuts)[1] for cuts in (family.before, family.after)]
        return float(np.any(counts[0] != counts[1]))

    return worst_of("count_as_k", families, (epsilon, 0.0), divergence)


def padded_candidates() -> tuple[float, float]:
    """The chance that a cut is a candidate of section 5.3, on a graph and on its neighbour, at epsilon 0.5.

    A heavy clique of 48 vertices, one vertex of weight 300 behind another. Cuts with a vertex of the clique on either
    side weigh too much to matter; the cycle is laid pair after pair, as much as the noisy choice says.
    """
    n, target, value = 50, 158, 300
    half = target // 2
    i = np.arange(1, n * half + 1)
    laid = np.clip(i[:, None] - half * np.arange(n), 0, half)  # pairs (p, p + 1 mod n)
    alone = value + laid[:, 48] + laid[:, 49]
    chance = []
    for extra in (0, 1):
        behind = 4 * value + extra + laid[:, 47] + laid[:, 49]
        other = 5 * value + extra + laid[:, 47] + laid[:, 48]  # vertex 48 alone: never the minimum
        least = np.minimum(alone, np.minimum(behind, other))
        law = exponential_probability(np.abs(least - target), Fraction(1, 4))
        chance.append(float(law[behind <= 4 * least].sum()))
    return chance[0], chance[1]


def padded_top_k(epsilon: float = 0.5) -> Audit:
    """The thesis's third algorithm: the index step publishes every candidate."""
    here, there = padded_candidates()
    return Audit("padded_top_k", 1, epsilon, 0.0, here - exp(epsilon) * there)
