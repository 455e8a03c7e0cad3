"""Items and totals whose count over all days is no larger than its noise; from noisy values and settings alone.

The estimate of a series over all days is made of few draws where few levels are measured, so the quantile is that of
its draws: the levels' noise, weighted as least squares on one series' tree weighs it. Constraints between series only
add draws, which brings the law closer to the normal one: the quantile is then, if anything, too high.
"""

import numpy as np

from dplib.consistent_histograms.design import Design
from dplib.consistent_histograms.publish import Results
from dplib.inference.tree_blue_deep import deep_gains
from dplib.metrics.faint_totals import FaintTotals, NoisyTotal, find_faint
from dplib.metrics.noise_sums import root_draws


def faint_series(design: Design, results: Results) -> FaintTotals:
    """Hold every item's and total's estimate over all days against its noise."""
    tree = design.tree
    own = deep_gains(tree, design.level_variance[tree.level][:, None]).own[:, 0]
    measured = [each for each in design.measurements if each is not None]
    kinds = [(each.mechanism, each.parameter) for each in measured]
    place = np.cumsum([each is not None for each in design.measurements]) - 1
    draws = root_draws(tree, own, np.maximum(place, 0)[tree.level], kinds)
    return find_faint(
        [
            NoisyTotal(name, float(value), float(error), draws)
            for name, value, error in zip(design.series, results.solution.values[0], results.std_error[0], strict=True)
        ]
    )
