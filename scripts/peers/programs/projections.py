"""Nearest points of convex sets by scipy or OSQP: ``projections.py PROBLEM PEER``.

PROBLEM is a file of arrays: ``kind`` is ``simplex`` (``values`` of shape (groups, size) and ``totals``: the nearest
non-negative values with these sums) or ``least squares`` (``values``, ``weights``, and ``rows``,
``columns`` and ``data`` of a sparse matrix M: the nearest values x with M x = 0, weighted). Prints the time, the
distance and the largest violation.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import linalg


def matrix_of(problem: Any) -> tuple[sparse.csc_matrix, np.ndarray]:
    """All groups' sums, or the given equations, and their right sides."""
    if str(problem["kind"]) == "simplex":
        groups, size = problem["values"].shape
        return sparse.kron(sparse.identity(groups), np.ones((1, size)), format="csc"), problem["totals"]
    shape = (int(problem["rows"].max()) + 1, problem["values"].size)
    matrix = sparse.csc_matrix((problem["data"], (problem["rows"], problem["columns"])), shape=shape)
    return matrix, np.zeros(shape[0])


def by_osqp(problem: Any) -> np.ndarray:
    """One quadratic programme."""
    import osqp

    matrix, sums = matrix_of(problem)
    values = problem["values"].ravel()
    weights = np.ones(values.size) if str(problem["kind"]) == "simplex" else problem["weights"]
    low, high = sums, sums
    if str(problem["kind"]) == "simplex":
        matrix = sparse.vstack([matrix, sparse.identity(values.size)], format="csc")
        low, high = np.append(sums, np.zeros(values.size)), np.append(sums, np.full(values.size, np.inf))
    solver = osqp.OSQP()
    solver.setup(sparse.diags(weights, format="csc"), -weights * values, matrix, low, high, verbose=False,
                 eps_abs=1e-7, eps_rel=1e-7, max_iter=100_000)  # fmt: skip
    return np.asarray(solver.solve().x)


def by_scipy(problem: Any) -> np.ndarray:
    """Sequential programming a group, or one factorisation of the normal equations."""
    if str(problem["kind"]) == "simplex":
        return np.concatenate([_group(*each) for each in zip(problem["values"], problem["totals"], strict=True)])
    matrix, _ = matrix_of(problem)
    values, inverse = problem["values"], sparse.diags(1 / problem["weights"])
    multipliers = linalg.spsolve((matrix @ inverse @ matrix.T).tocsc(), matrix @ values)
    return np.asarray(values - inverse @ (matrix.T @ multipliers))


def _group(values: np.ndarray, total: float) -> np.ndarray:
    found = optimize.minimize(
        lambda x: ((x - values) ** 2).sum(), np.full(len(values), total / len(values)), jac=lambda x: 2 * (x - values),
        bounds=[(0, None)] * len(values), method="SLSQP", options={"ftol": 1e-12},
        constraints={"type": "eq", "fun": lambda x: x.sum() - total, "jac": lambda x: np.ones(len(x))},
    )  # fmt: skip
    return np.asarray(found.x)


def main() -> None:
    problem = dict(np.load(Path(sys.argv[1])))
    solve = {"scipy": by_scipy, "OSQP": by_osqp}[sys.argv[2]]
    matrix, sums = matrix_of(problem)
    weights = problem.get("weights", 1.0)
    for query in ("first", "second"):
        started = time.process_time()
        found = solve(problem)
        taken = time.process_time() - started
        distance = float((weights * (found - problem["values"].ravel()) ** 2).sum())
        violation = float(np.abs(matrix @ found - sums).max())
        if str(problem["kind"]) == "simplex":
            violation = max(violation, -float(found.min()))
        print(json.dumps({query: taken, "distance": distance, "violation": violation}), flush=True)


if __name__ == "__main__":
    main()
