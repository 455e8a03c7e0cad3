"""The page of one release of network statistics: one self-contained HTML file.

Post-processing: everything comes from the stored measurement, from what was computed from it, and from public settings.
Sections, in this order: what was released; the guarantee; expected errors; charts; how the estimates were made; the
budget; how to query and cite.
"""

import numpy as np

from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import Results, half_width, std_error
from dplib.jobs.network_statistics.local import estimate_degrees
from dplib.jobs.network_statistics.measurements import LADDER, SMOOTH
from dplib.jobs.network_statistics.noisy_graph_page import (
    model_callout,
    noisy_graph_blocks,
    other_charts,
    planned_tables,
)
from dplib.jobs.network_statistics.plan import plan_notes, planned, star_errors, triangle_errors
from dplib.jobs.network_statistics.publish import projection_loss
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.page.blocks import (
    Block,
    DataTable,
    Figure,
    Paragraphs,
    Section,
    Text,
    heads,
    set_back,
)
from dplib.page.figures import Series, series_with_band
from dplib.page.frame import INTERVALS, SWALLOWED, PageFrame, Released, notes_from_plan, tables_of_release
from dplib.page.guarantee import NoiseRow, NoiseTable
from dplib.page.number_text import count_text, number_text, with_margin

MAX_POINTS = 500
"""Points drawn of a degree distribution; more degrees are drawn in runs of equal length."""
_REFERENCES = (
    "Karwa, Raskhodnikova, Smith, Yaroslavtsev, Private analysis of graph structure, PVLDB 4(11), 2011.",
    "Hay, Li, Miklau, Jensen, Accurate estimation of the degree distribution of private networks, ICDM 2009.",
    "Zhang, Cormode, Procopiuc, Srivastava, Xiao, Private release of graph statistics using ladder functions, SIGMOD "
    "2015.",
    "Day, Li, Lyu, Publishing graph degree distribution with node differential privacy, SIGMOD 2016.",
)


def build_page(design: Design, results: Results, parts: WholeGraph, frame: PageFrame) -> str:
    """Return the page as HTML text; the same content gives the same bytes."""
    return frame.page(
        "Network statistics",
        "Statistics of a graph",
        _released(design, results, parts, frame),
        _noise(design),
        (*_charts(design, results), _expected_errors(design), _how_made(design, results, frame)),
        _use(design, frame),
    )


def _released(design: Design, results: Results, parts: WholeGraph, frame: PageFrame) -> Released:
    return frame.released(
        f"statistics of a graph with {count_text(design.n_vertices)} declared vertices",
        "Rows that name an undeclared vertex, or one vertex twice, were not counted; rows that name the same two "
        "vertices count as one edge.",
        ("Vertices", count_text(design.n_vertices)),
        tables_of_release(
            "Estimates with their standard errors; may be negative. For analysis.",
            "Integers that a graph could have. For tables.",
            "The noisy numbers as they were drawn. For making other estimates at no further cost.",
        ),
        (*model_callout(design), *_single_numbers(design, results), *noisy_graph_blocks(design, parts, results)),
        private="edges",
    )


def _single_numbers(design: Design, results: Results) -> tuple[DataTable, ...]:
    rows: list[tuple[Text, ...]] = []
    for each in design.released:
        if each.size != 1 or each.statistic is Statistic.ADJACENCY:
            continue
        value, error = float(results.estimate[each.statistic][0]), float(results.std_error[each.statistic][0])
        half = half_width(design, each.statistic, error) if np.isfinite(error) else 0.0
        shown = with_margin(value, half) if np.isfinite(error) else (number_text(value), "not stated")
        row = (_title(each.statistic), *shown, count_text(int(results.count[each.statistic][0])))
        rows.append(set_back(row, abs(value) <= half))
    columns = heads("Statistic", numbers=("Estimate", "± 95 %", "Published"))
    return (DataTable(f"Single numbers; {SWALLOWED}", columns, tuple(rows)),) if rows else ()


def _title(statistic: Statistic) -> str:
    return statistic.replace("_", " ")


def _noise(design: Design) -> NoiseTable:
    rows = tuple(
        NoiseRow.of(_title(each.statistic), each.size, each.noise, each.share, each.mechanism)
        for each in design.measurements
    )
    caption = "The noise of each statistic (– where it follows the graph, or decides pairs or candidates)"
    return NoiseTable(caption, "Statistic", "Numbers", rows)


def _expected_errors(design: Design) -> Section:
    rows = []
    for each in design.measurements:
        found = planned(design, each)
        missing = "withheld" if each.mechanism in (LADDER, SMOOTH) else "–"
        noise = missing if found.noise is None else number_text(found.noise, 4)
        error = "not stated" if found.std_error is None else number_text(found.std_error, 4)
        if each.size == 0:
            error = "–"
        rows.append((_title(each.statistic), found.mechanism.replace("_", " "), noise, error))
    columns = heads("Statistic", "Mechanism", numbers=("Noise (sd)", "Standard error"))
    words = (
        "These follow from the settings alone and were known before a row was read. Where noise follows the graph, or "
        "where the estimate uses the order of degrees, the error depends on private facts and is not stated. "
        f"{INTERVALS}"
    )
    blocks: list[Block] = [Paragraphs((words,)), DataTable("Expected error of one number", columns, tuple(rows))]
    triangles = triangle_errors(design)
    if triangles:
        numbers = tuple(
            tuple(number_text(value, 4) for value in (each.width, each.ladder, each.smooth, each.global_laplace))
            for each in triangles
        )
        columns = heads(
            "Assumed degree", numbers=("Ladder (mean)", "Smooth (median)", "Noise of the worst graph (mean)")
        )
        caption = "Absolute error of triangles, by the second-largest degree (or most common neighbours) of the graph"
        blocks.append(DataTable(caption, columns, numbers))
    blocks += [*_star_table(design), *planned_tables(design)]
    return Section("Expected error by statistic", tuple(blocks))


def _star_table(design: Design) -> tuple[DataTable, ...]:
    """Errors of the ladder of stars, where it is used."""
    rows = tuple(
        tuple(number_text(value, 4) for value in (each.width, each.ladder, each.worst_graph))
        for each in star_errors(design)
    )
    columns = heads("Assumed degree", numbers=("Ladder (mean)", "Noise of the worst graph (mean)"))
    caption = "Absolute error of stars, by the degree of the two vertices with most edges"
    return (DataTable(caption, columns, rows),) if rows else ()


def _charts(design: Design, results: Results) -> tuple[Section, ...]:
    statistic = Statistic.DEGREE_HISTOGRAM
    if statistic not in results.estimate:
        return other_charts(design, results)
    counts, estimates = results.count[statistic], results.estimate[statistic]
    last = int(np.flatnonzero(counts)[-1])
    width = -(-(last + 1) // MAX_POINTS)
    lo = np.arange(0, last + 1, width)
    hi = np.minimum(lo + width, last + 1)
    half = [_bins_margin(design, results, *ends) for ends in zip(lo.tolist(), hi.tolist(), strict=True)]
    middle, whole = (np.add.reduceat(values[: last + 1], lo) for values in (estimates, counts))
    each = "degree" if width == 1 else f"run of {width} degrees"
    caption = (
        f"Vertices of each degree, one point a {each}, up to the last degree with a published vertex. In blue the "
        "estimates with their 95 % intervals, in orange the published whole numbers."
    )
    alt = f"Degree distribution of {count_text(design.n_vertices)} vertices up to degree {last}."
    drawn = series_with_band(Series(lo.astype(float).tolist(), middle, half, whole, "vertices"))
    return (Section("Charts", (Figure(drawn, "Degree distribution", caption, alt),)),)


def _bins_margin(design: Design, results: Results, lo: int, hi: int) -> float:
    """Half width of the 95 % interval of the vertices whose degree lies in the bins from ``lo`` to before ``hi``."""
    statistic = Statistic.DEGREE_HISTOGRAM
    if results.reports is None:
        return half_width(design, statistic, std_error(design, statistic, hi - lo), hi - lo)
    return half_width(design, statistic, estimate_degrees(design, results.reports, lo, hi - 1)[1])


def _how_made(design: Design, results: Results, frame: PageFrame) -> Section:
    texts: list[Text] = [
        "Every number is an unbiased estimate from the reports: a function of a noisy degree is replaced by the one "
        "whose mean over the noise it is, a bit by its unbiased value. Errors that depend on the graph are estimated "
        "from the reports too. Published integers lie in the range that a graph can have. None of this costs budget."
        if design.local
        else "Single numbers are as they were drawn. A degree histogram is the nearest one whose sum is the number of "
        "vertices; sorted degrees are the nearest ascending sequence. Published integers are non-negative and lie in "
        "the range that a graph can have. All of this uses only the noisy numbers, and costs no budget."
    ]
    loss = projection_loss(design, results)
    if loss is not None:
        texts.append(
            f"The projection left {number_text(100 * loss.full_share, 3)} % of the vertices full. Guessed from the "
            f"noisy histogram alone, it took between about {number_text(loss.light_tail, 2)} and "
            f"{number_text(loss.heavy_tail, 2)} edges away, if the degrees go on as a geometric or as a Pareto tail; "
            "the two are no bounds."
        )
    notes = notes_from_plan(plan_notes(design), frame.guarantee.promise.invariants)
    return Section("How the estimates were made", (Paragraphs(tuple(texts)), *notes))


def _use(design: Design, frame: PageFrame) -> Section:
    return frame.use(
        "network statistics",
        (f"--item {design.measurements[0].statistic}", "A statistic with its standard error and 95 % interval"),
        _REFERENCES,
    )
