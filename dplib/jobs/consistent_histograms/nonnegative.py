"""The nearest non-negative table: the estimates moved as little as it takes for no day to be negative.

Minimise the least squares of the estimates over all tables that are consistent and have no day below 0; sums of days
follow. In the dual, with ``P`` the projection on the constraints and ``m >= 0`` the push on each day of each measured
series (in counts), the table is ``x + P m`` and the optimum is that of a quadratic function with simple bounds,

    1/2 <m, P m> + <x, m>,   m >= 0,   gradient: the days of the table itself,   <a, b> = sum a b / variance.

Dykstra's alternation between the constraints and the orthant is the plain gradient step on it (both project; the
correction is ``m``). Here conjugate gradients on the days that are pushed take over, with gradient steps where the set
of these changes (Dostal's MPRGP with step 1, which is below 2 / ||P||): it ends exactly once that set is found.

A round in blocks is two messages, as in `block_krylov`: a direction goes through the trees (means up, the driver solves
the top, values down) and a step is taken. The driver holds the blocks in this process.

Guarantee: at the end no day is below 0, and no day that is pushed is above 0, by more than the threshold; the rest is
cut off and the trees are summed again. Cost: one pass up and down the blocks a round.

References: Z. Dostal, J. Schoeberl, "Minimizing quadratic functions subject to bound constraints with the rate of
convergence and finite termination", Computational Optimization and Applications 30, 2005; J. Boyle, R. Dykstra, "A
method for finding projections onto the intersection of convex sets in Hilbert spaces", 1986.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dplib.arrays import FloatArray
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes
from dplib.jobs.consistent_histograms.block_solvers import ExactPasses, exact_passes, series_groups, solve_top
from dplib.jobs.consistent_histograms.design import Design
from dplib.spark.engine.blocks import Block
from dplib.spark.engine.rounds import Rounds

TASK = "find the nearest non-negative table"
ROUNDING = 2.0**-44
"""Of the largest estimate: differences below it are rounding."""


class Refresh(NamedTuple):
    """The table of the present push, from the values of the blocks' roots; without them only their means are asked."""

    roots: FloatArray | None


class Direct(NamedTuple):
    """A direction and its way through ``P``: pushed days with a part of the last direction, or the negative ones."""

    kind: Literal["pushed", "negative"]
    factor: float
    roots: FloatArray


class Step(NamedTuple):
    """A step, and whether a gradient step of the pushed days follows it."""

    length: float
    expand: bool


@dataclass(frozen=True, eq=False)
class PushState:
    """Days of a block, shapes (n_days, n_series).

    Attributes:
        estimate: of the days.
        push: at least 0.
        table: the gradient: estimates with the push's way through ``P``.
        direction: of the push.
        applied: its way through ``P``.
        asked: what the next summary holds.
    """

    estimate: FloatArray
    push: FloatArray
    table: FloatArray
    direction: FloatArray
    applied: FloatArray
    asked: Literal["point", "gradient", "step"] = "point"


class PushSummary(NamedTuple):
    """Sums over all blocks; the least length that leaves the bounds, the largest violation; and means of the roots."""

    curvature: float
    slope: float
    negative: float
    pushed: float
    mixed: float
    limit: float
    violation: float
    means: FloatArray
    negative_means: FloatArray


_SCALARS = 7
_ARRAYS = "estimate", "push", "table", "direction", "applied"


@dataclass(frozen=True, eq=False)
class PushStepper:
    """What happens inside a block.

    Attributes:
        shapes: the blocks.
        solvers: the passes of each group of series, with right-hand sides of 0.
        weight: inverse noise variance of a day of each series, 0 where a series is not measured, shape (n_series,).
        columns: of a stored state.
    """

    shapes: BlockShapes
    solvers: Sequence[ExactPasses]
    weight: FloatArray
    columns: tuple[str, ...] = (*_ARRAYS, "asked")

    @classmethod
    def of(cls, design: Design, shapes: BlockShapes) -> "PushStepper":
        """The stepper of a design."""
        solver = design.config.publish.solver.model_copy(update={"method": "auto"})
        publish = design.config.publish.model_copy(update={"solver": solver})
        exact = replace(design, config=design.config.model_copy(update={"publish": publish}))
        weight, solvers = np.zeros(shapes.n_series), []
        for group in series_groups(exact):
            zero = tuple(daily.homogeneous for daily in group.day_constraints)
            solvers.append(exact_passes(replace(group, day_constraints=zero), shapes))
            weight[group.series] = 1.0 / group.level_variance[-1]
        return cls(shapes, solvers, weight)

    def load(self, block: int, columns: Block) -> PushState:
        """The estimates with the push of Dykstra's first round, or a stored state."""
        if "push" in columns:
            parts = [np.frombuffer(columns[name], "<f8").reshape(-1, self.shapes.n_series) for name in _ARRAYS]
            estimate, push, table, direction, applied = parts
            asked: Any = columns["asked"].decode()
            return PushState(estimate, push, table, direction, applied, asked)
        values = np.frombuffer(columns["values"], "<f8").reshape(-1, self.shapes.n_series)
        days = values[self.shapes.tree(block).leaf_nodes]
        push = np.where(self.weight > 0, np.maximum(-days, 0.0), 0.0)
        return PushState(days, push, days, np.zeros_like(days), np.zeros_like(days))

    def store(self, _: int, state: PushState) -> Block:
        """All arrays."""
        arrays = {name: getattr(state, name).astype("<f8").tobytes() for name in _ARRAYS}
        return {**arrays, "asked": state.asked.encode()}

    def step(self, block: int, state: PushState, message: Refresh | Direct | Step) -> PushState:
        """Take a message."""
        if isinstance(message, Refresh):
            if message.roots is None:
                return replace(state, asked="point")
            table = state.estimate + self._applied(block, state.push, message.roots)
            return replace(state, table=table, asked="gradient")
        if isinstance(message, Direct):
            pushed, negative = self._gradient(state)
            direction = negative if message.kind == "negative" else pushed - message.factor * state.direction
            applied = self._applied(block, direction, message.roots)
            return replace(state, direction=direction, applied=applied, asked="step")
        push = np.maximum(state.push - message.length * state.direction, 0.0)
        # The day that limits a step is at its bound, whatever rounding says.
        push[push <= 1e-15 * state.push] = 0.0
        moved = replace(state, push=push, table=state.table - message.length * state.applied, asked="gradient")
        if not message.expand:
            return moved
        return replace(moved, push=np.maximum(push - self._gradient(moved)[0], 0.0), asked="point")

    def _gradient(self, state: PushState) -> tuple[FloatArray, FloatArray]:
        """The table's days that are pushed, and those that are negative without a push; 0 elsewhere."""
        held = state.push > 0
        free = ~held & (self.weight > 0)
        return np.where(held, state.table, 0.0), np.where(free, np.minimum(state.table, 0.0), 0.0)

    def _means(self, block: int, solver: ExactPasses, days: FloatArray) -> FloatArray:
        tree = self.shapes.tree(block)
        nodes = np.zeros((tree.n_nodes, len(solver.group.series)))
        nodes[tree.leaf_nodes] = days[:, solver.group.series]
        return solver.upward(block, nodes)

    def _roots(self, block: int, days: FloatArray) -> FloatArray:
        """Means of the block's root for a vector on its days, shape (n_series,)."""
        found = np.zeros(self.shapes.n_series)
        for solver in self.solvers:
            found[solver.group.series] = self._means(block, solver, days)[0]
        return found

    def _applied(self, block: int, days: FloatArray, roots: FloatArray) -> FloatArray:
        """The days of ``P`` of a vector on the days."""
        found, leaves = np.empty_like(days), self.shapes.tree(block).leaf_nodes
        for solver in self.solvers:
            series = solver.group.series
            means = self._means(block, solver, days)
            found[:, series] = solver.downward(block, means, roots[block, series])[leaves]
        return found

    def summary(self, block: int, state: PushState) -> bytes:
        """The scalars, then the means of the root that the next message needs."""
        scalars, nothing = np.zeros(_SCALARS), np.zeros(self.shapes.n_series)
        scalars[5] = np.inf
        means, negative_means = nothing, nothing
        if state.asked == "point":
            means = self._roots(block, state.push)
        elif state.asked == "gradient":
            pushed, negative = self._gradient(state)
            held = np.minimum(state.push, pushed)
            scalars[2:5] = [self._dot(negative, negative), self._dot(held, pushed), self._dot(pushed, state.applied)]
            scalars[6] = max(float(np.abs(pushed).max(initial=0.0)), float(np.abs(negative).max(initial=0.0)))
            means, negative_means = self._roots(block, pushed), self._roots(block, negative)
        else:
            scalars[:2] = self._dot(state.direction, state.applied), self._dot(state.table, state.direction)
            down = state.direction > 0
            scalars[5] = (state.push[down] / state.direction[down]).min(initial=np.inf)
        return np.concatenate([scalars, means, negative_means]).astype("<f8").tobytes()

    def _dot(self, one: FloatArray, other: FloatArray) -> float:
        return float((one * other).sum(axis=0) @ self.weight)

    def read(self, summaries: Sequence[bytes]) -> PushSummary:
        """Put the blocks' summaries together."""
        table = np.array([np.frombuffer(summary, "<f8") for summary in summaries])
        means, negative = np.split(table[:, _SCALARS:], 2, axis=1)
        curvature, slope, falling, pushed, mixed = table[:, :5].sum(axis=0).tolist()
        limit, violation = float(table[:, 5].min()), float(table[:, 6].max())
        return PushSummary(curvature, slope, falling, pushed, mixed, limit, violation, means, negative)

    def final(self, block: int, state: PushState) -> FloatArray:
        """The table of a block, shape (n_nodes, n_series): what is left below 0 cut off, sums of days above."""
        return np.asarray(self.shapes.tree(block).sums(np.maximum(state.table, 0.0)), dtype=np.float64)


@dataclass(frozen=True)
class Nearness:
    """How the rounds ended.

    Attributes:
        n_rounds: rounds made.
        violation: largest number of counts by which a day misses what holds at the optimum.
        converged: whether that is within the threshold.
    """

    n_rounds: int
    violation: float
    converged: bool


@dataclass(eq=False)
class _Search:
    """The driver's side."""

    rounds: Rounds
    stepper: PushStepper
    design: Design
    factor: float = 0.0
    means: FloatArray = field(default_factory=lambda: np.zeros(0))

    def send(self, message: Refresh | Direct | Step | None) -> PushSummary:
        return self.stepper.read(self.rounds.send(message, TASK, ends_round=isinstance(message, Step)))

    def roots(self, means: FloatArray) -> FloatArray:
        """Values of the blocks' roots from their means."""
        found = np.empty_like(means)
        above = np.zeros((self.design.blocks.n_top_nodes, means.shape[1]))
        for solver in self.stepper.solvers:
            series = solver.group.series
            found[:, series] = solve_top(self.design, solver, above[:, series], means[:, series])[1]
        return found

    def refreshed(self, found: PushSummary | None = None) -> PushSummary:
        """The gradient worked out anew."""
        found = found or self.send(Refresh(None))
        self.factor, self.means = 0.0, np.zeros_like(found.means)
        return self.send(Refresh(self.roots(found.means)))

    def round(self, found: PushSummary) -> PushSummary:
        """One direction and its step."""
        if found.negative > found.pushed:
            ahead = self.send(Direct("negative", 0.0, self.roots(found.negative_means)))
            self.factor, self.means = 0.0, np.zeros_like(found.means)
            return self.send(Step(ahead.slope / ahead.curvature, expand=False))
        self.means = found.means - self.factor * self.means
        ahead = self.send(Direct("pushed", self.factor, self.roots(self.means)))
        length = ahead.slope / ahead.curvature
        if length <= ahead.limit:
            found = self.send(Step(length, expand=False))
            self.factor = found.mixed / ahead.curvature
            return found
        return self.refreshed(self.send(Step(ahead.limit, expand=True)))


def nearest_nonnegative(
    rounds: Rounds, stepper: PushStepper, design: Design, largest: float, tol: float, max_rounds: int
) -> Nearness:
    """Run rounds until the table of the blocks is the nearest one.

    Args:
        rounds: the blocks with their estimates.
        stepper: that of the blocks.
        design: the design in the blocks of the work.
        largest: largest estimate of a node, in absolute value.
        tol: largest violation, in counts, above the rounding of the largest estimate.
        max_rounds: limit of rounds.
    """
    search, tol = _Search(rounds, stepper, design), max(tol, ROUNDING * largest)
    found, fresh = search.refreshed(search.send(None)), True
    for number in range(max_rounds + 1):
        if found.violation <= tol and not fresh:
            found, fresh = search.refreshed(), True
        if found.violation <= tol or number == max_rounds:
            return Nearness(number, found.violation, found.violation <= tol)
        found, fresh = search.round(found), False
    raise AssertionError
