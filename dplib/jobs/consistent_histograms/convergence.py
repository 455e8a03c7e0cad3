"""Whether rounds reach their threshold, and what is said where they do not.

A true count meets every constraint, so what a round changes is a function of the noise alone. Hence settings that
cannot converge are known before a row is read, by rounds on noise of the same law; and that a publication is refused,
and the numbers that the refusal names, say nothing about a row that the stored measurement does not say.

What plain rounds would change follows from few accelerated ones (`Alternation.plain_changes`).
"""

from dataclasses import replace

import numpy as np

from dplib.arrays import IntArray
from dplib.consistency.alternating import accelerated_rounds, measured_split
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions, SplitPart
from dplib.consistency.unmeasured import measured_part
from dplib.errors import ConfigError, SolverError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import day_constraints_of, groups
from dplib.jobs.consistent_histograms.solver_config import Solver
from dplib.jobs.consistent_histograms.split import is_paper_split, split_of

MAX_WORK = 1 << 23
"""Cells times rounds that are tried before a reservation: a fraction of a second."""
TRIED_ROUNDS = 100
"""Accelerated rounds that are tried at most."""
MARGIN = 10.0
"""Times the threshold that a foreseen change must exceed: other noise of the same law needs other rounds."""


def require_converged(solver: Solver, solution: Solution) -> None:
    """Refuse to publish estimates that are short of the optimum by an unknown distance.

    Raises:
        ConfigError: unless the settings accept them; the measurement stays, so publishing again costs nothing.
    """
    if solution.converged or solver.accept_unconverged:
        return
    last = solution.rounds[-1]
    raise ConfigError(
        "publish.solver.max_rounds",
        _rule(solver),
        f"{last.number} rounds that end at a change of {last.change:.3g} and a consistency deviation of "
        f"{last.deviation:.3g}: {_advice(solver)}; the measurement is kept, and publishing again costs nothing "
        "(publish.solver.accept_unconverged: true publishes these estimates without errors)",
    )


def require_reachable(design: Design) -> None:
    """Refuse settings whose rounds end before their threshold, as far as a few of them on mere noise tell.

    Raises:
        SolverError: saying which setting to change; nothing was spent.
    """
    solver = design.config.publish.solver
    if not solver.by_rounds:
        return
    # One group tells how rounds of this tree go; the publication that is tried goes through all of few.
    group = groups(design, design.constraints.components)[0]
    try:
        split = split_of(design, group)
    except ConfigError as error:
        raise SolverError("solver.split", error.rule, error.got) from None
    plain = solver.acceleration == "none"
    if solver.accept_unconverged or (plain and not is_paper_split(solver)):
        return
    expected = _expected_change(design, group, split)
    if expected > MARGIN * solver.tol:
        raise SolverError(
            "solver.max_rounds",
            _rule(solver),
            f"{solver.max_rounds} rounds, the last of which would still change noise of this law by {expected:.2g}: "
            f"{_advice(solver)} (publish.solver.accept_unconverged: true publishes such estimates without errors)",
        )


def _expected_change(design: Design, group: IntArray, split: tuple[SplitPart, ...]) -> float:
    """What the last round changes on average; 0 where that is too much work to say."""
    solver, variance = design.config.publish.solver, design.variance[:, group]
    plain = solver.acceleration == "none"
    n_rounds = TRIED_ROUNDS if plain else solver.max_rounds
    if n_rounds > TRIED_ROUNDS or n_rounds * variance.size > MAX_WORK:
        return 0.0
    std_dev = np.sqrt(np.where(np.isfinite(variance), variance, 0.0))
    noise = np.random.default_rng(0).normal(0.0, 1.0, variance.shape) * std_dev
    daily = tuple(each.homogeneous for each in day_constraints_of(design, group))
    split = tuple(
        replace(each, day_constraints=tuple(own.homogeneous for own in each.day_constraints or daily)) for each in split
    )
    measured = measured_part(ConsistencyProblem(design.tree, noise, variance, daily))
    part, own = measured.part, measured_split(split, measured.is_measured)
    changes: list[float] = [0.0]
    tol = 0.0 if plain else solver.tol
    found = accelerated_rounds(
        part, SolverOptions(tol, n_rounds, own), None, lambda _, change, __: changes.append(change)
    )
    if not plain:
        return 0.0 if found.converged else changes[-1]
    moved = found.plain_changes(solver.max_rounds) if found.lengths else 0.0
    # In counts of the noisiest days, spread over all cells.
    leaves = part.variance[part.tree.leaf_nodes]
    return moved * float(np.sqrt(leaves.max() / part.noisy.size))


def _rule(solver: Solver) -> str:
    return f"be enough for a mean change of at most {solver.tol:g} a round"


def _advice(solver: Solver) -> str:
    instead = "leave publish.solver.acceleration out, or " if solver.acceleration == "none" else ""
    return f"{instead}raise it or publish.solver.tol"
