"""The page of one release of range histograms: one self-contained HTML file.

Post-processing: everything comes from the stored measurement, from what was computed from it, and from public settings.
Sections, in this order: what was released; counts and charts; expected errors; how the estimates were made; the
guarantee; the budget; how to query and cite.
"""

import shlex
from fractions import Fraction
from pathlib import Path

import numpy as np

from dplib.estimates.stream_state import StreamState
from dplib.jobs.range_histograms.charts import counts_section
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.kinds import kind_errors
from dplib.jobs.range_histograms.plan import length_errors, method_errors, plan_notes
from dplib.jobs.range_histograms.publish import Summary, level_noise
from dplib.jobs.range_histograms.stream_page import days_section, recent_section
from dplib.jobs.range_histograms.workload import asked_text, question_text, workload_text
from dplib.page.blocks import (
    DataTable,
    Figure,
    KeyValues,
    Paragraphs,
    Section,
    Strong,
    heads,
)
from dplib.page.figures import error_by_length
from dplib.page.frame import INTERVALS, PageFrame, Released, notes_from_plan, tables_of_release
from dplib.page.guarantee import NoiseRow, NoiseTable
from dplib.page.number_text import count_text, counted, days_text, number_text
from dplib.privacy.rounding import as_fraction

_TITLE = ("Range counts", "Histograms")
_LAYOUTS = {"driver": "one process on the driver", "blocks": "runs of groups in parallel on Spark"}
_REFERENCES = (
    "Hay, Rastogi, Miklau, Suciu, Boosting the accuracy of differentially private histograms through consistency, "
    "PVLDB 3(1), 2010.",
    "Qardaji, Yang, Li, Understanding hierarchical methods for differentially private histograms, PVLDB 6(14), 2013.",
    "Li, Miklau, Hay, McGregor, Rastogi, The matrix mechanism, VLDB Journal 24(6), 2015.",
)


def build_page(design: Design, summary: Summary, layout: str, frame: PageFrame) -> str:
    """Return the page as HTML text; the same content gives the same bytes.

    Args:
        design: the design.
        summary: of the tables.
        layout: where the estimates were made.
        frame: which release it is, its guarantee, account and notices.
    """
    bins = design.bins
    shown = f"{count_text(bins.n_bins)}: {bins.shown(0, 1)} ... {bins.shown(bins.n_bins - 1, bins.n_bins)}"
    held = f"{count_text(bins.n_bins)} bins, {bins.shown(0, bins.n_bins)}"
    first, last = (str(end[0]) for end in bins.ends(np.array([0]), np.array([max(1, bins.n_bins // 2)])))
    return frame.page(
        *_TITLE,
        _released(design, frame, held, ("Bins", shown)),
        _noise(design),
        (counts_section(design, summary), _expected_errors(design), _how_made(design, layout)),
        _use(design, frame, bins.shown(0, bins.n_bins), first, last),
    )


def build_stream_page(state: StreamState[Design], directory: Path, previous: Path | None, frame: PageFrame) -> str:
    """The same of a stream's version.

    Args:
        state: what is measured.
        directory: the version, its tables written.
        previous: the version before; None where there is none.
        frame: which release it is, its guarantee, account and notices.
    """
    design = state.design
    first, last, n_days = state.date(0), state.dates[-1], len(state.dates)
    counts, made = days_section(state, directory, previous), _how_made(design, "driver")
    return frame.page(
        *_TITLE,
        _released(
            design, frame, f"{counted(n_days, 'day')}, {first} to {last}", ("Days", days_text(first, last, n_days))
        ),
        _noise(design),
        (counts, recent_section(design), _expected_errors(design), made),
        _use(design, frame, f"{first} to {last}", f"{last}", f"{last}"),
    )


def _released(design: Design, frame: PageFrame, held: str, extent: tuple[str, str]) -> Released:
    bins = design.bins
    groups, totals = len(bins.groups), len(design.series) - len(bins.groups)
    many = f"{count_text(groups)} histograms" if groups > 1 else "a histogram"
    many += f" and {counted(totals, 'sum')} of them," if totals else ""
    serves = (
        "It answers how many rows lie in any range of bins, and gives no ground for conclusions about a single "
        f"{frame.guarantee.unit}. Rows outside the bins and groups, and rows beyond the public caps, were not counted."
    )
    return frame.released(
        f"{many} of {held}",
        serves,
        extent,
        tables_of_release(
            "Counts of the bins, each bucket's count spread evenly: biased, without a stated error."
            if design.adaptive
            else "Unbiased counts of every node of the trees, with a standard error each; may be negative. For "
            "analysis: any range is a sum of a few nodes (dplib query does it and gives the exact standard error).",
            "Non-negative whole numbers of the bins. For tables and software that expects counts. They have no "
            "standard errors; ranges keep the accuracy of the estimates, single small bins are biased.",
            "The noisy counts as they were drawn, with their variances. For making other estimates at no further cost.",
        ),
    )


def _noise(design: Design) -> NoiseTable:
    variance, tree = design.variance, design.strategy.tree
    rows = []
    for each in level_noise(design):
        of_level = variance[tree.level_slice(each["level"])]
        measured = of_level[np.isfinite(of_level)]
        level = "all bins" if each["level"] == 0 else f"level {each['level']}"
        known = each["level"] == 0 and design.total_is_public
        noise = as_fraction("noise", each["least"]) if each["measured"] and not known else None
        if known:
            level += " (public)"
        elif each["least"] != each["most"]:
            level += " (the least noise)"
        share = design.strategy.shares[tree.level_slice(each["level"])].max() / 2**40
        rows.append(
            NoiseRow(
                label=level,
                n_counts=each["n_nodes"],
                mechanism=design.events[-1].to_dict()["mechanism"] if noise is not None else "",
                noise=noise,
                variance=float(measured.min()) if len(measured) else float("inf"),
                sensitivity=Fraction(design.sensitivity) if noise is not None else None,
                share=Fraction(share).limit_denominator(10**6),
            )
        )
    caption = "The noise on each level of a tree" + (" with every bin a bucket" if design.adaptive else "")
    return NoiseTable(caption, "Level", "Intervals", tuple(rows))


def _expected_errors(design: Design) -> Section:
    lengths = length_errors(design)
    baselines = {
        "bins only": np.array([each.flat for each in lengths]),
        "binary tree": np.array([each.binary for each in lengths]),
        "wavelets": np.array([each.privelet for each in lengths]),
    }
    shown = {name: errors for name, errors in baselines.items() if np.isfinite(errors).all()}
    ours = None if design.adaptive else np.array([each.ours for each in lengths])
    words = (
        "These are standard errors of the count of one range, in counts (root mean squares over the ranges of a "
        "length). They follow from the settings alone and were known before a row was read; the alternatives spend the "
        "same budget. "
    )
    if design.stream is not None:
        words += "They are those of the whole stream, when all of its days are measured. "
    words += "The error of this release depends on the data and is not stated." if design.adaptive else INTERVALS
    names = ([] if ours is None else ["This release"]) + list(shown)
    every = ([] if ours is None else [ours]) + list(shown.values())
    columns = heads("Length in bins", numbers=names)
    rows = tuple(
        (count_text(each.length), *(number_text(float(errors[row]), 3) for errors in every))
        for row, each in enumerate(lengths)
    )
    alt = "; ".join(f"length {row[0]}: " + ", ".join(map(str, row[1:])) for row in rows)
    figure = Figure(
        error_by_length([each.length for each in lengths], ours, shown),
        "Expected standard error by length of the range",
        "Lower is better. Both axes are logarithmic.",
        f"Line chart of expected standard errors ({', '.join(names)}). {alt}.",
    )
    return Section(
        "Expected error by query",
        (
            Paragraphs((words,)),
            figure,
            DataTable("The same in numbers", columns, rows),
            *_kinds(design),
            *(() if design.stream is not None else (_methods(design),)),
        ),
    )


def _methods(design: Design) -> DataTable:
    columns = heads("Method", "Answers", numbers=("Standard error",))
    rows = tuple(
        (
            (Strong(f"{each.method} (this release)"),) if each.chosen else each.method,
            each.of,
            number_text(each.std_error, 4),
        )
        for each in method_errors(design)
    )
    return DataTable(f"Methods with the same budget: {_first_law(design)}", columns, rows)


def _first_law(design: Design) -> str:
    config = design.config
    return workload_text(config.tree.queries) if config.queries is None else question_text(config.queries[0].range)


def _kinds(design: Design) -> tuple[DataTable, ...]:
    """Errors of each kind of answer; nothing where neither questions nor sums of groups are declared."""
    kinds, _ = kind_errors(design)
    names = ("This release", "Best shares", "Equal shares", "Groups only")
    rows = tuple(
        (each.query, each.of, *(number_text(x, 3) for x in (each.chosen, each.best, each.equal, each.items_only)))
        for each in kinds
    )
    caption = "Standard error by kind of answer and division of the same budget"
    return (DataTable(caption, heads("Query", "Of", numbers=names), rows),) if kinds else ()


def _how_made(design: Design, layout: str) -> Section:
    tree = design.strategy.tree
    text = (
        "Every interval of the tree got a noisy count of its own, and noise breaks what must hold of true counts: that "
        "an interval is the sum of its parts. The estimates are the values closest to the noisy ones, each weighted by "
        "its variance, for which it holds again. This uses only the noisy counts, and costs no budget."
    )
    if design.adaptive:
        text = (
            "A private choice cut the bins into buckets of nearly equal counts; a tree over the buckets was measured, "
            "and each bucket's count was spread evenly over its bins."
        )
    if design.sums is not None:
        text += (
            " It holds of the groups and their totals too: the same was done with all trees at once, and a total's "
            "count is that of its groups."
        )
    rounding = (
        "The published integers are made from the top down: a parent's integer is divided among its children, "
        "nearest to "
        "the estimates, not below 0, and rounded by largest remainders, so sums are right before their parts are."
    )
    values = KeyValues(
        (
            ("Method", design.config.method),
            ("Made for", asked_text(design.config)),
            ("Tree", f"{count_text(tree.n_nodes)} intervals on {count_text(tree.n_levels)} levels"),
            ("Where it ran", _LAYOUTS[layout]),
        )
    )
    notes = notes_from_plan(plan_notes(design))
    return Section("How the estimates were made", (Paragraphs((text, rounding)), values, *notes))


def _use(design: Design, frame: PageFrame, held: str, first: str, last: str) -> Section:
    bins = design.bins
    group = f"--group {shlex.quote(bins.groups[0])} " if bins.grouped else ""
    return frame.use(
        f"range counts, {held}",
        (
            f"{group}--from {shlex.quote(first)} --to {shlex.quote(last)}",
            "An answer for any range of bins, with its exact standard error and 95 % interval",
        ),
        _REFERENCES,
    )
