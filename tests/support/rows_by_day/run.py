"""The part of a run that is the job's own: rows of days, noise once, three small tables and a page."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.arrays import FloatArray, IntArray
from dplib.config.value_input import HistogramInput
from dplib.ledger.runs import MeasuredRun
from dplib.mechanisms.tree_counts import measure_levels
from dplib.metrics.faint_totals import NoisyTotal, find_faint
from dplib.page.account_state import AccountState
from dplib.page.blocks import Column, DataTable, Section
from dplib.page.frame import INTERVALS, PageFrame, tables_of_release
from dplib.page.guarantee import NoiseRow, NoiseTable, Promise, rows_text
from dplib.page.number_text import with_margin
from dplib.privacy.noise_quantile import DrawLaw, half_width, one_draw
from dplib.release.digest import block_digest, combine_digests
from dplib.release.tables import read_table, write_table
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.rows.bins import bin_rows, open_values
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.quality_rows import judged_values
from dplib.workflow.job import Resources
from dplib.workflow.publication import Made, finish_release
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from tests.support.rows_by_day.design import Design

MEASUREMENT, ESTIMATES, PUBLISHED, BLOCK = "measurement", "estimates", "published", "days"


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the rows and check their schema."""
    return open_values(job.spark(), job.prepared.source(HistogramInput), job.design.domain, job.prepared.base)


def judge(job: Resources[Design], rows: DataFrame) -> JudgedRows:
    """The rows after their rules, for the quality of the input."""
    source, cap = job.prepared.source(HistogramInput), job.design.config.privacy.rows_per_unit
    return judged_values(rows, source, job.design.domain, cap)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count, draw the noise once and store it."""
    cap, domain = job.design.config.privacy.rows_per_unit, job.design.domain
    bounded = bound_rows(bin_rows(rows, job.prepared.source(HistogramInput), domain), cap, cap, keys.bounding)
    with job.stage("counting and drawing noise"):
        return add_noise(job.design, count_cells(bounded, 1, domain.n_days)[0], keys, directory)


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of days without rows."""
    return add_noise(design, np.zeros(design.domain.n_days, np.int64), keys, directory)


def add_noise(design: Design, counts: IntArray, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of exact counts, shape (n_days,), and store what comes out."""
    digest = combine_digests(keys.digest, [(BLOCK, block_digest(keys.digest, BLOCK, counts))])
    (noisy,) = measure_levels([counts], [design.counts.noise], keys.measurement(digest), design.counts.statistic, BLOCK)
    _write(design, directory, MEASUREMENT, noisy=noisy, variance=np.full(len(noisy), design.variance))
    return keys.recorded(digest)


def publish(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Write the rest of the release from the stored measurement."""
    design = job.design
    with job.stage("writing"):
        noisy = read_days(directory, MEASUREMENT, "noisy")
        _write(design, directory, ESTIMATES, estimate=noisy, std_error=np.full(len(noisy), np.sqrt(design.variance)))
        _write(design, directory, PUBLISHED, count=np.maximum(noisy, 0).astype(np.int64))
        total = NoisyTotal("all days", float(noisy.sum()), float(np.sqrt(design.variance * len(noisy))))
        mechanisms = [event.to_dict() for event in design.events]
        fields = {"sensitivities": {"l1": int(design.counts.noise.sensitivity)}, "mechanisms": mechanisms}
        fields |= {"solver": {"name": "none"}, "domain": {"days": design.public()["days"]}, "details": {}}
        caps = rows_text(design.config.privacy.rows_per_unit, design.config.privacy.unit)
        promise = Promise(caps, (), "Days, caps and budget")
        made = Made(promise, find_faint([total]), fields, lambda frame: build_page(design, noisy, frame))
        finish_release(job.prepared, directory, run, account, made)


def build_page(design: Design, noisy: FloatArray, frame: PageFrame) -> str:
    """The page as HTML text."""
    span, counts, margin = f"{design.days[0]} to {design.days[-1]}", design.counts.noise, margin_of(design)
    released = frame.released(
        f"the number of rows of each day, {span}",
        f"It gives no ground for conclusions about a single {frame.guarantee.unit}.",
        ("Days", f"{len(noisy)}"),
        tables_of_release("Unbiased, with standard errors.", "Not negative; small days are biased.", "As drawn."),
    )
    shown = (" ± ".join(with_margin(count, margin)) for count in noisy)
    rows = tuple(zip(map(str, design.days), shown, strict=True))
    table = DataTable(INTERVALS, (Column("Day"), Column("Rows", numeric=True)), rows)
    noises = NoiseTable("The noise", "Counts", "Days", (NoiseRow.of("a day", len(noisy), counts, Fraction(1)),))
    use = frame.use(f"rows by day, {span}", (f"--from {design.days[0]}", "Rows of each day"), ())
    return frame.page("Rows by day", "Counts", released, noises, (Section("Rows by day", (table,)),), use)


def margin_of(design: Design) -> float:
    """Half the 95 % interval of a day."""
    return half_width(one_draw(DrawLaw.of(design.counts.noise)))


def read_days(directory: Path, table: str, column: str) -> FloatArray:
    """A column of a table by day."""
    return np.asarray(read_table(directory / table, [column]).column(column).to_numpy(), dtype=np.float64)


def _write(design: Design, directory: Path, table: str, **columns: FloatArray | IntArray) -> None:
    keys = {"day": pa.array(np.array(design.days, "datetime64[D]"))}
    write_table(directory / table, BLOCK, keys | columns, ("day",), design.config.publish.output.csv)
