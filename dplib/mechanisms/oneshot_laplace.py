"""The k candidates of smallest loss by one round of Laplace noise (oneshot), for comparison with peeling.

Independent continuous Laplace noise of one scale is added to every loss once; the *set* of the k smallest is
published, without order and without values. The losses of two neighbours differ by at most D each.

Guarantee, only inside the theorem's conditions (outside them `oneshot_scale` refuses):

- approximate: theorem 1.1 of Qiao, Su and Zhang with scale ``lambda = 8 D sqrt(k ln(m / delta)) / epsilon`` is
  (epsilon, delta)-private for epsilon <= 0.2, delta <= 0.05 and m >= 2 candidates. Rounding lambda up is the theorem
  for a smaller epsilon, hence covered.
- pure: ``lambda = 2 k D / epsilon``. Proof: let S be the set under losses s and move the noises of S by -2 D. Under s'
  every noisy loss of S is then at most what it was minus D, every other at least what it was minus D, so S is the set
  again; the density of the k moved noises changed by at most e^(2 k D / lambda) = e^epsilon.

The set has no values: fresh noise of the same scale on them is not what the theorem analyses; they are published with
noise of their own at a charge of its own (`dplib.mechanisms.top_k`). With probability 1 - beta every chosen loss is
within ``2 lambda ln(m / beta)`` of the k-th smallest (`oneshot_error`); that is far worse than peeling at small k.

Exactness. The noise is the continuous law the theorem is about, revealed lazily: a sign, the integer part of the
magnitude on a grid of 1/16 (geometric), and further binary digits, which are independent, digit 2^-i being 1 with
probability ``1 / (1 + e^(2^-i / lambda))``, only where the k-th place is contested. Statistical distance 0.

References:
    Qiao, Su, Zhang: Oneshot differentially private top-k selection. ICML 2021.
    Dwork, Su, Zhang: Differentially private false discovery rate control. JPC 11(2), 2021 (oneshot, earlier form).
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.mechanisms.discrete_laplace import MAX_SCALE, draw_geometric
from dplib.privacy.budget import ApproxDP, PureDP
from dplib.privacy.rounding import log_above, round_up, sqrt_above
from dplib.randomness.digits import Logistic
from dplib.randomness.integers import BernoulliTable, BitSource
from dplib.validate import between, positive, require

MAX_EPSILON, MAX_DELTA = Fraction(1, 5), Fraction(1, 20)
_GRID_BITS = 4
_CHUNK = 16384


def oneshot_scale(
    budget: PureDP | ApproxDP, k: int, n_candidates: int, sensitivity: Fraction = Fraction(1)
) -> Fraction:
    """The scale lambda of the noise, in units of the loss, rounded up to 15 digits.

    Raises:
        ConfigError: outside the conditions of the theorem, by the name of the condition.
    """
    positive("sensitivity", sensitivity)
    require(n_candidates >= 2, "n_candidates", "be at least 2 for oneshot Laplace", n_candidates)
    require(1 <= k <= n_candidates, "k", f"lie between 1 and the {n_candidates} candidates", k)
    if isinstance(budget, PureDP):
        return 2 * k * sensitivity / budget.epsilon
    rule = "be at most {} for oneshot Laplace (theorem of Qiao, Su and Zhang; peeling has no such limit)"
    require(budget.epsilon <= MAX_EPSILON, "epsilon", rule.format("0.2"), budget.epsilon)
    require(budget.delta <= MAX_DELTA, "delta", rule.format("0.05"), budget.delta)
    return round_up(8 * sensitivity * sqrt_above(k * log_above(n_candidates / budget.delta)) / budget.epsilon)


def oneshot_error(scale: Fraction, n_candidates: int, beta: float) -> float:
    """How far a chosen loss may lie above the k-th smallest, with probability 1 - beta: ``2 lambda ln(m / beta)``.

    Proof: no noise exceeds ``lambda ln(m / beta)`` in magnitude but with probability beta (union bound).
    """
    between("beta", beta, 0.0, 1.0)
    return float(2 * scale) * float(np.log(n_candidates / beta))


def draw_oneshot(stream: BitSource, losses: IntArray, k: int, scale: Fraction) -> IntArray:
    """Draw the set of the k smallest noisy losses (int64, below 2^58 in magnitude), at a scale of at most 2^36.

    Returns:
        Positions of the set in increasing order, shape (k,).

    Raises:
        ConfigError: if the losses are no 64-bit integers, too few, or the scale is too large.
    """
    require(losses.dtype == np.int64 and losses.ndim == 1, "losses", "be 64-bit integers", losses.dtype)
    require(1 <= k <= len(losses), "k", f"lie between 1 and the {len(losses)} candidates", k)
    fine = positive("scale", Fraction(scale)) * 2**_GRID_BITS
    require(fine <= MAX_SCALE, "scale", "be at most 2^36", scale)
    magnitudes, negative = _noise_cells(stream, fine, len(losses))
    # The noisy loss lies in [cell, cell + 1] on the grid: a negative noise of magnitude in [g, g + 1) in -g - 1.
    cells = (losses << _GRID_BITS) + np.where(negative, -magnitudes - 1, magnitudes)
    last = np.partition(cells, k - 1)[k - 1]
    chosen = np.flatnonzero(cells < last)
    contested = np.flatnonzero(cells == last)
    won = _smallest_in_cell(stream, negative[contested], k - len(chosen), fine)
    return np.sort(np.concatenate([chosen, contested[won]]))


def _noise_cells(stream: BitSource, fine: Fraction, size: int) -> tuple[IntArray, BoolArray]:
    magnitudes = np.empty(size, dtype=np.int64)
    negative = np.empty(size, dtype=np.bool_)
    for start in range(0, size, _CHUNK):
        here = slice(start, min(start + _CHUNK, size))
        count = here.stop - start
        magnitudes[here] = draw_geometric(stream, fine, count)
        negative[here] = stream.uint16(count) & 1 == 1
    return magnitudes, negative


def _smallest_in_cell(stream: BitSource, negative: BoolArray, wanted: int, fine: Fraction) -> IntArray:
    """Which ``wanted`` of the noises in one cell of the grid are smallest, by their further binary digits."""
    won: list[IntArray] = []
    contested = np.arange(len(negative))
    width = Fraction(1)
    while wanted < len(contested):
        width /= 2
        digit = _further_digit(width / fine).draw(stream, len(contested))[0]
        # A digit 1 makes a positive noise larger and a negative one smaller.
        larger = digit ^ negative[contested]
        smaller = contested[~larger]
        if len(smaller) >= wanted:
            contested = smaller
        else:
            won.append(smaller)
            wanted -= len(smaller)
            contested = contested[larger]
    return np.concatenate([*won, contested])


@lru_cache(maxsize=256)
def _further_digit(rate: Fraction) -> BernoulliTable:
    """Kept, since the draws of one scale ask for the same digits."""
    return BernoulliTable.from_laws(Logistic(rate))
