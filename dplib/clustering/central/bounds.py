"""A radius found privately, for points whose bounds are not known. Pure epsilon, one pass.

Rows are counted by the class of their distance from a public center, classes being half octaves from 2^-20 to 2^40; all
classes get discrete Laplace noise, noisy counts that noise alone could explain become 0, and the radius is the end of
the class at which a share of the remaining noisy mass is reached, or all of it but what noise could be. Anyone who is
farther out is clipped. A radius a factor too large makes all later noise larger by that factor, hence half octaves.

There may be no answer: with few rows no count stands out. That is a release too, and spends the same.

Privacy: a row is in one class; rows with a missing coordinate are in none.

References:
    Karwa, Vadhan: Finite sample differentially private confidence intervals. ITCS 2018 (bins for an unknown range).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray
from dplib.clustering.source import Keyed, NoiseSource, dense
from dplib.privacy.noise import Law, Noise, NoiseEvent
from dplib.validate import at_least, positive

LOWEST, HIGHEST = -40, 80
"""Exponents of the radii, in half octaves."""
N_CLASSES = HIGHEST - LOWEST + 1
_COVERED = 0.99  # of the noisy mass
_HARDLY = 1.5  # of what noise alone explains
_MISTAKE = 0.01  # probability that noise alone passes in any empty class


@dataclass(frozen=True)
class RadiusClasses:
    """Summary of raw rows by the class of their distance from a public center: number of rows.

    Attributes:
        center: in the units of the data, shape (d,).
    """

    center: tuple[float, ...]
    width = 1

    def __call__(self, rows: FloatArray) -> Keyed:
        """Summarise a block of rows of shape (n, d), NaN for what is missing."""
        rows = np.asarray(rows, dtype=np.float64).reshape(-1, len(self.center))
        squared = np.zeros(len(rows))
        with np.errstate(over="ignore"):
            # Column by column: a row's class must not depend on the block that the row is in.
            for column, middle in zip(rows.T, self.center, strict=True):
                squared += (column - middle) ** 2
        squared = squared[~np.isnan(squared)]
        place = np.searchsorted(2.0 ** np.arange(LOWEST, HIGHEST), squared)
        return np.arange(N_CLASSES), np.bincount(place, minlength=N_CLASSES).astype(np.int64)[:, np.newaxis]


@dataclass(frozen=True)
class PrivateRadius:
    """What the noisy counts say.

    Attributes:
        radius: in the units of the data; None if no count stands out from the noise.
        inside: noisy share of the counted rows that are not clipped, at most 1.
        event: the noise, for the accountants.
    """

    radius: float | None
    inside: float
    event: NoiseEvent


def private_radius(counted: Keyed, noise: NoiseSource, epsilon: Fraction, rows: int = 1) -> PrivateRadius:
    """Draw the noise, at ``epsilon`` for rows that differ between neighbours, and read off the radius.

    ``counted`` are totals of `RadiusClasses`. Raises `ConfigError` if a setting is out of range.
    """
    sensitivity = Fraction(at_least("rows", rows, 1))
    event = Noise(Law.LAPLACE, sensitivity / positive("epsilon", epsilon), sensitivity).event(
        "distances from the center"
    )
    noisy = noise.add(dense(counted, N_CLASSES)[:, 0], event.noise, event.statistic)
    least = float(np.log(N_CLASSES / (2 * _MISTAKE))) * float(event.noise.parameter)
    kept = np.where(noisy > least, noisy, 0).astype(np.float64)
    # A single far count that hardly stands out may be noise: it must not blow the radius up.
    target = min(_COVERED, 1 - _HARDLY * least / max(kept.sum(), 1.0))
    if target <= 0 or not kept.any():
        return PrivateRadius(None, 0.0, event)
    share = np.cumsum(kept) / kept.sum()
    place = int(np.searchsorted(share, target))
    return PrivateRadius(float(2.0 ** ((LOWEST + place) / 2)), float(share[place]), event)
