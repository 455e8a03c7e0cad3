"""Everything that the settings decide before a row is read: bins, strategy, noise and blocks.

Guarantee. A privacy unit keeps at most ``m`` rows; each adds 1 to one bin of one histogram, hence 1 to every node on
that bin's path. With shares ``s_x`` of the budget whose sums along every path are at most 1:

* Laplace noise of scale ``D / (s_x epsilon)``, ``D = m``: the log-likelihood ratio is at most the sum over the unit's
  rows of ``sum_path s_x epsilon / m``, at most epsilon.
* Gaussian noise of ``sigma_x^2 = D2 / (2 s_x rho)``, ``D2 = m^2``: if ``n_x <= m`` of the unit's rows meet in node x,
  ``sum_x n_x^2 / (2 sigma_x^2) <= m sum_x n_x s_x rho / m^2 <= rho``, again row by row along the paths.

Replacing a unit removes one such vector and adds another: D doubles (the norms add), and so does D2 (both vectors are
non-negative, so the square of their difference is at most the sum of their squares).

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

from dplib.arrays import FloatArray, IntArray
from dplib.config.input_quality import quality_events
from dplib.estimates.adaptive_partition import PARTITION_SHARE
from dplib.estimates.workload_aware import workload_aware
from dplib.jobs.range_histograms.bins import Bins
from dplib.jobs.range_histograms.config import COUNTING_VERSION, RangeHistogramsConfig, RangesRelease
from dplib.jobs.range_histograms.workload import workload_of
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.privacy.budget import epsilon_or_rho
from dplib.privacy.events import Event
from dplib.privacy.noise import SAMPLER_FORMAT, Law, Noise, require_useful_noise
from dplib.trees.budgets import LawName, name_of, noise_parameter
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import RangeQueries
from dplib.trees.strategies import (
    TreeStrategy,
    blue,
    boost,
    boost_un,
    dwork,
    hierarchical_bins,
    lue_dptree,
)
from dplib.validate import integer_norms, require

STATISTIC = "range counts"
BLOCK_CELLS = 1 << 19
"""Cells (nodes x histograms) a block should stay below; a single histogram may exceed it."""
LUE_BRANCHING = {"laplace": 16, "gaussian": 2}
"""Children of a node for `lue_dptree` where none are given: near the best of its table of errors."""


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
        bins: bins and groups.
        law: which ranges the plan's errors are for.
        strategy: tree and exact shares, the same for every group; for ``adaptive`` the one that would be used if every
            bin were a bucket of its own.
    """

    config: RangesRelease
    bins: Bins
    law: RangeQueries
    strategy: TreeStrategy

    @classmethod
    def resolve(cls, config: RangeHistogramsConfig, base: Path) -> "Design":
        """Derive the design of a configuration.

        Args:
            config: the checked configuration.
            base: folder that its relative paths refer to.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        return cls.of(config.release(base))

    @classmethod
    def of(cls, config: RangesRelease, strategy: TreeStrategy | None = None) -> "Design":
        """Derive the design of a release.

        Args:
            config: its settings, all names listed.
            strategy: that of a stored measurement, which another version might choose differently.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        bins = Bins.resolve(config.histogram, Path())
        law = workload_of(config.tree.queries, bins.n_bins)
        found = cls(config, bins, law, strategy or choose_strategy(config, bins.n_bins, law))
        found.check_noise()
        return found

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the histograms."""
        return self.bins.groups

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
        """D (Laplace: L1) or D2 (Gaussian: squared L2) of the module's docstring."""
        privacy = self.config.privacy
        neighbors = 2 if privacy.neighbors == "replace_one" else 1
        rows = privacy.rows_per_unit
        l1, l2_squared = integer_norms("sensitivity of a level", neighbors * rows, neighbors * rows**2)
        return l1 if self.config.privacy.mechanism is Law.LAPLACE else l2_squared

    @property
    def partition_budget(self) -> Fraction:
        """Part of epsilon that chooses buckets; 0 where none are chosen."""
        return self.budget * PARTITION_SHARE if self.adaptive else Fraction(0)

    @property
    def events(self) -> tuple[Event, ...]:
        """What the release spends: one event for all nodes of a path together, and one for the buckets."""
        counts, sensitivity = self.budget - self.partition_budget, Fraction(self.sensitivity)
        quality = quality_events(self.config)
        law = self.config.privacy.mechanism
        measured = Noise(law, law.parameter(sensitivity, counts), sensitivity).event(STATISTIC)
        if not self.adaptive:
            return (measured, *quality)
        buckets = Noise(law, law.parameter(sensitivity, self.partition_budget), sensitivity).event("buckets")
        return (buckets, measured, *quality)

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the numbers besides the settings."""
        return {"counting_version": COUNTING_VERSION, "sampler_format": SAMPLER_FORMAT}

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.shaping() | {"publish_format": 1}

    def mechanism(self, key: bytes, group: str) -> NodeMechanism:
        """The noise of one histogram's nodes."""
        counts = self.budget - self.partition_budget
        return NodeMechanism(key, f"{STATISTIC} of {group}", self.noise, counts, Fraction(self.sensitivity))

    @cached_property
    def variance(self) -> FloatArray:
        """Noise variance of every node, shape (n_nodes,): inf where not measured, 0 at a public root."""
        variance = self.node_variance(self.strategy)
        if self.total_is_public:
            variance[0] = 0.0
        return variance

    def bucket_strategy(self, n_buckets: int) -> TreeStrategy:
        """The tree over a group's buckets, where they are chosen from the data."""
        return blue(n_buckets, self.noise)

    def node_variance(self, strategy: TreeStrategy) -> FloatArray:
        """Noise variances of a strategy under this design's budget, shape (n_nodes,)."""
        return self.mechanism(bytes(32), "").variances(strategy.shares)

    def noise_parameter(self, share: int) -> float:
        """Scale b, or sigma^2, of the noise of a node with an exact share above 0."""
        counts = self.budget - self.partition_budget
        return float(noise_parameter(share, counts, Fraction(self.sensitivity), self.noise))

    def check_noise(self) -> None:
        """Refuse a budget whose noise is too small or too large to be drawn and used.

        Raises:
            ConfigError: naming `privacy.budget`.
        """
        shares = self.strategy.shares[self.strategy.shares > 0]
        name = self.config.privacy.mechanism.parameter_name
        for share in {int(shares.min()), int(shares.max())}:
            counts = self.budget - self.partition_budget
            require_useful_noise(name, noise_parameter(share, counts, Fraction(self.sensitivity), self.noise))

    @cached_property
    def group_bounds(self) -> IntArray:
        """Boundaries of the blocks' groups, shape (n_blocks + 1,); settings only."""
        size = max(1, BLOCK_CELLS // self.strategy.tree.n_nodes)
        return np.append(np.arange(0, len(self.groups), size), len(self.groups)).astype(np.int64)

    @property
    def n_blocks(self) -> int:
        """Number of logical blocks: runs of groups."""
        return len(self.group_bounds) - 1

    def block_name(self, block: int) -> str:
        """Name of a block in labels and files."""
        return f"block-{block:06d}"

    def block_groups(self, block: int) -> tuple[str, ...]:
        """The groups of a block."""
        return self.groups[int(self.group_bounds[block]) : int(self.group_bounds[block + 1])]

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `of` builds the design again."""
        return self.config.measured()


def noise_of(config: RangesRelease) -> LawName:
    """Which law the noise has."""
    return name_of(config.privacy.mechanism)


def choose_strategy(config: RangesRelease, n_bins: int, law: RangeQueries) -> TreeStrategy:
    """The strategy of the configured method; settings only."""
    noise, k = noise_of(config), config.tree.branching
    match config.tree.resolved_method:
        case "blue" | "adaptive":
            strategy = blue(n_bins, noise, k)
        case "workload_aware":
            strategy = workload_aware(n_bins, law, noise)
        case "lue_dptree":
            strategy = lue_dptree(kary_tree(n_bins, k or LUE_BRANCHING[noise]), noise, law)
        case "boost":
            strategy = boost(n_bins, k or 2, noise)
        case "boost_un":
            strategy = boost_un(n_bins, k or 2, noise)
        case "hierarchical_bins":
            strategy = hierarchical_bins(n_bins)
        case _:
            strategy = dwork(n_bins, noise)
    rule = "be one that measures every bin under these queries"
    require(strategy.measures_every_bin, "tree.method", rule, config.tree.resolved_method)
    return strategy
