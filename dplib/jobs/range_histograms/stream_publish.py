"""A version of a stream: tables of all that is measured, from the stored measurements of its days.

Its files: `dplib.release.stream_tops`. Sees no row and draws no noise.
"""

from pathlib import Path

import numpy as np

from dplib.estimates.stream_state import StreamPart, StreamState
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import BlockResults, Errors, estimate_block, estimate_sums
from dplib.jobs.range_histograms.tables import Tables
from dplib.release.stream_tops import open_tops, read_days
from dplib.release.stream_version import StreamVersion


def estimate_part(state: StreamState[Design], part: StreamPart[Design], measurement: Path) -> BlockResults:
    """Estimates and integers of a part; its nodes are numbered as in the part's own tree.

    Args:
        state: what is measured.
        part: the part.
        measurement: the stream's folder of measured days.
    """
    noisy = read_days(measurement, state.dates_of(part), part.nodes, "group", state.design.series_number).T
    together = part.design.sums is not None
    return estimate_sums(part.design, noisy) if together else estimate_block(part.design, noisy)


def write_tops(state: StreamState[Design], version: StreamVersion, directory: Path) -> None:
    """Write ``estimates/`` and ``published/`` of a version; final tops take their files over from the version before.

    Args:
        state: what is measured.
        version: its days, and the version before.
        directory: the staging directory.
    """
    tables, every = Tables(directory, state.design), np.arange(len(state.design.series))
    for top in open_tops(state, version, directory):
        parts = state.parts(top.node)
        if not parts:
            continue
        found = [estimate_part(state, part, version.measurement) for part in parts]
        errors = [Errors(part.design).nodes(np.arange(len(part.nodes)), every) for part in parts]
        tables.write_top(
            top,
            np.concatenate([part.nodes for part in parts]),
            np.hstack([each.estimates for each in found]),
            np.hstack(errors),
            np.concatenate([part.edges[part.day_cells] for part in parts]),
            np.hstack([each.counts[:, part.day_cells] for each, part in zip(found, parts, strict=True)]),
        )
