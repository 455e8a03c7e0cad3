"""Everything that the settings decide before a row is read: series, tree, noise and blocks.

Guarantee. A privacy unit keeps at most ``m`` rows, at most ``r`` of them a day, each of quantity at most ``Q``. A row
of type ``j`` with quantity ``q`` adds ``q A e_j`` to one node of each level. Hence at one level a unit adds at most
``m Q max_j ||A e_j||_1`` in L1 norm. In L2 norm, ``n_x <= min(m, r w)`` of its rows meet in a node ``x`` of ``w`` days,
and the squares sum to at most ``sum_x (n_x Q)^2 max_j ||A e_j||_2^2 <= m min(m, r w) Q^2 max_j ||A e_j||_2^2``.
Removing a unit undoes what it added. Replacing one removes one such vector and adds another: the L1 norms add, and
since both vectors are non-negative the squared norm of their difference is at most the sum of their squared norms; both
sensitivities double. The levels compose: epsilon is the sum of the levels' epsilons, rho that of their rhos.

*Packages.* Where rows are packages, ``A e_j`` holds the pieces of each item in package ``j`` and, for each total or
part of a grouping, the pieces of all of its items: the matrix of members times the column of items. A row thus changes
every item of its package and every total over one of them, by different counts, and the norms are those of this column;
packages on sale on other days, or while an item of theirs does not exist, add no column.

*Wide rows.* A row with several items adds ``sum_j q_j A e_j`` where ``q_j >= 0`` and, after it is cut
(`dplib.spark.rows.wide`), ``sum_j q_j <= Q``: a vector that is not negative, of norms at most ``Q max_j ||A e_j||`` by
the triangle inequality. All of the above holds for it.

*Columns.* Where the shares of the budget are given by grouping (``measure``), the measured series of a level are
several columns: the items, and each group of totals; else they are one. All of the above holds for a column with the
rows of A that are its series, so that a level and a column have a sensitivity and noise of their own, from a stream of
its own. They compose in the same way: an event each, whose epsilons (rhos) are exact parts of the budget.

*Weights.* Least squares weigh a cell by a level's factor times a column's, the variances of continuous noise, where
every day has the same constraints (one pass solves it), else by its exact variance. Estimates are unbiased with any
weights; stated errors are those of the exact variances under these weights.

Notation: ``A`` is the incidence of `ResolvedConstraints` (measured series only), ``w`` a level's widest node in days.
"""

import datetime as dt
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.config.event_input import require_item_columns
from dplib.config.fold import folded
from dplib.config.input_quality import quality_events
from dplib.config.item_groupings import resolve_groupings, series_days, table_columns
from dplib.config.item_table import ItemTable, TableItems
from dplib.config.measure import Measure
from dplib.config.names import declared_names
from dplib.config.other_name import require_other
from dplib.config.selection import NamedSeries
from dplib.consistency.columns import Columns
from dplib.constraints.groupings import Groupings, GroupingSize
from dplib.constraints.resolved import ResolvedConstraints
from dplib.jobs.consistent_histograms.columns import (
    choose_columns,
    continuous_factors,
    group_names,
    noise_of_columns,
    target_groups,
)
from dplib.jobs.consistent_histograms.config import (
    COUNTING_VERSION,
    ConsistentHistogramsConfig,
    HistogramsRelease,
    Tree,
)
from dplib.jobs.consistent_histograms.day_tree import DayTree, build_day_tree
from dplib.jobs.consistent_histograms.declared import resolve_declared
from dplib.kept import Kept
from dplib.privacy.events import Event
from dplib.privacy.noise import SAMPLER_FORMAT, NoiseEvent, require_useful_noise
from dplib.trees.block_plan import BlockPlan
from dplib.trees.interval_tree import IntervalTree

MAX_BLOCK_CELLS = 1 << 19
"""Cells (nodes x series) that a block should stay below: 4 MiB of counts."""
MAX_KEPT_CELLS = 1 << 16
"""Cells up to which a design is kept for the next time that its settings are asked for."""


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
        items: names of the items.
        table: the public table that the items are of; None where they are listed.
        groupings: totals of the table's groupings; None where there are none.
        constraints: series, day constraints, incidence and sensitivity of one row.
        days: the tree over days with the names of its levels.
        columns: which series share their noise, and the shares of the budget.
        measurements: the noise of each level from the root down and within a level of each column; None where it is not
            measured.
        rows_are_packages: whether a row is a package.
        block_cells: cells that a logical block stays below.
        block_width: cells of a node that blocks are made for: totals that are not measured come and go without
            another block, so they are not among them; in measurements of versions before they are.
    """

    config: HistogramsRelease
    items: tuple[str, ...]
    table: TableItems | None
    groupings: Groupings | None
    constraints: ResolvedConstraints
    days: DayTree
    columns: Columns
    measurements: tuple[NoiseEvent | None, ...]
    rows_are_packages: bool
    block_cells: int
    block_width: int

    @classmethod
    def resolve(cls, config: ConsistentHistogramsConfig, base: Path) -> "Design":
        """Derive the design of a configuration.

        Args:
            config: the checked configuration.
            base: folder that its relative paths refer to.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        columns = config.input.columns
        quantity = columns.quantity if columns.items is None else "a column an item"
        found = cls.of(config.release(base), columns.package is not None, quantity)
        keys = found.items if found.table is None else found.table.keys
        keys = found.constraints.row_types if found.rows_are_packages else keys
        # Refuses names that would be one.
        folded(keys, config.input.fold, "constraints" if found.rows_are_packages else "domain.items")
        require_item_columns(columns.items, found.items, found.config.domain.other is not None)
        target_groups(found.config, found.constraints)  # Refuses names that are wrong or stand twice.
        return found

    @classmethod
    def of(cls, config: HistogramsRelease, rows_are_packages: bool, quantity: str | None = None) -> "Design":
        """Derive the design of a release.

        Args:
            config: its settings, all names listed.
            rows_are_packages: whether a row is a package.
            quantity: the column of quantities, None where each row counts once or nobody reads rows.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        # As text: the order of names, which equal settings may differ in, is that of series.
        asked = (config.model_dump_json(), rows_are_packages, quantity)
        known = _KEPT.find(asked)
        if known is not None:
            return replace(known, config=config, block_cells=MAX_BLOCK_CELLS)
        table, listed = config.domain.table_items, config.domain.items
        if table is not None:
            items, groupings = table.names, resolve_groupings(config.domain.groupings or (), table)
        else:
            assert not isinstance(listed, ItemTable)
            items, groupings = declared_names(listed, Path(), "domain.items"), None
        assert not isinstance(config.domain.other, dict)
        require_other("domain.other", config.domain.other, items, table, config.domain.n_days)
        days_of = None if table is None else table.days
        constraints = resolve_declared(config, items, groupings, days_of, rows_are_packages, quantity)
        days = build_day_tree(config)
        columns, constraints = choose_columns(config, constraints)
        measurements = noise_of_columns(config.privacy, constraints, days, columns)
        for each in measurements:
            if each is not None:
                require_useful_noise(each.noise.law.parameter_name, each.noise.parameter)
        width = int(np.count_nonzero(constraints.measured))
        made = (items, table, groupings, constraints, days, columns, measurements, rows_are_packages)
        found = cls(config, *made, block_cells=MAX_BLOCK_CELLS, block_width=width)
        return _KEPT.keep(asked, found) if days.tree.n_nodes * len(found.series) <= MAX_KEPT_CELLS else found

    def as_measured(self, shape: Tree, measure: Measure | Literal["auto"] | None) -> "Design":
        """The design with another tree and other shares, whatever their noise.

        A stored measurement has its own (``auto`` could choose others by now), a plan some to compare with.
        """
        if (shape, measure) == (self.days.shape, self.columns.measure):
            return self
        config = self.config.model_copy(update={"tree": shape, "measure": measure})
        days = build_day_tree(config)
        columns, constraints = choose_columns(config, self.constraints)
        measurements = noise_of_columns(config.privacy, constraints, days, columns)
        return replace(self, constraints=constraints, days=days, columns=columns, measurements=measurements)

    @property
    def tree(self) -> IntervalTree:
        """The tree over days."""
        return self.days.tree

    @cached_property
    def blocks(self) -> BlockPlan:
        """The logical blocks."""
        return BlockPlan.for_cells(self.tree, self.block_width, self.block_cells)

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series: the items, then the totals."""
        return self.constraints.series

    @property
    def series_number(self) -> dict[str, int]:
        """Number of each series."""
        return self.names.number

    @cached_property
    def names(self) -> NamedSeries:
        """What the series are called, and which items each adds up."""
        members: dict[str, list[str]] = {}
        for constraint in self.config.constraints:
            for name, own in (constraint.totals or {}).items():
                members.setdefault(name, []).extend(own)
        declared = [grouping.by for grouping in self.config.domain.groupings or ()]
        called = (self.group_names, self.constraints.series_grouping)
        return NamedSeries(self.series, len(self.items), *called, self.table, self.groupings, declared, members)

    @cached_property
    def by_name(self) -> IntArray:
        """Numbers of the series in the order of their names, shape (n_series,)."""
        return np.array(sorted(range(len(self.series)), key=self.series.__getitem__), dtype=np.int64)

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """What the items, each block of totals and each grouping are called, by the constraints' `series_grouping`."""
        return group_names(self.config, self.constraints)

    @cached_property
    def table_columns(self) -> dict[str, tuple[IntArray, tuple[str, ...]]]:
        """Columns of the release's tables that come from the public table; none where items are listed."""
        return {} if self.table is None else table_columns(self.table, self.groupings, self.series)

    @cached_property
    def series_days(self) -> IntArray | None:
        """First day of each series and one past its last, shape (n_series, 2); None where all have all days."""
        n_days = self.config.domain.n_days
        return None if self.table is None else series_days(self.table, self.groupings, self.series, n_days)

    @property
    def grouping_sizes(self) -> list[GroupingSize]:
        """The groupings of the table with their sizes, as declared."""
        if self.groupings is None:
            return []
        # The totals of groupings are the last series; section `measure` may measure others than they say themselves.
        own = self.constraints.measured[len(self.series) - self.groupings.n_totals :]
        measured = [bool(own[self.groupings.grouping == number].any()) for number in range(self.groupings.n_groupings)]
        return replace(self.groupings, measured=np.array(measured)).sizes

    @property
    def measured_series(self) -> tuple[int, ...]:
        """Numbers of the series that get noisy counts."""
        return tuple(np.flatnonzero(self.constraints.measured).tolist())

    @property
    def events(self) -> tuple[Event, ...]:
        """What the release spends."""
        own = (each for each in self.measurements if each is not None)
        return (*own, *quality_events(self.config))

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the numbers besides the settings."""
        return {"counting_version": COUNTING_VERSION, "sampler_format": SAMPLER_FORMAT}

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.shaping() | {"publish_format": 1}

    def noise_of(self, level: int) -> tuple[NoiseEvent | None, ...]:
        """The noise of each column at a level."""
        n = self.columns.n_columns
        return self.measurements[level * n : (level + 1) * n]

    @cached_property
    def noise_variance(self) -> FloatArray:
        """Exact variance of the noise on one count, shape (n_levels, n_columns); inf where not measured."""
        found = [np.inf if each is None else each.noise.variance for each in self.measurements]
        return np.array(found).reshape(self.tree.n_levels, self.columns.n_columns)

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """Factors of the variances that least squares weigh by: of levels and of columns."""
        if self.columns.n_columns == 1:
            return self.noise_variance[:, 0], np.ones(1)
        return continuous_factors(self.measurements, self.noise_variance.shape)

    @property
    def level_variance(self) -> FloatArray:
        """The levels' factor of the variances that least squares weigh by; inf where not measured."""
        return self._factors[0]

    @property
    def divided_from(self) -> int:
        """The level at which the division of integers starts: the coarsest measured one, or the whole range."""
        tops = self.config.publish.divided_from == "tops"
        return int(np.argmax(np.isfinite(self.level_variance))) if tops else 0

    @property
    def node_variance(self) -> FloatArray:
        """The nodes' factor, shape (n_nodes,); inf where not measured."""
        return self.level_variance[self.tree.level]

    @cached_property
    def series_variance(self) -> FloatArray:
        """The series' factor, shape (n_series,); inf where not measured."""
        return np.where(self.constraints.measured, self._factors[1][self.columns.of], np.inf)

    @cached_property
    def exact_weights(self) -> bool:
        """Whether least squares weigh by the exact variances of the noise."""
        return self.columns.n_columns == 1 or len(self.constraints.day_constraints) > 1

    @cached_property
    def variance(self) -> FloatArray:
        """Variances that least squares weigh by, shape (n_nodes, n_series), inf where not measured."""
        if self.exact_weights:
            cells = np.where(self.constraints.measured, self.noise_variance[:, self.columns.of], np.inf)
        else:
            cells = self.level_variance[:, None] * self.series_variance
        return cells[self.tree.level]

    def date(self, day: int) -> dt.date:
        """The date of a day of the domain."""
        return self.config.domain.first_day + dt.timedelta(days=day)

    def day(self, date: dt.date) -> int:
        """The day of a date of the domain."""
        return (date - self.config.domain.first_day).days

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `from_public` builds the design again."""
        width = {} if self.block_width == len(self.series) else {"block_width": self.block_width}
        tree, measure = self.days.shape.model_dump(mode="json"), self.columns.measure
        shares = {} if measure is None else {"measure": measure.model_dump(mode="json")}
        own = self.config.measured() | {"tree": tree, "rows_are_packages": self.rows_are_packages}
        return own | shares | width

    @classmethod
    def from_public(cls, public: dict[str, Any]) -> "Design":
        """The design of a release, from its manifest's `public` settings."""
        settings = dict(public)
        rows_are_packages, width = settings.pop("rows_are_packages"), settings.pop("block_width", None)
        found = cls.of(HistogramsRelease.model_validate(settings), rows_are_packages)
        return replace(found, block_width=len(found.series) if width is None else width)

    def in_former_blocks(self) -> "Design":
        """The design of a measurement that a version before made, or reserved, under its own hash of the settings."""
        return replace(self, block_width=len(self.series))


_KEPT: Kept[tuple[str, bool, str | None], Design] = Kept(16)
