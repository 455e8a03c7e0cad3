"""Centers whose weight is no larger than its noise; from noisy values and settings alone.

Methods that state no error of a weight cannot be judged. With Laplace noise the quantile is that of one draw, whose
tail is the heaviest among sums of the same variance: exact where a weight is one noisy count, else a little high.
"""

from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.estimate import Results
from dplib.metrics.faint_totals import FaintTotals, NoisyTotal, find_faint
from dplib.privacy.noise import Law
from dplib.privacy.noise_quantile import DrawLaw, one_draw

_ONE_DRAW = one_draw(DrawLaw(Law.LAPLACE, float(1 << 20)))
"""The law of one Laplace draw up to its scale, fine enough to count as continuous."""


def faint_centers(design: Design, results: Results) -> FaintTotals:
    """Hold every center's weight against its noise."""
    draws = _ONE_DRAW if design.config.privacy.mechanism is Law.LAPLACE and not design.local else ()
    weights = zip(results.weights, results.weight_errors, strict=True)
    return find_faint(
        [
            NoisyTotal(f"center {place}", float(weight), float(error), draws)
            for place, (weight, error) in enumerate(weights)
        ]
    )
