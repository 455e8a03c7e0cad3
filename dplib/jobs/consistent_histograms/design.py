"""Everything that the settings decide before a row is read: series, tree, noise and blocks.

Guarantee. A privacy unit keeps at most ``m`` rows, at most ``r`` of them a day, each of quantity at most ``Q``. A row
of type ``j`` with quantity ``q`` adds ``q A e_j`` to one node of each level. Hence at one level a unit adds at most
``m Q max_j ||A e_j||_1`` in L1 norm. In L2 norm, ``n_x <= min(m, r w)`` of its rows meet in a node ``x`` of ``w`` days,
and the squares sum to at most ``sum_x (n_x Q)^2 max_j ||A e_j||_2^2 <= m min(m, r w) Q^2 max_j ||A e_j||_2^2``.
Removing a unit undoes what it added. Replacing one removes one such vector and adds another: the L1 norms add, and
since both vectors are non-negative the squared norm of their difference is at most the sum of their squared norms; both
sensitivities double. The levels compose: epsilon is the sum of the levels' epsilons, rho that of their rhos.

Notation: ``A`` is the incidence of `ResolvedConstraints` (measured series only), ``w`` a level's widest node in days.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.config.names import BLANKS
from dplib.config.sections import EventPrivacySettings
from dplib.constraints.resolve import resolve
from dplib.constraints.resolved import ResolvedConstraints
from dplib.constraints.specs import Equation, Package, Total
from dplib.jobs.consistent_histograms.config import (
    COUNTING_VERSION,
    ConsistentHistogramsConfig,
    Constraint,
    HistogramsRelease,
    Tree,
)
from dplib.jobs.consistent_histograms.day_tree import DayTree, build_day_tree
from dplib.mechanisms.tree_counts import SAMPLER_FORMAT
from dplib.privacy.budget import ZCDP, PureDP, epsilon_or_rho
from dplib.privacy.calibration import split
from dplib.privacy.events import Event
from dplib.privacy.noise import Noise, NoiseEvent
from dplib.trees.block_plan import BlockPlan
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import integer_norms, require
from dplib.workflow.design import require_useful_noise
from dplib.workflow.quality import quality_events

MAX_BLOCK_CELLS = 1 << 19
"""Cells (nodes x series) that a block should stay below: 4 MiB of counts."""
MAX_OF_ROW = 1 << 23
"""Counts that one row adds to one level at most: 2^40 rows then fit 64 bits (`dplib.mechanisms.tree_counts`)."""


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
        items: names of the items.
        constraints: series, day constraints, incidence and sensitivity of one row.
        days: the tree over days with the names of its levels.
        measurements: the noise of each level from the root down; None where a level is not measured.
        rows_are_packages: whether a row is a package.
        block_cells: cells that a logical block stays below.
        block_width: cells of a node that blocks are made for: totals that are not measured come and go without
            another block, so they are not among them; in measurements of versions before they are.
    """

    config: HistogramsRelease
    items: tuple[str, ...]
    constraints: ResolvedConstraints
    days: DayTree
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
        return cls.of(config.release(base), columns.package is not None, columns.quantity)

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
        items = config.domain.item_names(Path())
        constraints = _constraints(config, items, rows_are_packages, quantity)
        days = build_day_tree(config)
        measurements = _noise(config.privacy, constraints, days)
        width = int(np.count_nonzero(constraints.measured))
        return cls(config, items, constraints, days, measurements, rows_are_packages, MAX_BLOCK_CELLS, width)

    def with_tree(self, shape: Tree) -> "Design":
        """The design with the tree that a stored measurement has; ``tree: auto`` could choose another by now."""
        days = build_day_tree(self.config.model_copy(update={"tree": shape}))
        return replace(self, days=days, measurements=_noise(self.config.privacy, self.constraints, days))

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

    @cached_property
    def level_variance(self) -> FloatArray:
        """Noise variance of one count at each level, shape (n_levels,); inf where not measured."""
        return np.array([np.inf if each is None else each.noise.variance for each in self.measurements])

    @cached_property
    def variance(self) -> FloatArray:
        """Noise variances, shape (n_nodes, n_series), inf where not measured."""
        series = np.where(self.constraints.measured, 1.0, np.inf)
        return self.level_variance[self.tree.level][:, None] * series[None, :]

    def date(self, day: int) -> dt.date:
        """The date of a day of the domain."""
        return self.config.domain.first_day + dt.timedelta(days=day)

    def day(self, date: dt.date) -> int:
        """The day of a date of the domain."""
        return (date - self.config.domain.first_day).days

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `from_public` builds the design again."""
        width = {} if self.block_width == len(self.series) else {"block_width": self.block_width}
        tree = self.days.shape.model_dump(mode="json")
        return self.config.measured() | {"tree": tree, "rows_are_packages": self.rows_are_packages} | width

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


def _constraints(
    config: HistogramsRelease, items: tuple[str, ...], rows_are_packages: bool, quantity: str | None
) -> ResolvedConstraints:
    packages: list[Package] = []
    totals: list[Total] = []
    equations: list[Equation] = []
    replace_one = config.privacy.neighbors == "replace_one"
    for number, constraint in enumerate(config.constraints):
        setting = f"constraints.{number}"
        first, end = _validity(config, constraint, setting)
        packages.extend(
            Package(name, {item: n for item, n in contents.items() if n}, first, end, f"{setting}.packages.{name}")
            for name, contents in (constraint.packages or {}).items()
        )
        totals.extend(
            Total(name, tuple(members), constraint.measured, first, end, f"{setting}.totals.{name}", number)
            for name, members in (constraint.totals or {}).items()
        )
        equations.extend(
            Equation(each.coefficients, each.value, replace_one, first, end, f"{setting}.equations.{name}")
            for name, each in (constraint.equations or {}).items()
        )
    require(bool(packages) or not rows_are_packages, "constraints", "declare packages where rows are packages", "none")
    _check_packages(packages, rows_are_packages)
    _check_equations(equations, config.privacy.unit, quantity)
    day_name = partial(_day_name, config.domain.first_day)
    return resolve(items, config.domain.n_days, packages, totals, equations, rows_are_packages, day_name)


def _day_name(first: dt.date, day: int) -> str:
    return (first + dt.timedelta(days=day)).isoformat()


def _check_packages(packages: Sequence[Package], rows_are_packages: bool) -> None:
    """Refuse packages that need not be true of the rows that are counted, whatever those are."""
    for package in packages:
        rule = (
            "be left out unless input.columns.package says that rows are packages, since caps on item lines would "
            "make its equations false"
        )
        require(rows_are_packages, package.setting, rule, "rows that are item lines")
        plain = bool(package.name) and package.name == package.name.strip(BLANKS)
        require(plain, package.setting, "have a name without blanks at its ends", repr(package.name))


def _check_equations(equations: Sequence[Equation], unit: str, quantity: str | None) -> None:
    """Refuse equations that need not be true of the rows that are counted, whatever those are."""
    for equation in equations:
        rule = (
            "stand only where every row counts whole (privacy.unit: event, no input.columns.quantity), since caps "
            "would make it false"
        )
        shown = f"the unit {unit}" if unit != "event" else f"quantities in {quantity}"
        require(unit == "event" and quantity is None, equation.setting, rule, shown)


def _validity(config: HistogramsRelease, constraint: Constraint, name: str) -> tuple[int, int]:
    domain = config.domain
    first = max(constraint.first or domain.first_day, domain.first_day)
    last = min(constraint.last or domain.last_day, domain.last_day)
    require(
        first <= last,
        name,
        "hold on at least one day of the domain",
        f"{constraint.first or domain.first_day} to {constraint.last or domain.last_day}",
    )
    return (first - domain.first_day).days, (last - domain.first_day).days + 1


def _noise(
    privacy: EventPrivacySettings, constraints: ResolvedConstraints, days: DayTree
) -> tuple[NoiseEvent | None, ...]:
    """Split the budget over the measured levels and calibrate each level's noise."""
    budget = privacy.main_budget
    measured = [level for level, share in enumerate(days.shares) if share > 0]
    neighbors = 2 if privacy.neighbors == "replace_one" else 1
    widths = days.tree.hi - days.tree.lo
    levels: list[NoiseEvent | None] = [None] * days.tree.n_levels
    _require_small_rows(privacy, constraints)
    whole_l1 = neighbors * privacy.rows_per_unit * privacy.max_quantity * constraints.row_l1
    pure = isinstance(budget, PureDP)
    for level, part in zip(measured, split(epsilon_or_rho(budget), [days.shares[x] for x in measured]), strict=True):
        width = int(widths[days.tree.level_slice(level)].max())
        meeting = min(privacy.rows_per_unit, privacy.rows_per_day * width)
        square = neighbors * privacy.rows_per_unit * meeting * privacy.max_quantity**2 * constraints.row_l2_squared
        norms = (whole_l1, 0) if pure else integer_norms("sensitivity of a level", whole_l1, square)
        noise = Noise.within(PureDP(part) if pure else ZCDP(part), *norms, max_denominator=10**6)
        require_useful_noise(noise.law.parameter_name, noise.parameter)
        levels[level] = noise.event(days.names[level])
    return tuple(levels)


def _require_small_rows(privacy: EventPrivacySettings, constraints: ResolvedConstraints) -> None:
    """Refuse rows that count so much that fewer than 2^40 of them could leave 64 bits."""
    largest = constraints.row_l1
    rule = f"let no row add more than {MAX_OF_ROW} counts to a level, measured totals included"
    require(largest <= MAX_OF_ROW, "constraints", rule, largest)
    most = MAX_OF_ROW // max(largest, 1)
    rule = f"be at most {most}, since the largest row adds {largest} counts to a level, measured totals included"
    require(privacy.max_quantity <= most, "privacy.max_quantity", rule, privacy.max_quantity)
