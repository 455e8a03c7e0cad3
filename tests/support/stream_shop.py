"""A shop whose counts are published day by day, run without Spark on counts that a test holds."""

import datetime as dt
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.stream_measure import closing, measure_closing
from dplib.jobs.table import job_named
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import MeasuredRun, Run
from dplib.page.account_state import AccountState
from dplib.privacy.budget import Currency
from dplib.progress import SILENT
from dplib.release.staging import check_writable
from dplib.secret.secret import load_secret
from dplib.workflow.job import PreparedJob, Resources
from dplib.workflow.offer import Offer
from dplib.workflow.publication import without_page
from dplib.workflow.run_keys import MeasurementKeys, RunKeys, secret_of
from dplib.workflow.stream import Measure, measure_day, publish_version, version_of
from tests.support.jobs import JOB, SETTINGS, Shop, new_place

FIRST = dt.date(2026, 1, 26)
STREAM: dict[str, Any] = {name: deepcopy(value) for name, value in SETTINGS.items() if name != "tree"} | {
    "dataset": "counts",
    "privacy": {"unit": "event", "max_quantity": 5, "budget": {"rho": 1}},
    "domain": {"items": ["bread", "milk", "tea"]},
    "stream": {"horizon": ["2026-01-26", "2026-02-15"], "levels": ["week", "day"]},
}
STREAM["input"]["columns"] = {"day": "date", "item": "product", "quantity": "quantity"}


@dataclass
class StreamShop(Shop):
    """The shop; ``counts`` are those of its rows by day and item, shape (n_days, n_items)."""

    counts: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    @property
    def stream(self) -> Path:
        """The stream's folder."""
        return next(path for path in self.output.iterdir() if path.name.startswith("counts-"))

    def prepared(self, date: str = "") -> PreparedJob[Design]:
        """The configuration, for a day."""
        return job_named(JOB).prepare(self.config, (), date)  # type: ignore[return-value]  # the job's own design

    def reserve(self, prepared: PreparedJob[Design], ledger: Ledger) -> tuple[Run, Measure]:
        """The reservation, and what counts the day and draws its noise."""
        offer = Offer(prepared, ledger.account("counts"))
        ring = load_secret(prepared.config.secret, prepared.base)
        run = ledger.reserve(
            prepared.key,
            offer.terms,
            offer.cost,
            "test",
            key_id=ring.current.key_id,
            settings=prepared.plan_settings,
            horizon=prepared.config.horizon,
        )

        def measure(reserved: Run, directory: Path) -> MeasurementKeys:
            design, keys = prepared.design, RunKeys.derive(secret_of(ring, reserved), reserved)
            day = design.day(dt.date.fromisoformat(prepared.date))
            _, first = closing(design, day)
            return measure_closing(design, day, self.counts[first : day + 1], keys, directory)

        return run, measure

    def day(self, *dates: str) -> Path:
        """Measure days and publish after the last one; returns the version."""
        for date in dates:
            prepared = self.prepared(date)
            ledger = prepared.open_ledger()
            run, measure = self.reserve(prepared, ledger)
            check_writable(prepared.output)
            measured = measure_day(ledger, run, prepared.output, date, measure)
        return self.publish(prepared, measured)

    def publish(self, prepared: PreparedJob[Design], run: MeasuredRun) -> Path:
        """The newest version."""
        resources = Resources(prepared, SILENT)
        resources.version = version_of(prepared.output, run)
        account = AccountState(Currency.ZCDP, run.cost, run.cost, run.cost)

        def publish(measured: MeasuredRun, directory: Path) -> None:
            with without_page():
                prepared.job.stages().publish(resources, measured, account, directory)

        return publish_version(prepared.open_ledger(), run, prepared.output, prepared.publish_hash(run), publish)


def new_stream(folder: Path, **changes: object) -> StreamShop:
    """A stream that is ready but for its counts, which are random small ones of three weeks from a Monday on."""
    shop = new_place(StreamShop, folder, STREAM, "10", **changes)
    n_days = shop.prepared().design.config.domain.n_days
    shop.counts = np.random.default_rng(7).poisson(20, (n_days, 3)).astype(np.int64)
    return shop


def days(*numbers: int) -> list[str]:
    """Dates of days of the horizon."""
    return [(FIRST + dt.timedelta(days=number)).isoformat() for number in numbers]
