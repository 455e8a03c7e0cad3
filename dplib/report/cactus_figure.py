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
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from dplib.graphs.cactus import Cactus
from dplib.graphs.cactus_cuts import count_standard_cuts
from dplib.graphs.cactus_standard_form import standard_form
from dplib.report.drawing import COLOURS, clean_text, draw
from dplib.report.figures import WIDTH
from dplib.report.number_text import number_text
from dplib.report.tree_layout import tree_layout
from dplib.validate import require

FloatArray = npt.NDArray[np.float64]

MOST_NODES = 80
"""Boxes and rings that a drawing holds at most; a larger cactus is no longer legible."""
_MOST_NAMED = 3
_MOST_LETTERS = 16
_MARGIN = 34.0
_LEGEND = 46.0
_LARGEST_STEP = 84.0  # CSS pixels of an edge
_FULL_STEP = 60.0  # of an edge with texts in full size; below, they shrink with it
_TEXT_SIZE = 12.0
_SMALLEST_TEXT = 6.0
_BOX: Any = {
    "boxstyle": "round,pad=0.42,rounding_size=0.75",
    "facecolor": COLOURS["surface"],
    "edgecolor": COLOURS["muted"],
    "linewidth": 1.2,
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
    """What to draw, in edge lengths: a tree whose nodes are the cactus's nodes off the rings, then its rings."""

    at: FloatArray
    radius: FloatArray
    labels: list[str]
    edges: list[tuple[int, int]]

    def extent(self) -> tuple[FloatArray, FloatArray]:
        """Return the corners of what is drawn, but for the boxes' own size."""
        around = self.radius[:, None]
        return (self.at - around).min(axis=0), (self.at + around).max(axis=0)


def cactus_drawing(cactus: Cactus, names: Sequence[str] | None = None) -> str:
    """Draw a cactus in its standard form as SVG text.

    Args:
        cactus: any valid cactus of a graph.
        names: of the graph's vertices, shape (n_vertices,); their numbers by default.

    Raises:
        ConfigError: the standard form has more than `MOST_NODES` nodes and rings to draw, or a vertex has no name.
    """
    standard = standard_form(cactus)
    called = [str(vertex) for vertex in range(cactus.n_vertices)] if names is None else list(names)
    require(len(called) == cactus.n_vertices, "names", "name every vertex", len(called))
    n_drawn = standard.n_nodes - sum(map(len, standard.rings)) + len(standard.rings)
    require(n_drawn <= MOST_NODES, "cactus", f"have at most {MOST_NODES} nodes and rings to be drawn", n_drawn)
    plan = _plan(standard, called)
    low, high = plan.extent()
    room = WIDTH - 2 * _MARGIN - max(map(_width, plan.labels))
    step = min(_LARGEST_STEP, room / max(high[0] - low[0], 0.1))
    height = (high[1] - low[1]) * step + 2 * _MARGIN + _LEGEND

    def paint(figure: Figure) -> None:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        middle = (low + high) / 2
        axes.set_xlim(middle[0] - WIDTH / step / 2, middle[0] + WIDTH / step / 2)
        axes.set_ylim(low[1] - _MARGIN / step, high[1] + (_MARGIN + _LEGEND) / step)
        _lines(axes, plan)
        _nodes(axes, plan, step)
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
    radius[len(boxes) :] = [max(0.45, 0.13 * len(ring)) for ring in standard.rings]
    room = radius + 0.3
    room[: len(boxes)] = [0.45 * _width(label) / _FULL_STEP if label else 0.1 for label in labels]
    spread = [_spread([labels[near] for near in around if near < len(boxes)], room[around]) for around in beside]
    lengths = {}
    for one, other in edges:
        length = max(1 + radius[one] + radius[other], spread[one], spread[other])
        lengths[one, other] = lengths[other, one] = float(length)
    return _Plan(tree_layout(beside, lengths, room), radius, labels, edges)


def _neighbors(
    standard: Cactus, place: npt.NDArray[np.int64], edges: Sequence[tuple[int, int]], n_boxes: int
) -> list[list[int]]:
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
    return 22 + 7.4 * len(label)


def _spread(labels: Sequence[str], room: FloatArray) -> float:
    """How long edges must be, in steps, that the boxes around a node do not meet."""
    widest = 0.8 * (8 + max(map(_width, labels), default=0)) / _LARGEST_STEP
    return float(len(room) * max(widest, 2.1 * room.max(initial=0)) / (2 * np.pi))


def _label(names: Sequence[str]) -> str:
    """Some names and how many more, or how many there are."""
    if not names:
        return ""
    shown = ", ".join(names[:_MOST_NAMED])
    more = f" +{len(names) - _MOST_NAMED}" if len(names) > _MOST_NAMED else ""
    if len(shown + more) <= _MOST_LETTERS:
        return clean_text(shown + more)
    if len(names) == 1:
        return clean_text(f"{names[0][: _MOST_LETTERS - 1]}…")
    return f"{number_text(len(names))} vertices"


def _lines(axes: Axes, plan: _Plan) -> None:
    for one, other in plan.edges:
        along = plan.at[other] - plan.at[one]
        along = along / np.hypot(*along)
        start, end = plan.at[one] + plan.radius[one] * along, plan.at[other] - plan.radius[other] * along
        axes.plot(*zip(start, end, strict=True), color=COLOURS["accent"], linewidth=2, solid_capstyle="round", zorder=1)
        for node, point in ((one, start), (other, end)):
            if plan.radius[node] > 0:
                axes.plot(*point, "o", markersize=5, color=COLOURS["contrast"], markeredgewidth=0, zorder=3)
    for at, radius in zip(plan.at, plan.radius, strict=True):
        if radius > 0:
            axes.add_patch(Circle((at[0], at[1]), radius, fill=False, edgecolor=COLOURS["contrast"], linewidth=2))


def _nodes(axes: Axes, plan: _Plan, step: float) -> None:
    size = min(_TEXT_SIZE, _TEXT_SIZE * step / _FULL_STEP)
    for at, label in zip(plan.at, plan.labels, strict=False):
        if label and size >= _SMALLEST_TEXT:
            axes.text(at[0], at[1], label, ha="center", va="center", fontsize=size, bbox=_BOX, zorder=4)
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
