"""The counts of a page: totals, quantiles and means, and every histogram that it has room for at every level."""

import datetime as dt
import math

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors
from dplib.jobs.range_histograms.publish import Summary
from dplib.jobs.range_histograms.quantiles import Shape, Value, means_of, quantiles_of
from dplib.page.blocks import Block, Chooser, DataTable, Figure, Paragraphs, Section, Text, heads, set_back
from dplib.page.chooser import ChoiceLevel, chooser, series_that_fit
from dplib.page.figures import Series, series_with_band
from dplib.page.frame import SWALLOWED
from dplib.page.number_text import count_of, count_text, number_text, with_margin
from dplib.privacy.noise_quantile import half_widths

MAX_POINTS = 1000
"""Intervals drawn of one histogram; more bins are drawn in runs of equal length."""
MAX_BINS = 20_000
"""Bins that are drawn one by one on choice."""
MAX_ROWS = 500
"""Groups in the table of totals: the largest ones."""
CHARTS = 1
"""Histograms that are drawn where no script runs: the largest."""
MAX_SHAPES = 100
"""Histograms whose quantiles and means are on the page: the largest ones."""
QUANTILES = (0.25, 0.5, 0.75)
_SHAPES = {"quantile 0.25": "a quarter is below", "quantile 0.5": "median", "quantile 0.75": "a quarter is above"}
MAX_LAWS = 48
"""Half widths of charts that are worked out, over all levels and histograms together."""
UNEVEN = 3.0
"""Bins this many times as wide as others are drawn side by side, each above its lower edge."""
_SCROLLING = 25


def counts_section(design: Design, summary: Summary) -> Section:
    """Totals, shapes and charts."""
    intro = "In blue the estimates" + ("" if design.adaptive else " with their 95 % intervals")
    order = sorted(summary.shown, key=lambda group: (-summary.totals[group], group))
    figures = tuple(_figure(design, group, *summary.shown[group]) for group in order[:CHARTS])
    text = Paragraphs((f"{intro}, in orange the published whole numbers.",))
    blocks: list[Block] = [_totals(design, summary), *_shapes(design, summary, order[:MAX_SHAPES]), text]
    return Section("Counts and charts", (*blocks, _choice(design, summary, order), *figures))


def shown_name(design: Design, group: int) -> str:
    """What a page calls a histogram."""
    return design.series[group] if design.bins.grouped else "all rows"


def _choice(design: Design, summary: Summary, order: list[int]) -> Chooser:
    """Every histogram at every level of the tree."""
    edges = _levels(design)
    kept = [np.array(order[:m]) for m in series_that_fit(len(order), [len(each) - 1 for each in edges])]
    errors, levels = Errors(design), []
    for own, bounds in zip(kept, edges, strict=True):
        lo, hi, wide = bounds[:-1], bounds[1:], int(np.diff(bounds).max())
        if not len(own):
            continue
        std = errors.by_series(lo, hi, own)

        def exact(at: int, own: IntArray = own, lo: IntArray = lo, hi: IntArray = hi) -> float:
            row, column = divmod(at, len(lo))
            return errors.sum_half_width(int(lo[column]), int(hi[column]), own[row : row + 1])

        half = half_widths(std.reshape(-1), exact, MAX_LAWS // len(edges)).reshape(std.shape)
        estimate, counts = (
            np.stack([np.add.reduceat(summary.shown[group][column], lo) for group in own.tolist()]) for column in (0, 1)
        )
        labels = [design.bins.shown(*ends) for ends in zip(lo.tolist(), hi.tolist(), strict=True)]
        least = int(np.diff(bounds).min())
        name = "bin" if wide == 1 else f"{count_text(wide)} bins" if least == wide else f"{least} to {wide} bins"
        alike = np.zeros(len(lo), dtype=bool)
        ticks = [str(day) for day in design.bins.ends(lo, hi)[0]] if design.bins.kind == "days" else ()
        levels.append(ChoiceLevel(name, count_of(name), labels, estimate, half, counts, alike, ticks=ticks))
    return chooser("histogram", [shown_name(design, group) for group in order], levels)


def _levels(design: Design) -> list[IntArray]:
    """Bounds of the bins, or of runs of very many, and of the levels of the tree that cover them, the finest first."""
    tree, n_bins = design.strategy.tree, design.bins.n_bins
    found = [np.append(np.arange(0, n_bins, 1 if n_bins <= MAX_BINS else -(-n_bins // MAX_POINTS)), n_bins)]
    for level in range(tree.n_levels - 1, -1, -1):
        own = tree.level_slice(level)
        lo, hi = tree.lo[own], tree.hi[own]
        whole = lo[0] == 0 and hi[-1] == n_bins and np.array_equal(lo[1:], hi[:-1])
        if whole and 2 <= len(lo) < len(found[-1]) - 1:
            found.append(np.append(lo, n_bins))
    return found


def _figure(design: Design, group: int, estimates: FloatArray, counts: IntArray) -> Figure:
    n_bins = design.bins.n_bins
    width = -(-n_bins // MAX_POINTS)
    lo = np.arange(0, n_bins, width)
    hi = np.minimum(lo + width, n_bins)
    middle, whole = np.add.reduceat(estimates, lo), np.add.reduceat(counts, lo)
    margin = None if design.adaptive else np.nan_to_num(Errors(design).half_widths(lo, hi, group))
    name, each = design.series[group], "bin" if width == 1 else f"{width} bins"
    caption = f"{design.bins.shown(0, n_bins)}, one point {'a bin' if width == 1 else f'for {width} bins'}."
    if margin is not None:
        caption += f" 95 % intervals: up to ±\N{NO-BREAK SPACE}{number_text(float(margin.max()), 3)}."
    alt = alt_text(name, middle, whole)
    title = name if design.bins.grouped else f"All {count_text(n_bins)} bins"
    drawing = series_with_band(Series(_positions(design, lo, hi), middle, margin, whole, count_of(each)))
    return Figure(drawing, title, caption, alt)


def alt_text(name: str, estimates: FloatArray, counts: IntArray) -> str:
    """A chart in words."""
    return (
        f"Chart of {name}: estimates between {number_text(float(estimates.min()), 3)} and "
        f"{number_text(float(estimates.max()), 3)}; published counts between {count_text(counts.min())} and "
        f"{count_text(counts.max())}."
    )


def _positions(design: Design, lo: IntArray, hi: IntArray) -> list[dt.date] | list[str] | list[float]:
    first, last = design.bins.ends(lo, hi)
    if design.bins.kind == "edges":
        widths = last / 2 - first / 2
        if widths.max() / UNEVEN > widths.min():
            return [f"{value:.12g}" for value in first.tolist()]
        return [float(value) for value in first / 2 + last / 2]
    if design.bins.kind == "categories":
        return [str(value) for value in first]
    return [value.item() for value in first]


def _totals(design: Design, summary: Summary) -> DataTable:
    order = np.argsort(-summary.totals, kind="stable")[:MAX_ROWS]
    halves, rows = Errors(design).whole_half_widths(order), []
    for group, half in zip(order.tolist(), halves.tolist(), strict=True):
        total = float(summary.totals[group])
        value, margin = (number_text(total), "–") if np.isnan(half) else with_margin(total, half)
        row = (shown_name(design, group), value, margin, count_text(summary.published[group]))
        rows.append(set_back(row, abs(total) <= half))
    columns = heads("Group", numbers=("Estimate", "± 95 %", "Published"))
    caption = f"Every group over all bins, the largest first; {SWALLOWED}"
    if len(order) < len(design.series):
        caption += f"; the first {count_text(len(order))} of {count_text(len(design.series))}"
    return DataTable(caption, columns, tuple(rows), tall=len(rows) > _SCROLLING)


def _shapes(design: Design, summary: Summary, groups: list[int]) -> tuple[DataTable, ...]:
    """Quantiles and means of the largest histograms; nothing where bins have no order."""
    if design.bins.kind == "categories":
        return ()
    cells = [(design.series[group], *summary.shown[group]) for group in groups]
    shapes = (*quantiles_of(design, cells, QUANTILES), *means_of(design, cells))
    place = {name: number for number, (name, _, _) in enumerate(cells)}
    rows = [
        _shape_row(design, groups[place[shape.group]], shape) for shape in sorted(shapes, key=lambda x: place[x.group])
    ]
    caption = "Quantiles and means with their 95 % intervals; grey where these are all bins, or there is no estimate"
    if len(groups) < len(design.series):
        caption += f"; of the {count_text(len(groups))} largest"
    columns = heads("Group", "Of its values", numbers=("Estimate", "From", "To"))
    return (DataTable(caption, columns, tuple(rows), tall=len(rows) > _SCROLLING),)


def _shape_row(design: Design, group: int, shape: Shape) -> tuple[Text, ...]:
    first, last = (end[0].item() for end in design.bins.ends(np.array([0]), np.array([design.bins.n_bins])))
    finest = _step(design)
    numbers = ("–" if each is None else _value(each, finest) for each in (shape.estimate, shape.low, shape.high))
    swallowed = shape.estimate is None or (shape.low, shape.high) == (first, last)
    return set_back((shown_name(design, group), _SHAPES.get(shape.statistic, shape.statistic), *numbers), swallowed)


def _step(design: Design) -> float:
    """The narrowest bin: no quantile is known to less than a tenth of it."""
    return float(np.diff(design.bins.edges).min()) if design.bins.kind == "edges" else 1.0


def _value(value: Value, finest: float) -> str:
    if isinstance(value, dt.date):
        return value.isoformat()
    decimals = max(0, 1 - math.floor(math.log10(finest)))
    text = f"{value:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "\N{MINUS SIGN}")
