"""What is asked (`Problem`) and what comes back (`Clustering`), the same for every method.

Everything of a `Clustering` is a function of settings and noisy numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray
from dplib.clustering.source import NoiseSource, PointSource
from dplib.clustering.space import Space
from dplib.privacy.events import Event
from dplib.privacy.noise import Law, Noise, NoiseEvent
from dplib.validate import at_least, integer_norms, require

MAX_CLUSTERS = 4096
FORMAT = 2
"""Of the rules by which noisy numbers are asked for and used; 1 is what releases were made by before."""


@dataclass(frozen=True)
class Problem:
    """The public settings that all methods share.

    Attributes:
        space: the ball or box of the points.
        n_clusters: k.
        rows: most rows (points) that differ between neighbours: 1 for one row added or removed, m for a privacy unit of
            at most m rows, twice that for replacing.
        seed: of the public randomness: starts, hyperplanes, projections, seedings.
        format: of the rules; stored measurements are read by those that they were made by.
    """

    space: Space
    n_clusters: int
    rows: int = 1
    seed: int = 0
    format: int = FORMAT

    def __post_init__(self) -> None:
        inside = 1 <= self.n_clusters <= MAX_CLUSTERS
        require(inside, "n_clusters", f"lie between 1 and {MAX_CLUSTERS}", self.n_clusters)
        at_least("rows", self.rows, 1)
        at_least("seed", self.seed, 0)
        integer_norms("norms of a point", self.space.l1, self.space.norm_squared)

    def laplace_event(self, statistic: str, l1: int | Fraction, epsilon: Fraction) -> NoiseEvent:
        """Noise for integers that one row moves by ``l1`` in L1 norm, at ``epsilon`` for all rows of a unit."""
        sensitivity = Fraction(l1) * self.rows
        return Noise(Law.LAPLACE, _coarse(sensitivity / epsilon), sensitivity).event(statistic)

    def gaussian_event(self, statistic: str, l2_squared: int | Fraction, rho: Fraction) -> NoiseEvent:
        """Noise for integers that one row moves by a vector of squared length ``l2_squared``, at ``rho``."""
        sensitivity = Fraction(l2_squared) * self.rows**2
        return Noise(Law.GAUSSIAN, _coarse(sensitivity / (2 * rho)), sensitivity).event(statistic)


def _coarse(parameter: Fraction) -> Fraction:
    """Round up to 2^-20: more noise, never less, and short exact arithmetic in the samplers."""
    return Fraction(-(-parameter.numerator * 2**20 // parameter.denominator), 2**20)


@dataclass(frozen=True)
class Clustering:
    """A private clustering, in units of the space.

    Attributes:
        method: name of the method.
        centers: shape (k, d), inside the space.
        weights: noisy number of points of each center, at least 0, NaN where none was measured, shape (k,).
        deviations: standard error of each coordinate of a center (`dplib.jobs.kmeans.methods` says of what), shape (k,
            d); ``inf`` where the center came from no measured points, NaN where the method knows none.
        events: the noise that was drawn, for the accountants.
        loss: estimate of the sum of squared distances from noisy numbers, in square units; NaN where there is none.
        choices: what the method decided from settings and noisy numbers.
        cells: positions of noisy cells or leaves for a picture, shape (m, d).
        cell_weights: their noisy weights, shape (m,).
        weight_deviations: standard error of each weight, NaN where it is not known, shape (k,); None where the method
            states none.
        loss_deviation: standard error of the loss; NaN where none is known.
    """

    method: str
    centers: FloatArray
    weights: FloatArray
    deviations: FloatArray
    events: tuple[Event, ...]
    loss: float = float("nan")
    choices: Mapping[str, str | int | float] = field(default_factory=dict)
    cells: FloatArray | None = None
    cell_weights: FloatArray | None = None
    weight_deviations: FloatArray | None = None
    loss_deviation: float = float("nan")

    @classmethod
    def unmeasured(
        cls, method: str, centers: FloatArray, events: tuple[Event, ...], **choices: str | int | float
    ) -> "Clustering":
        """Of a method that measures nothing of any one center."""
        return cls(
            method, centers, np.full(len(centers), np.nan), np.full(centers.shape, np.nan), events, choices=choices
        )


Method = Callable[[PointSource, NoiseSource, Problem, Fraction], Clustering]
"""A method clusters the points of a source under exact noise for the settings of a problem, and spends an amount in
all: epsilon, or rho where its noise is Gaussian. It raises `ConfigError` if the amount or a setting is out of range."""
