"""Items and totals whose count over all days is no larger than its noise; from noisy values and settings alone.

The estimate of a series over all days is made of few draws where few levels are measured, so the quantile is that of
its draws: the levels' noise, weighted as least squares on one series' tree weighs it. Constraints between series only
add draws, which brings the law closer to the normal one: the quantile is then, if anything, too high.
"""

from dplib.consistency.answer_coefficients import range_coefficients
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import node_laws
from dplib.jobs.consistent_histograms.publish import Results
from dplib.metrics.faint_totals import FaintTotals, NoisyTotal, find_faint
from dplib.privacy.noise_quantile import grouped


def faint_series(design: Design, results: Results) -> FaintTotals:
    """Hold every item's and total's estimate over all days against its noise."""
    tree = design.tree
    coefficients = range_coefficients(tree, design.level_variance[tree.level], 0, tree.n_leaves)
    draws = grouped(coefficients, *node_laws(design))
    return find_faint(
        [
            NoisyTotal(name, float(value), float(error), draws)
            for name, value, error in zip(design.series, results.solution.values[0], results.std_error[0], strict=True)
        ]
    )
