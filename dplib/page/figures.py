"""The drawings of the reports: estimates with their band, errors by query, rounds of a solver, the budget.

Each function takes plain numbers and returns SVG text that `dplib.page.blocks.Figure` puts on a page. They look at
estimates and public settings only. One style for all: `dplib.page.drawing`.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, YAxis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from dplib.arrays import BoolArray, FloatArray
from dplib.page.axis_scale import linear_to, powers
from dplib.page.drawing import COLOURS, draw, drawn_once
from dplib.page.drawn_text import clean_text, short_text
from dplib.page.number_text import number_text

WIDTH = 720.0
_FEW = 60
_LETTERS_ACROSS, _MIN_LETTERS = 100, 10
"""Letters of names that fit below an axis, and those that each name gets at least."""
_MIN_DAYS = 5
"""Days that stand on an axis of time; fewer have their names below them."""
_LINES = ("contrast", "third", "muted")
_MARKERS = ("D", "s", "^")
_DASH: Any = {"marker": "_", "linestyle": "", "markersize": 15, "markeredgewidth": 2, "color": COLOURS["contrast"]}


class RoundRecord(Protocol):
    """What a solver's driver records of one round."""

    @property
    def number(self) -> int:
        """1 for the first round."""

    @property
    def change(self) -> float:
        """Mean absolute change of all values in this round."""

    @property
    def deviation(self) -> float:
        """How far the values still are from the constraints."""


@dataclass(frozen=True, eq=False)
class Series:
    """One series to draw.

    Attributes:
        positions: dates, names in order, or numbers; n of them, at least one.
        estimate: shape (n,).
        half_width: of the 95 % intervals, shape (n,); None where none is stated: no band.
        published: shape (n,), or None where nothing was published.
        y_label: what is counted.
        marked: points that are hollow or, where there are many, on grey, shape (n,); none where None.
        mark: what the legend says of them.
    """

    positions: Sequence[dt.date] | Sequence[str] | Sequence[float]
    estimate: npt.ArrayLike
    half_width: npt.ArrayLike | None
    published: npt.ArrayLike | None = None
    y_label: str = "count"
    marked: BoolArray | None = None
    mark: str = ""


@drawn_once
def series_with_band(series: Series) -> str:
    """Draw estimates with their 95 % band, and published counts as dashes or dots.

    Few counts that are many times the others are on a logarithmic axis (`dplib.page.axis_scale`).
    """
    middle = np.asarray(series.estimate, dtype=float)
    half = np.zeros(len(middle)) if series.half_width is None else np.asarray(series.half_width, dtype=float)
    counts = None if series.published is None else np.asarray(series.published, dtype=float)
    few, linear = len(middle) <= _FEW, linear_to(middle, series.half_width)

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        at = _positions(axes, series.positions)
        if middle.min() - half.min() < 0:
            axes.axhline(0, color=COLOURS["muted"], linewidth=1)
        if few:
            axes.vlines(at, middle - half, middle + half, color=COLOURS["accent"], linewidth=5, alpha=0.3)
            axes.plot(at, middle, "o", color=COLOURS["accent"], markersize=5, markeredgewidth=0, zorder=4)
        else:
            axes.fill_between(at, middle - half, middle + half, color=COLOURS["accent"], alpha=0.22, linewidth=0)
            axes.plot(at, middle, color=COLOURS["accent"], linewidth=1.1)
        handles = _series_handles(counts is not None, series.half_width is not None, few)
        if series.marked is not None and series.marked.any():
            handles.append(_marks(axes, at, middle, series))
        if counts is not None:
            _counts(axes, at, counts)
        axes.set_title(clean_text(series.y_label + ("" if linear is None else ", logarithmic")))
        axes.margins(x=0.015, y=0.06)
        if linear is None:
            axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        else:
            axes.set_yscale("symlog", linthresh=linear)
            axes.yaxis.set_major_locator(FixedLocator(powers(*axes.get_ylim(), linear)))
            axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
        # Four entries leave no room beside them for the longest titles.
        _legend(axes, handles, 2 if linear is not None and len(handles) > 3 else None)

    return draw(paint, WIDTH, 300)


def _marks(axes: Axes, at: FloatArray, middle: FloatArray, series: Series) -> Line2D | Patch:
    """Tell marked points apart; return what the legend shows of it."""
    assert series.marked is not None
    marked, label = series.marked, clean_text(series.mark)
    if len(at) <= _FEW:
        hollow = _hollow("accent") | {"markersize": 5, "markeredgewidth": 1.4, "linestyle": "", "marker": "o"}
        axes.plot(at[marked], middle[marked], zorder=5, **hollow)
        return Line2D([], [], label=label, **hollow)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], marked.astype(int), [0]])))
    step = float(np.diff(at).min()) / 2
    for first, end in zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True):
        axes.axvspan(at[first] - step, at[end - 1] + step, color=COLOURS["grid"], alpha=0.6, linewidth=0, zorder=0)
    return Patch(facecolor=COLOURS["grid"], alpha=0.6, label=label)


@drawn_once
def error_by_query(names: Sequence[str], ours: npt.ArrayLike, baselines: Mapping[str, npt.ArrayLike]) -> str:
    """Draw the expected standard error of each kind of query, ours beside others', on a logarithmic axis.

    Args:
        names: kinds of query, from top to bottom.
        ours: shape (n_names,), above 0.
        baselines: name to the errors of another way to spend the same budget, shape (n_names,); at most three; NaN
            where it has none.
    """
    own = np.asarray(ours, dtype=float)
    others = {name: np.asarray(errors, dtype=float) for name, errors in baselines.items()}

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        rows = np.arange(len(names))
        every = np.vstack([own, *others.values()])
        axes.hlines(rows, np.nanmin(every, axis=0), np.nanmax(every, axis=0), color=COLOURS["grid"], linewidth=3)
        handles = [
            Line2D([], [], marker="o", linestyle="", markersize=9, color=COLOURS["accent"], label="this release")
        ]
        for errors, colour, marker in zip(others.values(), _LINES, _MARKERS, strict=False):
            axes.plot(errors, rows, marker, **_hollow(colour))
        for name, colour, marker in zip(others, _LINES, _MARKERS, strict=False):
            handles.append(Line2D([], [], marker=marker, linestyle="", label=clean_text(name), **_hollow(colour)))
        axes.plot(own, rows, "o", color=COLOURS["accent"], markersize=9, markeredgewidth=0)
        axes.set_xscale("log")
        axes.set_yticks(rows, [clean_text(name) for name in names], color=COLOURS["ink"], fontsize=12)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        _plain_log(axes.xaxis, *axes.get_xlim())
        axes.set_xlabel("expected standard error, in counts (logarithmic)", loc="left")
        _legend(axes, handles)

    return draw(paint, WIDTH, 96 + 42 * len(names))


@drawn_once
def error_by_length(lengths: Sequence[int], ours: npt.ArrayLike | None, baselines: Mapping[str, npt.ArrayLike]) -> str:
    """Draw the expected standard error by the length of a range, ours beside others', both axes logarithmic.

    Args:
        lengths: in bins, increasing.
        ours: shape (n_lengths,); None where it is not stated.
        baselines: name to the errors of another way to spend the same budget; at most three.
    """

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        for (name, errors), colour, marker in zip(baselines.items(), _LINES, _MARKERS, strict=False):
            style: Any = {"color": COLOURS[colour], "marker": marker, "markersize": 4, "linewidth": 1.2}
            axes.plot(lengths, np.asarray(errors, dtype=float), label=clean_text(name), **style)
        if ours is not None:
            own = np.asarray(ours, dtype=float)
            mine: Any = {"color": COLOURS["accent"], "marker": "o", "markersize": 5, "linewidth": 2.2, "zorder": 5}
            # A range whose count is public has no error and no place on a logarithmic axis.
            axes.plot(np.asarray(lengths)[own > 0], own[own > 0], label="this release", **mine)
        axes.set_xscale("log")
        axes.set_yscale("log")
        _plain_log(axes.xaxis, *axes.get_xlim())
        _plain_log(axes.yaxis, *axes.get_ylim())
        axes.set_title("standard error, in counts")
        axes.set_xlabel("length of the range, in bins", loc="left")
        _legend(axes, axes.get_legend_handles_labels()[0])

    return draw(paint, WIDTH, 320)


def convergence(rounds: Sequence[RoundRecord]) -> str:
    """Draw the mean change and the consistency deviation by round, both axes logarithmic.

    Values of zero (nothing left to change) have no place on the axis and are left out.
    """
    numbers = np.array([record.number for record in rounds], dtype=float)
    lines = (
        ("mean absolute change", "accent", np.array([record.change for record in rounds], dtype=float)),
        ("consistency deviation", "contrast", np.array([record.deviation for record in rounds], dtype=float)),
    )

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        for label, colour, values in lines:
            shown = values > 0
            style = "-" if len(values) > _FEW else "o-"
            axes.plot(numbers[shown], values[shown], style, color=COLOURS[colour], markersize=4, label=label)
        axes.set_xscale("log")
        _plain_log(axes.xaxis, *axes.get_xlim())
        if any((values > 0).any() for _, _, values in lines):
            axes.set_yscale("log")
            _plain_log(axes.yaxis, *axes.get_ylim())
        axes.set_xlabel("round", loc="left")
        _legend(axes, axes.get_legend_handles_labels()[0])

    return draw(paint, WIDTH, 280)


@drawn_once
def budget_bar(total: Fraction, before: Fraction, this: Fraction, currency: str) -> str:
    """Draw an account as one bar, in its currency: spent before, this release, what is left of the total."""
    parts = (("spent before", before, "muted"), ("this release", this, "accent"))

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        start = Fraction(0)
        axes.barh(0, float(total), color=COLOURS["grid"], height=0.8)
        for _, amount, colour in parts:
            axes.barh(0, float(amount), left=float(start), color=COLOURS[colour], height=0.8)
            start += amount
        handles = [Patch(color=COLOURS[colour], label=label) for label, _, colour in parts]
        handles.append(Patch(color=COLOURS["grid"], label="left"))
        axes.set_xlim(0, float(max(total, start)))
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
        axes.set_xlabel(clean_text(currency), loc="left")
        _legend(axes, handles)

    return draw(paint, WIDTH, 112)


def _positions(axes: Axes, positions: Sequence[dt.date] | Sequence[str] | Sequence[float]) -> FloatArray:
    """Set the ticks of the horizontal axis and return where each value stands."""
    days = [day for day in positions if isinstance(day, dt.date)]
    if len(days) >= _MIN_DAYS and min(days).year > dt.MINYEAR + 1 and max(days).year < dt.MAXYEAR - 1:
        locator = AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        numbers = date2num(days)  # type: ignore[no-untyped-call]
        return np.asarray(numbers, dtype=np.float64)
    if not days and not isinstance(positions[0], str):
        at = np.asarray(positions, dtype=np.float64)
        unit = _unit(float(np.abs(at).max()))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(float(value) * unit)))
        return at / unit
    # Also days beside the ends of the calendar, which ticks and margins would leave, and few days, to name no hours.
    at = np.arange(len(positions), dtype=float)
    step = -(-len(positions) // 10)
    letters = max(_MIN_LETTERS, _LETTERS_ACROSS // len(at[::step]))
    axes.set_xticks(at[::step], [clean_text(short_text(str(name), letters)) for name in positions[::step]])
    return at


def _unit(largest: float) -> float:
    """What positions are drawn in: beyond these bounds matplotlib's own margins and steps leave the floats."""
    return 1.0 if largest == 0 or 1e-100 < largest < 1e100 else 10.0 ** max(-300, math.floor(math.log10(largest)))


def _counts(axes: Axes, at: FloatArray, values: FloatArray) -> None:
    """Published counts on top of the estimates: dashes where there are few, else dots."""
    if len(at) <= _FEW:
        axes.plot(at, values, **_DASH)
        return
    # One path of zero-length strokes with round ends: a dot costs a few bytes, however many there are.
    vertices = np.repeat(np.column_stack([at, values]), 2, axis=0)
    path = Path(vertices, np.tile([Path.MOVETO, Path.LINETO], len(at)))
    path.should_simplify = False
    style = {"edgecolor": COLOURS["contrast"], "linewidth": 2.6, "capstyle": "round"}
    # As an artist: `add_patch` looks for the ends of the path stroke by stroke.
    axes.add_artist(PathPatch(path, fill=False, zorder=3, **style))
    axes.update_datalim(vertices)


def _series_handles(with_counts: bool, with_band: bool, few: bool) -> list[Line2D | Patch]:
    """The legend of a series, in the order of what matters."""
    line: Any = {"marker": "o", "linestyle": "", "markersize": 5} if few else {"linewidth": 1.6}
    dots: Any = _DASH if few else {"marker": "o", "linestyle": "", "markersize": 3.5, "color": COLOURS["contrast"]}
    handles: list[Line2D | Patch] = [Line2D([], [], color=COLOURS["accent"], label="estimate", **line)]
    if with_band:
        handles.append(Patch(facecolor=COLOURS["accent"], alpha=0.3, label="95 % interval"))
    return [*handles, Line2D([], [], label="published count", **dots)] if with_counts else handles


def _hollow(colour: str) -> dict[str, Any]:
    return {
        "markersize": 8,
        "markerfacecolor": COLOURS["surface"],
        "markeredgecolor": COLOURS[colour],
        "markeredgewidth": 1.8,
    }


def _plain_log(axis: Axis, low: float, high: float) -> None:
    """Plain numbers on a logarithmic axis from ``low`` to ``high``; between the powers of ten where these are few."""
    few = high / low < 200
    axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _: number_text(value) if few and f"{value:e}"[0] in "25" else "")
    )
    axis.set_tick_params(which="minor", labelsize=11)
    if not few and isinstance(axis, YAxis):  # ticks that are not seen take time
        axis.set_minor_locator(NullLocator())


def _legend(axes: Axes, handles: Sequence[Artist], columns: int | None = None) -> None:
    """Above the axes at the left, which is what a narrow screen shows first; in one row where ``columns`` is None."""
    axes.legend(handles=handles, ncols=columns or len(handles), loc="lower left", bbox_to_anchor=(0, 1.02))
