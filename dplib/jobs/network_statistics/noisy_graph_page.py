"""The page's blocks on noisy graphs, choices and the local model, and charts where no degree histogram is released."""

import numpy as np

from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import Results, block_intervals, half_width
from dplib.jobs.network_statistics.noisy_graph_plan import (
    compared_models,
    local_notes,
    n_candidates_of,
    planned_choices,
    planned_graphs,
)
from dplib.jobs.network_statistics.noisy_graph_tables import block_names, chosen_name, pairs_of_blocks, passing_of
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.page.blocks import (
    Block,
    Callout,
    Column,
    DataTable,
    Figure,
    Mono,
    Section,
    Text,
    heads,
)
from dplib.page.figures import Series, series_with_band
from dplib.page.number_text import count_text, number_text

MAX_POINTS = 500
"""Points drawn of a cumulative or sorted sequence; more are drawn at equal distances."""


def model_callout(design: Design) -> tuple[Callout, ...]:
    """What the local model promises; nothing in the central one."""
    if not design.local:
        return ()
    made = design.reported is not None
    title = "Local model: vertices randomized their own reports" if made else "Local model, simulated"
    return (Callout(title, " ".join(local_notes(design)), tone="note" if made else "warning"),)


def noisy_graph_blocks(design: Design, parts: WholeGraph, results: Results) -> list[Block]:
    """The edges of blocks, and what was chosen."""
    blocks: list[Block] = []
    if parts.graph is not None:
        blocks.append(_blocks(design, parts, results))
    rows: list[tuple[Text, ...]] = []
    for each in design.measurements:
        if each.statistic in parts.choices:
            name = chosen_name(design, each.statistic, parts.choices[each.statistic])
            what = "split into groups" if each.statistic is Statistic.SPLIT else "seeds by coverage"
            rows.append((what, name, count_text(n_candidates_of(design, each))))
    if rows:
        columns = heads("Choice", "Chosen", numbers=("Declared candidates",))
        blocks.append(DataTable("Choices by the exponential mechanism", columns, tuple(rows)))
    return blocks


def _blocks(design: Design, parts: WholeGraph, results: Results) -> DataTable:
    assert parts.graph is not None
    passing, adjacency = passing_of(parts.graph.law), Statistic.ADJACENCY
    estimate, rows = results.estimate[adjacency], []
    pairs, ends = pairs_of_blocks(design), block_intervals(design, estimate, parts)
    for key, (one, other) in enumerate(block_names(design)):
        name = "the whole graph" if key == 0 else f"inside {one}" if one == other else f"{one} – {other}"
        low, high = (count_text(end) for end in ends[key])
        density = number_text(float(estimate[key]) / max(1, int(pairs[key])), 3)
        rows.append((name, number_text(float(estimate[key])), f"{low} to {high}", density, count_text(int(pairs[key]))))
    columns = heads("Vertices", numbers=("Edges", "95 % interval", "Density", "Pairs"))
    caption = (
        f"Edges told by the noisy graph of {count_text(parts.graph.edges.n_edges)} pairs, in which an edge is missing "
        f"with probability {number_text(1 - passing.edge, 3)} and another pair appears with probability "
        f"{number_text(passing.other, 3)}"
    )
    return DataTable(caption, columns, tuple(rows))


def planned_tables(design: Design) -> list[Block]:
    """What was known of noisy graphs, choices and both models before a row was read."""
    blocks: list[Block] = []
    graphs, choices, models = planned_graphs(design), planned_choices(design), compared_models(design)
    if graphs:
        names = ("An edge is missing", "Another pair appears", "Edges there", "False", "Error")
        rows = tuple(
            (
                count_text(each.edges),
                *(
                    number_text(value, 3)
                    for value in (each.missing, each.false, each.expected_edges, each.expected_false, each.std_error)
                ),
            )
            for each in graphs
        )
        caption = "The noisy graph by the edges of the graph; the error is that of the number of edges it tells"
        blocks.append(DataTable(caption, heads("Assumed edges", numbers=names), rows))
    if choices:
        columns = heads("Choice", numbers=("Candidates", "Below the best"))
        told = tuple((each.statistic, count_text(each.candidates), number_text(each.within, 3)) for each in choices)
        caption = "How far a chosen score is below the best one at most, with probability 95 % (edges, vertices)"
        blocks.append(DataTable(caption, columns, told))
    if models:
        columns = (*heads("Number", numbers=("Central", "Local")), Column("Local from"))
        compared = tuple(
            (each.number, number_text(each.central, 3), number_text(each.local, 3), each.how) for each in models
        )
        caption = "Standard error (triangles: mean absolute) in both models, each at the whole budget on that number"
        blocks.append(DataTable(caption, columns, compared))
    return blocks


def other_charts(design: Design, results: Results) -> tuple[Section, ...]:
    """A chart of cumulative or sorted degrees; empty where neither is released."""
    if Statistic.CUMULATIVE_HISTOGRAM in results.estimate:
        return (Section("Charts", (_cumulative(design, results),)),)
    if Statistic.SORTED_DEGREES in results.estimate:
        return (Section("Charts", (_sorted(design, results),)),)
    return ()


def _cumulative(design: Design, results: Results) -> Figure:
    statistic = Statistic.CUMULATIVE_HISTOGRAM
    whole = results.count[statistic]
    # Up to the first degree that all vertices have at most.
    last = int(np.searchsorted(whole, design.n_vertices))
    places = _places(min(last + 1, len(whole)))
    drawn = series_with_band(
        Series(
            places.astype(float).tolist(),
            results.estimate[statistic][places],
            np.full(len(places), half_width(design, statistic, float(results.std_error[statistic][0]))),
            whole[places],
            "vertices",
        )
    )
    caption = (
        "Vertices of at most each degree. In blue the estimates with their 95 % intervals, in orange the published "
        "whole numbers, which never fall."
    )
    alt = f"Cumulative degree distribution of {count_text(design.n_vertices)} vertices."
    return Figure(drawn, "Cumulative degree distribution", caption, alt)


def _sorted(design: Design, results: Results) -> Figure:
    statistic = Statistic.SORTED_DEGREES
    places = _places(design.n_vertices)
    drawn = series_with_band(
        Series(
            places.astype(float).tolist(),
            results.estimate[statistic][places],
            None,
            results.count[statistic][places],
            "degree",
        )
    )
    caption: Text = (
        "Degrees in ascending order, by place. In blue the isotonic estimates, in orange the published whole numbers. "
        "No interval is drawn: the error depends on the degrees; in all it is at most that of the noise, which ",
        Mono("measurement/"),
        " states.",
    )
    alt = f"Degrees of {count_text(design.n_vertices)} vertices in ascending order."
    return Figure(drawn, "Sorted degrees", caption, alt)


def _places(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """At most `MAX_POINTS` places from 0, both ends among them."""
    return np.unique(np.linspace(0, count - 1, min(count, MAX_POINTS)).astype(np.int64))
