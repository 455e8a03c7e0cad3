"""Everything that the settings decide before a row is read: bins, strategy, noise and blocks.

Guarantee. A privacy unit keeps at most ``m`` rows; each adds 1 to one bin of one histogram, hence 1 to every node on
that bin's path. With shares ``s_x`` of the budget whose sums along every path are at most 1:

* Laplace noise of scale ``D / (s_x epsilon)``, ``D = m``: the log-likelihood ratio is at most the sum over the unit's
  rows of ``sum_path s_x epsilon / m``, at most epsilon.
* Gaussian noise of ``sigma_x^2 = D2 / (2 s_x rho)``, ``D2 = m^2``: if ``n_x <= m`` of the unit's rows meet in node x,
  ``sum_x n_x^2 / (2 sigma_x^2) <= m sum_x n_x s_x rho / m^2 <= rho``, again row by row along the paths.

Replacing a unit removes one such vector and adds another: D doubles (the norms add), and so does D2 (both vectors are
non-negative, so the square of their difference is at most the sum of their squares).

*Groups that add up.* Columns of histograms share the budget: `dplib.jobs.range_histograms.sums`.

*Weights.* Least squares weigh a cell by a node's factor times a column's, the variances of continuous noise, which
makes them two passes over the trees and one projection a node (`dplib.consistency.commuting`); with one column, by the
exact variances. Stated errors are those of the exact discrete variances under these weights.

*Total is public.* The number of rows that count is published for every group, exactly. The guarantee is then
conditional: it compares data sets that differ in one unit and agree in these numbers. The root of each tree has no
noise and no share.

*Adaptive.* A part of epsilon chooses buckets (`dplib.estimates.adaptive_partition`), the rest measures a tree on them.
A unit's rows may lie in several bins: by group privacy over its D single rows, one after the other, the scale 2 D /
epsilon that suits D rows in one bin suits these too.

Notation: ``m`` is `privacy.max_rows_per_unit`.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.config.fold import folded
from dplib.config.input_quality import quality_events
from dplib.config.measure import Measure
from dplib.config.selection import NamedSeries
from dplib.config.stream import StreamTree
from dplib.consistency.commuting import CommutingPlan, product_plan
from dplib.consistency.question_tree import Asked
from dplib.estimates.adaptive_partition import PARTITION_SHARE
from dplib.jobs.range_histograms.bins import Bins
from dplib.jobs.range_histograms.config import COUNTING_VERSION, RangeHistogramsConfig, RangesRelease
from dplib.jobs.range_histograms.strategy import asked_of, calendar_strategy, choose_strategy, noise_of, stream_tree
from dplib.jobs.range_histograms.sums import GroupSums, named_histograms, target_names
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.privacy.budget import epsilon_or_rho
from dplib.privacy.events import Event
from dplib.privacy.noise import SAMPLER_FORMAT, Noise, require_useful_noise
from dplib.trees.budgets import WHOLE, LawName, noise_parameter, unit_variance
from dplib.trees.coverage import RangeQueries
from dplib.trees.strategies import TreeStrategy, blue
from dplib.validate import integer_norms, require

STATISTIC = "range counts"
BLOCK_CELLS = 1 << 19
"""Cells (nodes x histograms) a block should stay below; a single histogram may exceed it."""
MAX_CELLS = 1 << 25
"""Nodes of all histograms that are held in one process where groups add up: 256 MiB of counts."""


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
        bins: bins and groups.
        law: which ranges the plan's errors are for.
        strategy: tree and exact shares, the same for every group; for ``adaptive`` the one that would be used if every
            bin were a bucket of its own.
        sums: the totals of the groups; None where groups do not add up.
        stream: the tree of a stream; None where all is measured in one run.
    """

    config: RangesRelease
    bins: Bins
    law: RangeQueries
    strategy: TreeStrategy
    sums: GroupSums | None = None
    stream: StreamTree | None = None

    @classmethod
    def resolve(cls, config: RangeHistogramsConfig, base: Path) -> "Design":
        """Derive the design of a configuration.

        Args:
            config: the checked configuration.
            base: folder that its relative paths refer to.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        found = cls.of(config.release(base))
        target_names(found.config, found.sums)  # Refuses names of nothing.
        for setting, names in (("groups", found.bins.groups), ("categories", found.bins.categories)):
            folded(names, config.input.fold, f"histogram.{setting}")  # Refuses names that would be one.
        return found

    @classmethod
    def of(
        cls,
        config: RangesRelease,
        strategy: TreeStrategy | None = None,
        measure: Measure | None = None,
        stream: StreamTree | None = None,
    ) -> "Design":
        """Derive the design of a release.

        Args:
            config: its settings, all names listed.
            strategy: that of a stored measurement, which another version might choose differently.
            measure: likewise its shares by column.
            stream: likewise a stream's tree.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        bins = Bins.resolve(config.histogram, Path())
        law = asked_of(config, bins.n_bins)[0][1]
        shared = config if measure is None else config.model_copy(update={"measure": measure})
        sums = GroupSums.of(shared, bins.groups, bins.n_bins)
        if config.stream is not None:
            stream = stream or stream_tree(config, config.stream)
            strategy = calendar_strategy(config, config.stream, stream)
        found = cls(config, bins, law, strategy or choose_strategy(config, bins.n_bins, law), sums, stream)
        if sums is not None or stream is not None:
            cells, of = found.strategy.tree.n_nodes * len(found.series), "where groups add up or days are a stream"
            rule = f"give at most {MAX_CELLS} nodes of trees in all {of}"
            require(cells <= MAX_CELLS, "histogram.groups", rule, cells)
        found.check_noise()
        return found

    @cached_property
    def names(self) -> NamedSeries:
        """What the histograms are called, and which groups each adds up."""
        return named_histograms(self.config, self.bins.groups, self.sums)

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the histograms: the groups, then their totals."""
        return self.names.series

    @cached_property
    def series_number(self) -> dict[str, int]:
        """Number of each histogram."""
        return self.names.number

    @property
    def n_columns(self) -> int:
        """Number of columns of histograms, each with noise of its own."""
        return 1 if self.sums is None else self.sums.columns.n_columns

    @cached_property
    def column_of(self) -> IntArray:
        """Column of each histogram, shape (n_histograms,)."""
        return np.zeros(len(self.series), dtype=np.int64) if self.sums is None else self.sums.columns.of

    @cached_property
    def measured(self) -> BoolArray:
        """Whether each histogram has noisy counts, shape (n_histograms,)."""
        return np.ones(len(self.series), dtype=np.bool_) if self.sums is None else self.sums.constraints.measured

    def with_totals(self, counts: IntArray) -> IntArray:
        """Exact counts of the groups, shape (n_groups, n_bins), with those of the totals below."""
        if self.sums is None:
            return counts
        return np.asarray(self.sums.constraints.incidence[0] @ counts, dtype=np.int64)

    @property
    def asked(self) -> Asked:
        """The questions' weights and laws."""
        return asked_of(self.config, self.bins.n_bins)

    @property
    def adaptive(self) -> bool:
        """Whether buckets are chosen from the data."""
        return self.config.tree.resolved_method == "adaptive"

    @property
    def total_is_public(self) -> bool:
        """Whether the root of every tree is known exactly."""
        return self.config.histogram.total_is_public

    @property
    def noise(self) -> LawName:
        """Which law the noise has."""
        return noise_of(self.config)

    @cached_property
    def budget(self) -> Fraction:
        """The budget: epsilon (Laplace) or rho (Gaussian) of the release."""
        return epsilon_or_rho(self.config.privacy.main_budget)

    @property
    def sensitivity(self) -> int:
        """D (Laplace: L1) or D2 (Gaussian: squared L2) of the module's docstring, of the first column."""
        return self.sensitivity_of(0)

    def sensitivity_of(self, column: int) -> int:
        """The same, of a column."""
        privacy = self.config.privacy
        neighbors = 2 if privacy.neighbors == "replace_one" else 1
        rows, (l1, square) = privacy.rows_per_unit, (1, 1) if self.sums is None else self.sums.norms[column]
        norms = integer_norms("sensitivity of a level", neighbors * rows * l1, neighbors * rows**2 * square)
        return privacy.mechanism.sensitivity(*norms)

    def counts_budget(self, column: int = 0) -> Fraction:
        """Part of the budget that the counts of a column get, along a path together."""
        share = Fraction(1) if self.sums is None else self.sums.columns.shares[column]
        return (self.budget - self.partition_budget) * share

    @property
    def partition_budget(self) -> Fraction:
        """Part of epsilon that chooses buckets; 0 where none are chosen."""
        return self.budget * PARTITION_SHARE if self.adaptive else Fraction(0)

    @property
    def events(self) -> tuple[Event, ...]:
        """What the release spends: one event for all nodes of a path and a column together, and one for the buckets."""
        quality, law = quality_events(self.config), self.config.privacy.mechanism
        measured = [self._event(column) for column in range(self.n_columns) if self.counts_budget(column) > 0]
        if not self.adaptive:
            return (*measured, *quality)
        sensitivity = Fraction(self.sensitivity)
        buckets = Noise(law, law.parameter(sensitivity, self.partition_budget), sensitivity).event("buckets")
        return (buckets, *measured, *quality)

    def _event(self, column: int) -> Event:
        law, sensitivity = self.config.privacy.mechanism, Fraction(self.sensitivity_of(column))
        names = () if self.sums is None else self.sums.columns.names
        statistic = f"{STATISTIC}, {names[column]}" if names else STATISTIC
        return Noise(law, law.parameter(sensitivity, self.counts_budget(column)), sensitivity).event(statistic)

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the numbers besides the settings."""
        return {"counting_version": COUNTING_VERSION, "sampler_format": SAMPLER_FORMAT}

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.shaping() | {"publish_format": 1}

    def mechanism(self, key: bytes, group: str, column: int = 0) -> NodeMechanism:
        """The noise of one histogram's nodes."""
        budget, sensitivity = self.counts_budget(column), Fraction(self.sensitivity_of(column))
        return NodeMechanism(key, f"{STATISTIC} of {group}", self.noise, budget, sensitivity)

    @property
    def variance(self) -> FloatArray:
        """Noise variance of a group's nodes, shape (n_nodes,): inf where not measured, 0 at a public root."""
        return np.asarray(self.noise_variance[0])

    @cached_property
    def noise_variance(self) -> FloatArray:
        """The same by column, shape (n_columns, n_nodes)."""
        found = np.full((self.n_columns, self.strategy.tree.n_nodes), np.inf)
        for column in range(self.n_columns):
            if self.counts_budget(column) > 0:
                found[column] = self.mechanism(bytes(32), "", column).variances(self.strategy.shares)
        if self.total_is_public:
            found[:, 0] = 0.0
        return found

    @cached_property
    def _scales(self) -> FloatArray:
        """Variance of continuous noise of each column at share 1 over that at unit budget; inf without a share."""
        law, budgets = self.config.privacy.mechanism, [self.counts_budget(column) for column in range(self.n_columns)]
        parameters = [
            float(law.parameter(Fraction(self.sensitivity_of(column)), budget)) if budget > 0 else np.inf
            for column, budget in enumerate(budgets)
        ]
        return np.asarray(np.array(parameters) ** law.exponent)

    @cached_property
    def weights(self) -> FloatArray:
        """The nodes' factor of the variances that least squares weigh by, shape (n_nodes,)."""
        if self.n_columns == 1:
            return self.variance
        found = np.asarray(unit_variance(self.strategy.shares / WHOLE, self.noise) * self._scales[0])
        if self.total_is_public:
            found[0] = 0.0
        return found

    @cached_property
    def plan(self) -> CommutingPlan:
        """Least squares over all histograms and nodes where groups add up."""
        assert self.sums is not None
        factor = np.where(self.measured, (self._scales / self._scales[0])[self.column_of], np.inf)
        return product_plan(self.strategy.tree, self.weights, factor, self.sums.constraints.day_constraints)

    def bucket_strategy(self, n_buckets: int) -> TreeStrategy:
        """The tree over a group's buckets, where they are chosen from the data."""
        return blue(n_buckets, self.noise)

    def node_variance(self, strategy: TreeStrategy) -> FloatArray:
        """Noise variances of a strategy under this design's budget, shape (n_nodes,)."""
        return self.mechanism(bytes(32), "").variances(strategy.shares)

    def noise_parameter(self, share: int, column: int = 0) -> Fraction:
        """Scale b, or sigma^2, of the noise of a node with an exact share above 0."""
        return noise_parameter(share, self.counts_budget(column), Fraction(self.sensitivity_of(column)), self.noise)

    def check_noise(self) -> None:
        """Refuse a budget whose noise is too small or too large to be drawn and used.

        Raises:
            ConfigError: naming `privacy.budget`.
        """
        shares = self.strategy.shares[self.strategy.shares > 0]
        name = self.config.privacy.mechanism.parameter_name
        for share in {int(shares.min()), int(shares.max())}:
            for column in range(self.n_columns):
                if self.counts_budget(column) > 0:
                    require_useful_noise(name, self.noise_parameter(share, column))

    @cached_property
    def group_bounds(self) -> IntArray:
        """Boundaries of the blocks' groups, shape (n_blocks + 1,); settings only."""
        size = max(1, BLOCK_CELLS // self.strategy.tree.n_nodes)
        return np.append(np.arange(0, len(self.series), size), len(self.series)).astype(np.int64)

    @property
    def n_blocks(self) -> int:
        """Number of logical blocks: runs of histograms."""
        return len(self.group_bounds) - 1

    def block_name(self, block: int) -> str:
        """Name of a block in labels and files."""
        return f"block-{block:06d}"

    def block_groups(self, block: int) -> tuple[str, ...]:
        """The histograms of a block."""
        return self.series[int(self.group_bounds[block]) : int(self.group_bounds[block + 1])]

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `of` builds the design again."""
        measure = None if self.sums is None else self.sums.columns.measure
        own = {} if measure is None else {"measure": measure.model_dump(mode="json")}
        tree = {} if self.stream is None else {"stream_tree": self.stream.model_dump(mode="json")}
        return self.config.measured() | own | tree
