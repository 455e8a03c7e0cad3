"""Statistics that are no larger than their noise; from noisy values and settings alone.

A statistic's total is its number. Of a degree histogram it is the number of vertices with an edge (all bins but that of
degree 0, as estimated), of a cumulative one n less its first number, of degrees by vertex or in order the sum of the
noisy ones. What has no stated error (a ladder, smooth sensitivity) cannot be judged.
"""

from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import Results, bin_draws
from dplib.jobs.network_statistics.measurements import Measurement
from dplib.jobs.network_statistics.tables import Tables
from dplib.metrics.faint_totals import FaintTotals, NoisyTotal, find_faint
from dplib.privacy.noise_quantile import DrawLaw, Draws, one_draw, std_error
from dplib.release.staging import MEASUREMENT


def faint_statistics(design: Design, results: Results, directory: Path) -> FaintTotals:
    """Hold every statistic against its noise."""
    noisy = Tables(directory, design).read(MEASUREMENT, "noisy")
    totals = []
    for each in design.released:
        if each.size == 0:
            continue
        if isinstance(each, Measurement) and each.noise is not None and not design.local:
            law = DrawLaw.of(each.noise)
            totals.append(_of_draws(design, each.statistic, law, noisy[each.statistic].astype(np.float64)))
        elif each.statistic in (Statistic.EDGE_COUNT, Statistic.K_STARS, Statistic.TRIANGLES, Statistic.ADJACENCY):
            value, error = (float(found[each.statistic][0]) for found in (results.estimate, results.std_error))
            totals.append(NoisyTotal(str(each.statistic), value, error))
    return find_faint(totals)


def _of_draws(design: Design, statistic: Statistic, law: DrawLaw, noisy: FloatArray) -> NoisyTotal:
    """The total of a statistic whose numbers have independent noise of one law."""
    draws, value, size = one_draw(law), float(noisy[0]), len(noisy)
    match statistic:
        case Statistic.DEGREE_HISTOGRAM:
            # Least squares under the public sum n: what is taken off each bin depends on all of them.
            value = float(noisy.sum() - noisy[0]) - (size - 1) * float(noisy.sum() - design.n_vertices) / size
            draws = bin_draws(law, size, size - 1)
        case Statistic.CUMULATIVE_HISTOGRAM:
            value = design.n_vertices - value
        case Statistic.DEGREE_SEQUENCE | Statistic.SORTED_DEGREES:
            value, draws = float(noisy.sum()), (Draws(law, 1.0, float(size)),)
    return NoisyTotal(str(statistic), value, std_error(draws), draws)
