"""A version of a stream: tables of all that is measured, from the stored measurements of its days.

    <stream>/measurement/2026-03-31/nodes.parquet    what was measured on a day: written once
    <stream>/000090/                                 a version: a release of its own, which later ones leave as it is
        estimates/top-00000.parquet                  one file a top: its parts' nodes, with their status
        published/top-00000.parquet

``status`` is *final* where no later run changes the row, else *preliminary*. A top that is final keeps its file: it is
the same one in every later version. Sees no row and draws no noise.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.problem import Solution
from dplib.jobs.consistent_histograms.convergence import require_converged
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.consistent_histograms.publish import Results, published_table
from dplib.jobs.consistent_histograms.stream_measure import NODES
from dplib.jobs.consistent_histograms.stream_parts import StreamPart, StreamState
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.progress import SILENT, Progress
from dplib.release.stream_version import StreamVersion
from dplib.release.tables import read_table

FINAL, PRELIMINARY = "final", "preliminary"


def top_name(number: int) -> str:
    """Name of a top's files."""
    return f"top-{number:05d}"


@dataclass(frozen=True, eq=False)
class TopResults:
    """What post-processing made of the days of one top.

    Attributes:
        nodes: of the stream's tree, those of the top's parts, shape (n,).
        results: estimates, errors and tables of these nodes, shape (n, n_series) each.
    """

    nodes: IntArray
    results: Results


def estimate_top(state: StreamState, top: int, measurement: Path, progress: Progress = SILENT) -> TopResults | None:
    """Estimates, errors and non-negative tables of a top's parts; None where no day of it is measured.

    Args:
        state: what is measured.
        top: number of the top's node.
        measurement: the stream's folder of measured days.
        progress: told of the rounds.
    """
    parts = state.parts(top)
    if not parts:
        return None
    found = [_estimate_part(part, read_noisy(state.design, measurement, part), progress) for part in parts]
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


def _estimate_part(part: StreamPart, noisy: FloatArray, progress: Progress) -> Results:
    solver = part.design.config.publish.solver
    solution = estimate(part.design, noisy, solver, progress)
    require_converged(solver, solution)
    return Results(
        solution, Errors(part.design).node_std_error(), published_table(part.design, solution.values), "driver"
    )


def read_noisy(design: Design, measurement: Path, part: StreamPart) -> FloatArray:
    """The noisy counts of a part, shape (nodes of the part, n_series); 0 where not measured."""
    noisy = np.zeros((len(part.nodes), len(design.series)))
    by_name = {name: number for number, name in enumerate(design.series)}
    for day in range(part.lo, part.hi):
        rows = read_table(measurement / design.date(day).isoformat(), ["item", "node", "noisy"], blocks=[NODES])
        items = rows.column("item").combine_chunks()
        series = np.array([by_name[name] for name in items.dictionary.to_pylist()], dtype=np.int64)
        node = rows.column("node").to_numpy()
        place = np.minimum(np.searchsorted(part.nodes, node), len(part.nodes) - 1)
        own = part.nodes[place] == node
        codes = items.indices.to_numpy(zero_copy_only=False)
        noisy[place[own], series[codes[own]]] = rows.column("noisy").to_numpy()[own]
    return noisy


def write_tops(
    state: StreamState, version: StreamVersion, shaping: str, directory: Path, progress: Progress
) -> list[TopResults]:
    """Write ``estimates/`` and ``published/`` of a version; final tops take their files over from the version before.

    Args:
        state: what is measured.
        version: its days, and the version before.
        shaping: hash of the settings that shape a release: others make other files.
        directory: the staging directory.
        progress: told of the rounds.

    Returns:
        What was made of the tops that were worked out.
    """
    tables, made = Tables(directory, state.design), []
    for number, top in enumerate(state.tops.tolist()):
        if (
            state.is_final(top)
            and version.was_final(number, shaping)
            and _took_over(version, top_name(number), directory)
        ):
            continue
        found = estimate_top(state, top, version.measurement, progress)
        if found is None:
            continue
        status = np.full(found.results.std_error.shape, FINAL if state.is_final(top) else PRELIMINARY)
        estimates = {"estimate": found.results.solution.values, "std_error": found.results.stated_error}
        tables.write_nodes(ESTIMATES, top_name(number), found.nodes, estimates | {"status": status})
        published = found.results.tables
        if published.published.any():
            counts = {"count": published.counts, "status": status}
            tables.write_nodes(PUBLISHED, top_name(number), found.nodes, counts, published.published)
        made.append(found)
    return made


def _took_over(version: StreamVersion, name: str, directory: Path) -> bool:
    """Whether the version before has a top's files; they get further names where the file system allows it."""
    if version.previous is None:
        return False
    found = [path for table in (ESTIMATES, PUBLISHED) for path in sorted((version.previous / table).glob(f"{name}.*"))]
    for path in found:
        target = directory / path.relative_to(version.previous)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except OSError:
            target.write_bytes(path.read_bytes())
    return bool(found)
