"""The k candidates of smallest loss, privately: peeling, that is k exponential mechanisms without replacement.

Each draw removes its candidate; the order of the draws is published with them. The candidates are fixed before the
data are looked at: all ``2^(n - 1) - 1`` cuts of n declared vertices, a declared list. Candidates found on the private
data are not covered (see `dplib.mechanisms.cuts.rejected_releases`).

Guarantee. With rate r of `dplib.mechanisms.exponential.exponential_rate` for ``eps0`` every draw is eps0-private and
(eps0^2 / 8)-zCDP given the draws before it, so k draws are (k eps0)-private and (k eps0^2 / 8)-zCDP: adaptive
composition, since the candidates left are a function of public draws. `draw_epsilon` splits a budget exactly: eps0 =
epsilon / k, or the largest decimal with k eps0^2 / 8 <= rho. Peeling with Gumbel noise added once is the same law
(Durfee, Rogers 2019, lemma 4.2); here no real noise is drawn, the draws are exact, statistical distance 0.

The losses of the chosen candidates, if they are published, get noise of their own: a unit moves each of k losses by at
most D, hence L1 sensitivity k D and L2 sensitivity sqrt(k) D.

References:
    Bhaskar, Laxman, Smith, Thakurta: Discovering frequent patterns in sensitive data. KDD 2010 (peeling).
    Durfee, Rogers: Practical differentially private top-k selection with pay-what-you-get composition. NeurIPS 2019.
    Cesar, Rogers: Bounding, concentrating, and truncating: unifying privacy loss composition for data analytics.
    ALT 2021.
"""

from fractions import Fraction

import numpy as np

from dplib.arrays import IntArray
from dplib.mechanisms.exponential import count_losses, draw_weighted
from dplib.privacy.budget import Budget, PureDP, rho_of
from dplib.privacy.rounding import sqrt_below
from dplib.randomness.integers import BitSource, uniform_below
from dplib.validate import at_least, require

_DECIMALS = 15


def draw_epsilon(budget: Budget, n_draws: int) -> Fraction:
    """The epsilon of each of ``n_draws`` draws that together spend at most ``budget``.

    Pure: ``epsilon / n_draws``, exactly. zCDP: ``sqrt(8 rho / n_draws)``, rounded down to 15 decimals. Approximate: as
    zCDP, with the largest rho that converts to (epsilon, delta).
    """
    at_least("n_draws", n_draws, 1)
    if isinstance(budget, PureDP):
        return budget.epsilon / n_draws
    return sqrt_below(8 * rho_of(budget) / n_draws, _DECIMALS)


def peel(stream: BitSource, losses: IntArray, n_draws: int, rate: Fraction) -> IntArray:
    """Draw candidates of these losses, int64, one after another, without replacement, at a rate of `exponential_rate`.

    Returns:
        Positions of the candidates in the order drawn, shape (n_draws,).

    Raises:
        ConfigError: if the losses are no 64-bit integers or too few.
    """
    fits = losses.dtype == np.int64 and losses.ndim == 1
    require(fits, "losses", "be 64-bit integers, one a candidate", f"{losses.dtype} of {losses.ndim} dimensions")
    require(1 <= n_draws <= len(losses), "n_draws", f"lie between 1 and the {len(losses)} candidates", n_draws)
    distinct, times = (part.tolist() for part in count_losses(losses))
    left: dict[int, IntArray] = {}
    drawn = np.empty(n_draws, dtype=np.int64)
    for draw in range(n_draws):
        group = int(draw_weighted(stream, distinct, times, rate)[0])
        loss = distinct[group]
        members = left[loss] if loss in left else np.flatnonzero(losses == loss)
        member = int(uniform_below(stream, len(members), 1)[0])
        drawn[draw] = members[member]
        left[loss] = np.delete(members, member)
        times[group] -= 1
        if not times[group]:
            del distinct[group], times[group]
    return drawn
