"""A synthetic graph: discrete Laplace noise on the weight of every pair of declared vertices, present or not.

Guarantee: for neighbours that differ in one pair's weight by at most W, noise of scale ``W / epsilon`` on each of the
``n (n - 1) / 2`` pairs is epsilon-private: one coordinate of the vector moves, by at most W. Skipping absent pairs
would tell which they are. Everything computed from the noisy weights is free post-processing: the near-minimum cuts,
their number, the cactus.

Negative weights are part of an unbiased answer. Up to `EXACT_CUTS` vertices all cuts are enumerated, negative weights
included; for more they are searched for (`dplib.graphs.cuts.signed_cuts`). Setting them to 0 would add about half
the scale to each absent pair, so a cut with s of n vertices on one side and no edges would gain ``s (n - s)`` times
that: far more than the cuts around single vertices.

Error. A cut with s vertices on one side sums ``c = s (n - s)`` noises of scale b. For ``|t| < 1 / b`` the discrete
law's moment generating function is at most ``1 / (1 - b^2 t^2)`` (the continuous one's; sinh is convex), hence at most
e^(2 b^2 t^2) for ``b^2 t^2 <= 1/2``. Chernoff's bound with ``t = lambda / (4 c b^2)``, or ``t = 1 / (b sqrt 2)`` where
that is smaller, and the union over all cuts give `cut_error`. One cut alone has the standard deviation
``sqrt(c)`` times that of the noise.

References:
    Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis. TCC 2006.
    Gupta, Roth, Ullman: Iterative constructions and private data release. TCC 2012 (all cuts from noisy pairs).
    Liu, Upadhyay, Zou: Optimal bounds on private graph approximation. SODA 2024 (the same rate for dense graphs).
"""

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.tree_counts import add_noise
from dplib.privacy.noise import Law, Noise
from dplib.randomness.keyed import Key, KeyedStream
from dplib.validate import at_least, between, require

EXACT_CUTS = 24
"""Largest number of vertices whose cuts are all enumerated."""


def pair_positions(n_vertices: int, source: IntArray, target: IntArray) -> IntArray:
    """Where the pairs ``source < target`` stand in the order (0, 1), (0, 2), ..., (n - 2, n - 1)."""
    ordered = bool(np.all((source >= 0) & (source < target) & (target < n_vertices)))
    require(ordered, "edges", "have 0 <= source < target < n_vertices", "another edge")
    return source * (2 * n_vertices - source - 1) // 2 + (target - source - 1)


def noisy_pairs(
    n_vertices: int, source: IntArray, target: IntArray, weight: IntArray, noise: Noise, key: Key, statistic: str
) -> IntArray:
    """Add noise to the weight of every pair.

    The vector of all pairs has the sensitivity W in L1 and W^2 in squared L2, which is what the noise must be for.

    Args:
        n_vertices: declared vertices, at least 1.
        source: smaller ends, int64, shape (n_edges,); each pair at most once.
        target: larger ends.
        weight: int64.
        noise: on every pair.
        key: the measurement key, which must depend on the graph; at least 32 bytes.
        statistic: what is measured; part of the streams' names.

    Returns:
        Noisy weights of all pairs in the order of `pair_positions`, shape (n (n - 1) / 2,); any sign.

    Raises:
        ConfigError: for ends out of order or range, a pair given twice, or weights that are no 64-bit integers.
    """
    at_least("n_vertices", n_vertices, 1)
    require(weight.dtype == np.int64, "weight", "be 64-bit integers", weight.dtype)
    positions = pair_positions(n_vertices, source, target)
    weights = np.zeros(n_vertices * (n_vertices - 1) // 2, dtype=np.int64)
    given = np.zeros(len(weights), dtype=np.bool_)
    given[positions] = True
    require(np.count_nonzero(given) == len(positions), "edges", "hold each pair once", "a pair twice")
    weights[positions] = weight
    end = 0
    # One stream a vertex: blocks of pairs can be drawn apart and in any order.
    for vertex in range(n_vertices - 1):
        begin, end = end, end + n_vertices - 1 - vertex
        weights[begin:end] = add_noise(weights[begin:end], noise, KeyedStream(key, statistic, "pairs", vertex))
    return weights


def cut_error(n_vertices: int, side_sizes: npt.ArrayLike, noise: Noise, beta: float) -> FloatArray:
    """Bounds that hold for all cuts together with probability 1 - beta, without clipping, by the size of a side.

    Args:
        n_vertices: n, at least 2.
        side_sizes: s, vertices on either side, from 1 to n - 1, any shape.
        noise: on each pair.
        beta: failure probability of all bounds together.

    Returns:
        With ``c = s (n - s)`` and ``L = ln C(n, s) + ln(n / beta)``: for Laplace noise ``b sqrt(8 c L)``, or ``b sqrt 2
        (L + c)`` where L exceeds c; for Gaussian noise ``sigma sqrt(2 c L)``; in the shape of ``side_sizes``.
    """
    at_least("n_vertices", n_vertices, 2)
    between("beta", beta, 0.0, 1.0)
    size = np.asarray(side_sizes, dtype=np.float64)
    require(bool(np.all((size >= 1) & (size <= n_vertices - 1))), "side_sizes", "lie between 1 and n - 1", "others")
    pairs = size * (n_vertices - size)
    log_cuts = gammaln(n_vertices + 1) - gammaln(size + 1) - gammaln(n_vertices - size + 1)
    level = log_cuts + np.log(n_vertices / beta)
    if noise.law is Law.GAUSSIAN:
        return np.asarray(np.sqrt(2 * float(noise.parameter) * pairs * level))
    near = np.sqrt(8 * pairs * level)
    return np.asarray(float(noise.parameter) * np.where(level <= pairs, near, np.sqrt(2) * (level + pairs)))
