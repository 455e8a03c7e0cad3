"""Post-processing: from the stored answers to centers, weights and their errors; sees no row and draws no noise.

The method is run again on no points, with the stored numbers in place of noise: the same code, so the same centers.

Errors come from noisy numbers and settings alone. What they are errors of follows from the method
(`dplib.jobs.kmeans.methods.errors_text`): the mean and the number of the points that are nearest to the released
center, or that were nearest to it when it was measured. They do not hold what a better clustering would gain. Where the
method cannot tell, there is none.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray
from dplib.clustering.central.lloyd import deviation
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.problem import Clustering
from dplib.clustering.record import Record, Replayed
from dplib.clustering.source import Blocks
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.local import ReplayedReports, UserKeys, cluster_users
from dplib.jobs.kmeans.methods import cluster_points
from dplib.jobs.kmeans.radius import find_bounds
from dplib.privacy.noise import NoiseEvent
from dplib.privacy.noise_quantile import Z95, DrawLaw, half_width, one_draw

COUNTED_LAST = ("lloyd", "local_search", "max_cover", "tree_coreset")
"""Methods whose weights are the noisy counts of their last question but one."""
MAX_LOSS_ERROR = 0.5
"""Largest standard error of a grid's loss, as a part of it, with which it is stated."""


@dataclass(frozen=True, eq=False)
class Results:
    """What post-processing made of a measurement.

    Attributes:
        clustering: in units of the space.
        frame: bounds and scales, a private radius found.
        centers: in the coordinates of the input, shape (k, d).
        std_errors: of the coordinates, ``inf`` or NaN where none is known, shape (k, d).
        weights: noisy numbers of points, NaN where none was measured, shape (k,).
        weight_errors: their standard errors, NaN where none is known, shape (k,).
        loss: estimated sum of squared distances in (scaled) coordinates; None where there is none, or none worth it.
        loss_error: its standard error; None where there is no loss.
    """

    clustering: Clustering
    frame: PointFrame
    centers: FloatArray
    std_errors: FloatArray
    weights: FloatArray
    weight_errors: FloatArray
    loss: float | None
    loss_error: float | None

    @property
    def factor(self) -> float:
        """Standard errors to each side of a 95 % interval: more where the noise of one count decides."""
        return interval_factor(self.clustering)

    @property
    def swallowed(self) -> BoolArray:
        """Which weights are no larger than the half width of their interval: noise alone may be all of them; (k,)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.weights <= self.factor * self.weight_errors)


def states_loss(clustering: Clustering) -> bool:
    """Whether the loss is worth stating: its error is known, and is not what cells that are too coarse do not tell."""
    error = clustering.loss_deviation
    coarse = clustering.method == "grid" and not error <= MAX_LOSS_ERROR * clustering.loss
    return bool(np.isfinite(clustering.loss) and np.isfinite(error) and not coarse)


def interval_factor(clustering: Clustering) -> float:
    """Standard errors to each side of a 95 % interval of a weight, a center or a loss."""
    if clustering.method not in COUNTED_LAST or len(clustering.events) < 2:
        return Z95
    event = clustering.events[-2]
    if not isinstance(event, NoiseEvent):
        return Z95
    draws = one_draw(DrawLaw.of(event.noise))
    return max(Z95, half_width(draws) / deviation(event))


def estimate_centers(design: Design, records: list[Record]) -> Results:
    """Make the results of a design from its stored answers.

    Raises:
        IntegrityError: if they are not the answers to the design's questions.
    """
    clustering, frame = _clustered(design, records)
    loss, loss_error = (value * frame.space.unit**2 for value in (clustering.loss, clustering.loss_deviation))
    known = states_loss(clustering)
    unknown = np.full(len(clustering.weights), np.nan)
    of_weights = clustering.weight_deviations
    return Results(
        clustering=clustering,
        frame=frame,
        centers=frame.to_data(clustering.centers),
        std_errors=frame.lengths(clustering.deviations),
        weights=clustering.weights,
        weight_errors=unknown if of_weights is None else of_weights,
        loss=float(loss) if known else None,
        loss_error=float(loss_error) if known else None,
    )


def _clustered(design: Design, records: list[Record]) -> tuple[Clustering, PointFrame]:
    if design.local:
        return cluster_users(design.collection, ReplayedReports(records), UserKeys()), design.frame
    nobody, replayed = Blocks(), Replayed(records)
    try:
        counted = np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.int64)
        resolved = find_bounds(design, counted, replayed)
        return cluster_points(design, resolved, nobody, replayed), resolved.frame
    except ConfigError as error:
        raise IntegrityError(f"stored {error}") from None
