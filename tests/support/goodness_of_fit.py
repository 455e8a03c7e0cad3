"""Statistical tests of integer noise and of privacy claims.

The tests are keyed, hence deterministic; the cuts only say how surprising a keyed outcome may be. `PASS` is for the
law that should hold, `REJECT` for one that should not: between them lies the gap that makes a test worth having.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from dplib.arrays import FloatArray, IntArray

Law = Callable[[IntArray], FloatArray]

PASS = 1e-9
REJECT = 1e-15


def pearson_p_value(observed: FloatArray, expected: FloatArray, least: float = 10.0) -> float:
    """P-value of Pearson's test; cells that expect fewer than ``least`` are joined."""
    rare = expected < least
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1:
        # A cell that must stay empty is no normal variable.
        assert observed[-1] <= 20
        expected, observed = expected[:-1] * observed.sum() / expected[:-1].sum(), observed[:-1]
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


def chi_square_p_value(draws: IntArray, law: Law, least_expected: float = 25.0) -> float:
    """P-value of Pearson's test of draws from a symmetric law that falls away from 0.

    Every integer with an expected count of at least ``least_expected`` is a cell; the two tails join the outermost.
    """
    n = len(draws)
    reach = 1
    while n * law(np.array([reach]))[0] >= least_expected:
        reach *= 2
    half = int(np.count_nonzero(n * law(np.arange(1, reach + 1)) >= least_expected))
    expected = n * law(np.arange(-half, half + 1))
    tail = (n - expected.sum()) / 2
    expected[0] += tail
    expected[-1] += tail
    if half == 0:
        # One cell cannot tell anything; zero against the rest can.
        centre = n * law(np.array([0]))[0]
        expected = np.array([centre, n - centre])
        observed = np.array([np.count_nonzero(draws == 0), np.count_nonzero(draws)])
    else:
        observed = np.bincount(np.clip(draws, -half, half) + half, minlength=2 * half + 1)
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


def kolmogorov_p_value(draws: IntArray, law: Law) -> float:
    """Upper bound of the p-value of the largest gap between the distribution functions, valid for discrete laws.

    Massart: The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality. Annals of Probability 18(3), 1990.
    """
    reach = int(np.abs(draws).max()) + 1
    observed = np.cumsum(np.bincount(draws + reach, minlength=2 * reach + 1)) / len(draws)
    probability = law(np.arange(-reach, reach + 1))
    below = (1 - probability.sum()) / 2
    gap = np.abs(observed - below - np.cumsum(probability)).max()
    return float(min(1.0, 2 * np.exp(-2 * len(draws) * gap**2)))


def clopper_pearson(hits: npt.ArrayLike, runs: int, error: float) -> tuple[FloatArray, FloatArray]:
    """Bounds of probabilities, each wrong with probability at most ``error``, of the shape of ``hits``."""
    hits = np.asarray(hits)
    low = special.betaincinv(hits, runs - hits + 1.0, error)
    high = special.betainccinv(hits + 1.0, runs - hits, error)
    return np.where(hits > 0, low, 0.0), np.where(hits < runs, high, 1.0)


def epsilon_lower_bound(first: FloatArray, second: FloatArray, delta: float = 0.0, error: float = 1e-6) -> float:
    """Lower bound of the epsilon of a mechanism, from scores of its outputs on two neighbouring inputs.

    The event {score >= threshold} is chosen on a third of the runs and judged on the others, so the choice costs no
    confidence: the bound is wrong with probability at most 2 * ``error``. 300 runs see what 400 see by halves.

    Args:
        first: scores on one input, higher where the output speaks for this input, shape (runs,).
        second: scores on the other input, shape (runs,).
        delta: the delta of the claim.
        error: see above.
    """
    choose, judge = slice(0, len(first) // 3), slice(len(first) // 3, None)
    thresholds = np.unique(np.quantile(np.concatenate([first[choose], second[choose]]), np.linspace(0, 1, 101)))
    bounds = _bounds(first[choose], second[choose], thresholds, delta, error)
    return float(_bounds(first[judge], second[judge], thresholds[[np.argmax(bounds)]], delta, error)[0])


def epsilon_between(first: FloatArray, second: FloatArray, delta: float = 0.0, error: float = 1e-6) -> float:
    """The larger of the lower bounds for the two orders of the inputs; scores as in `epsilon_lower_bound`."""
    return max(epsilon_lower_bound(first, second, delta, error), epsilon_lower_bound(-second, -first, delta, error))


def _bounds(first: FloatArray, second: FloatArray, thresholds: FloatArray, delta: float, error: float) -> FloatArray:
    """The bound that each threshold gives."""
    low, _ = clopper_pearson(_n_from(first, thresholds), len(first), error)
    _, high = clopper_pearson(_n_from(second, thresholds), len(second), error)
    return np.log(np.maximum(low - delta, 1e-300) / high)


def _n_from(scores: FloatArray, thresholds: FloatArray) -> IntArray:
    """How many scores reach each threshold."""
    return len(scores) - np.searchsorted(np.sort(scores), thresholds)
