"""A rehearsal: the whole job on a generated graph of the declared vertices, against the true cuts of that graph.

Nothing private is touched (`dplib.workflow.rehearsal`). The graph is a ring with chords: every vertex is joined to the
next one and to some random ones; with rows to spare pairs repeat and their weights add up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import Graph, canonical
from dplib.jobs.minimum_cuts.design import SAMPLED_VALUE, SYNTHETIC, VALUE, Design
from dplib.jobs.minimum_cuts.estimate import SAMPLED_REFUSED
from dplib.jobs.minimum_cuts.measure import count_minimum_cuts, true_values
from dplib.jobs.minimum_cuts.query import read_cuts, read_numbers
from dplib.jobs.minimum_cuts.tables import Tables
from dplib.page.number_text import terminal_number
from dplib.progress import Progress
from dplib.workflow.job import PreparedJob
from dplib.workflow.rehearsal import run_on_edges
from dplib.workflow.shown import Shown, TextTable

ROWS_PER_VERTEX = 40
"""Rows a vertex that a rehearsal generates."""
MAX_REHEARSED = 1_000_000
"""Rows that it generates at most, unless told."""


@dataclass(frozen=True)
class RehearsedRelease:
    """What one release said of the generated graph.

    Attributes:
        release: which, or which number of it.
        true: the true number; of cuts the minimum cut value.
        found: the released number; of cuts the mean of their true values.
        predicted: standard error of the number, or of the value of the first cut; None where none is stated.
        error: of the number; of cuts the root mean square error of their noisy values, None where not measured.
        n_cuts: how many cuts; 0 for a number.
        n_minimum: how many of them are minimum cuts.
    """

    release: str
    true: float
    found: float
    predicted: float | None
    error: float | None
    n_cuts: int
    n_minimum: int


def rehearse(prepared: PreparedJob[Design], n_rows: int, seed: int, progress: Progress) -> list[RehearsedRelease]:
    """Generate a graph of rows of weight 1, run the job on it and compare its release with the truth."""
    source, target = generate(prepared.design.n_vertices, n_rows, seed)
    shown = prepared.design.vertices.shown
    edges = [(shown(one), shown(other)) for one, other in zip(source.tolist(), target.tolist(), strict=True)]
    with run_on_edges(prepared, edges, progress, weights={"largest": 1, "repeats": "sum"}) as (design, release):
        return _compared(design, canonical(design.n_vertices, source, target), release)


def _compared(design: Design, graph: Graph, release: Path) -> list[RehearsedRelease]:
    least, found = minimum_cut(graph).value, []
    truth = {VALUE: float(least), SAMPLED_VALUE: float(least), f"{SYNTHETIC}_value": float(least)}
    for each in read_numbers(release):
        if each.statistic == "minimum_cut_count":
            truth[each.statistic] = float(count_minimum_cuts(graph))
        if each.statistic in truth or each.statistic == SAMPLED_REFUSED:
            true = truth.get(each.statistic, 0.0)
            predicted = None if np.isnan(each.std_error) else each.std_error
            error = abs(each.estimate - true)
            found.append(RehearsedRelease(each.statistic, true, each.estimate, predicted, error, 0, 0))
    for name, cuts in read_cuts(Tables(release, design)).items():
        values = true_values(graph, cuts.sides).astype(np.float64)
        gap = cuts.value - values
        error_of_values = None if np.isnan(gap).any() else float(np.sqrt((gap**2).mean()))
        predicted = None if np.isnan(cuts.std_error[0]) else float(np.sqrt((cuts.std_error**2).mean()))
        n_minimum = int((values == least).sum())
        found.append(
            RehearsedRelease(name, least, float(values.mean()), predicted, error_of_values, len(values), n_minimum)
        )
    return found


def generate(n_vertices: int, n_rows: int, seed: int) -> tuple[IntArray, IntArray]:
    """Ends of rows of weight 1: rounds of a ring, every second row a random chord instead once the ring is closed."""
    generator = np.random.default_rng(seed)
    source = np.arange(n_rows, dtype=np.int64) % n_vertices
    target = (source + 1) % n_vertices
    chord = (np.arange(n_rows) >= n_vertices) & (np.arange(n_rows) % 2 == 0)
    step = generator.integers(1, n_vertices, size=n_rows)
    return source, np.where(chord, (source + step) % n_vertices, target)


def shown_rehearsal(prepared: PreparedJob[Design], rows: int | None, seed: int, progress: Progress) -> Iterator[Shown]:
    """Run the whole job on a generated graph and compare its release with the truth."""
    n_rows = rows or min(ROWS_PER_VERTEX * prepared.design.n_vertices, MAX_REHEARSED)
    found = rehearse(prepared, n_rows, seed, progress)
    shown = [
        [
            each.release,
            terminal_number(each.true, 6),
            terminal_number(each.found, 6),
            "not stated" if each.predicted is None else f"{each.predicted:,.2f}",
            "not measured" if each.error is None else f"{each.error:,.2f}",
            f"{each.n_cuts:,}" if each.n_cuts else "-",
            f"{each.n_minimum:,}" if each.n_cuts else "-",
        ]
        for each in found
    ]
    columns = ["release", "true", "found", "predicted", "error", "cuts", "minimum"]
    title = "Rehearsal on a generated graph (no ledger, no private data)"
    yield TextTable(title, columns, shown, frozenset(columns[1:]))
    yield "Of cuts: the minimum cut value, the mean of their true values, and how many are minimum."
