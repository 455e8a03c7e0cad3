"""Selection of one key a unit with the largest probabilities that (epsilon, delta) allows.

A key of n units is released with probability p_n, where p_0 = 0 and p_n is the least of

    e^epsilon p_(n-1) + delta,    1 - e^-epsilon (1 - p_(n-1) - delta),    1

No selection of one key a unit that is (epsilon, delta)-private releases any key with a larger probability, whatever n.
It is what noise of the truncated geometric law and a threshold do.

Guarantee. A unit of one key changes the law of that key's decision alone, from p_(n-1) to p_n. Of the four inequalities
the two in which the smaller probability stands on the left hold since p does not decrease, the others are those above.
Numbers are rounded down to multiples of 2^-62, e^epsilon to a fraction below it: both hold: rounding p_n down only
helps, and p_n is at least p_(n-1) whatever was rounded, since each of the three is. Units of up to k keys spend a k-th
of epsilon and of delta on each of them (basic composition).

Reference: Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection", PoPETs 2022, theorem 1.
"""

from fractions import Fraction

import numpy as np

from dplib.mechanisms.release_table import ONE, ReleaseTable
from dplib.privacy.rounding import exp_above
from dplib.validate import require

MAX_TABLE = 1 << 20
"""Entries of a table."""


def truncated_geometric(epsilon: Fraction, delta: Fraction, max_keys: int) -> ReleaseTable:
    """The table of a budget for units of up to ``max_keys`` keys, each of weight 1.

    Raises:
        ConfigError: if the budget is too small for a table to end.
    """
    growth, failure = 1 / exp_above(-epsilon / max_keys), int(delta / max_keys * ONE)
    times, over = int(growth * ONE), ONE  # growth as a fraction of 2^62, rounded down
    require(failure > 0, "privacy.budget.delta", f"be at least {max_keys} 2^-62", float(delta))
    odds = [0]
    while odds[-1] < ONE:
        last = odds[-1]
        # (1 - p_n) e^epsilon >= 1 - p_(n-1) - delta, its least solution rounded up.
        left = -(-max(ONE - last - failure, 0) * over // times)
        odds.append(min(last * times // over + failure, ONE - left))
        require(len(odds) <= MAX_TABLE, "privacy.budget", "be large enough to release keys", "a smaller one")
    return ReleaseTable((1,) * max_keys, np.array(odds, np.int64))
