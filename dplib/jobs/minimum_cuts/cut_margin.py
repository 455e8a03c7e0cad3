"""How far a number can be off, and the cuts of a synthetic graph all at once, by which a cut picked by value is judged.

A number is one draw, and the weight around a set of vertices that is fixed beforehand a sum of equal draws: their 95 %
intervals are quantiles of these laws (`dplib.privacy.noise_quantile`).

All cuts together: `dplib.mechanisms.cuts.pair_weights`.
"""

import numpy.typing as npt

from dplib.arrays import FloatArray
from dplib.jobs.minimum_cuts.design import SOFT, SYNTHETIC, Design
from dplib.mechanisms.cuts.cut_statistics import GRID
from dplib.mechanisms.cuts.pair_weights import cut_error
from dplib.privacy.noise_quantile import DrawLaw, Draws, half_width

BETA = 0.05
"""Failure probability of the bounds that are shown."""


def number_margin(design: Design, statistic: str, n_draws: int = 1) -> float:
    """Half width of the 95 % interval of a noisy number, or of the sum of several of one statistic.

    That may be a release whose cuts have noisy values of their own.
    """
    return half_width([number_draws(design, statistic, n_draws)]) / (GRID if statistic == SOFT else 1)


def number_draws(design: Design, statistic: str, n_draws: int = 1) -> Draws:
    """The noise of the sum of several noisy numbers of one statistic (see `number_margin`), in units of its draws."""
    return Draws(DrawLaw.of(design.noises[statistic]), 1.0, float(n_draws))


def cut_margin(design: Design, release: str, side_size: int) -> float:
    """Half width of the 95 % interval of a listed cut's value; in a synthetic graph it holds for all cuts at once."""
    # A cut of the synthetic graph was picked by its value: only a bound on all cuts covers it.
    return float(all_cuts_margin(design, side_size)) if release == SYNTHETIC else number_margin(design, release)


def all_cuts_margin(design: Design, side_sizes: npt.ArrayLike) -> FloatArray:
    """Bounds on the errors of all cuts of the synthetic graph together, but for probability `BETA`.

    Their sides have from 1 to n - 1 vertices, any shape.
    """
    return cut_error(design.n_vertices, side_sizes, design.noises[SYNTHETIC], BETA)
