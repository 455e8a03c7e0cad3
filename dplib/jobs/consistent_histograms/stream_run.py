"""A stream's part of a run: count and draw the noise of the nodes that close on a day, and publish a version."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dplib.config.event_input import Input
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.publish import manifest_fields, promise
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.stream_measure import closing, measure_closing
from dplib.jobs.consistent_histograms.stream_parts import stream_state
from dplib.jobs.consistent_histograms.stream_publish import TopResults, estimate_part, estimate_top, write_tops
from dplib.jobs.consistent_histograms.tables import tree_in
from dplib.ledger.runs import MeasuredRun
from dplib.mechanisms.chosen_rows import Caps
from dplib.metrics.faint_totals import FaintTotals
from dplib.page.account_state import AccountState
from dplib.progress import SILENT
from dplib.release.manifest import STREAM
from dplib.release.stream_tops import stream_details
from dplib.release.stream_version import StreamVersion
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.rows.counts import count_cells, rows_of_days
from dplib.spark.rows.resolve import resolve_rows
from dplib.workflow.chosen_rows import count_chosen
from dplib.workflow.job import Resources
from dplib.workflow.publication import Made, finish_release
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from dplib.workflow.stream_noise import measure_few_days

if TYPE_CHECKING:
    from dplib.page.frame import PageFrame


def as_started(design: Design, version: StreamVersion) -> Design:
    """The design on the tree that the stream was started with: ``auto`` could choose another one by now."""
    shape = version.measured_by(tree_in)
    return design if shape is None else design.as_measured(shape, None)


def measure_day(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count the nodes that close on the run's day, draw their noise once and store it."""
    design, privacy = as_started(job.design, job.version), job.design.config.privacy
    day = design.day(dt.date.fromisoformat(job.prepared.date))
    _, first = closing(design, day)
    domain = row_domain(design)
    resolved = resolve_rows(rows, job.prepared.source(Input), privacy, domain)
    with job.stage("counting"):
        if privacy.spans_days:
            caps, days = Caps(privacy.rows_per_unit, privacy.rows_per_day), range(first, day + 1)
            counts = count_chosen(job.version, resolved, days, domain.n_row_types, caps, keys, directory)
        else:
            counts = count_cells(rows_of_days(resolved, first, day + 1), day + 1 - first, domain.n_row_types)
    with job.stage("drawing noise"):
        return measure_closing(design, day, counts, keys, directory)


def measure_no_rows(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of a few days whose counts are all 0, for a publication that is only tried.

    A solver that the settings name must take every top whose days are all measured.
    """
    n_days, n_kinds = design.config.domain.n_days, row_domain(design).n_row_types
    names = [design.date(day).isoformat() for day in range(n_days)]
    if design.config.publish.solver.method != "auto":
        state = stream_state(design, names)
        for part in (part for top in state.tops.tolist() for part in state.parts(top)):
            estimate_part(design, part, np.zeros((len(part.nodes), len(design.series))), SILENT)

    def measure(day: int, staged: Path) -> MeasurementKeys:
        _, first = closing(design, day)
        return measure_closing(design, day, np.zeros((day + 1 - first, n_kinds), dtype=np.int64), keys, staged)

    return measure_few_days(names, measure, directory)


def publish_version(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored days and write a whole version."""
    version = job.version
    state = stream_state(as_started(job.design, version), version.dates, version.is_closed)
    with job.stage("estimating"):
        made = write_tops(state, version, directory, job.progress)
    with job.stage("writing"):
        fields = _fields(state, version, made)
        page = partial(_page, state, directory, version.previous)
        parts = Made(promise(state.design), FaintTotals(0, ()), fields, page)
        finish_release(replace(job.prepared, design=state.design), directory, run, account, parts)


def _fields(state: StreamState[Design], version: StreamVersion, made: Sequence[TopResults]) -> dict[str, Any]:
    """What the manifest says; how estimates are made where all of them are those of the version before."""
    if not made:
        tops = (estimate_top(state, top, version.measurement) for top in state.tops.tolist())
        made = [next(found for found in tops if found is not None)]
    fields = manifest_fields(state.design, made[-1].results)
    # Rounds differ from version to version; whether all reached their threshold is of all tops together.
    before = version.before is None or bool(version.before.solver["converged"])
    fields["solver"]["converged"] = before and all(each.results.solution.converged for each in made)
    return fields | {"details": fields["details"] | {STREAM: stream_details(state, version)}}


def _page(state: StreamState[Design], directory: Path, previous: Path | None, frame: "PageFrame") -> str:
    # Imported where it is needed: drawing takes seconds to load, and most commands draw nothing.
    from dplib.jobs.consistent_histograms.page import build_page
    from dplib.jobs.consistent_histograms.stream_page import stream_content

    return build_page(stream_content(state, directory, previous), frame)
