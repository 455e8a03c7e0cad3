"""A rehearsal: the whole job on a generated graph of the declared vertices, against the true statistics of that graph.

Nothing private is touched (`dplib.workflow.rehearsal`). The graph has hubs: an end of an edge is vertex v with a
probability that falls as (v + 1)^(-1/2). Rows stand in both orientations and some stand twice, as in real lists.
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.degrees import degree_histogram, edge_count, k_stars
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.triangles import count_triangles
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import std_error, whole_graph_error
from dplib.jobs.network_statistics.measure import exact_statistics
from dplib.jobs.network_statistics.tables import ESTIMATES, PUBLISHED, Tables
from dplib.progress import Progress
from dplib.workflow.job import PreparedJob
from dplib.workflow.rehearsal import on_generated_rows
from dplib.workflow.run import run_job
from dplib.workflow.shown import Shown, TextTable

EDGES_PER_VERTEX = 4
"""Rows a vertex that a rehearsal generates."""
MAX_REHEARSED = 1_000_000
"""Rows that it generates at most, unless told."""


@dataclass(frozen=True)
class RehearsedStatistic:
    """One statistic of the generated graph, before any projection; errors are root mean squares over its numbers.

    Attributes:
        statistic: which.
        numbers: how many it has.
        true: its value where it is one number.
        predicted: standard error; None where none is stated.
        measured: error of the estimates; a projection's bias is part of it.
        published: error of the published integers.
    """

    statistic: str
    numbers: int
    true: int | None
    predicted: float | None
    measured: float
    published: float


def rehearse(prepared: PreparedJob[Design], n_edges: int, seed: int, progress: Progress) -> list[RehearsedStatistic]:
    """Generate a graph, run the job on it and compare its release with the truth.

    Args:
        prepared: a checked configuration; its input, ledger, secret and output are not touched.
        n_edges: rows to generate; fewer edges where rows meet.
        seed: of the generated graph.
        progress: told of the stages.
    """
    with TemporaryDirectory(prefix="dplib-rehearsal-") as name:
        folder = Path(name)
        graph = generate(prepared.design.n_vertices, n_edges, seed)
        _write_rows(prepared.design, folder / "edges.csv", graph)
        rehearsed = _prepare(prepared, folder)
        _, release = run_job(rehearsed, progress=progress)
        assert release is not None
        design = rehearsed.design
        true = exact_statistics(design, graph) | exact_derived(design, graph)
        estimates = Tables(release, design).read(ESTIMATES, "estimate")
        counts = Tables(release, design).read(PUBLISHED, "count")
    found = []
    for each in design.released:
        if each.size == 0:
            continue
        right = true[each.statistic].astype(np.float64)
        met, whole = (
            float(np.sqrt(((table[each.statistic].astype(np.float64) - right) ** 2).mean()))
            for table in (estimates, counts)
        )
        error = (
            whole_graph_error(design, graph.n_edges)
            if each.statistic is Statistic.ADJACENCY
            else std_error(design, each.statistic)
        )
        value = int(right[0]) if each.size == 1 else None
        stated = None if np.isnan(error) else error
        found.append(RehearsedStatistic(each.statistic, each.size, value, stated, met, whole))
    return found


def exact_derived(design: Design, graph: SimpleGraph) -> dict[Statistic, IntArray]:
    """The true numbers of what the local model estimates besides its reports."""
    found, degrees = {}, graph.degrees()
    exact: dict[Statistic, Callable[[], IntArray | int]] = {
        Statistic.EDGE_COUNT: lambda: edge_count(degrees),
        Statistic.DEGREE_HISTOGRAM: lambda: degree_histogram(degrees, design.last_bin),
        Statistic.K_STARS: lambda: k_stars(degrees, design.config.graph.stars),
        Statistic.TRIANGLES: lambda: count_triangles(graph),
    }
    for each in design.derived:
        found[each.statistic] = np.atleast_1d(np.asarray(exact[each.statistic](), dtype=np.int64))
    return found


def generate(n_vertices: int, n_rows: int, seed: int) -> SimpleGraph:
    """A random graph with hubs, of at most ``n_rows`` edges."""
    generator = np.random.default_rng(seed)
    weight = np.cumsum(1 / np.sqrt(np.arange(1, n_vertices + 1)))
    ends = np.searchsorted(weight, generator.random((2, n_rows)) * weight[-1], side="right")
    return SimpleGraph.from_edges(n_vertices, *np.minimum(ends, n_vertices - 1))


def _write_rows(design: Design, path: Path, graph: SimpleGraph) -> None:
    domain = design.vertices
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["source", "target"])
        for row, (one, other) in enumerate(zip(graph.source.tolist(), graph.target.tolist(), strict=True)):
            ends = [domain.shown(one), domain.shown(other)]
            writer.writerow(ends)
            if row % 3 == 0:
                writer.writerow(ends[::-1])


def _prepare(prepared: PreparedJob[Design], folder: Path) -> PreparedJob[Design]:
    """The same job on the generated rows."""
    columns = {"source": "source", "target": "target"}
    options = {"header": "true", "escape": '"'}
    changed = {
        "input": {"path": "edges.csv", "format": "csv", "options": options, "columns": columns},
        # Listed files enter with their contents: their names are relative to another folder.
        "graph": prepared.settings["graph"],
    }
    return on_generated_rows(prepared, changed, folder)


def shown_rehearsal(prepared: PreparedJob[Design], rows: int | None, seed: int, progress: Progress) -> Iterator[Shown]:
    """Run the whole job on a generated graph and compare predicted with measured errors."""
    n_edges = rows or min(EDGES_PER_VERTEX * prepared.design.n_vertices, MAX_REHEARSED)
    found = rehearse(prepared, n_edges, seed, progress)
    shown = [
        [
            each.statistic,
            f"{each.numbers:,}",
            "-" if each.true is None else f"{each.true:,}",
            "not stated" if each.predicted is None else f"{each.predicted:.2f}",
            f"{each.measured:.2f}",
            f"{each.published:.2f}",
        ]
        for each in found
    ]
    columns = ["statistic", "numbers", "true", "predicted error", "measured error", "of published integers"]
    title = "Rehearsal on a generated graph (no ledger, no private data)"
    yield TextTable(title, columns, shown, frozenset(columns[1:]))
