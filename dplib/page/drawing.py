"""From a matplotlib figure to SVG that is small, follows the page's colours and is the same every time.

Colours are written as style-sheet variables with the light scheme's colour as fallback, so that a drawing inside a page
changes with the page from light to dark and still stands alone. Texts stay texts: they can be selected and searched,
and take the page's font.
"""

import hashlib
import io
import pickle
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from dplib.page.axes_room import AxesRoom
from dplib.page.drawn_text import clean_text
from dplib.page.few_pictures import one_too_many

COLOURS = {
    "ink": "#1d2329",
    "muted": "#5a6570",
    "grid": "#dde2e7",
    "surface": "#fdfdfb",
    "accent": "#1f5fa8",
    "contrast": "#b8500f",
    "third": "#3d7d4f",
}
"""Name to colour of the light scheme; the page defines each as the variable ``--fig-NAME`` for both schemes."""

_STYLE: Any = {
    "svg.fonttype": "none",
    "figure.facecolor": "none",
    "figure.edgecolor": "none",
    "axes.facecolor": "none",
    "svg.hashsalt": "dplib",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "font.family": ["DejaVu Sans"],
    "font.size": 12,
    "text.color": COLOURS["ink"],
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.titlecolor": COLOURS["muted"],
    "axes.titlesize": 12,
    "axes.titlepad": 11,
    "axes.titley": 1,
    "axes.titlelocation": "right",
    "axes.labelsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.unicode_minus": True,
    "grid.color": COLOURS["grid"],
    "grid.linewidth": 1,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.minor.size": 3.5,
    "xtick.minor.pad": 3.5,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 12,
    "legend.borderaxespad": 0,
    "legend.handlelength": 1.4,
    "legend.columnspacing": 1.6,
}
_VARIABLES = {colour: f"var(--fig-{name}, {colour})" for name, colour in COLOURS.items()}
_DECIMALS = re.compile(r"-?\d+\.\d+")
_ONE_LINE = re.compile(r"\s+")
NOT_DRAWN = "<svg/>"
MAX_KEPT = 32
"""Drawings that a process keeps."""
_kept: dict[bytes, str] = {}
P = ParamSpec("P")
_SHAPES = frozenset({"d", "x", "y", "width", "height", "transform", "points"})


def drawn_once(figure: Callable[P, str]) -> Callable[P, str]:
    """Let a figure that is asked for again with equal arguments be the drawing of before.

    The runs of one process have much in common: the expected errors of one configuration, the publication that is tried
    before each, and the account that this shows. A drawing takes longer than all else on a page.
    """

    @wraps(figure)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> str:
        key = hashlib.sha256(pickle.dumps((figure.__qualname__, args, kwargs))).digest()
        svg = _kept.get(key)
        if svg is None:
            svg = figure(*args, **kwargs)
            if svg != NOT_DRAWN:
                while len(_kept) >= MAX_KEPT:
                    _kept.pop(next(iter(_kept)), None)
                _kept[key] = svg
        return svg

    return drawn


def draw(paint: Callable[[Figure], None], width: float, height: float) -> str:
    """Return what ``paint`` draws on an empty figure as SVG text, in CSS pixels at full size."""
    if one_too_many(paint.__qualname__):
        return NOT_DRAWN
    # The reader's own matplotlib settings must not change the page, nor the page theirs.
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        # The browser sets the text; that the layout's font lacks a character only makes a width approximate.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout=AxesRoom())
        paint(figure)
        raw = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(raw, metadata=nothing)  # type: ignore[no-untyped-call]
    return _tidy(raw.getvalue())


def embedded(svg: str, prefix: str, label: str) -> str:
    """Return a drawing to stand inside a page: identifiers prefixed, and with a label for screen readers."""
    root = ET.fromstring(svg)  # noqa: S314 - our own drawing
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, prefix + value)
            elif name == "href":
                element.set(name, f"#{prefix}{value[1:]}")
            elif value.startswith("url(#"):
                element.set(name, f"url(#{prefix}{value[5:]}")
    root.set("role", "img")
    root.set("aria-label", clean_text(label))
    return ET.tostring(root, encoding="unicode")


def _tidy(raw: str) -> str:
    """Drop names, namespaces and digits that say nothing, and put variables for colours."""
    root = ET.fromstring(raw)  # noqa: S314 - our own drawing
    for parent in list(root.iter()):
        for child in list(parent):
            # matplotlib's one rule would apply to the whole page; the root carries it as attributes instead.
            if child.tag.endswith(("}style", "}metadata")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({name: _attribute(name, value) for name, value in attributes.items()})
        if element.tag not in {"text", "tspan"}:
            element.text = None
        element.tail = None
    used = _references(root)
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
    _unwrap(root)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("stroke-linejoin", "round")
    return ET.tostring(root, encoding="unicode")


def _attribute(name: str, value: str) -> str:
    if name in _SHAPES:
        short = _DECIMALS.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value)
        return _ONE_LINE.sub(" ", short).strip()
    if name == "style":
        kept = (rule for rule in value.split("; ") if not rule.startswith("font-family"))
        return re.sub(r"#[0-9a-f]{6}", lambda colour: _VARIABLES.get(colour[0], colour[0]), "; ".join(kept))
    return value


def _references(root: ET.Element) -> set[str]:
    values = [
        value for element in root.iter() for name, value in element.attrib.items() if name in {"href", "clip-path"}
    ]
    return {match[1] for value in values if (match := re.search(r"#([\w.-]+)", value))}


def _unwrap(element: ET.Element) -> None:
    """Replace groups without attributes by what they hold, and drop empty definitions."""
    children: list[ET.Element] = []
    for child in element:
        _unwrap(child)
        if child.tag in {"g", "defs"} and not child.attrib and (child.tag == "g" or not len(child)):
            children.extend(child)
        else:
            children.append(child)
    element[:] = children
