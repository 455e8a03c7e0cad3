"""Nearest non-negative integer point of linear equations, by an exact integer programme.

Minimise ``sum_i w_i |x_i - a_i|`` over integers ``x >= 0`` with ``B x = b``. The programme is written in the steps
``d = x - round(a)``, which are small whatever the counts are, so the solver's tolerances (about 1e-6) are harmless;
the answer is checked in integer steps before it is returned.

Cost: exponential in the worst case; for one day's few equations milliseconds. Callers bound the size by settings.

Notation: ``a`` targets, ``w`` weights, ``B x = b`` the equations.

References:
    Huangfu, Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10, 2018
    (HiGHS, the solver behind ``scipy.optimize.milp``).
"""

import numpy as np
import scipy
from scipy.sparse import csr_array, eye_array, hstack, vstack

from dplib.arrays import FloatArray, IntArray
from dplib.errors import SolverError

# HiGHS's status for "the constraints cannot be met".
INFEASIBLE = 2
FEASIBILITY = 1e-6


def nearest_integer_point(
    targets: FloatArray, weights: FloatArray, matrix: FloatArray, rhs: FloatArray
) -> IntArray | None:
    """The non-negative integer solution of the equations nearest to the targets in weighted L1 distance.

    Args:
        targets: finite, shape (n,).
        weights: at least 0, one above 0, shape (n,).
        matrix: ``B``, shape (n_equations, n).
        rhs: ``b``, shape (n_equations,).

    Returns:
        Integers, shape (n,), or None where no non-negative integer point solves the equations.

    Raises:
        SolverError: if the solver gives up or its answer misses an equation.
    """
    n = len(targets)
    base = np.maximum(np.rint(targets), 0.0)
    offset = targets - base
    # Variables: steps d, then distances t with t >= d - offset and t >= offset - d.
    identity = eye_array(n, format="csr")
    blocks = [hstack([identity, -identity]), hstack([identity, identity])]
    low = np.concatenate([np.full(n, -np.inf), offset])
    high = np.concatenate([offset, np.full(n, np.inf)])
    if len(rhs):
        gap = rhs - matrix @ base
        blocks.append(hstack([csr_array(matrix), csr_array((len(rhs), n))]))
        low, high = np.concatenate([low, gap]), np.concatenate([high, gap])
    outcome = scipy.optimize.milp(
        c=np.concatenate([np.zeros(n), weights / weights.max()]),
        integrality=np.concatenate([np.ones(n), np.zeros(n)]),
        bounds=scipy.optimize.Bounds(np.concatenate([-base, np.zeros(n)]), np.full(2 * n, np.inf)),
        constraints=scipy.optimize.LinearConstraint(vstack(blocks).tocsc(), low, high),
        options={"mip_rel_gap": 0.0},
    )
    if outcome.status == INFEASIBLE:
        return None
    if outcome.x is None:
        raise SolverError("the integer programme", "end with an answer", f"status {outcome.status}")
    solution = base + np.rint(outcome.x[:n])
    scale = 1.0 + np.abs(matrix) @ np.abs(solution) + np.abs(rhs)
    if (np.abs(matrix @ solution - rhs) > FEASIBILITY * scale).any():
        raise SolverError("the integer programme", "meet its equations", "an answer that misses one")
    return solution.astype(np.int64)


def has_integer_point(matrix: FloatArray, rhs: FloatArray) -> bool:
    """Whether some non-negative integer point solves ``matrix @ x = rhs``; shapes as above."""
    n = matrix.shape[1]
    return nearest_integer_point(np.zeros(n), np.ones(n), matrix, rhs) is not None
