"""What a run will cost and how accurate it will be, from settings alone: reads no rows, spends nothing."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.estimates.haar import haar_mean_error, haar_range_variances
from dplib.estimates.range_estimates import mean_range_variance
from dplib.estimates.workload_aware import workload_aware
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import length_variance
from dplib.jobs.range_histograms.kinds import RecentError, kind_errors, recent_errors
from dplib.jobs.range_histograms.publish import column_noise, invariants, level_noise
from dplib.jobs.range_histograms.strategy import LUE_BRANCHING
from dplib.jobs.range_histograms.workload import asked_text
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import UniformRanges
from dplib.trees.strategies import (
    TreeStrategy,
    blue,
    boost,
    boost_un,
    dwork,
    hierarchical_bins,
    lue_dptree,
    regular,
    struct_construct_strategy,
)
from dplib.workflow.chosen_note import chosen_note
from dplib.workflow.kind_errors import KindError, shares_text
from dplib.workflow.plan import JobPlan, PlanFrame

COMPARED_BINS = 1 << 16
"""Up to this many bins the plan builds every method's tree to compare them."""


@dataclass(frozen=True)
class MethodError:
    """What one method would give with the whole budget.

    Attributes:
        method: its name.
        of: how it answers: least squares, or sums of noisy counts.
        mean_variance: mean variance of a query under the law, in squared counts.
        std_error: its square root.
        chosen: whether it is this configuration's.
    """

    method: str
    of: str
    mean_variance: float
    std_error: float
    chosen: bool


@dataclass(frozen=True)
class LengthError:
    """Root mean square standard error of the ranges of one length, by method."""

    length: int
    ours: float
    flat: float
    binary: float
    privelet: float


@dataclass(frozen=True)
class Plan(JobPlan):
    """Everything that can be said before a row is read."""

    n_groups: int
    n_bins: int
    n_nodes: int
    n_levels: int
    n_blocks: int
    method: str
    queries: str
    levels: tuple[dict[str, Any], ...]
    methods: tuple[MethodError, ...]
    lengths: tuple[LengthError, ...]
    kinds: tuple[KindError, ...]
    columns: tuple[dict[str, Any], ...]
    recent: tuple[RecentError, ...]

    def stated_errors(self) -> dict[str, float]:
        """By length of the range, and of the kinds of queries; none where the data choose the buckets."""
        if not any(each.chosen for each in self.methods):
            return {}
        return _by_answer({each.length: each.ours for each in self.lengths}, self.recent, self.kinds)


def stated_errors(design: Design) -> dict[str, float]:
    """What `Plan.stated_errors` of a design's plan gives, without what the plan compares it with."""
    if design.adaptive:
        return {}
    ours = {n: _of_length(design, design.strategy, n, design.variance) for n in lengths_of(design.bins.n_bins)}
    return _by_answer(ours, recent_errors(design)[0], kind_errors(design)[0])


def _by_answer(
    lengths: dict[int, float], recent: tuple[RecentError, ...], kinds: tuple[KindError, ...]
) -> dict[str, float]:
    found = {f"range of {length} bins": error for length, error in lengths.items()}
    found |= {f"{each.query} of {each.of}": each.error for each in recent}
    return found | {f"{each.query} of {each.of}": each.chosen for each in kinds}


def make_plan(design: Design, settings_hash: str) -> Plan:
    """Make the plan of a design."""
    config, tree = design.config, design.strategy.tree
    caps = {"rows a unit": config.privacy.rows_per_unit}
    kinds, said = kind_errors(design)
    recent, met = recent_errors(design)
    return Plan(
        frame=PlanFrame.of(design, caps, (*plan_notes(design), *said, *met), settings_hash),
        n_groups=len(design.bins.groups),
        n_bins=design.bins.n_bins,
        n_nodes=tree.n_nodes,
        n_levels=tree.n_levels,
        n_blocks=design.n_blocks,
        method=config.method,
        queries=asked_text(config),
        levels=tuple(level_noise(design)),
        methods=method_errors(design),
        lengths=length_errors(design),
        kinds=kinds,
        columns=() if design.sums is None else tuple(column_noise(design)),
        recent=recent,
    )


def plan_notes(design: Design) -> tuple[str, ...]:
    """Sentences about what the settings mean."""
    notes = list(invariants(design))
    if design.sums is not None:
        groupings = () if design.sums.groupings is None else design.sums.groupings.sizes
        notes += [*design.sums.columns.notes, *design.sums.constraints.notes]
        notes += [
            f"Grouping {each.label}: {each.n_totals} totals of {each.least} to {each.most} groups."
            for each in groupings
        ]
        of = "length of the range" if design.stream is not None else "method and by length of the range"
        notes.append(f"Errors by {of} are those of a group by itself, with its share.")
    if design.stream is not None and design.config.stream is not None:
        chosen = ", chosen for the queries" if design.config.stream.levels == "auto" else ""
        notes += [chosen_note(design.config.privacy.unit)] if design.config.privacy.spans_days else []
        notes.append(f"Levels of the stream{chosen}: {shares_text(design.stream.names, design.stream.shares)}.")
    if design.adaptive:
        notes.append(
            "The buckets are chosen from the data with 3/20 of the budget: errors depend on the data, can be much "
            "smaller than below on sparse data and larger on rich data, and are not stated."
        )
    if design.config.privacy.rows_per_unit > 1:
        notes.append(
            f"One {design.config.privacy.unit} counts with at most {design.config.privacy.rows_per_unit} rows in all "
            "groups together; noise grows with this cap."
        )
    if design.bins.n_bins > COMPARED_BINS:
        notes.append(f"Methods are compared up to {COMPARED_BINS:,} bins only; the chosen one's error is exact.")
    return tuple(notes)


def alternatives(design: Design) -> list[TreeStrategy]:
    """The methods that the plan compares, on this design's bins."""
    n, noise = design.bins.n_bins, design.noise
    k = LUE_BRANCHING[noise]
    found = [
        dwork(n, noise),
        regular(n, noise),
        struct_construct_strategy(n, noise),
        boost(n, 2, noise),
        boost_un(n, 2, noise),
        hierarchical_bins(n),
        lue_dptree(kary_tree(n, k), noise, design.law),
        blue(n, noise),
    ]
    return found if isinstance(design.law, UniformRanges) else [*found, workload_aware(n, design.law, noise)]


def method_errors(design: Design) -> tuple[MethodError, ...]:
    """Expected errors of all methods under the law of the queries, the largest first; of a stream its own alone."""
    chosen = design.config.method
    found = []
    if design.bins.n_bins <= COMPARED_BINS and design.stream is None:
        for strategy in alternatives(design):
            # Where a method leaves bins unmeasured under this law, not every range has an answer.
            if strategy.name != chosen and strategy.measures_every_bin:
                variance = mean_range_variance(strategy, design.law, design.node_variance(strategy))
                found.append(_method(strategy.name, variance, strategy.least_squares))
        if isinstance(design.law, UniformRanges):
            found.append(_method("privelet", _scale(design) * haar_mean_error(design.bins.n_bins, design.noise), None))
    if not design.adaptive:
        own = mean_range_variance(design.strategy, design.law, design.variance)
        found.append(_method(chosen, own, least_squares=True, chosen=True))
    return tuple(sorted(found, key=lambda each: -each.mean_variance))


def _method(name: str, variance: float, least_squares: bool | None, chosen: bool = False) -> MethodError:
    of = {True: "least squares", False: "sums of noisy counts", None: "wavelets"}[least_squares]
    return MethodError(name, of, variance, float(np.sqrt(variance)), chosen)


def _scale(design: Design) -> float:
    """Variance of this release's noise over that at epsilon 1 or rho 1/2 and sensitivity 1."""
    law = design.config.privacy.mechanism
    return float(law.parameter(Fraction(design.sensitivity), design.budget)) ** law.exponent


def lengths_of(n_bins: int) -> list[int]:
    """Lengths of ranges to show: powers of two and the whole."""
    return sorted({*(1 << k for k in range(n_bins.bit_length())), n_bins})


def length_errors(design: Design) -> tuple[LengthError, ...]:
    """Expected errors by length of the range, ours beside three others; settings only."""
    n, noise = design.bins.n_bins, design.noise
    flat_bin = float(design.node_variance(dwork(1, noise))[0])
    binary = boost(n, 2, noise) if n <= COMPARED_BINS else None
    found = []
    for length in lengths_of(n):
        starts = np.arange(0, n - length + 1, max(1, (n - length + 1) // 2048))
        found.append(
            LengthError(
                length=length,
                ours=_of_length(design, None if design.adaptive else design.strategy, length, design.variance),
                flat=float(np.sqrt(length * flat_bin)),
                binary=_of_length(design, binary, length),
                privelet=float(
                    np.sqrt(_scale(design) * haar_range_variances(n, starts, starts + length, noise).mean())
                ),
            )
        )
    return tuple(found)


def _of_length(design: Design, strategy: TreeStrategy | None, length: int, variance: FloatArray | None = None) -> float:
    """Root mean square error of the ranges of one length; NaN without a strategy."""
    if strategy is None:
        return float("nan")
    noise = design.node_variance(strategy) if variance is None else variance
    return float(np.sqrt(max(length_variance(strategy, noise, length), 0.0)))
