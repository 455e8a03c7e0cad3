"""Whether rounds reached their threshold, and what is said where they did not.

A true count meets every constraint, so what a round changes is a function of the noise alone: that a publication is
refused, and the numbers that the refusal names, say nothing about a row that the stored measurement does not say.
"""

from dplib.consistency.problem import Solution
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.config import Solver


def require_converged(solver: Solver, solution: Solution) -> None:
    """Refuse to publish estimates that are short of the optimum by an unknown distance.

    Raises:
        ConfigError: unless the settings accept them; the measurement stays, so publishing again costs nothing.
    """
    if solution.converged or solver.accept_unconverged:
        return
    last, plain = solution.rounds[-1], solver.acceleration == "none"
    instead = "leave publish.solver.acceleration out, or " if plain else ""
    raise ConfigError(
        "publish.solver.max_rounds",
        f"be enough for a mean change of at most {solver.tol:g} a round",
        f"{last.number} rounds that end at a change of {last.change:.3g} and a consistency deviation of "
        f"{last.deviation:.3g}: {instead}raise it or publish.solver.tol; the measurement is kept, and publishing "
        "again costs nothing (publish.solver.accept_unconverged: true publishes these estimates without errors)",
    )
