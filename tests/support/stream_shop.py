"""A shop whose counts are published day by day, run without Spark on counts that a test holds."""

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dplib.arrays import FloatArray, IntArray
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.stream_measure import closing, measure_closing
from dplib.jobs.consistent_histograms.stream_run import as_started
from dplib.jobs.table import job_named
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import MeasuredDay, MeasuredRun, Publication, Run, RunState, StoredMeasurement
from dplib.mechanisms.chosen_rows import CONTENT, Caps, Chosen, Snapshot, choose, pseudonym
from dplib.page.account_state import AccountState
from dplib.privacy.budget import Currency
from dplib.progress import SILENT
from dplib.release.chosen_table import ChosenRows
from dplib.release.files import content_hash
from dplib.release.staging import MEASUREMENT, check_writable
from dplib.release.stream_version import StreamVersion
from dplib.release.tables import read_table
from dplib.secret.secret import load_secret
from dplib.workflow.job import PreparedJob, Resources
from dplib.workflow.offer import Offer
from dplib.workflow.publication import without_page
from dplib.workflow.run_keys import MeasurementKeys, RunKeys, secret_of
from dplib.workflow.stream import Measure, measure_day, publish_version, version_of
from tests.support.jobs import SETTINGS, Outcome, Shop, dplib, new_place

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
    """The shop; ``counts`` are those of its rows by day and item, shape (n_days, n_items).

    ``pages``: versions have their pages, which most tests do not look at.
    """

    counts: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    pages: bool = False
    _prepared: dict[tuple[bytes, str], PreparedJob[Any]] = field(default_factory=dict)

    @property
    def stream(self) -> Path:
        """The stream's folder."""
        return next(path for path in self.output.iterdir() if path.name.startswith(f"{self.settings['dataset']}-"))

    def prepared(self, date: str = "") -> PreparedJob[Design]:
        """The configuration as it stands, for a day: prepared once, as long as it stays the same."""
        same = (self.config.read_bytes(), date)
        if same not in self._prepared:
            self._prepared[same] = job_named(self.job).prepare(self.config, (), date)
        return self._prepared[same]

    def reserve(self, prepared: PreparedJob[Design], ledger: Ledger) -> tuple[Run, Measure]:
        """The reservation, and what counts the day and draws its noise."""
        offer = Offer(prepared, ledger.account(self.settings["dataset"]))
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

        return run, self.measuring(prepared)

    def measuring(self, prepared: PreparedJob[Design]) -> Measure:
        """What counts a day and draws its noise."""
        ring = load_secret(prepared.config.secret, prepared.base)

        def measure(reserved: Run, directory: Path) -> MeasurementKeys:
            keys, version = RunKeys.derive(secret_of(ring, reserved), reserved), version_of(prepared.output, reserved)
            return self.draw(prepared, version, keys, directory)

        return measure

    def draw(
        self, prepared: PreparedJob[Any], version: StreamVersion, keys: RunKeys, directory: Path
    ) -> MeasurementKeys:
        """Count the prepared day's nodes and draw their noise."""
        design = as_started(prepared.design, version)
        day = design.day(dt.date.fromisoformat(prepared.date))
        _, first = closing(design, day)
        counts = self.counted(design, range(first, day + 1), version, keys, directory)
        return measure_closing(design, day, counts, keys, directory)

    def counted(self, design: Design, days: range, version: StreamVersion, keys: RunKeys, directory: Path) -> IntArray:
        """Counts of some days, shape (len(days), n_items)."""
        return self.counts[days.start : days.stop]

    def measure(self, *dates: str) -> MeasuredRun:
        """Measure days, one run after the other; returns the last run."""
        first = self.prepared(dates[0])
        ledger, measured = first.open_ledger(), None
        check_writable(first.output)
        for date in dates:
            prepared = replace(first, date=date)
            run, measure = (measured, self.measuring(prepared)) if measured else self.reserve(prepared, ledger)
            measured = measure_day(ledger, run, first.output, date, measure)
        assert measured is not None
        return measured

    def drawn(self, *dates: str, snapshots: Iterable[IntArray] | None = None) -> MeasuredRun:
        """Days measured past the books, in their places: a tenth of what runs cost, for laws of numbers alone.

        The counts of each day's run are its snapshot, if snapshots are given.
        """
        first, days = self.prepared(dates[0]), []
        run, _ = self.reserve(first, first.open_ledger())
        place = first.output / run.release_id / MEASUREMENT
        place.mkdir(parents=True)
        for date, counts in zip(dates, snapshots or repeat(self.counts), strict=False):
            self.counts = counts
            staged = place.parent / "staged"
            staged.mkdir()
            keys = self.measuring(replace(first, date=date))(run, staged)
            (staged / MEASUREMENT).rename(place / date)
            staged.rmdir()
            stored = StoredMeasurement("", str(place.parent), content_hash(place / date), keys.key_id, "", "")
            days.append(MeasuredDay(date, stored))
        return MeasuredRun.of(replace(run, state=RunState.MEASURED, days=tuple(days)))

    def estimated(self, *dates: str) -> Path:
        """A version of days that were measured past the books."""
        return self.versions(self.drawn(*dates), len(dates))[0]

    def versions(self, run: MeasuredRun, *n_days: int) -> list[Path]:
        """Versions past the books of the first days of a run, each after the one before."""
        prepared, found = self.prepared(run.days[-1].date), list[Path]()
        for n in n_days:
            version = self.stream / f"{len(found) + 1:06d}"
            version.mkdir()
            before = tuple(Publication(str(path), "", "") for path in found)
            self.write(prepared, replace(run, days=run.days[:n], publications=before), version)
            found.append(version)
        return found

    def day(self, *dates: str) -> Path:
        """Measure days and publish after the last one; returns the version."""
        return self.publish(self.prepared(dates[-1]), self.measure(*dates))

    def publish(self, prepared: PreparedJob[Design], run: MeasuredRun) -> Path:
        """The newest version."""

        def publish(measured: MeasuredRun, directory: Path) -> None:
            self.write(prepared, measured, directory)

        return publish_version(prepared.open_ledger(), run, prepared.output, prepared.publish_hash(run), publish)

    def close(self) -> Outcome:
        """End the stream by the command, without a page of its last version."""
        with without_page():
            return dplib("stream", "close", "--config", str(self.config), "--why", "over")

    def write(self, prepared: PreparedJob[Design], run: MeasuredRun, directory: Path) -> None:
        """Write a version."""
        resources = Resources(prepared, SILENT)
        resources.version = version_of(prepared.output, run, prepared.shaping_hash(run))
        account = AccountState(Currency.ZCDP, run.cost, run.cost, run.cost)
        with nullcontext() if self.pages else without_page():
            prepared.job.publishing().publish(resources, run, account, directory)


def new_stream(folder: Path, **changes: object) -> StreamShop:
    """A stream that is ready but for its counts, which are random small ones of three weeks from a Monday on."""
    shop = new_place(StreamShop, folder, STREAM, "10", **changes)
    first, last = map(dt.date.fromisoformat, shop.settings["stream"]["horizon"])
    shop.counts = np.random.default_rng(7).poisson(20, ((last - first).days + 1, 3)).astype(np.int64)
    return shop


def days(*numbers: int) -> list[str]:
    """Dates of days of the horizon."""
    return [(FIRST + dt.timedelta(days=number)).isoformat() for number in numbers]


def snapshots(seed: int, shape: tuple[int, ...], cell: tuple[int, ...], more: int) -> Iterator[IntArray]:
    """Small counts that are other ones for every run; histories of one seed differ by ``more`` in a cell alone."""
    generator = np.random.default_rng(seed)
    while True:
        counts = generator.poisson(3, shape).astype(np.int64)
        counts[cell] += more
        yield counts


def noisy_counts(shop: StreamShop, design: Design) -> FloatArray:
    """All that was measured, shape (n_nodes, n_series); NaN elsewhere."""
    found = np.full((design.tree.n_nodes, len(design.series)), np.nan)
    for place in (shop.stream / MEASUREMENT).iterdir():
        rows = read_table(place, ["item", "node", "noisy"])
        for item, node, noisy in zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True):
            found[node, design.series_number[item]] = noisy
    return found


@dataclass
class CustomerShop(StreamShop):
    """A shop whose customers are the privacy unit; ``lines`` are (customer, day, item, quantity)."""

    lines: list[tuple[str, int, int, int]] = field(default_factory=list)

    def counted(self, design: Design, days: range, version: StreamVersion, keys: RunKeys, directory: Path) -> IntArray:
        """Counts of the chosen rows, and what is chosen now into staging: what a run does on Spark."""
        privacy, table = design.config.privacy, version.chosen
        assert table is not None
        before = table.read(keys.chosen)
        names = sorted({row[0] for row in self.lines})
        known = [pseudonym(name.encode(), keys.chosen) for name in names]
        mine = [row for row in self.lines if row[1] in days and row[3]]
        content = np.array([row[1:] for row in mine], CONTENT)
        unit = np.array([names.index(row[0]) for row in mine], np.int64)
        rows = Snapshot.of(unit, content, np.ones(len(mine), np.int64), known)
        owner = [known.index(name.tobytes()) if name.tobytes() in known else len(known) for name in before.unit]
        own = np.flatnonzero(np.array(owner, np.int64) < len(known))
        chosen = Chosen(np.array(owner, np.int64)[own], before.entry[own], before.copies[own])
        choice = choose(rows, chosen, Caps(privacy.rows_per_unit, privacy.rows_per_day), keys.chosen)
        counts = np.zeros((len(days), 3), np.int64)
        place = rows.content["day"] - days.start, rows.content["row_type"]
        np.add.at(counts, place, rows.content["quantity"] * choice.counted)
        new = np.flatnonzero(choice.added)
        added = {
            "unit": pa.array([known[each] for each in rows.unit[new].tolist()], pa.binary()),
            "entry": pa.array([each.tobytes() for each in choice.entry[new]], pa.binary()),
            "copies": pa.array(choice.added[new], pa.int64()),
        }
        table.add(ChosenRows.of(pa.table(added)), directory, keys.chosen)
        return counts


def new_customers(folder: Path, **changes: object) -> CustomerShop:
    """The stream of a shop whose customers count with three rows, two of them on one day."""
    privacy = {"unit": "customer", "max_rows_per_unit": 3, "max_rows_per_day": 2, "max_quantity": 5}
    settings = deepcopy(STREAM) | {"privacy": privacy | {"budget": {"rho": 1}}}
    settings["input"]["columns"] |= {"unit": "order_id"}
    return new_place(CustomerShop, folder, settings, "10", **changes)
