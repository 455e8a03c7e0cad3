"""A rehearsal of a stream: answers as they would be known on days spread over the horizon, against generated counts.

All nodes are measured at once, from rows to noise, with the levels and shares of the stream; what is known on a day is
made of the nodes that close by then, as a version of that day is.
"""

import datetime as dt
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.stream_levels import asked_ranges
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.stream_parts import stream_errors, stream_state
from dplib.jobs.consistent_histograms.stream_publish import estimate_part
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.progress import SILENT

DAYS = 12
"""Answers of a question, each as it is known on its last day, evenly spread over the horizon."""
Compared = tuple[FloatArray, FloatArray, FloatArray | None]
"""Of the measured series: predicted errors, and what estimates and published counts are off."""


def as_batch(design: Design) -> dict[str, Any]:
    """The sections by which a batch measures the nodes of a stream."""
    return {"stream": None, "tree": design.days.shape.model_dump(mode="json"), "queries": ["total"]}


def compared_on_days(design: Design, release: Path, true: FloatArray) -> dict[str, list[Compared]]:
    """Each question's answers as they are known on some days.

    Args:
        design: of the stream.
        release: of the batch that measured its nodes.
        true: counts of the measured series by day, shape (n_days, n_measured_series).
    """
    noisy, domain = Tables(release, design).read_measurement(), design.config.domain
    asked: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for question in (each.range for each in design.config.questions):
        lo, last = asked_ranges(domain.first_day, domain.last_day, question)
        for place in np.unique(np.linspace(0, len(lo) - 1, DAYS).round().astype(int)).tolist():
            asked[int(last[place])].append((question, int(lo[place])))
    found: dict[str, list[Compared]] = {each.range: [] for each in design.config.questions}
    for last_day, questions in sorted(asked.items()):
        dates = [(domain.first_day + dt.timedelta(days=day)).isoformat() for day in range(last_day + 1)]
        state, first = stream_state(design, dates), min(start for _, start in questions)
        known, errors = _known(state, noisy, first, last_day + 1), stream_errors(state)
        for question, start in questions:
            predicted = errors.std_errors(start, last_day + 1, np.flatnonzero(design.constraints.measured))
            right = true[start : last_day + 1].sum(axis=0)
            off = [None if days is None else days[start : last_day + 1].sum(axis=0) - right for days in known]
            assert off[0] is not None
            found[question].append((predicted, off[0], off[1]))
    return found


def _known(state: StreamState[Design], noisy: FloatArray, lo: int, hi: int) -> tuple[FloatArray, FloatArray | None]:
    """Estimates and published counts of the measured series by day as they are known; None where not all have counts.

    Zeros before the first part that holds one of the days ``lo <= t < hi``.
    """
    measured = state.design.constraints.measured
    values, counts = np.zeros((hi, int(measured.sum()))), np.zeros((hi, int(measured.sum())))
    published = True
    for part in (state.part(run.root) for run in state.runs(lo, hi)):
        results, leaves = estimate_part(state.design, part, noisy[part.nodes], SILENT), part.design.tree.leaf_nodes
        values[part.lo : part.hi] = results.solution.values[leaves][:, measured]
        counts[part.lo : part.hi] = results.tables.counts[leaves][:, measured]
        published = published and bool(results.tables.published[measured].all())
    return values, counts if published else None
