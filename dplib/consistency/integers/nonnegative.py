"""The nearest non-negative real table: consistency and the orthant at once, by Dykstra's algorithm.

Both projections must be nearest points in the same weighted norm. With an exact affine projection (any solver of this
package) and the orthant, whose nearest point is the same for every diagonal weighting, the limit is the constrained
least-squares optimum. It is biased up where counts are near 0, and range sums add the bias up, so the tables of
`integer_tables` are what is published by default.

Cost: one affine projection a round; the number of rounds depends on the noise, not on the data.

References:
    Boyle, Dykstra, 1986, theorem 2 (see `dplib.projection.dykstra`).
"""

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.errors import SolverError
from dplib.progress import Round
from dplib.projection.box import project_nonnegative
from dplib.projection.dykstra import Projection, project_intersection


def nearest_nonnegative(problem: ConsistencyProblem, project_affine: Projection, options: SolverOptions) -> Solution:
    """Minimise ``sum (x - noisy)^2 / variance`` over tables that are consistent and not negative.

    Args:
        problem: every node must be measured: a node without weight has no nearest point.
        project_affine: nearest consistent table in the norm of the problem's variances, shape (n_nodes, n_series)
            to the same shape.
        options: ``tol`` bounds the largest change of a correction in the last round.

    Returns:
        Consistent values, negative by no more than the tolerance allows; one record a round, in which ``change`` is
        the largest change of a correction and ``deviation`` the mean squared step from the orthant to consistency.

    Raises:
        SolverError: if a variance is infinite.
    """
    if not np.isfinite(problem.variance).all():
        raise SolverError("every node", "be measured to find the nearest non-negative table", "some without noise")
    clipped: list[FloatArray] = []
    deviations: list[float] = []

    def to_orthant(values: FloatArray) -> FloatArray:
        clipped[:] = [project_nonnegative(values)]
        return clipped[0]

    def to_consistent(values: FloatArray) -> FloatArray:
        point = project_affine(values)
        deviations.append(float(np.mean((point - clipped[0]) ** 2)))
        return point

    result = project_intersection(problem.noisy, [to_orthant, to_consistent], options.tol, options.max_rounds)
    rounds = tuple(
        Round(number, change, deviation)
        for number, (change, deviation) in enumerate(zip(result.changes, deviations, strict=True), start=1)
    )
    return Solution(result.point, "dykstra", rounds, result.converged)
