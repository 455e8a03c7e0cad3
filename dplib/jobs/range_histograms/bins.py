"""The bins of a histogram under their public names: numbers, days or categories.

Inside the job a bin is its number from 0; readers of a release see what stands here.
"""

import datetime as dt
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.config.value_input import BinDomain
from dplib.errors import ConfigError
from dplib.jobs.range_histograms.histogram_config import MAX_BINS, EvenEdges, HistogramSettings
from dplib.trees.calendar import period_edges
from dplib.validate import require, require_known

Kind = Literal["edges", "days", "categories"]
SINGLE = "all"
"""Name of the group where there is one histogram."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins and groups.

    Attributes:
        kind: what the bins are.
        edges: of numeric bins, shape (n_bins + 1,); empty for other kinds.
        first_day: of bins of days.
        last_day: of bins of days, inclusive.
        days_per_bin: of bins of days.
        categories: in order.
        groups: at least one; ``all`` alone where there is one histogram.
        grouped: whether rows name their group.
        clamp: whether numbers beyond the edges count in the first or last bin.
        other: the group of rows whose group is not declared; None where they are dropped.
    """

    kind: Kind
    edges: FloatArray
    first_day: dt.date
    last_day: dt.date
    days_per_bin: int
    categories: tuple[str, ...]
    groups: tuple[str, ...]
    grouped: bool
    clamp: bool
    other: str | None = None

    @classmethod
    def resolve(cls, settings: HistogramSettings, base: Path) -> "Bins":
        """Read the settings.

        Raises:
            ConfigError: if a listed file cannot be read, or there are too many bins.
        """
        groups = settings.group_names(base)
        days = settings.days
        kind: Kind = "categories" if settings.categories is not None else ("edges" if days is None else "days")
        found = cls(
            kind=kind,
            edges=_edges(settings.edges),
            first_day=days.first if days else dt.date.min,
            last_day=days.last if days else dt.date.min,
            days_per_bin=days.days_per_bin if days else 1,
            categories=settings.category_names(base),
            groups=groups or (SINGLE,),
            grouped=groups is not None,
            clamp=settings.outside == "clamp",
            other=settings.other_name,
        )
        if found.other is not None:
            require_known("histogram.other", found.other, found.groups, "be a group of the table, or a row for it")
        require(found.n_bins <= MAX_BINS, f"histogram.{kind}", f"give at most {MAX_BINS} bins", found.n_bins)
        return found

    @property
    def n_days(self) -> int:
        """Days of bins of days."""
        return (self.last_day - self.first_day).days + 1

    @property
    def n_bins(self) -> int:
        """Number of bins of a histogram."""
        if self.kind == "edges":
            return len(self.edges) - 1
        return len(self.categories) if self.kind == "categories" else -(-self.n_days // self.days_per_bin)

    @property
    def row_domain(self) -> BinDomain:
        """What the reader of rows needs."""
        groups = self.groups if self.grouped else None
        named = BinDomain(groups=groups, other=None if self.other is None else self.groups.index(self.other))
        if self.kind == "edges":
            return replace(named, edges=self.edges, clamp=self.clamp)
        if self.kind == "categories":
            return replace(named, categories=self.categories)
        return replace(named, first_day=self.first_day, n_days=self.n_days, days_per_bin=self.days_per_bin)

    def ends(self, lo: IntArray, hi: IntArray) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Public names of the ends of the ranges of bins ``[lo, hi)``, each of shape (m,).

        Numbers: the two edges. Days and categories: the first and the last one, both inside the range.
        """
        if self.kind == "edges":
            return self.edges[lo], self.edges[hi]
        if self.kind == "categories":
            names = np.array(self.categories)
            return names[lo], names[hi - 1]
        first = np.datetime64(self.first_day, "D") + lo * self.days_per_bin
        last = np.datetime64(self.first_day, "D") + (hi * self.days_per_bin - 1)
        return first, np.minimum(last, np.datetime64(self.last_day, "D"))

    def shown(self, lo: int, hi: int) -> str:
        """A range of bins in words."""
        first, last = (end[0] for end in self.ends(np.array([lo]), np.array([hi])))
        if self.kind == "edges":
            return f"[{first:.12g}, {last:.12g}{']' if hi == self.n_bins else ')'}"
        return f"{first}" if str(first) == str(last) else f"{first} to {last}"

    def range_of(self, start: str | None, end: str | None) -> tuple[int, int]:
        """Bin numbers ``[lo, hi)`` of a range in public names; the whole histogram's where None.

        Args:
            start: lower edge, first day or first category.
            end: upper edge, or last day or category (inside the range).

        Raises:
            ConfigError: if an end is none of the bins' or the range is empty.
        """
        lo = 0 if start is None else self._bound("--from", start, is_end=False)
        hi = self.n_bins if end is None else self._bound("--to", end, is_end=True)
        require(lo < hi, "--from and --to", "be ends of a range that is not empty", f"{start} and {end}")
        return lo, hi

    def part_edges(self, lo: int, hi: int, by: str | None) -> IntArray:
        """The bins with which the parts of a range of bins begin, and its end.

        Raises:
            ConfigError: if bins are of no days, or periods end inside them.
        """
        if by in (None, "bin"):
            return np.arange(lo, hi + 1) if by else np.array([lo, hi])
        require(self.kind == "days", "--by", "be bin where bins are not of days", by)
        first, last = (end[0].item() for end in self.ends(np.array([lo]), np.array([hi])))
        days = period_edges(first, last, by)
        inside = bool((days[:-1] % self.days_per_bin == 0).all())
        require(inside, "--by", "be a period that begins where bins do", by)
        return np.append(lo + days[:-1] // self.days_per_bin, hi)

    def _bound(self, option: str, text: str, *, is_end: bool) -> int:
        if self.kind == "categories":
            require(text in self.categories, option, "be a category of the release", text)
            return self.categories.index(text) + is_end
        if self.kind == "edges":
            found = np.flatnonzero(self.edges == _number(option, text))
            rule = "be an edge of the release's bins"
            require(len(found) == 1, option, rule, text)
            return int(found[0])
        return self._day_bound(option, text, is_end)

    def _day_bound(self, option: str, text: str, is_end: bool) -> int:
        try:
            day = (dt.date.fromisoformat(text) - self.first_day).days + is_end
        except ValueError:
            raise ConfigError(option, "be a day YYYY-MM-DD", text) from None
        at_edge = day % self.days_per_bin == 0 or day == self.n_days
        inside = 0 <= day <= self.n_days and at_edge
        require(inside, option, f"be {'the last' if is_end else 'the first'} day of a bin of the release", text)
        return -(-day // self.days_per_bin)

    def public(self) -> dict[str, Any]:
        """The bins for the manifest."""
        found: dict[str, Any] = {"kind": self.kind, "groups": list(self.groups), "n_bins": self.n_bins}
        if self.kind == "edges":
            return found | {"edges": self.edges.tolist(), "outside": "clamp" if self.clamp else "drop"}
        if self.kind == "categories":
            return found | {"categories": list(self.categories)}
        return found | {"first": self.first_day, "last": self.last_day, "days_per_bin": self.days_per_bin}


def _edges(edges: list[Fraction] | EvenEdges | None) -> FloatArray:
    if edges is None:
        return np.zeros(0)
    numbers = np.array([float(edge) for edge in edges] if isinstance(edges, list) else _even(edges))
    require(bool((np.diff(numbers) > 0).all()), "histogram.edges.width", "be wide enough to tell edges apart", "less")
    return numbers


def _even(edges: EvenEdges) -> list[float]:
    n_bins = (edges.stop - edges.start) / edges.width
    require(n_bins <= MAX_BINS, "histogram.edges", f"give at most {MAX_BINS} bins", n_bins)
    return edges.edges()


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(option, "be a number", text) from None
