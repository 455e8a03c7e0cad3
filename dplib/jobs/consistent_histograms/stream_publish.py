"""A version of a stream: tables of all that is measured, from the stored measurements of its days.

Its files: `dplib.release.stream_tops`. Sees no row and draws no noise.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.integers.integer_tables import Start
from dplib.consistency.problem import Solution
from dplib.estimates.stream_state import StreamPart, StreamState
from dplib.jobs.consistent_histograms.convergence import require_converged
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import estimate, integer_tables
from dplib.jobs.consistent_histograms.publish import Results, published_table
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.progress import SILENT, Progress
from dplib.release.stream_tops import open_tops, read_days
from dplib.release.stream_version import StreamVersion


@dataclass(frozen=True, eq=False)
class TopResults:
    """What post-processing made of the days of one top.

    Attributes:
        nodes: of the stream's tree, those of the top's parts, shape (n,).
        results: estimates, errors and tables of these nodes, shape (n, n_series) each.
    """

    nodes: IntArray
    results: Results


def estimate_top(
    state: StreamState[Design], top: int, measurement: Path, progress: Progress = SILENT
) -> TopResults | None:
    """Estimates, errors and non-negative tables of a top's parts; None where no day of it is measured.

    Args:
        state: what is measured.
        top: number of the top's node.
        measurement: the stream's folder of measured days.
        progress: told of the rounds.
    """
    parts, numbers = state.parts(top), state.design.series_number
    if not parts:
        return None
    found = []
    for part in parts:
        noisy = read_days(measurement, state.dates_of(part), part.nodes, "item", numbers)
        found.append(estimate_part(state.design, part, noisy, progress))
    solutions = [each.solution for each in found]
    solution = Solution(
        np.concatenate([each.values for each in solutions]),
        ", ".join(dict.fromkeys(each.solver for each in solutions)),
        max((each.rounds for each in solutions), key=len),
        all(each.converged for each in solutions),
    )
    counts = np.concatenate([each.tables.counts for each in found])
    tables = type(found[0].tables)(counts, np.logical_and.reduce([each.tables.published for each in found]))
    errors = np.concatenate([each.std_error for each in found])
    return TopResults(np.concatenate([part.nodes for part in parts]), Results(solution, errors, tables, "driver"))


def estimate_part(whole: Design, part: StreamPart[Design], noisy: FloatArray, progress: Progress) -> Results:
    """Estimates, errors and tables of a part's nodes.

    Args:
        whole: design of the stream.
        part: the part.
        noisy: its noisy counts, shape (nodes of the part, n_series).
        progress: told of the rounds.
    """
    design, solver = part.design, part.design.config.publish.solver
    if part.has_holes:
        # Its tree is what the missing days left of it: the solver that the settings name may not take it.
        solver = solver.model_copy(update={"method": "auto"})
    solution = estimate(design, noisy, solver, progress)
    require_converged(solver, solution)
    if whole.config.publish.counts == "integers" and not part.has_holes:
        # By the constraints of all days, whose generators are those of the batch release.
        tables = integer_tables(whole, solution.values, design.tree, Start(first_day=part.lo))
    else:
        tables = published_table(design, solution.values)
    return Results(solution, Errors(design).node_std_error(), tables, "driver")


def write_tops(
    state: StreamState[Design], version: StreamVersion, directory: Path, progress: Progress
) -> list[TopResults]:
    """Write ``estimates/`` and ``published/`` of a version; final tops take their files over from the version before.

    Args:
        state: what is measured.
        version: its days, and the version before.
        directory: the staging directory.
        progress: told of the rounds.

    Returns:
        What was made of the tops that were worked out.
    """
    tables, made = Tables(directory, state.design), []
    for top in open_tops(state, version, directory):
        found = estimate_top(state, top.node, version.measurement, progress)
        if found is None:
            continue
        status = np.full(found.results.std_error.shape, top.status)
        estimates = {"estimate": found.results.solution.values, "std_error": found.results.stated_error}
        tables.write_nodes(ESTIMATES, top.name, found.nodes, estimates | {"status": status})
        published = found.results.tables
        if published.published.any():
            counts = {"count": published.counts, "status": status}
            tables.write_nodes(PUBLISHED, top.name, found.nodes, counts, published.published)
        made.append(found)
    return made
