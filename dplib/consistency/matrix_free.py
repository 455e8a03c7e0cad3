"""The exact estimate without any matrix of series, for many series whose constraints change from day to day.

Inside the consistent trees the days' constraints ``E v = b`` leave one linear system for multipliers,

    E P W^-1 E^T lambda = b - E x_0,      x = x_0 + P W^-1 E^T lambda,

P the tree pass, W^-1 the days' variances, x_0 the trees of the noisy counts. Conjugate gradients solve it with a sparse
E, preconditioned by ``(E W^-1 E^T)^-1`` of each day (`dual_matrix`); the operator has few distinct eigenvalues, about
one a level of the tree, so some tens of rounds reach the last digits. Series that are never measured are taken out.

An answer is ``c^T y``, and ``c`` is the same map run on ``V u`` (`answer_coefficients`): one solution an answer, and
its exact variance is ``sum c^2 V``.

Guarantee: equal to dense least squares to rounding; `SolverError` where rounds stall or days are not measured. Cost: a
round takes a tree pass of all series and the non-zeros of E a day.

References: G. Golub, C. Van Loan, "Matrix Computations", 4th ed., Johns Hopkins 2013, algorithm 11.5.1; A. Bjorck,
"Numerical Methods for Least Squares Problems", SIAM 1996, sections 1.1 and 7.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.commuting import factor_variances
from dplib.consistency.dual_matrix import DualMatrix
from dplib.consistency.elimination import eliminate
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.constraints.day_constraints import DayConstraints, SparseFloat
from dplib.errors import SolverError
from dplib.estimates.tree_blue import TreeGains, downward, tree_gains, upward
from dplib.progress import SILENT, Progress
from dplib.trees.interval_tree import IntervalTree

OPEN = "tree", "determine every count from its measured nodes", "settings that leave some open"
MAX_ROUNDS = 500
TOL = 1e-14
"""Where rounds end: the residual in the norm of the preconditioner, relative to the first."""


@dataclass(frozen=True, eq=False)
class _Days:
    """Consecutive days with the same equations, over the measured series.

    Attributes:
        first: first day.
        end: one past the last.
        expansion: all series in terms of the measured ones, shape (n_series, n_measured).
        shift: what is added to that, shape (n_series,).
        rows: the equations with rows of unit noise, for one factor of the days.
        rhs: their right-hand sides.
        inverse: of the noise of the rows, for days of factor 1.
        factor: by what each day's variances are larger, shape (n_days,).
        variance: of the series on days of factor 1, shape (n_measured,).
    """

    first: int
    end: int
    expansion: SparseFloat
    shift: FloatArray
    rows: SparseFloat
    rhs: FloatArray
    inverse: DualMatrix
    factor: FloatArray
    variance: FloatArray

    def residual(self, days: FloatArray, rhs: bool) -> FloatArray:
        """``E v - b`` of values of shape (n_days, n_measured)."""
        found = np.asarray((self.rows @ days.T).T, dtype=np.float64)
        return found - self.rhs if rhs else found

    def moves(self, multipliers: FloatArray) -> FloatArray:
        """``W^-1 E^T lambda``."""
        moved = np.asarray((self._columns @ multipliers.T).T, dtype=np.float64)
        return moved * self.variance * self.factor[:, None]

    @cached_property
    def _columns(self) -> Any:
        """The equations turned round once, not by each product."""
        return self.rows.T

    def precondition(self, left: FloatArray) -> FloatArray:
        """``(E W^-1 E^T)^-1`` applied to residuals."""
        return self.inverse.solve((left / self.factor[:, None]).T).T


@dataclass(frozen=True, eq=False)
class MatrixFree:
    """What depends on settings only.

    Attributes:
        tree: the tree.
        measured: numbers of the measured series, shape (n_measured,).
        variance: of these, shape (n_nodes, n_measured).
        gains: of their trees, one column where all have the same.
        days: the equations.
        n_series: number of all series.
    """

    tree: IntervalTree
    measured: IntArray
    variance: FloatArray
    gains: TreeGains
    days: tuple[_Days, ...]
    n_series: int

    @classmethod
    def of(cls, tree: IntervalTree, variance: FloatArray, day_constraints: Sequence[DayConstraints]) -> "MatrixFree":
        """Take out unmeasured series and prepare the days.

        Args:
            tree: the tree.
            variance: shape (n_nodes, n_series), above 0, ``inf`` where not measured.
            day_constraints: consecutive day constraints that cover all days.

        Raises:
            SolverError: if days are not measured, or an unmeasured series does not follow from measured ones.
        """
        known = np.asarray(np.isfinite(variance).any(axis=0))
        own = variance[:, known]
        leaves = own[tree.leaf_nodes]
        if not np.isfinite(leaves).all():
            raise SolverError("solver", "be another than matrix_free where days are not measured")
        factors = factor_variances(own)
        gains = tree_gains(tree, own if factors is None else factors[0][:, None])
        if not gains.identifiable.all():
            raise SolverError(*OPEN)
        days = [part for daily in day_constraints for part in _days(daily, known, leaves)]
        return cls(tree, np.flatnonzero(known), own, gains, tuple(days), variance.shape[1])

    def project(self, noisy: FloatArray, rhs: bool = True) -> FloatArray:
        """The estimates of the measured series.

        Args:
            noisy: shape (n_nodes, n_measured), finite; values where not measured do not matter.
            rhs: whether the right-hand sides count; else they are 0.

        Raises:
            SolverError: if rounds stall.
        """
        values = self._on_trees(noisy)
        left = [-part for part in self._residual(values, rhs)]
        scaled = self._precondition(left)
        direction, energy = scaled, _dot(left, scaled)
        wanted = TOL**2 * energy
        best, stalled = energy, 0
        for _ in range(MAX_ROUNDS):
            # Where rounding keeps the residual from the threshold there is nothing more to gain.
            if energy <= wanted or (stalled >= 10 and energy <= 1e6 * wanted):
                return values
            step = self._spread(direction)
            applied = self._residual(step, rhs=False)
            length = energy / _dot(direction, applied)
            values += length * step
            left = [one - length * other for one, other in zip(left, applied, strict=True)]
            scaled = self._precondition(left)
            after = _dot(left, scaled)
            direction = [one + after / energy * other for one, other in zip(scaled, direction, strict=True)]
            energy = after
            stalled = 0 if energy < 0.25 * best else stalled + 1
            best = min(best, energy)
        raise SolverError("constraints", f"let conjugate gradients end within {MAX_ROUNDS} rounds")

    def restore(self, values: FloatArray) -> FloatArray:
        """Add the unmeasured series to estimates of the measured ones; shape (n_nodes, n_series)."""
        if len(self.measured) == self.n_series:
            return values
        full = np.empty((self.tree.n_nodes, self.n_series))
        full[:, self.measured] = values
        open_ = np.setdiff1d(np.arange(self.n_series), self.measured)
        leaves = np.empty((self.tree.n_leaves, len(open_)))
        of_days = values[self.tree.leaf_nodes]
        for each in self.days:
            part = np.asarray(of_days[each.first : each.end] @ each.expansion[open_].T)
            leaves[each.first : each.end] = part + each.shift[open_]
        full[:, open_] = self.tree.sums(leaves)
        return full

    def coefficients(self, lo: int, hi: int, weights: FloatArray) -> FloatArray:
        """With which coefficient each noisy count enters a weighted sum of the series over the days ``lo <= t < hi``.

        Args:
            lo: first day.
            hi: one past the last.
            weights: shape (n_series,).

        Returns:
            Shape (n_nodes, n_measured); 0 where not measured.
        """
        asked = np.zeros(self.variance.shape)
        for each in self.days:
            nodes = self.tree.leaf_nodes[max(each.first, lo) : min(each.end, hi)]
            if len(nodes):
                asked[nodes] = np.asarray(each.expansion.T @ weights) * self.variance[nodes]
        found = self.project(asked, rhs=False)
        known = np.isfinite(self.variance)
        return np.where(known, found, 0.0) / np.where(known, self.variance, 1.0)

    def variance_of(self, coefficients: FloatArray) -> float:
        """Variance of the answer with these coefficients."""
        return float((coefficients**2 * np.where(np.isfinite(self.variance), self.variance, 0.0)).sum())

    def _on_trees(self, values: FloatArray) -> FloatArray:
        return downward(self.gains, upward(self.gains, values))

    def _residual(self, values: FloatArray, rhs: bool) -> list[FloatArray]:
        leaves = values[self.tree.leaf_nodes]
        return [each.residual(leaves[each.first : each.end], rhs) for each in self.days]

    def _precondition(self, left: Sequence[FloatArray]) -> list[FloatArray]:
        return [each.precondition(part) for each, part in zip(self.days, left, strict=True)]

    def _spread(self, multipliers: Sequence[FloatArray]) -> FloatArray:
        moved = np.zeros(self.variance.shape)
        for each, part in zip(self.days, multipliers, strict=True):
            moved[self.tree.leaf_nodes[each.first : each.end]] = each.moves(part)
        return self._on_trees(moved)


def _days(daily: DayConstraints, known: BoolArray, leaves: FloatArray) -> list[_Days]:
    """The equations of days, apart where their variances are no multiples of each other."""
    left = eliminate(daily, known)
    if not left.determined:
        raise SolverError(*OPEN)
    factors = factor_variances(leaves[daily.first : daily.end])
    ranges = [(daily.first, daily.end)] if factors else [(day, day + 1) for day in range(daily.first, daily.end)]
    found = []
    for first, end in ranges:
        factor, variance = factors or (np.ones(1), leaves[first])
        scale = np.sqrt(np.asarray((left.rows**2) @ variance))
        rows: SparseFloat = csr_array(diags_array(1.0 / scale) @ left.rows)
        inverse = DualMatrix.of(rows, variance)
        found.append(_Days(first, end, left.expansion, left.shift, rows, left.rhs / scale, inverse, factor, variance))
    return found


def _dot(one: Sequence[FloatArray], other: Sequence[FloatArray]) -> float:
    return float(sum(float((a * b).sum()) for a, b in zip(one, other, strict=True)))


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Solve a problem whose days are measured.

    Args:
        problem: leaves measured in every series that is measured at all.
        options: ignored.
        progress: not used.

    Raises:
        SolverError: if days are not measured, the measurements leave a count undetermined, or rounds stall.
    """
    plan = MatrixFree.of(problem.tree, problem.variance, problem.day_constraints)
    return Solution(plan.restore(plan.project(problem.measured[:, plan.measured])), "matrix_free")
