"""A stream's part of a run: count and draw the noise of the nodes that close on a day, and publish a version."""

import datetime as dt
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dplib.config.event_input import Input
from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.publish import Results, manifest_fields, promise
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.stream_measure import closing, measure_closing
from dplib.jobs.consistent_histograms.stream_parts import StreamState
from dplib.jobs.consistent_histograms.stream_publish import estimate_top, write_tops
from dplib.jobs.consistent_histograms.tables import tree_in
from dplib.ledger.runs import MeasuredRun
from dplib.metrics.faint_totals import FaintTotals
from dplib.page.account_state import AccountState
from dplib.release.manifest import STREAM, load_manifest
from dplib.release.staging import MEASUREMENT
from dplib.release.stream_version import StreamVersion, holes
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import count_cells, rows_of_days
from dplib.spark.rows.resolve import resolve_rows
from dplib.workflow.job import Resources
from dplib.workflow.publication import Made, finish_release
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

if TYPE_CHECKING:
    from dplib.page.frame import PageFrame

TRIED_DAYS = 3
"""Days that are measured before anything is spent, besides the horizon's last, on which most nodes close."""


def as_started(design: Design, version: StreamVersion | None) -> Design:
    """The design on the tree that the stream was started with: ``auto`` could choose another one by now.

    Raises:
        IntegrityError: if days were measured on different trees.
    """
    if version is None or not version.dates:
        return design
    shapes = [tree_in(version.measurement / date) for date in version.dates]
    if any(shape != shapes[0] for shape in shapes):
        raise IntegrityError("days of a stream must be measured on one tree, got several")
    return design.as_measured(shapes[0], None)


def measure_day(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count the nodes that close on the run's day, draw their noise once and store it."""
    design, privacy = as_started(job.design, job.version), job.design.config.privacy
    day = design.day(dt.date.fromisoformat(job.prepared.date))
    _, first = closing(design, day)
    domain = row_domain(design)
    resolved = resolve_rows(rows, job.prepared.source(Input), privacy, domain)
    bounded = bound_rows(resolved, privacy.rows_per_unit, privacy.rows_per_day, keys.bounding)
    with job.stage("counting"):
        counts = count_cells(rows_of_days(bounded, first, day + 1), day + 1 - first, domain.n_row_types)
    with job.stage("drawing noise"):
        return measure_closing(design, day, counts, keys, directory)


def measure_no_rows(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of a few days whose counts are all 0, for a publication that is only tried."""
    n_days, n_kinds, recorded = design.config.domain.n_days, row_domain(design).n_row_types, None
    for day in sorted({*range(min(TRIED_DAYS, n_days)), n_days - 1}):
        staged = directory / f"day-{day}"
        _, first = closing(design, day)
        counts = np.zeros((day + 1 - first, n_kinds), dtype=np.int64)
        recorded = measure_closing(design, day, counts, keys, staged)
        (directory / MEASUREMENT).mkdir(exist_ok=True)
        (staged / MEASUREMENT).rename(directory / MEASUREMENT / design.date(day).isoformat())
        staged.rmdir()
    assert recorded is not None
    return recorded


def publish_version(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored days and write a whole version."""
    version = job.version
    assert version is not None
    design = as_started(job.design, version)
    state = StreamState.of(design, version.dates, version.is_closed)
    shaping = job.prepared.shaping_hash(run)
    with job.stage("estimating"):
        made = write_tops(state, version, shaping, directory, job.progress)
    with job.stage("writing"):
        fields = _fields(state, version, shaping, made[-1].results if made else None)
        page = partial(_page, state, version, directory)
        parts = Made(promise(design), FaintTotals(0, ()), fields, page)
        finish_release(replace(job.prepared, design=design), directory, run, account, parts)


def _fields(state: StreamState, version: StreamVersion, shaping: str, newest: Results | None) -> dict[str, Any]:
    """What the manifest says; how estimates were made where all of them are those of the version before."""
    design = state.design
    if newest is None:
        found = estimate_top(state, int(state.tops[0]), version.measurement)
        assert found is not None
        newest = found.results
    fields = manifest_fields(design, newest)
    final = [place for place, top in enumerate(state.tops.tolist()) if state.is_final(top)]
    horizon = (design.date(0).isoformat(), design.date(len(state.days) - 1).isoformat())
    stream = {
        "horizon": list(horizon),
        "days": dict(version.days),
        "shaping": shaping,
        "missing": holes(version.dates, horizon),
        "final": final,
        "final_days": int(sum(state.days[design.tree.lo[x] : design.tree.hi[x]].sum() for x in state.tops[final])),
        "closed": version.is_closed,
    }
    if version.previous is not None:
        before = load_manifest(version.previous)
        # Rounds differ from version to version; whether all reached their threshold is of all tops together.
        fields["solver"]["converged"] = fields["solver"]["converged"] and bool(before.solver["converged"])
    return fields | {"details": fields["details"] | {STREAM: stream}}


def _page(state: StreamState, version: StreamVersion, directory: Path, frame: "PageFrame") -> str:
    # Imported where it is needed: drawing takes seconds to load, and most commands draw nothing.
    from dplib.jobs.consistent_histograms.page import build_page
    from dplib.jobs.consistent_histograms.stream_page import stream_content

    return build_page(stream_content(state, version, directory), frame)
