"""A sixth job, `rows-by-day`: how many rows each day has, with noise. `dplib guide extending` leads through it."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dplib.config.value_input import HistogramInput
from dplib.errors import ConfigError
from dplib.progress import Progress
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.release.verify import Check
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.bins import BIN_RULES, open_values
from dplib.spark.rows.inspect import inspect_values
from dplib.spark.rows.inspection import Inspection
from dplib.terminal.output import day_option
from dplib.workflow.job import Job, PreparedJob, Publishing, Stages, Trial
from dplib.workflow.plan import JobPlan, PlanFrame, planned
from dplib.workflow.prepared import Prepared, resolver
from dplib.workflow.rehearsal import on_generated_rows
from dplib.workflow.run import run_job
from dplib.workflow.shown import Shown, TextTable
from tests.support.rows_by_day.config import EXAMPLE, NAME, RowsByDay, RowsByDayConfig
from tests.support.rows_by_day.design import Design
from tests.support.rows_by_day.run import (
    ESTIMATES,
    PUBLISHED,
    judge,
    margin_of,
    measure,
    measure_nothing,
    open_input,
    publish,
    read_days,
)


@dataclass(frozen=True)
class Plan(JobPlan):
    """The frame, and the standard error of a day."""

    n_days: int
    std_error: float


def make_plan(design: Design, settings_hash: str) -> Plan:
    """What the settings alone say of a release."""
    privacy = design.config.privacy
    frame = PlanFrame.of(design, {f"rows of one {privacy.unit}": privacy.rows_per_unit}, (), settings_hash)
    return Plan(frame, len(design.days), float(np.sqrt(design.variance)))


@dataclass(frozen=True)
class Answer:
    """The rows of a day, with a 95 % interval."""

    day: dt.date
    estimate: float
    low: float
    high: float


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], list[Shown]]:
    """The days of a range."""
    design = Design.of_release(manifest)
    first, last = day_option("--from", asked.start), day_option("--to", asked.end)
    margin, estimates = margin_of(design), read_days(release, ESTIMATES, "estimate").tolist()
    found = [
        Answer(day, estimate, estimate - margin, estimate + margin)
        for day, estimate in zip(design.days, estimates, strict=True)
        if (first is None or day >= first) and (last is None or day <= last)
    ]
    if not found:
        raise ConfigError("--from", f"be a day from {design.days[0]} on, and --to not before it", asked.start)
    rows = [[f"{each.day}", f"{each.estimate:.0f}", f"{each.low:.1f} to {each.high:.1f}"] for each in found]
    return found, [TextTable("Rows by day", ["day", "estimate", "95 % interval"], rows)]


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and the cap do to the rows."""
    source, domain = prepared.source(HistogramInput), prepared.design.domain
    rows = open_values(spark, source, domain, prepared.base)
    return inspect_values(rows, source, domain, prepared.design.config.privacy.rows_per_unit)


def verify(release: Path, manifest: Manifest) -> list[Check]:
    """Every day is there once, and published counts are the estimates without those below 0."""
    estimates, counts = read_days(release, ESTIMATES, "estimate"), read_days(release, PUBLISHED, "count")
    whole = len(estimates) == len(counts) == len(Design.of_release(manifest).days)
    cut = whole and bool((counts == np.maximum(estimates, 0)).all())
    return [Check("every day once", whole, f"{len(counts)} days"), Check("counts are the estimates, cut at 0", cut, "")]


def rehearse(prepared: PreparedJob[Design], rows: int | None, seed: int, progress: Progress) -> Iterator[Shown]:
    """Run the job on generated rows and compare its days with theirs."""
    design = prepared.design
    true = np.random.default_rng(seed).poisson(rows or 100, len(design.days))
    with TemporaryDirectory(prefix="dplib-rehearsal-") as name:
        lines = [f"{day}" for day, count in zip(design.days, true, strict=True) for _ in range(count)]
        text = "".join(f"{day},u{number}\n" for number, day in enumerate(lines))
        Path(name, "rows.csv").write_text("day,unit\n" + text, encoding="utf-8")
        columns = {"value": "day"} | ({} if design.config.privacy.unit == "event" else {"unit": "unit"})
        source = {"path": "rows.csv", "format": "csv", "options": {"header": "true"}, "columns": columns}
        _, release = run_job(on_generated_rows(prepared, {"input": source}, Path(name)), progress=progress)
        assert release is not None
        met = float(np.sqrt(((read_days(release, ESTIMATES, "estimate") - true) ** 2).mean()))
    yield TextTable("Rehearsal", ["predicted error", "met"], [[f"{np.sqrt(design.variance):.2f}", f"{met:.2f}"]])


PUBLISHING = Publishing(publish=publish, trial=Trial(lambda design, _: design, measure_nothing, BIN_RULES))
"""How its releases are made."""
STAGES = Stages(
    open_input=open_input,
    measure=measure,
    judge=judge,
    inspect=inspect,
    rehearse=rehearse,
)
"""What its runs are made of."""
JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=RowsByDayConfig,
    resolve=resolver(RowsByDayConfig, lambda config, _: Design.of(RowsByDay.of(config))),
    plan=planned(make_plan, lambda made: [f"{made.n_days} days, each +- {made.std_error:.2f} (standard error)."]),
    show=lambda release, manifest: query(release, manifest, Question())[1],
    query=query,
    verify=verify,
    publishing=lambda: PUBLISHING,
    stages=lambda: STAGES,
)
"""The job."""
