"""The room beside axes for their ticks, labels and legend, from the widths of texts, before anything is drawn.

matplotlib's constrained layout makes and measures every artist twice, and saving with it draws the figure twice: most
of the time that the page of a small release takes.
"""

import io
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from dplib.arrays import FloatArray

_ABOUT = np.array([45.0, 40.0, 10.0, 30.0])
"""Pixels at the left, below, at the right and above that are taken at first: how many ticks there are depends on it."""
_PAD, _TICK, _LINE = 3.0, 3.5, 1.17
"""At the figure's edge; of a tick, and from it to its label; a line of text as a multiple of its size."""
_MOST = 0.45
"""Part of the figure that a side takes at most: longer names are cut, and the drawing stays."""


class AxesRoom(LayoutEngine):
    """Places the one axes of a figure, with a legend above it and labels at the left and below."""

    _adjust_compatible = False
    _colorbar_gridspec = True

    def execute(self, fig: Figure) -> None:
        """Place the axes."""
        (axes,), size = fig.axes, np.array(fig.bbox.size)
        _place(axes, size, _ABOUT)
        _place(axes, size, _room(axes, RendererSVG(size[0], size[1], io.StringIO())))  # type: ignore[no-untyped-call]


def _place(axes: Axes, size: FloatArray, room: FloatArray) -> None:
    part = np.minimum((room + _PAD) / np.tile(size, 2), _MOST)
    axes.set_position(Bbox.from_extents(*part[:2], *(1 - part[2:])))


def _room(axes: Axes, renderer: RendererSVG) -> FloatArray:
    """Pixels that are needed at the left, below, at the right and above."""
    inner, legend = axes.get_window_extent(), axes.get_legend()
    up = list(_labels(axes.yaxis, renderer))
    left, right = max((width for _, width in up), default=-_TICK) + _TICK, 0.0
    for place, width in _labels(axes.xaxis, renderer):
        left, right = max(left, inner.x0 - place + width / 2), max(right, place + width / 2 - inner.x1)
    words = (
        (axes.xaxis.labelpad, axes.xaxis.label, axes.xaxis.label.get_text()),
        (_PAD, axes.xaxis.get_offset_text(), axes.xaxis.get_major_formatter().get_offset()),
    )
    below = max(pad + _LINE * float(text.get_fontsize()) if said else 0.0 for pad, text, said in words)
    above = 0.0 if legend is None else legend.get_window_extent(renderer).y1 - inner.y1
    below += 2 * _TICK + _LINE * float(_label(axes.xaxis).get_fontsize())
    return np.array([left, below, right, above])


def _label(axis: XAxis | YAxis) -> Text:
    """One of the labels of ticks, for its font."""
    return axis.get_major_ticks(1)[0].label1


def _labels(axis: XAxis | YAxis, renderer: RendererSVG) -> Iterator[tuple[float, float]]:
    """Where the labels in view stand along an axis, in pixels, and how wide they are."""
    low, high = sorted(axis.get_view_interval())
    font, across = _label(axis).get_fontproperties(), isinstance(axis, XAxis)
    for formatter, ticks in (
        (axis.get_major_formatter(), axis.get_majorticklocs()),
        (axis.get_minor_formatter(), axis.get_minorticklocs()),
    ):
        places: list[float] = ticks.tolist()
        for place, text in zip(places, formatter.format_ticks(places), strict=True):
            if text and low <= place <= high:
                at = axis.axes.transData.transform((place, 0) if across else (0, place))
                width, _, _ = renderer.get_text_width_height_descent(text, font, False)  # type: ignore[no-untyped-call]
                yield at[0 if across else 1], width
