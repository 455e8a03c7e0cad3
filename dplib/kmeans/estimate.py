"""Post-processing: from the stored answers to centers, weights and their errors; sees no row and draws no noise.

The method is run again on no points, with the stored numbers in place of noise: the same code, so the same centers.

Errors come from noisy numbers and settings alone. A center's standard error is what the noise moves each of its
coordinates by, given which cells or rows belong to it; it does not hold what a better clustering would gain. A weight's
is that of the noise in the counts that make it up.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.clustering.lloyd import deviation
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.problem import Clustering
from dplib.clustering.record import Record, Replayed
from dplib.clustering.source import NoPoints
from dplib.clustering.sums import nearest, rounded
from dplib.errors import ConfigError, IntegrityError
from dplib.kmeans.design import Design
from dplib.kmeans.local import Stored, UserKeys, cluster_users
from dplib.kmeans.methods import cluster_points
from dplib.kmeans.radius import find_bounds
from dplib.privacy.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, Event

FloatArray = npt.NDArray[np.float64]
COUNTED_LAST = ("lloyd", "tree_coreset", "local_search", "max_cover")
"""Methods whose weights are the noisy counts of their last question but one."""


@dataclass(frozen=True, eq=False)
class Results:
    """What post-processing made of a measurement.

    Attributes:
        clustering: in units of the space.
        frame: bounds and scales, a private radius found.
        centers: in the coordinates of the input, shape (k, d).
        std_errors: of the coordinates, ``inf`` or NaN where none is known, shape (k, d).
        weights: noisy numbers of points, shape (k,).
        weight_errors: their standard errors, NaN where none is known, shape (k,).
        loss: estimated sum of squared distances in (scaled) coordinates; None where there is none.
    """

    clustering: Clustering
    frame: PointFrame
    centers: FloatArray
    std_errors: FloatArray
    weights: FloatArray
    weight_errors: FloatArray
    loss: float | None


def estimate_centers(design: Design, records: list[Record]) -> Results:
    """Make the results of a design from its stored answers.

    Raises:
        IntegrityError: if they are not the answers to the design's questions.
    """
    clustering, frame = _clustered(design, records)
    loss = clustering.loss * frame.space.unit**2
    return Results(
        clustering=clustering,
        frame=frame,
        centers=frame.to_data(clustering.centers),
        std_errors=frame.lengths(clustering.deviations),
        weights=clustering.weights,
        weight_errors=_weight_errors(clustering),
        loss=float(loss) if np.isfinite(loss) else None,
    )


def _clustered(design: Design, records: list[Record]) -> tuple[Clustering, PointFrame]:
    if design.local:
        return cluster_users(design.collection, Stored(records), UserKeys()), design.frame
    nobody, replayed = NoPoints(), Replayed(records)
    try:
        counted = np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.int64)
        bounded = find_bounds(design, counted, replayed)
        return cluster_points(design, bounded, nobody, replayed), bounded.frame
    except ConfigError as error:
        raise IntegrityError(f"stored {error}") from None


def _weight_errors(clustering: Clustering) -> FloatArray:
    """Standard errors of the weights, where one law of noise made them."""
    if clustering.weight_deviations is not None:
        return clustering.weight_deviations
    k, unknown = len(clustering.weights), np.full(len(clustering.weights), np.nan)
    if clustering.method in COUNTED_LAST and clustering.choices.get("rounds", 1) != 0:
        return np.full(k, _deviation(clustering.events[-2]))
    if clustering.method == "grid" and clustering.cells is not None:
        labels = nearest(rounded(clustering.cells), rounded(clustering.centers))
        return np.asarray(np.sqrt(np.bincount(labels, minlength=k)) * _deviation(clustering.events[-1]))
    return unknown


def _deviation(event: Event) -> float:
    return deviation(event) if isinstance(event, DiscreteLaplaceEvent | DiscreteGaussianEvent) else float("nan")
