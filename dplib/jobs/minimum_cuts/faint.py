"""Numbers that are no larger than their noise; from noisy values and settings alone.

Of a synthetic graph the total is the sum of all noisy pairs, of drawn cuts with noisy values the sum of these. A
minimum cut of 0 is no larger than its noise either: a graph in two parts looks like one without edges here.
"""

from dplib.jobs.minimum_cuts.cut_margin import number_draws
from dplib.jobs.minimum_cuts.design import SAMPLED, SAMPLED_VALUE, SYNTHETIC, TOP, VALUE, Design
from dplib.jobs.minimum_cuts.tables import StoredReleases
from dplib.metrics.faint_totals import FaintTotals, NoisyTotal, find_faint
from dplib.privacy.noise_quantile import std_error

_NAMES = {SYNTHETIC: f"{SYNTHETIC} (weight of all pairs)", TOP: f"{TOP} (values of the drawn cuts)"}


def faint_numbers(design: Design, stored: StoredReleases) -> FaintTotals:
    """Hold every noisy value of cuts and the weight of the synthetic graph against their noise."""
    totals = []
    for each in design.measurements:
        name = SAMPLED_VALUE if each.release == SAMPLED else each.release
        if name not in (VALUE, SYNTHETIC, TOP, SAMPLED_VALUE) or name not in stored.noisy:
            continue
        noisy = stored.noisy[name]
        draws = (number_draws(design, name, len(noisy)),)
        totals.append(NoisyTotal(_NAMES.get(name, name), float(noisy.sum()), std_error(draws), draws))
    return find_faint(totals)
