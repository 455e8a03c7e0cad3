"""The drawing of centers over the noisy cells that they were made from, in two coordinates.

Many cells are drawn as shades of a coarse raster, few as dots with areas in proportion to their weights. It looks at
noisy numbers only, so it shows noise as well: faint cells where nobody is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dplib.arrays import FloatArray
from dplib.page.drawing import COLOURS, draw
from dplib.page.drawn_text import clean_text
from dplib.page.number_text import number_text

WIDTH, HEIGHT = 720.0, 480.0
RASTER = (60, 40)
FEW_CELLS = 400
MAX_NUMBERED = 30
_SHADES = (0.1, 0.2, 0.32, 0.46, 0.62)
_MAX_DOT = 260.0


@dataclass(frozen=True, eq=False)
class CenterMap:
    """What is drawn, in the coordinates of the input.

    Attributes:
        names: of the two coordinates; the second is empty where there is one only.
        low: lower ends of the public bounds, shape (2,).
        high: upper ends, shape (2,).
        centers: shape (k, 2).
        half_widths: of the centers' 95 % intervals, not finite where unknown, shape (k, 2).
        cells: places of noisy cells, shape (m, 2); m may be 0.
        cell_weights: at least 0, shape (m,).
    """

    names: tuple[str, str]
    low: FloatArray
    high: FloatArray
    centers: FloatArray
    half_widths: FloatArray
    cells: FloatArray
    cell_weights: FloatArray


def centers_over_cells(shown: CenterMap) -> str:
    """Draw the map as SVG text."""

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        center: Any = {"marker": "o", "markersize": 8, "color": COLOURS["contrast"]}
        handles: list[Any] = [Line2D([], [], label="center, 95 % of the noise", **center)]
        seen = shown.cell_weights > 0
        if seen.any():
            if seen.sum() > FEW_CELLS:
                _raster(axes, shown)
                handles.append(Patch(facecolor=COLOURS["accent"], alpha=0.4, label="noisy weight of the cells"))
            else:
                _dots(axes, shown.cells[seen], shown.cell_weights[seen])
                dot: Any = {"marker": "o", "linestyle": "", "markersize": 8, "alpha": 0.5, "color": COLOURS["accent"]}
                handles.append(Line2D([], [], label="noisy cell, area by weight", **dot))
        _centers(axes, shown)
        axes.set_xlim(shown.low[0], shown.high[0])
        axes.set_ylim(shown.low[1], shown.high[1])
        axes.set_xlabel(clean_text(shown.names[0]), loc="right")
        axes.set_title(clean_text(shown.names[1]), loc="left")
        axes.grid(visible=False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(6))
            axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
        if not shown.names[1]:
            axes.set_yticks([])
        axes.legend(
            handles=handles, ncols=len(handles), loc="lower left", bbox_to_anchor=(0, 1.06 if shown.names[1] else 1.02)
        )

    return draw(paint, WIDTH, HEIGHT if shown.names[1] else 160.0)


def _centers(axes: Axes, shown: CenterMap) -> None:
    x, y = shown.centers.T
    known = np.isfinite(shown.half_widths).all(axis=1)
    half = shown.half_widths[known]
    style: Any = {"fmt": "none", "ecolor": COLOURS["contrast"], "elinewidth": 1.6, "zorder": 4}
    across, up = half.T if shown.names[1] else (half[:, 0], None)
    axes.errorbar(x[known], y[known], yerr=up, xerr=across, **style)
    style = {"markersize": 8, "zorder": 5, "linestyle": "", "marker": "o"}
    axes.plot(x[known], y[known], color=COLOURS["contrast"], markeredgecolor=COLOURS["surface"], **style)
    hollow: dict[str, Any] = {"markerfacecolor": COLOURS["surface"], "markeredgecolor": COLOURS["contrast"]}
    axes.plot(x[~known], y[~known], **style, **hollow)
    if len(x) <= MAX_NUMBERED:
        for number, place in enumerate(shown.centers):
            # Numbers stand beside their centers, inside the drawing.
            side = -1 if place[0] > shown.low[0] + 0.95 * (shown.high[0] - shown.low[0]) else 1
            at: Any = {"xytext": (side * 6, 5), "textcoords": "offset points", "ha": "left" if side > 0 else "right"}
            axes.annotate(str(number), place, zorder=6, **at)


def _dots(axes: Axes, cells: FloatArray, weights: FloatArray) -> None:
    size = 4 + _MAX_DOT * weights / weights.max()
    axes.scatter(cells[:, 0], cells[:, 1], s=size, color=COLOURS["accent"], alpha=0.35, linewidths=0, zorder=2)


def _raster(axes: Axes, shown: CenterMap) -> None:
    """Shades by quantiles of the raster's positive weights: one path a shade costs a few bytes a square."""
    bins = RASTER if shown.names[1] else (RASTER[0], 1)
    span = np.stack([shown.low, shown.high], axis=1)
    x, y = shown.cells.T
    weight, across, up = np.histogram2d(x, y, bins=bins, range=span, weights=shown.cell_weights)
    # As a part of the fullest square, on a scale where a quarter of the weight is half as dark.
    shade = np.ceil(np.sqrt(weight / weight.max()) * len(_SHADES)).astype(int)
    for number, alpha in enumerate(_SHADES, start=1):
        squares = np.argwhere(shade == number)
        if not len(squares):
            continue
        x0, x1 = across[squares[:, 0]], across[squares[:, 0] + 1]
        y0, y1 = up[squares[:, 1]], up[squares[:, 1] + 1]
        corners = np.stack([x0, y0, x1, y0, x1, y1, x0, y1, x0, y0], axis=1).reshape(-1, 2)
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        path = Path(corners, np.tile(codes, len(squares)))
        path.should_simplify = False
        axes.add_artist(PathPatch(path, facecolor=COLOURS["accent"], alpha=alpha, linewidth=0, zorder=1))
