"""A stream's part of a run: count and draw the noise of the nodes that close on a day, and publish a version."""

import datetime as dt
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dplib.config.value_input import HistogramInput
from dplib.estimates.stream_state import StreamState
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.publish import manifest_fields, promise
from dplib.jobs.range_histograms.stream_measure import closing, measure_closing
from dplib.jobs.range_histograms.stream_parts import stream_state
from dplib.jobs.range_histograms.stream_publish import write_tops
from dplib.jobs.range_histograms.tables import read_stream_tree
from dplib.ledger.runs import MeasuredRun
from dplib.mechanisms.chosen_rows import Caps
from dplib.metrics.faint_totals import FaintTotals
from dplib.page.account_state import AccountState
from dplib.release.manifest import STREAM
from dplib.release.stream_tops import stream_details
from dplib.release.stream_version import StreamVersion
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.rows.bins import bin_rows
from dplib.spark.rows.counts import count_cells, rows_of_days
from dplib.workflow.chosen_rows import count_chosen
from dplib.workflow.job import Resources
from dplib.workflow.publication import Made, finish_release
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from dplib.workflow.stream_noise import measure_few_days

if TYPE_CHECKING:
    from dplib.page.frame import PageFrame


def as_started(design: Design, version: StreamVersion) -> Design:
    """The design on the tree that the stream was started with: ``auto`` could choose another one by now."""
    found = version.measured_by(read_stream_tree)
    return design if found is None else Design.of(design.config, stream=found[0], measure=found[1])


def measure_day(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count the nodes that close on the run's day, draw their noise once and store it."""
    design, privacy = as_started(job.design, job.version), job.design.config.privacy
    day = (dt.date.fromisoformat(job.prepared.date) - design.bins.first_day).days
    _, first = closing(design, day)
    counted = bin_rows(rows, job.prepared.source(HistogramInput), design.bins.row_domain)
    days, groups = range(first, day + 1), len(design.bins.groups)
    # A row's bin is its day here, and what is counted on it the group.
    columns = ["row_type as day", "day as row_type", "quantity", *(["unit"] if "unit" in counted.columns else [])]
    dated = counted.selectExpr(*columns)
    with job.stage("counting"):
        if privacy.spans_days:
            caps = Caps(privacy.rows_per_unit, privacy.rows_per_unit)
            counts = count_chosen(job.version, dated, days, groups, caps, keys, directory)
        else:
            counts = count_cells(rows_of_days(dated, first, day + 1), len(days), groups)
    with job.stage("drawing noise"):
        return measure_closing(design, day, counts.T, keys, directory)


def measure_no_rows(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of a few days whose counts are all 0, for a publication that is only tried."""

    def measure(day: int, staged: Path) -> MeasurementKeys:
        _, first = closing(design, day)
        counts = np.zeros((len(design.bins.groups), day + 1 - first), dtype=np.int64)
        return measure_closing(design, day, counts, keys, staged)

    dates = [design.bins.first_day + dt.timedelta(days=day) for day in range(design.bins.n_days)]
    return measure_few_days([date.isoformat() for date in dates], measure, directory)


def publish_version(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored days and write a whole version."""
    version = job.version
    state = stream_state(as_started(job.design, version), version.dates, version.is_closed)
    with job.stage("estimating and writing"):
        write_tops(state, version, directory)
        fields = manifest_fields(state.design, "driver")
        fields["details"][STREAM] = stream_details(state, version)
        page = partial(_page, state, directory, version.previous)
        parts = Made(promise(state.design), FaintTotals(0, ()), fields, page)
        finish_release(replace(job.prepared, design=state.design), directory, run, account, parts)


def _page(state: StreamState[Design], directory: Path, previous: Path | None, frame: "PageFrame") -> str:
    # Imported where it is needed: drawing takes seconds to load, and most commands draw nothing.
    from dplib.jobs.range_histograms.page import build_stream_page

    return build_stream_page(state, directory, previous, frame)
