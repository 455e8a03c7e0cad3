"""The drawing of a cactus: every way to cut a graph at its minimum, on one picture.

Vertices that no minimum cut separates stand in one box. A straight line is a minimum cut: it separates what is on its
two sides. A circle stands for more of them: any two of its arcs that are not next to each other. So the tree of all
p-cuts is laid out as a tree, each ring as one node of it, and where the lines meet the circle are the ring's nodes.
A dot is a node without vertices. Where texts would be too small to read, boxes are left empty.

The drawing shows what it is given: the cactus of a released or synthetic graph, or of one that may be seen.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from dplib.arrays import FloatArray, IntArray
from dplib.graphs.cactus.cactus import Cactus
from dplib.graphs.cactus.cactus_cuts import count_standard_cuts
from dplib.graphs.cactus.cactus_standard_form import standard_form
from dplib.page.drawing import COLOURS, draw
from dplib.page.drawn_text import clean_text, short_text
from dplib.page.figures import WIDTH
from dplib.page.number_text import number_text
from dplib.page.tree_layout import tree_layout
from dplib.validate import require

MAX_NODES = 80
"""Boxes and rings that a drawing holds at most; a larger cactus is no longer legible."""
_MAX_NAMED = 3
_MAX_LETTERS = 16
_MARGIN = 12.0
_LEGEND = 46.0
_FONT = 12.0
_MIN_FONT = 6.0
_HEIGHT = 24.0
_LETTER = 7.4  # a letter's width at that size
_SMALL_ROOM = 7.0  # around a node without a box
_EDGE, _SHORT_EDGE, _FEW = 48.0, 26.0, 24  # least length of an edge where few nodes are drawn, and where more are
_BOX: Any = {
    "boxstyle": "round,pad=0.42,rounding_size=0.75",
    "facecolor": COLOURS["surface"],
    "edgecolor": COLOURS["muted"],
}
_RING: Any = {
    "marker": "o",
    "linestyle": "",
    "markersize": 11,
    "markeredgewidth": 2,
    "markerfacecolor": "none",
    "markeredgecolor": COLOURS["contrast"],
}


class _Plan(NamedTuple):
    """What to draw, in CSS pixels at full size: a tree of the cactus's nodes off the rings, then its rings."""

    at: FloatArray
    radius: FloatArray
    labels: list[str]
    edges: list[tuple[int, int]]

    def extent(self) -> tuple[FloatArray, FloatArray]:
        """Return the corners of what is drawn."""
        around = np.column_stack([self.radius, self.radius])
        around[: len(self.labels)] = [(_width(label) / 2, _HEIGHT / 2) for label in self.labels]
        return (self.at - around).min(axis=0), (self.at + around).max(axis=0)


def cactus_drawing(cactus: Cactus, names: Sequence[str] | None = None) -> str:
    """Draw any cactus of a graph in its standard form as SVG text; vertices are numbered where they have no names.

    Raises:
        ConfigError: the standard form has more than `MAX_NODES` nodes and rings to draw, or a vertex has no name.
    """
    standard = standard_form(cactus)
    called = [str(vertex) for vertex in range(cactus.n_vertices)] if names is None else list(names)
    require(len(called) == cactus.n_vertices, "names", "name every vertex", len(called))
    n_drawn = standard.n_nodes - sum(map(len, standard.rings)) + len(standard.rings)
    require(n_drawn <= MAX_NODES, "cactus", f"have at most {MAX_NODES} nodes and rings to be drawn", n_drawn)
    plan = _plan(standard, called)
    low, high = plan.extent()
    scale = min(1.0, (WIDTH - 2 * _MARGIN) / (high[0] - low[0]))
    height = (high[1] - low[1]) * scale + 2 * _MARGIN + _LEGEND

    def paint(figure: Figure) -> None:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        middle = (low + high) / 2
        axes.set_xlim(middle[0] - WIDTH / scale / 2, middle[0] + WIDTH / scale / 2)
        axes.set_ylim(low[1] - _MARGIN / scale, high[1] + (_MARGIN + _LEGEND) / scale)
        _lines(axes, plan, scale)
        _nodes(axes, plan, scale)
        _words(figure, count_standard_cuts(standard), n_rings=len(standard.rings), height=height)

    return draw(paint, WIDTH, height)


def _plan(standard: Cactus, names: Sequence[str]) -> _Plan:
    """Lay out the tree that is left when each ring is one node."""
    place = np.full(standard.n_nodes, -1)
    for number, ring in enumerate(standard.rings):
        place[ring] = number
    boxes = np.flatnonzero(place < 0)
    place[place >= 0] += len(boxes)
    place[boxes] = np.arange(len(boxes))
    held = standard.held()
    labels = [_label([names[vertex] for vertex in held[node]]) for node in boxes]
    edges = [(int(one), int(other)) for one, other in place[standard.tree_edges]]
    beside = _neighbors(standard, place, edges, len(boxes))
    radius = np.zeros(len(beside))
    radius[len(boxes) :] = [max(24, 6.5 * len(ring)) for ring in standard.rings]
    room = radius + _SMALL_ROOM
    room[: len(boxes)] = [_width(label) / 2 + 4 if label else _SMALL_ROOM for label in labels]
    apart = _EDGE if len(beside) <= _FEW else _SHORT_EDGE
    lengths = {}
    for one, other in edges:
        lengths[one, other] = lengths[other, one] = float(room[one] + room[other] + apart - 2 * _SMALL_ROOM)
    return _Plan(tree_layout(beside, lengths, room), radius, labels, edges)


def _neighbors(standard: Cactus, place: IntArray, edges: Sequence[tuple[int, int]], n_boxes: int) -> list[list[int]]:
    """The neighbours of every box and ring of the tree, around a ring in its own order."""
    beside: list[list[int]] = [[] for _ in range(n_boxes + len(standard.rings))]
    beyond: dict[int, int] = {}  # what a ring node's one edge leads to
    for ends, (one, other) in zip(standard.tree_edges.tolist(), edges, strict=True):
        beside[one].append(other)
        beside[other].append(one)
        beyond[ends[0]], beyond[ends[1]] = other, one
    for ring in standard.rings:
        beside[int(place[ring[0]])] = [beyond[int(node)] for node in ring]
    return beside


def _width(label: str) -> float:
    """About how many CSS pixels a box takes."""
    return _FONT + _LETTER * len(label)


def _label(names: Sequence[str]) -> str:
    """Some names and how many more, or how many there are."""
    if not names:
        return ""
    shown = ", ".join(names[:_MAX_NAMED])
    more = f" +{len(names) - _MAX_NAMED}" if len(names) > _MAX_NAMED else ""
    if len(shown + more) <= _MAX_LETTERS:
        return clean_text(shown + more)
    if len(names) == 1:
        return clean_text(short_text(names[0], _MAX_LETTERS))
    return f"{number_text(len(names))} vertices"


def _lines(axes: Axes, plan: _Plan, scale: float) -> None:
    style: Any = {"linewidth": 2 * scale, "solid_capstyle": "round", "zorder": 1}
    for one, other in plan.edges:
        along = plan.at[other] - plan.at[one]
        along = along / np.hypot(*along)
        start, end = plan.at[one] + plan.radius[one] * along, plan.at[other] - plan.radius[other] * along
        axes.plot(*zip(start, end, strict=True), color=COLOURS["accent"], **style)
        for node, point in ((one, start), (other, end)):
            if plan.radius[node] > 0:
                axes.plot(*point, "o", markersize=5 * scale, color=COLOURS["contrast"], markeredgewidth=0, zorder=3)
    for at, radius in zip(plan.at, plan.radius, strict=True):
        if radius > 0:
            ring = Circle((at[0], at[1]), radius, fill=False, edgecolor=COLOURS["contrast"], linewidth=2 * scale)
            axes.add_patch(ring)


def _nodes(axes: Axes, plan: _Plan, scale: float) -> None:
    size = _FONT * scale
    text: Any = {"ha": "center", "va": "center", "fontsize": size, "bbox": {**_BOX, "linewidth": 1.2 * scale}}
    for at, label in zip(plan.at, plan.labels, strict=False):
        if label and size >= _MIN_FONT:
            axes.text(at[0], at[1], label, zorder=4, **text)
        else:  # an empty node, or no room to write
            colour, width = (COLOURS["surface"], 1.5) if label else (COLOURS["accent"], 0)
            dot: Any = {"markersize": 6, "markerfacecolor": colour, "markeredgewidth": width}
            axes.plot(at[0], at[1], "o", markeredgecolor=COLOURS["muted"], zorder=4, **dot)


def _words(figure: Figure, n_cuts: int, n_rings: int, height: float) -> None:
    """How many cuts there are at the right, how to read them at the left."""
    title = f"{number_text(n_cuts)} minimum {'cut' if n_cuts == 1 else 'cuts'}"
    top = 1 - 12 / height
    figure.text(1 - 12 / WIDTH, top, title, ha="right", va="top", color=COLOURS["muted"], fontsize=12)
    handles = [Line2D([], [], color=COLOURS["accent"], linewidth=2, label="one cut")]
    if n_rings:
        handles.append(Line2D([], [], label="a cut for any two arcs not side by side", **_RING))
    if n_cuts:
        figure.legend(handles=handles, ncols=2, loc="upper left", bbox_to_anchor=(12 / WIDTH, 1 - 10 / height))
