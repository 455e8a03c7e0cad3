"""Configuration of the job ``consistent-histograms``.

The sections of `HistogramsRelease` split in two: *measurement settings* decide the counts and the noise, and changing
one of them spends anew; *publish settings* (``publish``, ``queries``) only shape what is made of the stored measurement
and never spend. The file says besides where things are (`dplib.config.job_config.Surroundings`); of that only how the
input is read decides counts.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from dplib.config.day_window import DayClock, DayWindow
from dplib.config.event_input import Input
from dplib.config.fold import folding
from dplib.config.item_groupings import Grouping, check_groupings, kind_of_names, listed_groupings
from dplib.config.item_table import NAME_SEPARATOR, ItemTable, TableItems
from dplib.config.job_config import JobConfig, Publication, ReleaseSettings, require_unit_column
from dplib.config.master_tables import PackagesTable, TotalsTable
from dplib.config.measure import Measure, Target
from dplib.config.names import ListFile, declared_names
from dplib.config.other_name import OtherName, check_other, with_other
from dplib.config.sections import EventPrivacySettings, Exact, Section
from dplib.config.stream import CalendarLevel, Query, RecentDays, Stream, require_streamable, with_horizon
from dplib.jobs.consistent_histograms.solver_config import Solver

NAME = "consistent-histograms"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into counts changes its result."""


class Domain(Section):
    """The public keys of the release: every item and every day, whether or not rows exist."""

    items: (
        list[str]
        | Annotated[Annotated[ListFile, Tag("list")] | Annotated[ItemTable, Tag("table")], Discriminator(kind_of_names)]
    )
    """Item names, or `{file: items.txt}` with one name a line, or `{file: items.csv, column: name}`, a release of
    `key-selection`, `{release: releases/shop-000001}`, or a table with several key columns, attributes or days:
    `{file: items.csv, columns: [store, sku], attributes: [region]}`."""
    other: Annotated[OtherName | None, Field(exclude_if=lambda other: other is None)] = None
    """The item under which rows count whose item is none of `items`, in place of being dropped; it need not be listed.
    Of a table one of its items, or the row that it adds: `{sku: other, category: other}`."""
    groupings: Annotated[list[Grouping] | None, Field(exclude_if=lambda groupings: groupings is None)] = None
    """Totals of the items of a table: `[[region], [region, category], []]`, or `{by: [region], measured: true}`."""
    first_day: dt.date
    last_day: dt.date
    """Both ends inclusive."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        if self.last_day < self.first_day:
            raise ValueError(
                f"domain.last_day must not be before domain.first_day, got {self.last_day} before {self.first_day}"
            )
        return self

    @field_validator("groupings", mode="before")
    @classmethod
    def _lists(cls, given: object) -> object:
        return listed_groupings(given)

    @model_validator(mode="after")
    def _known_groupings(self) -> Self:
        check_groupings("domain", self.groupings, self.items)
        check_other("domain.other", self.other, self.items)
        return self

    @property
    def n_days(self) -> int:
        """Number of days."""
        return (self.last_day - self.first_day).days + 1

    def resolved(self, base: Path, folded: Callable[[str], str] = str) -> Self:
        """The domain with its items in place of the file that names them; `only` takes names that are one once folded.

        Raises:
            ConfigError: if the file cannot be read, or a name is empty or stands twice.
        """
        if isinstance(self.items, ItemTable):
            added = self.other if isinstance(self.other, dict) else None
            read = self.items.read(base, self.first_day, self.last_day, added, folded)
            other = self.other if added is None else NAME_SEPARATOR.join(added[name] for name in read.columns)
            return self.model_copy(update={"items": read, "other": other})
        names = list(declared_names(self.items, base, "domain.items"))
        return self.model_copy(update={"items": with_other("domain.other", names, self.other)})

    @property
    def table_items(self) -> TableItems | None:
        """The items of a table, once the domain is resolved; None where they are listed."""
        return self.items.items(self.first_day, self.last_day) if isinstance(self.items, ItemTable) else None


class Equation(Section):
    """A linear equation with a public right-hand side that holds on each day."""

    coefficients: dict[str, Exact]
    value: Exact


class Constraint(Section):
    """Constraints that hold on each day of a date range: packages, totals or equations."""

    packages: dict[str, dict[str, Annotated[int, Field(ge=0)]]] | None = None
    """Package name to the multiplicity of each item in it (rows are packages)."""
    totals: dict[str, list[str]] | None = None
    """Total's name to its members, which are items or other totals."""
    totals_from: Annotated[TotalsTable | None, Field(exclude_if=lambda table: table is None)] = None
    """Totals from a column of a public table: `{file: products.csv, item: name, by: department}`."""
    packages_from: Annotated[PackagesTable | None, Field(exclude_if=lambda table: table is None)] = None
    """Packages from a public table: `{file: menu.csv, package: meal, item: dish, pieces: number}`."""
    name: Annotated[str | None, Field(min_length=1)] = Field(default=None, exclude_if=lambda name: name is None)
    """totals only: what these are called together, such as departments; made of the totals' names where absent."""
    measured: bool = False
    """totals only: whether the total gets a noisy count of its own (it then counts in the sensitivity), where `measure`
    does not say so."""
    equations: dict[str, Equation] | None = None
    """Equation's name to its coefficients and public value; needs `privacy.neighbors: replace_one`."""
    first: Annotated[dt.date | None, Field(alias="from")] = None
    last: Annotated[dt.date | None, Field(alias="to")] = None
    """First and last day of validity; the whole domain where absent."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        every = ("packages", "totals", "equations", "packages_from", "totals_from")
        kind = self.require_one(every, "must be one of packages, totals or equations")
        for setting in ("measured", "name"):
            if getattr(self, setting) and not kind.startswith("totals"):
                raise ValueError(f"must have `{setting}` on totals only, got it on {kind}")
        if self.first and self.last and self.last < self.first:
            raise ValueError(f"must have `to` not before `from`, got {self.last} before {self.first}")
        return self

    def read(self, base: Path, setting: str, items: Sequence[str], folded: Callable[[str], str]) -> Self:
        """The constraint with totals and packages in place of the tables that they come from.

        Raises:
            ConfigError: if a table cannot be read, or is wrong.
        """
        if self.totals_from is not None:
            totals = self.totals_from.read(base, f"{setting}.totals_from", items, folded)
            return self.model_copy(update={"totals_from": None, "totals": totals})
        if self.packages_from is not None:
            packages = self.packages_from.read(base, f"{setting}.packages_from")
            return self.model_copy(update={"packages_from": None, "packages": packages})
        return self


class Tree(Section):
    """The tree over days whose nodes are measured."""

    levels: Literal["calendar"] | list[CalendarLevel] | None = None
    """calendar (year, month, day), or a list of levels that nest: `[quarter, month, day]`, `[13 weeks, week, day]`."""
    branching: int | list[Annotated[int, Field(ge=2)]] | None = None
    """Children a node at each level from the root down, or one number for all levels; short last nodes are padded."""
    root: bool = False
    """Whether the root (the whole range) gets a measurement of its own."""
    shares: list[Exact] | None = None
    """Share of the budget of each measured level from the top down, in any unit, 0 for none; where absent equal, or
    chosen for the queries (tree: auto, measure: auto)."""

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        if self.levels is not None and self.branching is not None:
            raise ValueError("tree must have either levels or branching, got both")
        if isinstance(self.branching, int) and self.branching < 2:
            raise ValueError(f"tree.branching must be at least 2, got {self.branching}")
        if self.shares is not None and not (all(share >= 0 for share in self.shares) and sum(self.shares[-1:]) > 0):
            raise ValueError("tree.shares must be numbers of at least 0, the last one above 0, got another")
        return self


class Question(Section):
    """A kind of answer that readers ask for."""

    range: Query | RecentDays
    weight: Annotated[Exact, Field(gt=0)] = Fraction(1)
    """How much its error counts where the shares of the budget are chosen, beside the other queries'."""
    target: Target | None = Field(default=None, exclude_if=lambda target: target is None)
    """The plan says whether it is met, and at which budget it would be."""


class Publish(Publication):
    """What is made of the stored measurement; never spends."""

    solver: Solver = Solver()
    counts: Literal["integers", "reals"] = Field(default="integers", exclude_if=lambda kind: kind == "integers")
    """What `published/` holds: non-negative integers, or the non-negative real table nearest to the estimates."""
    divided_from: Literal["range", "tops"] = Field(default="range", exclude_if=lambda start: start == "range")
    """What integers are divided from: the whole range, whose sum is best kept so, or each node of the coarsest measured
    level for itself, as in a stream, where the future is not known."""

    @model_validator(mode="after")
    def _divided_here(self) -> Self:
        if self.divided_from == "tops" and (self.counts, self.solver.layout) != ("integers", "driver"):
            raise ValueError(
                "publish.divided_from must be range unless publish.counts is integers and publish.solver.layout is "
                "driver, got tops"
            )
        return self


class HistogramsRelease(ReleaseSettings):
    """Counts by item and day at every node of a tree, consistent over the tree and with each day's constraints."""

    published = frozenset({"publish", "queries"})
    job: Literal["consistent-histograms"]
    privacy: EventPrivacySettings
    domain: Domain
    constraints: list[Constraint] = Field(default_factory=list)
    tree: Tree | Literal["auto"] = "auto"
    measure: Measure | Literal["auto"] | None = Field(default=None, exclude_if=lambda measure: measure is None)
    """auto: the shares of the tree's levels, of the items and of each group of totals that serve the queries best;
    `measured` of constraints is then not asked. Where absent, what is measured has the same noise at each level."""
    stream: Stream | None = Field(default=None, exclude_if=lambda stream: stream is None)
    """Measured and published day by day under one reservation (`dplib guide streams`)."""
    queries: tuple[Query | RecentDays | Question, ...] = ("day", "month", "total")
    """Range lengths whose expected error the plan and the report show, and which `auto` serves: `week`, or
    `{range: week, weight: 2}`."""
    publish: Publish = Publish()

    @model_validator(mode="before")
    @classmethod
    def _horizon(cls, given: object) -> object:
        """The days of a stream are its horizon."""
        return with_horizon(given, "domain", ("first_day", "last_day"))

    @model_validator(mode="after")
    def _of_streams(self) -> Self:
        for question in self.questions:
            if self.stream is None and (" to date" in question.range or question.range.startswith("last ")):
                raise ValueError(f"queries must be of whole periods where there is no stream, got {question.range}")
        return self

    @field_validator("tree", mode="before")
    @classmethod
    def _auto(cls, tree: object) -> object:
        return {} if tree == "auto" else tree

    @property
    def questions(self) -> tuple[Question, ...]:
        """The queries with their weights."""
        return tuple(each if isinstance(each, Question) else Question(range=each) for each in self.queries)

    @property
    def shape(self) -> Tree:
        """The tree section (`auto` is an empty one)."""
        return Tree() if isinstance(self.tree, str) else self.tree


class ConsistentHistogramsConfig(HistogramsRelease, JobConfig):
    """A configuration of the job."""

    input: Input

    @model_validator(mode="after")
    def _columns(self) -> Self:
        columns, privacy = self.input.columns, self.privacy
        require_unit_column(privacy.unit, columns.unit)
        if columns.quantity is None and columns.items is None and privacy.max_quantity != 1:
            raise ValueError(
                f"privacy.max_quantity must be 1 where input.columns.quantity is absent, got {privacy.max_quantity}"
            )
        return self

    @model_validator(mode="after")
    def _stream_alone(self) -> Self:
        if self.stream is None:
            return self
        if self.shape != Tree():
            raise ValueError("tree must be absent where stream.levels says it, got one")
        if self.measure is not None:
            raise ValueError("measure must be absent in a stream, got one")
        if self.input.columns.items is not None:
            raise ValueError("input.columns.items must be absent in a stream, whose rows have one item, got some")
        if isinstance(self.domain.items, ItemTable) and "status" in self.domain.items.named:
            raise ValueError("domain.items must name no column status in a stream, whose tables have one, got it")
        require_streamable(self.stream, self.input, self.publish.output.tables, self.privacy.quality_share)
        if self.publish.divided_from == "tops":
            raise ValueError("publish.divided_from must be absent in a stream, whose integers start at tops, got one")
        if self.publish.solver.layout not in ("auto", "driver"):
            raise ValueError(
                f"publish.solver.layout must be auto or driver in a stream, got {self.publish.solver.layout}"
            )
        return self

    @model_validator(mode="after")
    def _item_columns(self) -> Self:
        items, given = self.domain.items, self.input.columns.item
        if self.input.columns.items == "all" and self.domain.other is not None:
            raise ValueError("input.columns.items must be a list where domain.other takes other columns, got all")
        if given is None:
            return self
        n_keys = len(items.columns) if isinstance(items, ItemTable) else 1
        n_given = len(given) if isinstance(given, list) else 1
        if n_given != n_keys:
            shown = f" ({', '.join(items.columns)})" if isinstance(items, ItemTable) else ""
            rule = f"name as many columns as domain.items{shown}"
            raise ValueError(f"input.columns.item must {rule}, got {n_given} in place of {n_keys}")
        return self

    def days_read(self, date: str) -> list[str]:
        """Those of the stream."""
        return [] if self.stream is None else self.stream.days_read(date)

    @property
    def day_window(self) -> DayWindow:
        """The days that the domain declares."""
        clock = DayClock(self.input.columns.day, self.input.date_format, self.input.timezone)
        return DayWindow(self.domain.first_day, self.domain.last_day, clock)

    @property
    def horizon(self) -> tuple[str, str] | None:
        """That of the stream."""
        days = self.domain
        return None if self.stream is None else (days.first_day.isoformat(), days.last_day.isoformat())

    def release(self, base: Path) -> HistogramsRelease:
        """The settings of the release, with the contents of listed files."""
        folded = folding(self.input.fold)
        domain = self.domain.resolved(base, folded)
        table = domain.table_items
        names = table.names if table is not None else domain.items if isinstance(domain.items, list) else ()
        constraints = [each.read(base, f"constraints.{n}", names, folded) for n, each in enumerate(self.constraints)]
        return HistogramsRelease.of(self, domain=domain, constraints=constraints)
