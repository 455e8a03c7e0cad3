"""The noise of a private partition: exact discrete Laplace draws from a stream of their own.

`dplib.estimates.adaptive_partition` chooses buckets from noisy costs and states the privacy of the choice; it cannot
draw noise, so it is given this.
"""

from dataclasses import dataclass
from fractions import Fraction

from dplib.arrays import IntArray
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.randomness.keyed import Key, KeyedStream


@dataclass(frozen=True)
class PartitionNoise:
    """Draws the noise of one partition.

    Attributes:
        key: the measurement key, which must depend on the counts; at least 32 bytes.
        statistic: what is counted; part of the stream's name.
    """

    key: Key
    statistic: str

    def __call__(self, scale: Fraction, size: int) -> IntArray:
        """Draw ``size`` variables of the given scale; the same on every call."""
        return draw_discrete_laplace(KeyedStream(self.key, self.statistic, "partition"), scale, size)
