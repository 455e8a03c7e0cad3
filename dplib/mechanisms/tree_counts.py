"""The measurement of a tree of counts: independent exact noise in every cell of every measured level.

Privacy statement. Let one privacy unit change the counts of level l by at most D1_l in L1 norm and D2_l in L2 norm,
summed over all blocks (the caller derives both from the bounding; see the docstring of the job). With discrete
Laplace noise of scale b_l the levels together are epsilon-differentially private, epsilon = sum_l D1_l / b_l; with
discrete Gaussian noise of parameter sigma_l^2 they are rho-zCDP, rho = sum_l D2_l^2 / (2 sigma_l^2). Levels with noise
None cost nothing, because they are returned as zeros.

Proof sketch. A level is a vector of integers and its noise has independent cells of law P(k) ~ e^(-|k|/b): the ratio
of the probabilities of any output under neighbours is at most e^(||c - c'||_1 / b); for the Gaussian law, theorem 14
of Canonne, Kamath and Steinke bounds every Renyi divergence by alpha ||c - c'||_2^2 / (2 sigma^2). Both hold exactly,
since the samplers are exact. Levels and blocks draw from streams with different labels, hence independently; the
levels compose additively, and the blocks of one level are parts of one vector, so they do not add. Keeping 64 bits
(`add_exactly`) is a function of the noisy value alone. The streams are pseudorandom, so the guarantee is computational.

The caller's duty. The stream is named by (key, statistic, block, level): the same name gives the same noise. Two
different vectors of counts under one name would publish their exact difference; therefore the key must depend on a
keyed digest of the counts.

References:
    Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis. TCC 2006.
    Hay, Rastogi, Miklau, Suciu: Boosting the accuracy of differentially private histograms through consistency.
    VLDB 2010 (the tree of counts).
    Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy. NeurIPS 2020, theorem 14.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from dplib.arrays import IntArray
from dplib.mechanisms.discrete_gaussian import draw_discrete_gaussian
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.privacy.noise import Law, Noise
from dplib.randomness.integers import BitSource
from dplib.randomness.keyed import KeyedStream
from dplib.validate import require

SAMPLERS: Mapping[str, Callable[[BitSource, Fraction, int], IntArray]] = MappingProxyType(
    {Law.LAPLACE: draw_discrete_laplace, Law.GAUSSIAN: draw_discrete_gaussian}
)


def measure_levels(
    counts_by_level: Sequence[IntArray],
    noise: Sequence[Noise | None],
    key: bytes,
    statistic: str,
    block: str | int,
) -> list[IntArray]:
    """Add independent exact noise to every cell of one block of a tree.

    Args:
        counts_by_level: exact counts of each level, int64, any shape (usually (n_nodes of the level, n_series)).
        noise: the noise of each level; None for a level that is not measured.
        key: the measurement key of this release, which must depend on the counts; at least 32 bytes.
        statistic: name of what is counted; part of the stream's name.
        block: name of the logical block; part of the stream's name, together with the position of the level.

    Returns:
        The noisy counts in the shapes of ``counts_by_level``, new arrays; zeros for a level that is not measured.

    Raises:
        ConfigError: if the lengths differ, the counts are not int64, or a mechanism or its parameter is unknown.
    """
    same_length = len(noise) == len(counts_by_level)
    require(same_length, "noise", f"have one entry for each of the {len(counts_by_level)} levels", len(noise))
    measured = []
    for level, (counts, law) in enumerate(zip(counts_by_level, noise, strict=True)):
        require(counts.dtype == np.int64, "counts", "be 64-bit integers", counts.dtype)
        if law is None:
            measured.append(np.zeros_like(counts))
            continue
        measured.append(add_noise(counts, law, KeyedStream(key, statistic, block, level)))
    return measured


def add_noise(counts: IntArray, noise: Noise, stream: BitSource) -> IntArray:
    """Counts with noise drawn once for each; see `add_exactly`."""
    drawn = SAMPLERS[noise.law](stream, noise.parameter, counts.size)
    return add_exactly(counts, drawn.reshape(counts.shape))


def add_exactly(counts: IntArray, noise: IntArray) -> IntArray:
    """The true noisy counts modulo 2^64, as 64-bit integers: themselves, as long as they fit.

    Sums of counts wrap around in the same way (numpy's, on arrays). So what comes out is a function of the true noisy
    count alone, post-processing, however many rows there are; neither the sensitivity nor the law of the noise changes
    where counts leave 64 bits, and nothing raises. Settings keep that beyond 2^40 rows.
    """
    return counts + noise
