"""The problem every solver of the main job takes, and what it returns.

A tree over days, ``n_series`` counts at every node, each measured with its own noise variance; node values are sums
of days, and on day ``t`` the series satisfy the constraints of that day's menu. The estimate is the weighted
least-squares one: minimise ``sum over nodes and series of (x - noisy)^2 / variance`` over all ``x`` that satisfy
both kinds of constraint; an infinite variance means *not measured*.

Every solver file of this package holds one function ``solve(problem, options) -> Solution``.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dplib.constraints.menu import Menu
from dplib.trees.interval_tree import IntervalTree

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConsistencyProblem:
    """Noisy tree counts and the constraints they should meet.

    Attributes:
        tree: the tree over days.
        noisy: measured counts, shape (n_nodes, n_series); ignored where the variance is infinite.
        variance: noise variances, shape (n_nodes, n_series), above 0, ``inf`` where not measured. May be a
            broadcast view.
        menus: consecutive menus that cover all days, sorted.
    """

    tree: IntervalTree
    noisy: FloatArray
    variance: FloatArray
    menus: tuple[Menu, ...]

    @property
    def n_series(self) -> int:
        """Number of series."""
        return int(self.noisy.shape[1])


@dataclass(frozen=True)
class SolverOptions:
    """When an iterative solver stops; exact solvers ignore it.

    Attributes:
        tol: threshold on the mean absolute change of a round (the paper's section 8.2).
        max_rounds: limit of rounds.
    """

    tol: float = 1e-9
    max_rounds: int = 500


@dataclass(frozen=True)
class Round:
    """What the driver records of one round: no true count enters.

    Attributes:
        number: 1 for the first round.
        change: mean absolute change of all values in this round.
        deviation: consistency deviation ``mse_s`` (equation 14) after it.
    """

    number: int
    change: float
    deviation: float


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
