"""Numbers that are no larger than their noise; from noisy values and settings alone.

Of a synthetic graph the total is the sum of all noisy pairs, of drawn cuts with noisy values the sum of these. A
minimum cut of 0 is no larger than its noise either: a graph in two parts looks like one without edges here.
"""

import numpy as np

from dplib.metrics.faint_totals import FaintTotals, NoisyTotal, find_faint
from dplib.metrics.noise_sums import Draws, sum_variance
from dplib.minimum_cuts.design import SAMPLED, SYNTHETIC, TOP, VALUE, Design
from dplib.minimum_cuts.tables import SAMPLED_VALUE, Stored

_NAMES = {SYNTHETIC: f"{SYNTHETIC} (weight of all pairs)", TOP: f"{TOP} (values of the drawn cuts)"}


def faint_numbers(design: Design, stored: Stored) -> FaintTotals:
    """Hold every noisy value of cuts and the weight of the synthetic graph against their noise."""
    totals = []
    for each in design.measurements:
        name, law = each.release, None
        if each.noise is not None and name in (VALUE, SYNTHETIC, TOP) and name in stored.noisy:
            law = each.noise.mechanism, each.noise.parameter
        elif name == SAMPLED and each.sampler is not None:
            name = SAMPLED_VALUE
            law = "discrete_laplace", design.weight_cap / each.sampler.value_epsilon
        if law is None:
            continue
        noisy = stored.noisy[name]
        draws = (Draws(*law, len(noisy)),)
        error = float(np.sqrt(sum_variance(draws)))
        totals.append(NoisyTotal(_NAMES.get(name, name), float(noisy.sum()), error, draws))
    return find_faint(totals)
