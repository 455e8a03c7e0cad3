"""How far the cuts of a synthetic graph can be off, all at once: what a cut is judged by that was picked by its value.

A cut with s vertices on one side sums ``c = s (n - s)`` noises. For Laplace noise `dplib.mechanisms.pair_weights`
states the bound. Discrete Gaussian noise of parameter sigma^2 has a moment generating function of at most
``e^(sigma^2 t^2 / 2)``, so the sum exceeds x in either direction with probability at most ``2 e^(-x^2 / (2 c
sigma^2))``; the union over all cuts gives ``sigma sqrt(2 c L)`` with the same ``L = ln C(n, s) + ln(n / beta)``.

References: Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy. NeurIPS 2020, fact on its moment
generating function (section 2).
"""

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dplib.mechanisms.pair_weights import cut_error
from dplib.minimum_cuts.design import SYNTHETIC, Design

FloatArray = npt.NDArray[np.float64]
BETA = 0.05
"""Failure probability of the bounds that are shown."""


def all_cuts_margin(design: Design, side_sizes: npt.ArrayLike, beta: float = BETA) -> FloatArray:
    """Bounds on the errors of all cuts of the synthetic graph together, but for probability beta.

    Args:
        design: with a synthetic graph.
        side_sizes: vertices on either side, from 1 to n - 1, any shape.
        beta: failure probability of all bounds together.
    """
    measured = design.measured(SYNTHETIC)
    assert measured is not None
    assert measured.noise is not None
    n, noise = design.n_vertices, measured.noise
    if noise.mechanism == "discrete_laplace":
        return cut_error(n, side_sizes, noise.parameter, beta)
    size = np.asarray(side_sizes, dtype=np.float64)
    level = gammaln(n + 1) - gammaln(size + 1) - gammaln(n - size + 1) + np.log(n / beta)
    return np.asarray(np.sqrt(2 * float(noise.parameter) * size * (n - size) * level))
