"""Every series of a release on its page: the numbers stand there once, and the page's one script draws what is chosen.

Notation: ``n`` points of a level, ``m`` series of it, the largest first.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, FloatArray
from dplib.page.axis_scale import SKEWED
from dplib.page.blocks import Chooser
from dplib.page.number_text import count_text

MAX_NUMBERS = 120_000
"""Estimates that a page holds: one to two and a half megabytes with their intervals and published counts."""


@dataclass(frozen=True, eq=False)
class ChoiceLevel:
    """The counts of all series at one level.

    Attributes:
        name: such as ``month``.
        of: what is counted, such as ``count a month``.
        labels: of the points, shape (n,).
        estimate: shape (m, n).
        half_width: of the 95 % intervals, NaN where none is stated, shape (m, n).
        published: shape (m, n); None where nothing is published.
        marked: points that are hollow, shape (n,).
        mark: what that says of them.
        ticks: shorter labels for the axis; the same where there are none.
    """

    name: str
    of: str
    labels: Sequence[str]
    estimate: FloatArray
    half_width: FloatArray
    published: npt.NDArray[np.number] | None
    marked: BoolArray
    mark: str = ""
    ticks: Sequence[str] = ()


def series_that_fit(n_series: int, sizes: Sequence[int]) -> list[int]:
    """How many series, the largest first, a page holds of each level.

    Args:
        n_series: how many there are.
        sizes: points of each level, the finest first; the coarsest have the first claim.
    """
    left, found = MAX_NUMBERS, []
    for size in reversed(sizes):
        found.append(min(n_series, left // max(size, 1)))
        left -= found[-1] * size
    return found[::-1]


def chooser(word: str, names: Sequence[str], levels: Sequence[ChoiceLevel]) -> Chooser:
    """The block in which each series can be chosen.

    Args:
        word: what a series is, such as ``item``.
        names: of the series, in the order of the levels' rows.
        levels: the finest first.
    """
    n_named = max(len(level.estimate) for level in levels)
    data = {"names": list(names[:n_named]), "skewed": SKEWED, "levels": [_level(level) for level in levels]}
    text = f"Each {word} by {' or '.join(level.name for level in levels)}; the pale band or bar is the 95 % interval."
    short = [
        f"by {level.name} the {count_text(len(level.estimate))} largest"
        for level in levels
        if len(level.estimate) < len(names)
    ]
    if short:
        text += f" Of {count_text(len(names))} the page holds {', '.join(short)}; dplib query has all."
    # No text of the data can end the element that it stands in.
    return Chooser(word, text, json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"))


def _level(level: ChoiceLevel) -> dict[str, object]:
    stated = level.half_width[level.half_width > 0]
    digits = max(0, 1 - math.floor(math.log10(float(stated.min())))) if len(stated) else 2
    margins: dict[str, int] = {}
    own = []
    for half in level.half_width:
        rounded = _numbers(half, digits)
        # Most series have one and the same error, and many one error at all points.
        text = json.dumps(rounded[0] if rounded.count(rounded[0]) == len(rounded) else rounded)
        own.append(margins.setdefault(text, len(margins)))
    counts = level.published
    return {
        "name": level.name,
        "of": level.of,
        "labels": list(level.labels),
        "ticks": list(level.ticks),
        "digits": digits,
        "estimate": [_numbers(row, digits) for row in level.estimate],
        "half": [json.loads(text) for text in margins],
        "halfOf": own,
        "published": None
        if counts is None
        else [_numbers(row, 0 if counts.dtype.kind in "iu" else 2) for row in counts],
        "marked": np.flatnonzero(level.marked).tolist(),
        "mark": level.mark,
    }


def _numbers(values: npt.NDArray[np.number], digits: int) -> list[float | int | None]:
    """To so many decimals; None where there is none."""
    if digits == 0:
        return [None if value != value else round(value) for value in values.tolist()]
    return [None if value != value else round(value, digits) for value in values.tolist()]
