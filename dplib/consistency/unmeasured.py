"""Taking series that are never measured (free totals) out of a problem, and putting them back.

Iterative solvers move by variances and cannot move by infinite ones. A series without any measurement has no say in
the estimates of the others: with ``B = (B_m, B_u)`` the constraints on measured and unmeasured series, those of the
measured ones alone are ``N^T B_m v_m = N^T b`` with ``N`` the left null space of ``B_u``, and afterwards
``v_u = B_u^+ (b - B_m v_m)`` day by day.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from dplib.arrays import BoolArray, FloatArray
from dplib.consistency.problem import ConsistencyProblem
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.projection.affine import null_basis


@dataclass(frozen=True, eq=False)
class MeasuredPart:
    """A problem without its unmeasured series.

    Attributes:
        whole: the problem it comes from.
        part: the problem of the measured series.
        is_measured: shape (n_series,).
    """

    whole: ConsistencyProblem
    part: ConsistencyProblem
    is_measured: BoolArray

    def restore(self, values: FloatArray) -> FloatArray:
        """Add the unmeasured series, shape (n_nodes, n_series).

        Args:
            values: of the part, consistent, shape (n_nodes, n_measured).
        """
        if self.is_measured.all():
            return values
        tree = self.whole.tree
        full = np.zeros((tree.n_nodes, self.whole.n_series))
        full[:, self.is_measured] = values
        days = values[tree.leaf_nodes]
        free = np.empty((tree.n_leaves, int((~self.is_measured).sum())))
        for daily in self.whole.day_constraints:
            known, unknown = (daily.matrix[:, part].toarray() for part in (self.is_measured, ~self.is_measured))
            left = daily.rhs - days[daily.first : daily.end] @ known.T
            free[daily.first : daily.end] = left @ np.linalg.pinv(unknown).T
        full[:, ~self.is_measured] = tree.sums(free)
        return full


def measured_part(problem: ConsistencyProblem) -> MeasuredPart:
    """Take out the series that no node measures.

    Raises:
        SolverError: if the constraints do not determine such a series from the others.
    """
    is_measured = np.asarray(np.isfinite(problem.variance).any(axis=0))
    if is_measured.all():
        return MeasuredPart(problem, problem, is_measured)
    for daily in problem.day_constraints:
        unknown = daily.matrix[:, ~is_measured].toarray()
        if np.linalg.matrix_rank(unknown) < unknown.shape[1]:
            raise SolverError("series", "be measured or follow from measured ones by the day constraints")
    part = ConsistencyProblem(
        problem.tree,
        problem.noisy[:, is_measured],
        problem.variance[:, is_measured],
        without_unmeasured(problem.day_constraints, is_measured),
    )
    return MeasuredPart(problem, part, is_measured)


def without_unmeasured(day_constraints: Sequence[DayConstraints], is_measured: BoolArray) -> tuple[DayConstraints, ...]:
    """What day constraints say of the measured series alone."""
    if is_measured.all():
        return tuple(day_constraints)
    found = []
    for daily in day_constraints:
        keep = null_basis(daily.matrix[:, ~is_measured].toarray().T).T
        found.append(
            DayConstraints(daily.first, daily.end, csr_array(keep @ daily.matrix[:, is_measured]), keep @ daily.rhs)
        )
    return tuple(found)
