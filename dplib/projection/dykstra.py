"""Dykstra's algorithm: the nearest point of an intersection of convex sets.

Each set is given by its projection. A round applies every projection once, each to the current point plus the
correction that its set kept from the round before. For affine sets alone this is alternating projection; with other
sets alternation finds some common point, and the corrections are what makes it the nearest one. All projections
must be nearest points in one and the same (weighted) norm; the limit is nearest in that norm.

Cost: one call of each projection a round, and one array of the point's size for each set.

References:
    Boyle, Dykstra, "A method for finding projections onto the intersection of convex sets in Hilbert spaces",
    Lecture Notes in Statistics 37, 1986, theorem 2.
    Birgin, Raydan, "Robust stopping criteria for Dykstra's algorithm", SIAM Journal on Scientific Computing 26,
    2005 (the change of the point alone may be small for many rounds; the changes of the corrections are watched).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray

Projection = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class DykstraResult:
    """The point reached and how.

    Attributes:
        point: the last projection's output, so it lies in the last set exactly; the shape of the start.
        changes: one number a round, the largest absolute change of a correction in it.
        converged: whether the last change was at most the tolerance.
    """

    point: FloatArray
    changes: tuple[float, ...]
    converged: bool


def project_intersection(
    start: FloatArray, projections: Sequence[Projection], tol: float = 1e-9, max_rounds: int = 10_000
) -> DykstraResult:
    """Project ``start`` on the intersection of the sets.

    Args:
        start: any shape.
        projections: one projection for each set, in the order of a round.
        tol: stop when no correction changes by more than this in a round.
        max_rounds: limit of rounds, at least 1.

    Returns:
        The point with its record; ``converged`` is False where the limit stopped it, and stays so where the
        intersection is empty.
    """
    point = np.array(start, dtype=np.float64)
    corrections = [np.zeros_like(point) for _ in projections]
    changes: list[float] = []
    for _ in range(max_rounds):
        change = 0.0
        for index, project in enumerate(projections):
            shifted = point + corrections[index]
            point = project(shifted)
            correction = shifted - point
            change = max(change, float(np.max(np.abs(correction - corrections[index]), initial=0.0)))
            corrections[index] = correction
        changes.append(change)
        if change <= tol:
            return DykstraResult(point, tuple(changes), converged=True)
    return DykstraResult(point, tuple(changes), converged=False)
