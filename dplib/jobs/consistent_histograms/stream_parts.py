"""The parts of a stream (`dplib.estimates.stream_state`): the release of a node's days, with the stream's noise."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dplib.constraints.resolved import on_days
from dplib.estimates.stream_errors import StreamErrors
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.trees.interval_tree import IntervalTree


def stream_state(design: Design, dates: Iterable[str], is_closed: bool = False) -> StreamState[Design]:
    """What of a stream is measured, from the dates that were, ISO 8601."""
    measured = np.isfinite(design.level_variance)
    return StreamState.of(
        design, design.tree, measured, design.config.domain.first_day, dates, is_closed, design_of_days
    )


def stream_errors(state: StreamState[Design]) -> StreamErrors[Design]:
    """Errors of what is measured of a stream."""
    return StreamErrors(state, Errors, state.design.config.privacy.mechanism)


def design_of_days(design: Design, node: int, tree: IntervalTree) -> Design:
    """The design of one node's days; ``tree`` is the one below it."""
    lo, hi, level = int(design.tree.lo[node]), int(design.tree.hi[node]), int(design.tree.level[node])
    table = design.table
    if table is not None and table.days is not None:
        table = replace(table, days=np.clip(table.days - lo, 0, hi - lo))
    domain = design.config.domain.model_copy(update={"first_day": design.date(lo), "last_day": design.date(hi - 1)})
    return replace(
        design,
        config=design.config.model_copy(update={"domain": domain}),
        table=table,
        constraints=on_days(design.constraints, lo, hi),
        days=replace(design.days, tree=tree, names=design.days.names[level:], shares=design.days.shares[level:]),
        measurements=design.measurements[level * design.columns.n_columns :],
    )
