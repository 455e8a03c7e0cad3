"""Exact audits of the releases about minimum cuts: hockey-stick divergences over families of neighbouring graphs.

A family is every neighbouring pair made from some graphs by one pair of vertices heavier by ``step``. Pairs whose cuts
carry the same weights and moves, up to the order of the cuts, have the same divergences: they are counted, but only
one of each class is computed. Noise that is discrete Laplace is summed in closed form, over the few ranges in which the
ratio of the two masses is constant, so nothing is cut off.

Every audit takes what the mechanism *believes* of the data (its sensitivity, its bound), which defaults to the truth;
with another belief the claim is false, and the audit has to say so.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from scipy.special import logsumexp

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.cuts.cut_statistics import (
    GRID,
    count_sensitivity,
    count_steps,
    soft_count_sensitivity,
    soft_count_steps,
)
from dplib.mechanisms.discrete_gaussian import discrete_gaussian_probability
from dplib.mechanisms.exponential import exponential_rate
from dplib.mechanisms.oneshot_laplace import oneshot_scale
from dplib.mechanisms.top_k import draw_epsilon
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP
from dplib.privacy.calibration import discrete_laplace_scale, epsilon_from_rho, gaussian_sigma_squared
from tests.support.cut_mechanism_laws import all_cuts, minimum_and_number, oneshot_two, peel_two, softmin

ROUNDING = 1e-9


@dataclass(frozen=True)
class Neighbours:
    """All neighbouring pairs made from some graphs, one of each class.

    Attributes:
        n: vertices.
        step: how much heavier one pair of vertices is in the second graph.
        pairs: how many neighbouring pairs the classes stand for.
        before: weights of all cuts, shape (n_classes, n_cuts).
        after: the same for the second graph.
    """

    n: int
    step: int
    pairs: int
    before: IntArray
    after: IntArray


@dataclass(frozen=True)
class Audit:
    """The largest divergence at the claimed epsilon, against the claimed delta (0 for a pure claim)."""

    mechanism: str
    pairs: int
    epsilon: float
    delta: float
    worst: float

    @property
    def holds(self) -> bool:
        """Whether no divergence exceeds the claim."""
        return self.worst <= self.delta + ROUNDING


def neighbouring(n: int, pair_weights: IntArray, step: int = 1) -> Neighbours:
    """The family of graphs with these weights of all pairs, shape (n_graphs, n_pairs).

    The cut of the last vertex alone keeps its place in a class: it is the one that the sampler falls back on.
    """
    random = np.random.default_rng(1)
    n_pairs = comb(n, 2)
    cuts = all_cuts(n, pair_weights)
    rest, last = np.delete(np.arange(cuts.shape[1]), fallback(cuts.shape[1])), fallback(cuts.shape[1])
    # The sum of random words does not depend on the order of the cuts.
    words = random.integers(0, 2**63, (2, 2, int(cuts.max()) + 1), dtype=np.int64)
    found, rows = [], np.arange(len(cuts))
    for pair in range(n_pairs):
        crossed = all_cuts(n, np.eye(n_pairs, dtype=np.int64)[pair])
        here = words[0, crossed[rest], cuts[:, rest]].sum(axis=1) + words[1, crossed[last], cuts[:, last]]
        first = np.unique(here, return_index=True)[1]
        found.append((here[first], rows[first], np.full(len(first), pair)))
    codes, graph, pair = (np.concatenate(part) for part in zip(*found, strict=True))
    first = np.unique(codes, return_index=True)[1]
    crossed = all_cuts(n, np.eye(n_pairs, dtype=np.int64))[pair[first]]
    before = cuts[graph[first]]
    return Neighbours(n, step, len(cuts) * n_pairs, before, before + step * crossed)


def fallback(n_cuts: int) -> int:
    """The place of the cut of the last vertex alone in `all_sides`."""
    return (n_cuts - 1) // 2


def hockey(p: FloatArray, q: FloatArray, epsilon: float) -> float:
    """The largest divergence over rows, in either direction."""
    factor = np.exp(epsilon)
    one, other = (np.maximum(a - factor * b, 0).sum(axis=-1).max() for a, b in ((p, q), (q, p)))
    return float(max(one, other))


def _tail(k: FloatArray, scale: float) -> FloatArray:
    """P(X >= k) for discrete Laplace noise; any k, infinite ones too."""
    q = np.exp(-1 / scale)
    return np.asarray(np.where(k > 0, q ** np.maximum(k, 0), 1 + q - q ** np.maximum(1 - k, 0)) / (1 + q))


def laplace_ranges(
    a: IntArray, b: IntArray, scale: float, low: float = -np.inf, high: float = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Masses of discrete Laplace noise around a and b on ranges of constant ratio within low <= k < high.

    Returns:
        Two arrays of shape (len(a), n_ranges).
    """
    least, widest = np.minimum(a, b), int(np.abs(a - b).max())
    edges = [np.full(len(a), -np.inf), *(least + 1.0 + d for d in range(widest)), np.full(len(a), np.inf)]
    cut = np.clip(np.stack(edges, axis=1), low, high)
    tails = [_tail(cut - centre[:, None], scale) for centre in (a, b)]
    return tails[0][:, :-1] - tails[0][:, 1:], tails[1][:, :-1] - tails[1][:, 1:]


def shifted(a: IntArray, b: IntArray, scale: float, epsilon: float) -> float:
    """The largest divergence of integers with discrete Laplace noise, a against b."""
    return hockey(*laplace_ranges(a, b, scale), epsilon)


def worst_of(
    mechanism: str,
    families: list[Neighbours],
    claim: tuple[float, float],
    divergence: Callable[[Neighbours], float],
) -> Audit:
    """The worst of several families."""
    worst = max(divergence(family) for family in families)
    return Audit(mechanism, sum(family.pairs for family in families), *claim, worst)


def chunks(*arrays: IntArray, size: int) -> Iterator[tuple[IntArray, ...]]:
    """Rows, a few at a time."""
    for start in range(0, len(arrays[0]), size):
        yield tuple(array[start : start + size] for array in arrays)


def value(families: list[Neighbours], epsilon: Fraction, cap: int, believed: int | None = None) -> Audit:
    """The minimum cut value with noise of scale W / epsilon."""
    scale = float(discrete_laplace_scale(Fraction(believed or cap), epsilon))

    def divergence(family: Neighbours) -> float:
        values = np.unique(np.stack([family.before.min(axis=1), family.after.min(axis=1)]), axis=1)
        return shifted(values[0], values[1], scale, float(epsilon))

    return worst_of("value", families, (float(epsilon), 0.0), divergence)


def synthetic(families: list[Neighbours], epsilon: Fraction, cap: int, believed: int | None = None) -> Audit:
    """The noisy weights of all pairs: one coordinate moves by the step, whatever the graph; the others cancel."""
    scale = float(discrete_laplace_scale(Fraction(believed or cap), epsilon))

    def divergence(family: Neighbours) -> float:
        return shifted(np.array([0]), np.array([family.step]), scale, float(epsilon))

    return worst_of("synthetic graph", families, (float(epsilon), 0.0), divergence)


def processed_synthetic(epsilon: Fraction, reach: int = 30) -> Audit:
    """What is made of a synthetic graph of 3 vertices: its minimum cuts and their value after clipping.

    Summed over all noises up to ``reach`` scales in magnitude; the others hold less than the rounding.
    """
    scale = float(discrete_laplace_scale(Fraction(1), epsilon))
    noisy = np.stack(np.meshgrid(*[np.arange(-int(reach * scale), int(reach * scale) + 4)] * 3), axis=-1).reshape(-1, 3)
    cuts = all_cuts(3, np.maximum(noisy, 0))
    least = cuts.min(axis=1)
    outcome = 8 * least + (cuts == least[:, None]) @ np.array([1, 2, 4])

    def law(weights: IntArray) -> FloatArray:
        mass = np.exp(-np.abs(noisy - weights).sum(axis=1) / scale) * np.tanh(1 / (2 * scale)) ** 3
        return np.bincount(outcome, mass)

    graphs = np.array(np.meshgrid(*[np.arange(3)] * 3)).reshape(3, -1).T
    moves = np.eye(3, dtype=np.int64)
    worst = max(hockey(law(row), law(row + move), float(epsilon)) for row in graphs for move in moves)
    return Audit("cuts of a synthetic graph", 3 * len(graphs), float(epsilon), 0.0, worst)


def peeling(families: list[Neighbours], budget: PureDP | ZCDP, cap: int, believed: int | None = None) -> Audit:
    """Two cuts without replacement; zCDP also by Renyi divergences, whose excess counts as a divergence."""
    rate = float(exponential_rate(draw_epsilon(budget, 2), Fraction(believed or cap), monotone=True))
    delta = Fraction(0) if isinstance(budget, PureDP) else Fraction(1, 100)
    epsilon = budget.epsilon if isinstance(budget, PureDP) else epsilon_from_rho(budget.rho, delta)

    def divergence(family: Neighbours) -> float:
        worst = 0.0
        for before, after in chunks(family.before, family.after, size=2000):
            p, q = peel_two(before, rate), peel_two(after, rate)
            worst = max(worst, hockey(p, q, float(epsilon)))
            if isinstance(budget, ZCDP):
                worst = max(worst, renyi_excess(p, q, float(budget.rho)))
        return worst

    kind = "pure" if isinstance(budget, PureDP) else "zCDP"
    return worst_of(f"top-k by peeling, {kind}", families, (float(epsilon), float(delta)), divergence)


def noise_laws(
    before: IntArray, after: IntArray, budget: PureDP | ZCDP, sensitivity: Fraction
) -> tuple[FloatArray, FloatArray]:
    """Masses of each number with noise, by range of constant ratio or by value; shape (numbers, masses)."""
    if isinstance(budget, PureDP):
        scale = float(discrete_laplace_scale(sensitivity, budget.epsilon))
        return laplace_ranges(before.ravel(), after.ravel(), scale)
    square = gaussian_sigma_squared(sensitivity**2, budget.rho)
    reach = int(12 * float(square) ** 0.5) + 2
    k = np.arange(-reach, reach + 1) + np.zeros((before.size, 1), dtype=np.int64)
    moved = (after - before).reshape(-1, 1)
    return discrete_gaussian_probability(k, square), discrete_gaussian_probability(k - moved, square)


def measured(families: list[Neighbours], budget: PureDP | ZCDP, cap: int, believed: int | None = None) -> Audit:
    """One cut and its weight with noise, half of the budget each; ``believed`` of the weight alone."""
    half = budget.scaled(Fraction(1, 2))
    rate = float(exponential_rate(draw_epsilon(half, 1), Fraction(cap), monotone=True))
    delta = Fraction(0) if isinstance(budget, PureDP) else Fraction(1, 100)
    epsilon = budget.epsilon if isinstance(budget, PureDP) else epsilon_from_rho(budget.rho, delta)

    def divergence(family: Neighbours) -> float:
        worst = 0.0
        for before, after in chunks(family.before, family.after, size=500):
            laws = [
                (softmin(cuts, rate)[:, :, None] * noise.reshape(*cuts.shape, -1)).reshape(len(cuts), -1)
                for cuts, noise in zip(
                    (before, after), noise_laws(before, after, half, Fraction(believed or cap)), strict=True
                )
            ]
            worst = max(worst, hockey(laws[0], laws[1], float(epsilon)))
        return worst

    kind = "pure" if isinstance(budget, PureDP) else "zCDP"
    return worst_of(f"a chosen cut and its weight, {kind}", families, (float(epsilon), float(delta)), divergence)


def renyi_excess(p: FloatArray, q: FloatArray, rho: float) -> float:
    """1 where some Renyi divergence exceeds alpha rho, else 0."""
    logs = np.log(p), np.log(q)
    for alpha in (1.25, 2.0, 8.0):
        for one, other in (logs, logs[::-1]):
            divergences = logsumexp(alpha * one + (1 - alpha) * other, axis=-1) / (alpha - 1)
            if not divergences.max() <= alpha * rho + ROUNDING:
                return 1.0
    return 0.0


def oneshot(families: list[Neighbours], budget: PureDP | ApproxDP, cap: int, believed: Fraction | None = None) -> Audit:
    """The set of two by one round of continuous Laplace noise, by integration good to some 1e-12."""
    delta = budget.delta if isinstance(budget, ApproxDP) else Fraction(0)
    sensitivity = Fraction(cap) if believed is None else believed

    def divergence(family: Neighbours) -> float:
        scale = float(oneshot_scale(budget, 2, family.before.shape[1], sensitivity))
        worst = 0.0
        for before, after in chunks(family.before, family.after, size=400):
            p, q = oneshot_two(before, scale), oneshot_two(after, scale)
            assert max(np.abs(law.sum(axis=1) - 1).max() for law in (p, q)) < 1e-10
            worst = max(worst, hockey(p, q, float(budget.epsilon)))
        return worst

    kind = "pure" if isinstance(budget, PureDP) else "approximate"
    return worst_of(f"top-k by oneshot Laplace, {kind}", families, (float(budget.epsilon), float(delta)), divergence)


def number(families: list[Neighbours], epsilon: Fraction, believed: int | None = None) -> Audit:
    """The number of minimum cuts on its logarithmic grid, with the unconditional sensitivity; for any step."""

    def divergence(family: Neighbours) -> float:
        scale = float(discrete_laplace_scale(Fraction(believed or count_sensitivity(family.n)), epsilon))
        counts = np.unique(np.stack([minimum_and_number(cuts)[1] for cuts in (family.before, family.after)]), axis=1)
        steps = np.array([[count_steps(int(count), family.n) for count in row] for row in counts])
        return max(shifted(a, b, scale, float(epsilon)) for a, b in zip(*steps[:, :, None], strict=True))

    return worst_of("number of minimum cuts", families, (float(epsilon), 0.0), divergence)


def soft_count(
    families: list[Neighbours], eta: Fraction, epsilon: Fraction, cap: int, believed: int | None = None
) -> Audit:
    """The soft count, in its exact steps where it moves most."""
    scale = float(discrete_laplace_scale(Fraction(soft_count_sensitivity(eta, believed or cap)), epsilon))

    def divergence(family: Neighbours) -> float:
        both = [cuts - cuts.min(axis=1, keepdims=True) for cuts in (family.before, family.after)]
        near = np.subtract(*(np.log(np.exp(-float(eta) * cuts).sum(axis=1)) for cuts in both))
        # Rounding to steps moves a difference by less than one step: the worst is among the largest, or one below.
        largest = np.argsort(-np.abs(near), kind="stable")[:15]
        steps = [[soft_count_steps(row, eta) for row in cuts[largest]] for cuts in both]
        worst = max(int(np.abs(np.subtract(*steps)).max()), int(GRID * np.abs(near).max() - ROUNDING))
        return shifted(np.array([0]), np.array([worst]), scale, float(epsilon))

    return worst_of("soft count", families, (float(epsilon), 0.0), divergence)


ONE = Fraction(1)
SCALED: dict[str, Callable[[list[Neighbours], int, int | None], Audit]] = {
    "value": lambda found, cap, believed: value(found, ONE, cap, believed),
    "synthetic graph": lambda found, cap, believed: synthetic(found, ONE, cap, believed),
    "peeling, pure": lambda found, cap, believed: peeling(found, PureDP(ONE), cap, believed),
    "peeling, zCDP": lambda found, cap, believed: peeling(found, ZCDP(ONE), cap, believed),
    "a cut and its weight, pure": lambda found, cap, believed: measured(found, PureDP(ONE), cap, believed),
    "a cut and its weight, zCDP": lambda found, cap, believed: measured(found, ZCDP(ONE), cap, believed),
    "soft count": lambda found, cap, believed: soft_count(found, Fraction(1, 2), ONE, cap, believed),
}
"""Audits of mechanisms whose noise scales with W: of families, W, and what the mechanism believes it to be."""
