"""A rehearsal: the whole job on a generated graph of the declared vertices, against the true statistics of that graph.

Nothing private is touched (`dplib.workflow.rehearsal`). The graph has hubs: an end of an edge is vertex v with a
probability that falls as (v + 1)^(-1/2). Rows stand in both orientations and some stand twice, as in real lists.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
from dplib.workflow.rehearsal import run_on_edges
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
    """Generate a graph (fewer edges where rows meet), run the job on it and compare its release with the truth."""
    graph, shown = generate(prepared.design.n_vertices, n_edges, seed), prepared.design.vertices.shown
    edges = [
        (shown(one), shown(other)) for one, other in zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    ]
    turned = [(other, one) for one, other in edges[::3]]
    with run_on_edges(prepared, edges + turned, progress) as (design, release):
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
