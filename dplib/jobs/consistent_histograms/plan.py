"""What a run will cost and how accurate it will be, from settings alone: reads no rows, spends nothing."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.columns import series_norms
from dplib.consistency.known_errors import KnownErrors
from dplib.jobs.consistent_histograms.compare import kind_errors
from dplib.jobs.consistent_histograms.day_tree import query_ranges
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import chosen_solvers, publication_sentences
from dplib.jobs.consistent_histograms.ignored import ignored_settings
from dplib.privacy.budget import ZCDP, PureDP
from dplib.privacy.noise import Noise
from dplib.workflow.chosen_note import chosen_note
from dplib.workflow.kind_errors import KindError
from dplib.workflow.plan import JobPlan, PlanFrame


@dataclass(frozen=True)
class LevelPlan:
    """One level of the tree: its noise and what it costs."""

    level: int
    name: str
    n_nodes: int
    widest_days: int
    mechanism: str | None
    noise: str | None
    std_dev: float | None
    share: str


@dataclass(frozen=True)
class QueryError:
    """Expected error of one query: the mean over its ranges, for the series of a kind.

    Totals can be of very different size and so can their errors: the least and the most say that, a mean would not.

    Attributes:
        query: day, month, ..., total.
        days: longest of its ranges.
        items: mean standard error over the items.
        items_span: least and most of the items' standard errors.
        totals: mean standard error over the totals; None without any.
        totals_span: least and most of the totals' standard errors; None without any.
        days_only: what a histogram of days with the whole budget and no constraint would have for an item.
    """

    query: str
    days: int
    items: float
    items_span: tuple[float, float]
    totals: float | None
    totals_span: tuple[float, float] | None
    days_only: float


@dataclass(frozen=True)
class Plan(JobPlan):
    """Everything that can be said before a row is read."""

    row_l1: int
    row_l2_squared: int
    levels: tuple[LevelPlan, ...]
    errors: tuple[QueryError, ...]
    kinds: tuple[KindError, ...]
    solvers: tuple[tuple[str, str], ...]
    n_series: int
    n_days: int
    n_nodes: int
    n_blocks: int

    def stated_errors(self) -> dict[str, float]:
        """Of each query, for items and totals."""
        return by_answer(self.errors)


def by_answer(errors: tuple[QueryError, ...]) -> dict[str, float]:
    """Errors of queries by what is asked."""
    items = {f"{each.query} of an item": each.items for each in errors}
    return items | {f"{each.query} of a total": each.totals for each in errors if each.totals is not None}


def make_plan(design: Design, settings_hash: str) -> Plan:
    """Make the plan of a design."""
    config = design.config
    privacy = config.privacy
    caps = {
        "rows a unit": privacy.rows_per_unit,
        "rows a unit and day": privacy.rows_per_day,
        "quantity of a row": privacy.max_quantity,
    }
    errors = Errors(design)
    kinds, advice = kind_errors(design, errors) if config.stream is None else ((), ())
    return Plan(
        frame=PlanFrame.of(design, caps, (*plan_notes(design), *ignored_settings(design), *advice), settings_hash),
        row_l1=design.constraints.row_l1,
        row_l2_squared=design.constraints.row_l2_squared,
        levels=level_plans(design),
        errors=query_errors(design, errors),
        kinds=kinds,
        solvers=tuple(chosen_solvers(design, config.publish.solver)),
        n_series=len(design.series),
        n_days=config.domain.n_days,
        n_nodes=design.tree.n_nodes,
        n_blocks=design.blocks.n_blocks,
    )


def plan_notes(design: Design) -> tuple[str, ...]:
    """Sentences about the tree, the groupings, the constraints and the integer tables."""
    groupings = (f"Grouping {size}." for size in design.grouping_sizes)
    notes = (*design.columns.notes, *groupings, *design.constraints.notes)
    if design.config.stream is not None and len(design.constraints.day_constraints) > 1:
        notes += ("Constraints change over the days: errors as they are known on a day are about those stated.",)
    if design.config.stream is not None and design.config.privacy.spans_days:
        notes += (chosen_note(design.config.privacy.unit),)
    return (*design.days.notes, *notes, *publication_sentences(design))


def level_plans(design: Design) -> tuple[LevelPlan, ...]:
    """The levels from the root down."""
    tree, columns, found = design.tree, design.columns, []
    for place, measurement in enumerate(design.measurements):
        level, column = divmod(place, columns.n_columns)
        nodes = tree.level_slice(level)
        found.append(
            LevelPlan(
                level=level,
                name=", ".join([design.days.names[level], *columns.names[column : column + 1]]),
                n_nodes=nodes.stop - nodes.start,
                widest_days=int((tree.hi - tree.lo)[nodes].max()),
                mechanism=measurement.noise.law if measurement else None,
                noise=str(measurement.noise.parameter) if measurement else None,
                std_dev=float(np.sqrt(measurement.noise.variance)) if measurement else None,
                share=str(design.days.shares[level] * columns.shares[column]),
            )
        )
    return tuple(found)


def query_errors(design: Design, errors: Errors) -> tuple[QueryError, ...]:
    """Expected errors of the configured queries."""
    n_items, found = design.constraints.n_items, []
    daily, domain, growing = days_only_variance(design), design.config.domain, None
    if design.config.stream is not None:
        whole = errors.range_std_error(0, domain.n_days)
        growing = KnownErrors(design.tree, design.level_variance, whole, domain.first_day, domain.last_day)
    for query in (each.range for each in design.config.questions):
        if growing is None:
            ranges = query_ranges(design.config, query)
            days = np.array([float(hi - lo) for lo, hi in ranges])
            mean = np.mean(errors.range_std_errors(ranges), axis=0)
        else:
            mean, days = growing.of(query)
        found.append(
            QueryError(
                query=query,
                days=int(days.max()),
                items=_mean(mean[:n_items]),
                items_span=_span(mean[:n_items]),
                totals=_mean(mean[n_items:]) if len(mean) > n_items else None,
                totals_span=_span(mean[n_items:]) if len(mean) > n_items else None,
                days_only=float(np.mean(np.sqrt(daily * days))),
            )
        )
    return tuple(found)


def _mean(errors: FloatArray) -> float:
    """Of the known ones; NaN without any."""
    known = errors[~np.isnan(errors)]
    return float(known.mean()) if len(known) else math.nan


def _span(errors: FloatArray) -> tuple[float, float]:
    known = errors[~np.isnan(errors)]
    return (float(known.min()), float(known.max())) if len(known) else (math.nan, math.nan)


def days_only_variance(design: Design) -> float:
    """Noise variance of one item's day if days of items alone were measured with the whole budget."""
    budget, constraints = design.config.privacy.budget.budget(), design.constraints
    leaf = design.noise_of(design.tree.n_levels - 1)[0]
    assert leaf is not None
    l1, square = series_norms(constraints, np.arange(len(constraints.series)) < constraints.n_items)
    # A column of the items alone has their sensitivity already.
    whole = (l1, square) if design.columns.names else (constraints.row_l1, constraints.row_l2_squared)
    if isinstance(budget, PureDP):
        return Noise.within(budget, leaf.noise.sensitivity / whole[0] * l1, 0).variance
    rho = sum((event.rho for event in design.events), Fraction(0))
    return Noise.within(ZCDP(rho), 0, leaf.noise.sensitivity / whole[1] * square).variance
