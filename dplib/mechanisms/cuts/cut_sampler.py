"""Near-minimum cuts of a private graph of any size: the exponential mechanism over all cuts, up to a stated delta.

What is released (the numbers are those of `dplib.mechanisms.cuts.cut_sampler_plan`):

1. the minimum cut value with discrete Laplace noise of scale ``W / value_epsilon``;
2. if it is below the gate, a refusal, or a padding: i of the unit edges of a public cycle are added, i drawn by the
   exponential mechanism with loss ``|Phi(G + H_i) - T|``, which a unit moves by at most W in either direction;
3. k independent draws, with replacement, from P(S) proportional to ``e^(-eps0 w(S) / W)`` over *all* cuts S of G^ (the
   graph, padded or not), equal draws published once;
4. where asked for, the weights of the drawn cuts with noise; the padding's known weight is subtracted afterwards.

Guarantee, for edge neighbours (one pair's weight differs by at most W): that of `SamplerPlan.guarantee`. Proof: the
ideal release draws from all ``2^(n - 1) - 1`` cuts. Its steps compose: (1) is a Laplace mechanism; the choice after it
reads a released number; (2) and (3) are exponential mechanisms over fixed ranges, the losses of (3) monotone, hence
eps0-private and (eps0^2 / 8)-zCDP a draw; (4) measures at most k weights of cuts that are public by then. What is done
differs from the ideal release on no input by more in total variation than `SamplerPlan.failure`: a graph whose minimum
cut is below ``lowest`` passes the gate with probability at most `gate_failure`, stays below it after padding with at
most `padding_failure`, and otherwise only cuts above the bound B are left out, which k draws meet with probability at
most `bound_failure`. Two distances of eta to neighbours' ideal releases cost ``(1 + e^epsilon) eta`` of delta. The cuts
up to B depend on the data, and may: they implement a mechanism with a fixed range. Where G^ is weak all the same, a
fixed cut is returned, since a failure would be an output too.

Exactness: no floating-point number takes part in a draw. The drawn cuts are sorted, so that neither their order nor the
method of their enumeration shows. How long a run takes, and how much memory, depends on the graph and is no output.

References: see `dplib.mechanisms.cuts.cut_sampler_plan`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.mechanisms.cuts.cut_draws import CutSource, sorted_cuts
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.mechanisms.exponential import draw_weighted, exponential_rate
from dplib.mechanisms.tree_counts import add_noise
from dplib.randomness.integers import BitSource, bernoulli_exp, uniform_below
from dplib.randomness.keyed import Key, KeyedStream
from dplib.validate import at_least


class PaddedGraph(Protocol):
    """What the sampler asks of the private graph with the first ``padding`` edges of the public cycle added."""

    def minimum_cut(self, padding: int, /) -> int:
        """The minimum cut value."""

    def cuts_up_to(self, padding: int, bound: int, rate: Fraction, /) -> CutSource | None:
        """All cuts of weight at most ``bound``, to draw from at a rate; None where a random enumeration found none.

        None may be missing and nothing may fail: the guarantee counts on it. It is asked only for bounds up to the
        plan's ratio times the minimum cut value; a random enumeration's failure probability has to be added to delta.
        """

    def weight(self, padding: int, side: BoolArray, /) -> int:
        """The weight of one cut, ``side`` of shape (n_vertices,)."""


@dataclass(frozen=True, eq=False)
class SampledCuts:
    """The release.

    Attributes:
        noisy_value: the minimum cut value of the graph with noise.
        refused: whether it was too small to go on; then there are no cuts, and the budget is spent.
        padding: how many edges of the public cycle were added.
        sides: the different drawn cuts, True for the side without vertex 0, shape (n_cuts, n_vertices), sorted.
        noisy_weights: their weights in the graph without padding, with noise, shape (n_cuts,); None if not asked for.
    """

    noisy_value: int
    refused: bool
    padding: int
    sides: BoolArray
    noisy_weights: IntArray | None


def sample_cuts(graph: PaddedGraph, plan: SamplerPlan, key: Key, statistic: str) -> SampledCuts:
    """Release near-minimum cuts; see the module's statement. The key must depend on the whole graph.

    The same comes of the same key and graph, whatever the order of the enumerated cuts.
    """
    scale = plan.weight_cap / plan.value_epsilon
    noise = draw_discrete_laplace(KeyedStream(key, statistic, "minimum cut value"), scale, 1)
    noisy_value = graph.minimum_cut(0) + int(noise[0])
    padding = 0
    if noisy_value < plan.gate:
        if plan.when_small == "refuse":
            return SampledCuts(noisy_value, True, 0, np.zeros((0, plan.n_vertices), dtype=np.bool_), None)
        padding = draw_padding(KeyedStream(key, statistic, "padding"), graph.minimum_cut, plan)
    weights, sides = _draw(graph, padding, plan, KeyedStream(key, statistic, "draws"))
    if plan.values_noise is None:
        return SampledCuts(noisy_value, False, padding, sides, None)
    noisy = add_noise(weights, plan.values_noise, KeyedStream(key, statistic, "weights"))
    return SampledCuts(noisy_value, False, padding, sides, noisy - cycle_weight(sides, padding))


def _draw(graph: PaddedGraph, padding: int, plan: SamplerPlan, stream: BitSource) -> tuple[IntArray, BoolArray]:
    """The different cuts among k draws, sorted, with their weights in the padded graph."""
    value = graph.minimum_cut(padding)
    if value < plan.lowest:
        return _fixed_cut(graph, padding, plan)
    cuts = graph.cuts_up_to(padding, plan.bound(value), plan.rate)
    if cuts is None:
        return _fixed_cut(graph, padding, plan)
    weights, packed = sorted_cuts(*cuts.draw(stream, plan.n_draws))
    different = np.ones(len(packed), dtype=np.bool_)
    different[1:] = (packed[1:] != packed[:-1]).any(axis=1)
    vertex = np.arange(plan.n_vertices)
    bits = packed[different][:, vertex // 64] >> (vertex % 64).astype(np.uint64) & np.uint64(1)
    return weights[different], bits.astype(np.bool_)


def _fixed_cut(graph: PaddedGraph, padding: int, plan: SamplerPlan) -> tuple[IntArray, BoolArray]:
    """What is returned instead of a failure: the last vertex alone."""
    last = np.arange(plan.n_vertices) == plan.n_vertices - 1
    return np.array([graph.weight(padding, last)], dtype=np.int64), last[np.newaxis]


def draw_padding(stream: BitSource, minimum_cut: Callable[[int], int], plan: SamplerPlan) -> int:
    """Draw how many edges of the public cycle to add: exponential mechanism with loss ``|Phi(G + H_i) - T|``.

    Exact, though few of the losses are looked at. Phi does not fall with i, so that between two paddings whose Phi are
    known the loss is at least the least loss between the two. A part of the paddings is drawn by these bounds, a
    padding of it uniformly, and kept with the chance ``e^(-rate (loss - bound))``: at every turn, whatever is known by
    then, i is kept with a chance proportional to ``e^(-rate loss)``. What was looked at makes the bounds sharper.

    Args:
        stream: where the bits come from.
        minimum_cut: value of the graph with the first i edges added, non-decreasing in i.
        plan: gives T, W and the budget.
    """
    n_edges = plan.n_vertices * plan.target // 2
    rate = exponential_rate(plan.padding_epsilon, Fraction(plan.weight_cap), monotone=False)
    known = _around(minimum_cut, n_edges, plan.target)
    while True:
        ends = sorted(known)
        # A known padding is a part of its own, and so is what lies between two.
        parts = [(end, 1, abs(known[end] - plan.target)) for end in ends]
        for low, high in pairwise(ends):
            if high > low + 1:
                bound = max(plan.target - known[high], known[low] - plan.target, 0)
                parts.append((low + 1, high - low - 1, bound))
        parts.sort(key=lambda part: (part[2], part[0]))
        _, lengths, bounds = zip(*parts, strict=True)
        start, length, bound = parts[int(draw_weighted(stream, bounds, lengths, rate)[0])]
        padding = start + int(uniform_below(stream, length, 1)[0])
        if padding not in known:
            known[padding] = minimum_cut(padding)
        loss = abs(known[padding] - plan.target)
        if bernoulli_exp(stream, rate * (loss - bound), 1)[0]:
            return padding


def _around(minimum_cut: Callable[[int], int], n_edges: int, target: int) -> dict[int, int]:
    """The values at both ends and at what bisection for the target looks at: some ``log2(n_edges)`` minimum cuts."""
    known = {end: minimum_cut(end) for end in (0, at_least("n_edges", n_edges, 0))}
    low, high = 0, n_edges
    while high - low > 1 and known[low] < target:
        middle = (low + high) // 2
        known[middle] = minimum_cut(middle)
        low, high = (middle, high) if known[middle] < target else (low, middle)
    return known


def cycle_edges(n_vertices: int, padding: int) -> tuple[IntArray, IntArray, IntArray]:
    """The first ``padding`` unit edges of the public cycle, laid round after round.

    Returns:
        Ends and weights of the pairs (p, p + 1 mod n), each of shape (n_vertices,); with two vertices both pairs are
        the same one and their weights add up. A weight may be 0.
    """
    at_least("n_vertices", n_vertices, 2)
    pair = np.arange(n_vertices)
    rounds, rest = divmod(at_least("padding", padding, 0), n_vertices)
    return pair, (pair + 1) % n_vertices, rounds + (pair < rest).astype(np.int64)


def cycle_weight(sides: BoolArray, padding: int) -> IntArray:
    """The weight of cuts in the public cycle's first ``padding`` edges, shape (n_cuts,)."""
    source, target, weight = cycle_edges(sides.shape[1], padding)
    return (sides[:, source] ^ sides[:, target]).astype(np.int64) @ weight
