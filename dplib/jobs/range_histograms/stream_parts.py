"""The parts of a stream (`dplib.estimates.stream_state`): the release of a node's days, with the stream's noise."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.constraints.resolved import on_cells
from dplib.estimates.stream_errors import StreamErrors
from dplib.estimates.stream_state import StreamState
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors
from dplib.release.manifest import STREAM, Manifest
from dplib.trees.growing import Piece


def level_weights(design: Design) -> FloatArray:
    """The levels' factor of the variances that least squares weigh by, inf where not measured, shape (n_levels,)."""
    return np.asarray(design.weights[design.strategy.tree.level_start[:-1]])


def stream_state(design: Design, dates: Iterable[str], is_closed: bool = False) -> StreamState[Design]:
    """What of a stream is measured, from the dates that were, ISO 8601."""
    measured = np.isfinite(level_weights(design))
    tree, first_day = design.strategy.tree, design.bins.first_day
    alike = np.ones(tree.n_nodes, dtype=bool)  # Groups add up on every day.
    return StreamState.of(design, tree, measured, first_day, dates, is_closed, alike, design_of_piece)


def state_of(design: Design, manifest: Manifest) -> StreamState[Design] | None:
    """What of a stream its version knows; None of other releases."""
    stream: Any = manifest.details.get(STREAM)
    return None if stream is None else stream_state(design, stream["days"], stream["closed"])


def stream_errors(state: StreamState[Design]) -> StreamErrors[Design]:
    """Errors of what is measured of a stream."""
    return StreamErrors(state, Errors)


def design_of_piece(design: Design, piece: Piece) -> Design:
    """The design of a piece, whose cells stand for bins."""
    whole, sums = design.strategy.tree, design.sums
    lo, hi, level = int(piece.edges[0]), int(piece.edges[-1]), int(whole.level[piece.nodes[0]])
    first, last = (design.bins.first_day + dt.timedelta(days=day) for day in (lo, hi - 1))
    shares = design.strategy.shares[whole.level_start[level:-1]]
    return replace(
        design,
        bins=replace(design.bins, first_day=first, last_day=last),
        strategy=replace(design.strategy, tree=piece.tree, shares=shares[piece.tree.level]),
        sums=None if sums is None else replace(sums, constraints=on_cells(sums.constraints, piece.edges)),
    )
