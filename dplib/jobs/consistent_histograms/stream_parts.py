"""The parts of a stream (`dplib.estimates.stream_state`): the release of a node's days, with the stream's noise."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dplib.constraints.resolved import are_alike, on_cells
from dplib.estimates.stream_errors import StreamErrors
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.trees.growing import Piece


def stream_state(design: Design, dates: Iterable[str], is_closed: bool = False) -> StreamState[Design]:
    """What of a stream is measured, from the dates that were, ISO 8601."""
    measured = np.isfinite(design.level_variance)
    tree, first_day = design.tree, design.config.domain.first_day
    alike = are_alike(design.constraints, tree.lo, tree.hi)
    return StreamState.of(design, tree, measured, first_day, dates, is_closed, alike, design_of_piece)


def stream_errors(state: StreamState[Design]) -> StreamErrors[Design]:
    """Errors of what is measured of a stream."""
    return StreamErrors(state, Errors)


def design_of_piece(design: Design, piece: Piece) -> Design:
    """The design of a piece, whose cells stand for days."""
    lo, hi, level = int(piece.edges[0]), int(piece.edges[-1]), int(design.tree.level[piece.nodes[0]])
    levels, n_columns = slice(level, level + piece.tree.n_levels), design.columns.n_columns
    domain = design.config.domain.model_copy(update={"first_day": design.date(lo), "last_day": design.date(hi - 1)})
    return replace(
        design,
        config=design.config.model_copy(update={"domain": domain}),
        constraints=on_cells(design.constraints, piece.edges),
        days=replace(design.days, tree=piece.tree, names=design.days.names[levels], shares=design.days.shares[levels]),
        measurements=design.measurements[levels.start * n_columns : levels.stop * n_columns],
    )
