"""The page of one release of minimum cuts: one self-contained HTML file.

Post-processing: everything comes from the stored measurement, from what was computed from it, and from public settings.
Sections, in this order: what was released; the guarantee; expected errors; the cuts; how they were made; the budget;
how to query and cite.
"""

import numpy as np

from dplib.errors import ConfigError
from dplib.jobs.minimum_cuts.cut_margin import BETA, cut_margin, number_margin
from dplib.jobs.minimum_cuts.design import (
    COUNT,
    SAMPLED,
    SOFT,
    SYNTHETIC,
    TOP,
    Design,
)
from dplib.jobs.minimum_cuts.estimate import SAMPLED_REFUSED, FoundCuts, Results
from dplib.jobs.minimum_cuts.noise_rows import noise_rows
from dplib.jobs.minimum_cuts.plan import make_plan, plan_notes
from dplib.jobs.minimum_cuts.synthetic import Synthetic
from dplib.mechanisms.cuts.cut_statistics import COUNT_WARNING
from dplib.mechanisms.cuts.pair_weights import EXACT_CUTS
from dplib.page.blocks import (
    Block,
    Callout,
    Column,
    DataTable,
    Figure,
    Paragraphs,
    Section,
    Text,
    heads,
    set_back,
)
from dplib.page.cactus_figure import cactus_drawing
from dplib.page.drawn_text import short_text
from dplib.page.frame import INTERVALS, SWALLOWED, PageFrame, Released, notes_from_plan, tables_of_release
from dplib.page.guarantee import NoiseTable
from dplib.page.number_text import count_text, number_text, with_margin

SHOWN_CUTS = 20
"""Cuts of a release on the page; all of them are in ``estimates/``."""
_SHOWN_NAMES = 6
_MAX_LETTERS = 24
_TITLES = {
    TOP: "The smallest cuts (top cuts)",
    SAMPLED: "Drawn near-minimum cuts (sampled cuts)",
    SYNTHETIC: "Near-minimum cuts of the synthetic graph",
}
_REFERENCES = (
    "Dwork, McSherry, Nissim, Smith, Calibrating noise to sensitivity in private data analysis, TCC 2006.",
    "McSherry, Talwar, Mechanism design via differential privacy, FOCS 2007.",
    "Gupta, Ligett, McSherry, Roth, Talwar, Differentially private combinatorial optimization, SODA 2010.",
    "Durfee, Rogers, Practical differentially private top-k selection with pay-what-you-get composition, NeurIPS 2019.",
    "Karger, Minimum cuts in near-linear time, J. ACM 47(1), 2000.",
)


def build_page(design: Design, results: Results, frame: PageFrame) -> str:
    """Return the page as HTML text; the same content gives the same bytes."""
    noise = NoiseTable("The noise of each release (– where it chooses cuts)", "Release", "Numbers", noise_rows(design))
    return frame.page(
        "Minimum cuts",
        "Cuts of a graph",
        _released(design, results, frame),
        noise,
        (*_found(design, results), _expected(design), _how_made(design, results, frame)),
        _use(design, frame),
    )


def _released(design: Design, results: Results, frame: PageFrame) -> Released:
    counted = "added up" if design.config.graph.weights.repeats == "sum" else "counted once"
    serves = (
        "Rows that name an undeclared vertex, or one vertex twice, were not counted; the weights of rows that name the "
        f"same two vertices were {counted}."
    )
    return frame.released(
        f"facts about the minimum cuts of a graph with {count_text(design.n_vertices)} declared vertices",
        serves,
        ("Vertices", count_text(design.n_vertices)),
        tables_of_release(
            "Numbers and cuts with their standard errors, the synthetic graph and its cactus. For analysis.",
            "Not made by this job: a noisy value of a cut need not be one that a graph could have.",
            "The noisy numbers and the chosen cuts as they were drawn. For making other estimates at no further cost.",
        ),
        (*_warnings(design, results), *_numbers(design, results)),
        private="edges",
    )


def _warnings(design: Design, results: Results) -> list[Block]:
    found: list[Block] = []
    if any(each.statistic == SAMPLED_REFUSED and each.estimate for each in results.numbers):
        text = (
            "The noisy minimum cut value was too small to list the cuts that could have been drawn, so no cut was "
            "drawn. The refusal follows from the noisy value alone and is part of the guarantee; it has spent its part "
            "of the budget."
        )
        found.append(Callout("Sampled cuts: refused", text, tone="warning"))
    if design.asks(COUNT):
        found.append(Callout("The number of minimum cuts is hardly ever of use", COUNT_WARNING, tone="warning"))
    return found


def _numbers(design: Design, results: Results) -> list[Block]:
    rows: list[tuple[Text, ...]] = []
    for each in results.numbers:
        if each.statistic == SAMPLED_REFUSED:
            rows.append((_title(each.statistic), "yes" if each.estimate else "no", "–"))
        elif np.isnan(each.std_error):
            rows.append((_title(each.statistic), number_text(each.estimate), "not stated"))
        elif each.std_error == 0:
            rows.append((_title(each.statistic), number_text(each.estimate), "–"))
        else:
            half = number_margin(design, each.statistic)
            row = (_title(each.statistic), *with_margin(each.estimate, half))
            rows.append(set_back(row, abs(each.estimate) <= half))
    columns = heads("Number", numbers=("Estimate", "± 95 %"))
    return [DataTable(f"Single numbers; {SWALLOWED}", columns, tuple(rows))] if rows else []


def _title(statistic: str) -> str:
    names = {"soft_cut_count": "soft cut count (logarithm)", "synthetic_graph_cuts": "synthetic graph: cuts listed"}
    names |= {"synthetic_graph_value": "synthetic graph: least value of a cut"}
    names |= {f"{SAMPLED}_{word}": f"sampled cuts: {text}" for word, text in _SAMPLED_WORDS.items()}
    return names.get(statistic, statistic.replace("_", " "))


_SAMPLED_WORDS = {"value": "minimum cut value", "refused": "refused", "padding": "public edges added"}


def _expected(design: Design) -> Section:
    plan = make_plan(design, "")
    words = f"These follow from the settings alone and were known before a row was read. {INTERVALS}"
    blocks: list[Block] = [Paragraphs((words,))]
    rows: list[tuple[Text, ...]] = []
    for each in plan.releases:
        error = "–" if each.std_error is None else number_text(each.std_error, 4)
        label = {COUNT: "minimum cut count (log2 of it + 3 n)", SOFT: "soft cut count (logarithm)"}
        name = label.get(each.release, _title(each.release))
        rows.append((name, count_text(each.draws) if each.draws else "–", error))
    columns = heads("Release", numbers=("Cuts drawn", "Standard error"))
    blocks.append(DataTable("Expected error of one number", columns, tuple(rows)))
    if plan.synthetic:
        rows = [
            (count_text(each.side_size), *(_or_dash(value) for value in (each.std_error, each.all_cuts)))
            for each in plan.synthetic
        ]
        columns = heads("Smaller side", numbers=("One cut (sd)", "All cuts at once"))
        caption = f"Error of a cut of the synthetic graph; the last column holds for all cuts with {1 - BETA:.0%}"
        blocks.append(DataTable(caption, columns, tuple(rows)))
    if plan.expected_accuracy:
        rows = [
            (
                _title(each.release),
                count_text(each.value),
                *(_or_dash(value) for value in (each.accepted, each.excess, each.first, each.every)),
            )
            for each in plan.expected_accuracy
        ]
        names = ("Assumed minimum", "Accepted", f"Excess ({1 - BETA:.0%})", "First is minimum", "All are")
        caption = "Drawn cuts by the minimum cut value that the graph may have; the last two columns for a ring"
        blocks.append(DataTable(caption, heads("Release", numbers=names), tuple(rows)))
    return Section("Expected error by release", tuple(blocks))


def _or_dash(value: float | None) -> str:
    return "–" if value is None else number_text(value, 3)


def _found(design: Design, results: Results) -> tuple[Section, ...]:
    blocks: list[Block] = []
    for name, cuts in results.cuts.items():
        if len(cuts.sides):
            blocks.append(_cut_table(design, name, cuts))
    if results.synthetic is not None:
        blocks.append(_cactus(design, results.synthetic))
    return (Section("The cuts", tuple(blocks)),) if blocks else ()


def _cut_table(design: Design, name: str, cuts: FoundCuts) -> DataTable:
    rows: list[tuple[Text, ...]] = []
    vertices, n = design.vertices, design.n_vertices
    for cut in range(min(SHOWN_CUTS, len(cuts.sides))):
        size, side = int(cuts.side_size[cut]), cuts.sides[cut]
        smaller = side if 2 * size <= n else ~side
        shown = [
            short_text(vertices.shown(vertex), _MAX_LETTERS)
            for vertex in np.flatnonzero(smaller)[:_SHOWN_NAMES].tolist()
        ]
        more = int(smaller.sum()) - len(shown)
        held = ", ".join(shown) + (f" and {count_text(more)} more" if more > 0 else "")
        value, error = float(cuts.value[cut]), float(cuts.std_error[cut])
        half = 0.0 if np.isnan(error) else cut_margin(design, name, size)
        margin = ("not measured", "–") if np.isnan(error) else with_margin(value, half)
        sizes = f"{count_text(min(size, n - size))} | {count_text(max(size, n - size))}"
        rows.append(set_back((count_text(cut), sizes, held, *margin), abs(value) <= half))
    columns = (
        Column("Cut"),
        Column("Vertices", numeric=True),
        Column("Smaller side"),
        Column("Value", numeric=True),
        Column("± 95 %, all cuts" if name == SYNTHETIC else "± 95 %", numeric=True),
    )
    shown_of = f", {SHOWN_CUTS} of {count_text(len(cuts.sides))}" if len(cuts.sides) > SHOWN_CUTS else ""
    return DataTable(f"{_TITLES[name]}{shown_of}; {SWALLOWED}", columns, tuple(rows))


def _cactus(design: Design, synthetic: Synthetic) -> Block:
    cactus = synthetic.cactus
    if cactus is None:
        text = "The synthetic graph without its negative weights is in separate parts, so it has no cactus."
        return Paragraphs((text,))
    try:
        drawing = cactus_drawing(cactus, [design.vertices.shown(vertex) for vertex in range(design.n_vertices)])
    except ConfigError:
        return Paragraphs(("The cactus of the synthetic graph is too large to be drawn; it is in estimates/.",))
    caption = (
        "All minimum cuts of the synthetic graph at once, negative weights set to 0: each line is one minimum cut, and "
        "so is each pair of arcs of a ring that do not touch. Setting negative noise to 0 favours cuts around few "
        "vertices; the list above keeps it."
    )
    alt = f"Cactus of {count_text(cactus.n_nodes)} nodes."
    return Figure(drawing, "Cactus of the synthetic graph", caption, alt)


def _how_made(design: Design, results: Results, frame: PageFrame) -> Section:
    texts: list[Text] = [
        "Numbers and chosen cuts are as they were drawn. Everything about the synthetic graph is computed from its "
        "noisy weights and costs no budget; the value of a cut is the sum of the noisy weights across it, negative "
        "ones included."
    ]
    if results.synthetic is not None:
        texts.append(
            _listed(design, results.synthetic)
            + "A cut that is picked because its noisy value is small is likely to be larger in truth: their margins "
            "hold for all cuts at once. A set of vertices that is fixed beforehand has a far smaller one (dplib query)."
        )
    notes = notes_from_plan(plan_notes(design), {*frame.guarantee.promise.invariants, COUNT_WARNING})
    return Section("How the estimates were made", (Paragraphs(tuple(texts)), *notes))


def _listed(design: Design, synthetic: Synthetic) -> str:
    """Which cuts of the synthetic graph are in the list, and whether it is proved to hold them all."""
    factor, listed = number_text(design.config.publish.factor), count_text(len(synthetic.sides))
    if design.n_vertices <= EXACT_CUTS:
        end = "all there are. " if synthetic.complete else "the smallest of more. "
        return (
            f"Cuts of the synthetic graph are listed up to {factor} times its minimum; the list holds {listed}, {end}"
        )
    claim = (
        "No weight is negative, so the list is proved to hold every cut up to that value. "
        if synthetic.complete
        else "The search can miss cuts, smaller ones too: no quick method finds the least cut of signed weights. "
    )
    return (
        f"A search found the {listed} cuts of the synthetic graph in the list. A cut is listed if its value less two "
        f"standard errors is at most {factor} times the least value found, since the noise of a cut between halves is "
        f"far larger than that of a cut around one vertex. {claim}"
    )


def _use(design: Design, frame: PageFrame) -> Section:
    return frame.use(
        "minimum cuts",
        (
            f"--item {design.measurements[0].release}",
            "A number or the cuts of a release; --item VERTEX for the side of a vertex in every cut",
        ),
        _REFERENCES,
    )
