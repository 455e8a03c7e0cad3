"""The problem every solver of the main job takes, and what it returns.

A tree over days, ``n_series`` counts at every node, each measured with its own noise variance; node values are sums
of days, and on day ``t`` the series satisfy the constraints of that day. The estimate is the weighted
least-squares one: minimise ``sum over nodes and series of (x - noisy)^2 / variance`` over all ``x`` that satisfy
both kinds of constraint; an infinite variance means *not measured*.

Every solver file of this package holds one function ``solve(problem, options, progress) -> Solution``.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolved import restrict
from dplib.progress import Round
from dplib.trees.interval_tree import IntervalTree


@dataclass(frozen=True, eq=False)
class ConsistencyProblem:
    """Noisy tree counts and the constraints they should meet (its arrays must not be changed).

    Attributes:
        tree: the tree over days.
        noisy: measured counts, shape (n_nodes, n_series); ignored where the variance is infinite.
        variance: noise variances, shape (n_nodes, n_series), above 0, ``inf`` where not measured. May be a
            broadcast view.
        day_constraints: consecutive day constraints that cover all days, sorted.
    """

    tree: IntervalTree
    noisy: FloatArray
    variance: FloatArray
    day_constraints: tuple[DayConstraints, ...]

    @property
    def n_series(self) -> int:
        """Number of series."""
        return int(self.noisy.shape[1])

    @cached_property
    def measured(self) -> FloatArray:
        """The noisy counts with 0 where not measured, shape (n_nodes, n_series)."""
        finite = np.isfinite(self.variance)
        return self.noisy if finite.all() else np.where(finite, self.noisy, 0.0)

    def restrict(self, series_index: npt.ArrayLike) -> "ConsistencyProblem":
        """The problem of some series, a union of components (`dplib.constraints.resolved.restrict`)."""
        index = np.asarray(series_index, dtype=np.int64)
        day_constraints = tuple(restrict(daily, index) for daily in self.day_constraints)
        return replace(
            self, noisy=self.noisy[:, index], variance=self.variance[:, index], day_constraints=day_constraints
        )


@dataclass(frozen=True, eq=False)
class SplitPart:
    """Constraints that are projected on together, one group of a split.

    Attributes:
        kind: ``trees`` (all sums of a series' tree), ``sums`` (each of them by itself), ``days`` or ``nodes`` (the day
            constraints on the days, or on every measured node).
        day_constraints: those of ``days``; all where None.
    """

    kind: Literal["trees", "sums", "days", "nodes"]
    day_constraints: tuple[DayConstraints, ...] | None = None


TREES, SUMS, DAYS, NODES = SplitPart("trees"), SplitPart("sums"), SplitPart("days"), SplitPart("nodes")


@dataclass(frozen=True)
class SolverOptions:
    """When an iterative solver stops; exact solvers ignore it.

    Attributes:
        tol: threshold on the mean absolute change of a round (the paper's section 8.2).
        max_rounds: limit of rounds.
        split: how `alternating` parts the constraints: trees and days is algorithm 1.
        accelerated: let `alternating` take conjugate directions on the same projections.
    """

    tol: float = 1e-9
    max_rounds: int = 500
    split: tuple[SplitPart, ...] = (TREES, DAYS)
    accelerated: bool = True


@dataclass(frozen=True, eq=False)
class Solution:
    """Estimates and how they were made.

    Attributes:
        values: shape (n_nodes, n_series).
        solver: name of the solver.
        rounds: one record a round; empty for solvers without rounds.
        converged: whether the stop rule was met (always, for exact solvers).
    """

    values: FloatArray
    solver: str
    rounds: tuple[Round, ...] = field(default=())
    converged: bool = True
