"""The section ``histogram`` of the job ``range-histograms``: bins, groups and their sums."""

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import lcm
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from dplib.config.item_groupings import Grouping, check_groupings, kind_of_names, listed_groupings
from dplib.config.item_table import ItemTable, TableItems
from dplib.config.names import ListFile, declared_names
from dplib.config.other_name import OtherName, check_other, with_other
from dplib.config.sections import Exact, Section

MAX_BINS = 1 << 22
"""Bins of one histogram at most."""


def absent(value: object) -> bool:
    """Whether a setting is not given: one that versions before did not have is then in no hash."""
    return value is None


class EvenEdges(Section):
    """Bins of one width."""

    start: Exact
    """Lower end of the first bin."""
    stop: Exact
    """Upper end of the last bin, a whole number of widths above `start`."""
    width: Exact

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.width <= 0 or self.stop <= self.start:
            raise ValueError("must have a width above 0 and stop above start, got others")
        if (self.stop - self.start) % self.width:
            raise ValueError("must have a whole number of widths between start and stop, got a part left over")
        return self

    def edges(self) -> list[float]:
        """All edges, each the number nearest to the exact one."""
        # Of a quotient of integers that is the number; a sum of fractions for each edge takes some forty times as long.
        below = lcm(self.start.denominator, self.width.denominator)
        first, step = int(self.start * below), int(self.width * below)
        return [(first + step * k) / below for k in range(int((self.stop - self.start) / self.width) + 1)]


class Days(Section):
    """Bins of one or more whole days; both ends inclusive."""

    first: dt.date
    last: dt.date
    days_per_bin: Annotated[int, Field(ge=1, strict=True)] = 1
    """Width of a bin; the last one may be shorter."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"must have last not before first, got {self.last} before {self.first}")
        return self


class GroupTable(ItemTable):
    """A public CSV file with one row a group: the column that names it, and attributes."""

    setting: ClassVar[str] = "histogram.groups"
    reserved: ClassVar[frozenset[str]] = frozenset(
        ["group", "grouping", "bin", "node", "level", "lo", "hi", "noisy", "variance", "estimate", "std_error", "count"]
    )

    @model_validator(mode="after")
    def _groups_alone(self) -> Self:
        if len(self.columns) > 1 or self.first_day or self.last_day:
            got = "days" if self.first_day or self.last_day else f"{len(self.columns)} columns"
            raise ValueError(f"histogram.groups must have one column that names a group and no days, got {got}")
        return self

    @property
    def listed(self) -> TableItems:
        """The groups, once the table is read."""
        return self.items(dt.date.min, dt.date.max)


class Totals(Section):
    """Sums of groups."""

    totals: dict[str, list[str]]
    """Total's name to its members, which are groups or other totals."""
    name: Annotated[str | None, Field(min_length=1)] = Field(default=None, exclude_if=absent)
    """What these are called together, such as regions; made of their place where absent."""
    measured: Annotated[bool | None, Field(exclude_if=absent)] = None
    """Whether they get noisy counts of their own, where `measure` does not say so; false where absent."""


class HistogramSettings(Section):
    """The public keys of the release: every bin of every group, whether or not rows exist."""

    edges: list[Exact] | EvenEdges | None = None
    """Numbers: bins [a, b), the last one closed; a list of edges, or {start, stop, width}."""
    days: Days | None = None
    """Timestamps: {first, last}, one bin a day or every `days_per_bin` days."""
    categories: list[str] | ListFile | None = None
    """Categories in their order; neighbours in it share a range."""
    groups: (
        list[str]
        | Annotated[
            Annotated[ListFile, Tag("list")] | Annotated[GroupTable, Tag("table")], Discriminator(kind_of_names)
        ]
        | None
    ) = None
    """One histogram for each; needs input.columns.group. Names, `{file: groups.txt}`, or a table with attributes:
    `{file: shops.csv, columns: [shop], attributes: [region]}`."""
    other: Annotated[OtherName | None, Field(exclude_if=absent)] = None
    """The group in which rows count whose group is none of `groups`, in place of being dropped; it need not be listed.
    Of a table one of its groups, or the row that it adds: `{shop: other, region: other}`."""
    groupings: Annotated[list[Grouping] | None, Field(exclude_if=absent)] = None
    """Sums of the groups of a table: `[[region], []]`, or `{by: [region], measured: true}`."""
    totals: Annotated[list[Totals] | None, Field(exclude_if=absent)] = None
    """Sums of listed groups: `[{totals: {coast: [north, east]}, measured: true}]`."""
    outside: Literal["drop", "clamp"] = "drop"
    """Numbers beyond the edges: dropped, or counted in the first or the last bin."""
    total_is_public: bool = False
    """The number of rows that count is public for each group and published as it is; needs replace_one."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = ("edges", "days", "categories")
        kind = self.require_one(kinds, "histogram must have one of edges, days or categories")
        check_groupings("histogram", self.groupings, self.groups, "groups")
        check_other("histogram.other", self.other, self.groups)
        if self.other is not None and self.groups is None:
            raise ValueError("histogram.other must be absent unless histogram.groups is given, got one")
        if self.totals is not None and self.groups is None:
            raise ValueError("histogram.totals must be absent unless histogram.groups is given, got some")
        if self.edges is None and self.outside == "clamp":
            raise ValueError(f"histogram.outside must be drop where bins are {kind}, got clamp")
        return self

    @field_validator("groupings", mode="before")
    @classmethod
    def _lists(cls, given: object) -> object:
        return listed_groupings(given)

    @field_validator("edges")
    @classmethod
    def _increasing(cls, edges: list[Fraction] | EvenEdges | None) -> list[Fraction] | EvenEdges | None:
        if isinstance(edges, list):
            numbers = [float(edge) for edge in edges]
            if len(edges) < 2 or any(after <= before for before, after in pairwise(numbers)):
                raise ValueError("must be at least two numbers, each above the one before, got others")
        return edges

    def group_names(self, base: Path) -> tuple[str, ...] | None:
        """The groups; None where there is one histogram."""
        if isinstance(self.groups, GroupTable):
            return self.group_table(base, self.groups).listed.names
        if self.groups is None:
            return None
        names = list(declared_names(self.groups, base, "histogram.groups"))
        return tuple(with_other("histogram.other", names, self.other))

    def group_table(self, base: Path, table: GroupTable, folded: Callable[[str], str] = str) -> GroupTable:
        """The table of groups with what decides in place of its file."""
        added = self.other if isinstance(self.other, dict) else None
        return table.read(base, dt.date.min, dt.date.max, added, folded)

    @property
    def other_name(self) -> str | None:
        """The group of the rest; None where its rows are dropped."""
        if isinstance(self.other, dict) and isinstance(self.groups, GroupTable):
            return self.other[self.groups.columns[0]]
        return self.other if isinstance(self.other, str) else None

    @property
    def add_up(self) -> bool:
        """Whether sums of groups are declared."""
        return bool(self.groupings or self.totals)

    def category_names(self, base: Path) -> tuple[str, ...]:
        """The categories in order; empty where bins are numbers or days."""
        return () if self.categories is None else declared_names(self.categories, base, "histogram.categories")
