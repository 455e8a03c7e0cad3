"""Numbers about the minimum cuts of a private graph: their value, how many there are, and a soft count.

Neighbours: one pair's weight differs by at most W, the public weight cap of one privacy unit. Weights are integers.

- **Value** Phi: adding w <= W to a pair raises Phi by 0 to w, also from or to disconnected graphs (Phi = 0).
  Sensitivity W, discrete Laplace noise of scale W / epsilon.
- **Number** M, clipped to C(n, 2) (more only with three or more components): ``log2(M + 3 n)`` has the sensitivity
  `count_sensitivity` over *all* neighbours, for any W. Proof: let G' have the heavier pair uv. If all minimum cuts
  of G separate u and v they form a chain, so they are s <= n - 1, and G' has at most s plus the minimum cuts of G with
  u, v contracted, C(n - 1, 2): the ratio ``(M' + 3 n) / (M + 3 n)`` is at most ``1 + C(n - 1, 2) / (3 n + 1)``, and the
  inverse ratio is at most ``(n - 1 + 3 n) / (1 + 3 n)``, which is no more for n >= 5. Else the value stays, no cut is
  won, and ``2 M' >= M - n + 1`` (design notes, theorem 4.2.3 sharpened) or, disconnected, ``2 M' + 1 >= M``: a ratio
  below 2. The formula is at least 2 from n = 10 on; for 5 <= n <= 9 the same-value ratio is smaller than it too
  (checked by brute force to n = 8 and in closed form), for n = 3 and 4 it is 6/5 and 9/7 by enumeration. Two vertices
  have one cut whatever the weights.
- **Soft count** ``ln sum_S e^(-eta (w(S) - Phi))``: eta Phi and minus ln of the sum's weights both rise by 0 to eta W
  when a pair gains w, so their difference moves by at most eta W. All cuts are in the sum.

Real numbers are rounded down to a public grid of `GRID` steps before noise, which adds less than a step: sensitivities
are counted in steps, rounded up, and the noise is discrete Laplace on the grid. No float takes part.

Utility: the number of minimum cuts is fragile, `COUNT_WARNING`; no private algorithm does better in the worst case,
since neighbours have 1 and ``C(n - 1, 2) + 1`` of them. The scale-1 variant is refused
(`dplib.mechanisms.cuts.rejected_releases`).

References: chapters 4 and 5 of the thesis that `dplib.graphs.cut_analysis.cactus_generation` follows, corrected; Dwork,
McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis. TCC 2006.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, floor, isqrt

import numpy as np

from dplib.arrays import IntArray
from dplib.mechanisms.exponential import count_losses
from dplib.privacy.rounding import log_below
from dplib.randomness.digits import ExpNegative
from dplib.validate import at_least, positive, require

GRID = 1 << 10
COUNT_WARNING = (
    "The number of minimum cuts is fragile: one edge can change it from 1 to (n - 1)(n - 2) / 2 + 1, so the noise is"
    " scaled to that and the answer is typically wrong by a factor of about (n / 6)^(1 / epsilon). Prefer"
    " soft_cut_count."
)
_SMALL = {3: Fraction(6, 5), 4: Fraction(9, 7)}
_DIGITS = 256


def count_ratio(n_vertices: int) -> Fraction:
    """The largest ratio of ``M + 3 n`` between neighbours; its log2 is the sensitivity of ``log2(M + 3 n)``."""
    at_least("n_vertices", n_vertices, 3)
    return _SMALL.get(n_vertices, 1 + Fraction(comb(n_vertices - 1, 2), 3 * n_vertices + 1))


@lru_cache(maxsize=64)
def count_sensitivity(n_vertices: int) -> int:
    """Sensitivity of `count_steps`, in steps: the least d with ``2^d >= ratio^GRID``, exactly."""
    ratio = count_ratio(n_vertices)
    top: int = ratio.numerator**GRID
    bottom: int = ratio.denominator**GRID
    steps = max(0, top.bit_length() - bottom.bit_length() - 1)
    while bottom << steps < top:
        steps += 1
    return steps


def count_steps(count: int, n_vertices: int) -> int:
    """``log2(min(M, C(n, 2)) + 3 n)`` in steps, rounded down, by exact integers."""
    at_least("count", count, 1)
    power: int = (min(count, comb(n_vertices, 2)) + 3 * n_vertices) ** GRID
    return power.bit_length() - 1


def count_estimate(noisy_steps: int, n_vertices: int) -> float:
    """The number of minimum cuts, between 1 and C(n, 2), that noisy `count_steps` stand for."""
    # Beyond 1000 bits the answer is clipped anyway.
    estimate = 2.0 ** min(noisy_steps / GRID, 1000.0) - 3 * n_vertices
    return float(min(max(estimate, 1.0), comb(n_vertices, 2)))


def soft_count_steps(weights: IntArray, eta: Fraction) -> int:
    """``ln sum e^(-eta (w - min w))`` in steps, rounded down after an error below 2^-200, from certified digits.

    Args:
        weights: of the cuts, the minimum cuts among them, int64, shape (n_cuts,).
        eta: exact, above 0.
    """
    require(weights.dtype == np.int64 and len(weights) > 0, "weights", "be 64-bit integers, at least one", "others")
    positive("eta", eta)
    # Terms below 2^-256 have no digits here; with heavy weights nearly all are.
    distinct, times = count_losses(weights[weights - weights.min() <= ceil(Fraction(_DIGITS) / eta)])
    return floor(GRID * log_below(Fraction(_total(distinct - distinct[0], times, eta), 1 << _DIGITS)))


def _total(above: IntArray, times: IntArray, eta: Fraction) -> int:
    """Sum of ``times e^(-eta above)`` in units of 2^-256, less than two units a cut too small; ``above`` ascending.

    A number is ``coarse width + fine``, and the exponential of each part is computed once: eight million different
    numbers take a few thousand of them, so that the weights of a graph do not decide whether a run ends in time.
    """
    width = isqrt(int(above[-1])) + 1
    coarse, fine = np.divmod(above, width)
    digits = {int(part): ExpNegative(eta * int(part)).prefix(_DIGITS) for part in np.unique(fine)}
    starts = np.flatnonzero(np.diff(coarse, prepend=-1)).tolist()
    total = 0
    for start, end in zip(starts, [*starts[1:], len(above)], strict=True):
        within = zip(fine[start:end].tolist(), times[start:end].tolist(), strict=True)
        inner = sum(count * digits[part] for part, count in within)
        total += inner * ExpNegative(eta * width * int(coarse[start])).prefix(_DIGITS) >> _DIGITS
    return total


def soft_count_sensitivity(eta: Fraction, weight_cap: int = 1) -> int:
    """Sensitivity of `soft_count_steps` for this weight cap, in steps."""
    # One step more pays for the digits left out before rounding.
    return ceil(GRID * positive("eta", eta) * at_least("weight_cap", weight_cap, 1)) + 1
