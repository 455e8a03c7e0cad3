"""Streams of units that span days: the bound over histories, the private table, crashes, races and lost files."""

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.consistent_histograms import stream_measure
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import MeasuredDay, Run
from dplib.release.chosen_table import ChosenRows, ChosenTable
from dplib.release.staging import Staging, check_writable
from dplib.release.tables import read_table
from dplib.workflow import stream as stream_module
from dplib.workflow.run_keys import MeasurementKeys
from dplib.workflow.stream import end_stream, measure_day, version_of
from tests.support.jobs import content, dplib
from tests.support.stream_shop import CustomerShop, days, new_customers, new_stream, noisy_counts

Line = tuple[str, int, int, int]
WEEK = {"stream__horizon": ["2026-01-26", "2026-02-01"], "stream__levels": ["week", "day"]}


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is measured shows."""
    monkeypatch.setattr(stream_measure, "measure_levels", lambda counts, *_: counts)


def measured(shop: CustomerShop) -> IntArray:
    """What the stream measured, shape (n_nodes, n_series)."""
    return np.nan_to_num(noisy_counts(shop, shop.prepared().design)).astype(np.int64)


def some_lines(generator: np.random.Generator, customers: list[str], n_days: int) -> list[Line]:
    """A snapshot: each customer with up to nine rows."""
    return [
        (name, int(generator.integers(n_days)), int(generator.integers(3)), int(generator.integers(6)))
        for name in customers
        for _ in range(int(generator.integers(10)))
    ]


def crashing(monkeypatch: pytest.MonkeyPatch, name: str, shop: CustomerShop, date: str) -> None:
    """Run a day that dies where the workflow calls a function."""

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stream_module, name, dies)
        with pytest.raises(KeyboardInterrupt):
            shop.measure(date)


def test_histories_that_differ_in_a_customer_stay_within_the_caps_at_each_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_noise: None
) -> None:
    """Caps twice as large show with this seed; all small histories: `tests.unit.mechanisms.test_chosen_rows`."""
    # Days out of order; every run, and every retry after a crash, reads rows that came, went or were dated anew.
    order, found = np.random.default_rng(2).permutation(7).tolist(), []
    for number, customers in enumerate((["ann", "bob"], ["ann", "bob", "eve"])):
        shop, snapshots = new_customers(tmp_path / str(number), **WEEK), np.random.default_rng(2)
        for run, day in enumerate(order):
            shop.lines = some_lines(snapshots, customers[:2], 7)
            theirs = some_lines(np.random.default_rng([2, run]), ["eve"], 7)
            shop.lines += theirs if "eve" in customers else []
            if run in (2, 4):
                crashing(monkeypatch, "staged_name" if run == 2 else "place_day", shop, days(day)[0])
                shop.lines = [(name, 6 - when, *rest) for name, when, *rest in shop.lines]  # type: ignore[misc]
            shop.measure(*days(day))
        found.append(measured(shop))
    design, moved = shop.prepared().design, np.abs(found[1] - found[0])
    assert moved.any()
    for level in (0, 1):
        own, noise = moved[design.tree.level_slice(level)], design.noise_of(level)[0].noise  # type: ignore[union-attr]
        assert own.sum() <= 3 * 5 * design.constraints.row_l1
        assert (own**2).sum() <= noise.sensitivity


def test_where_no_cap_binds_all_rows_count_in_any_order(tmp_path: Path, no_noise: None) -> None:
    lines = [(f"c{day}{item}", day, item, 2) for day, item in product(range(4), range(3))] * 2
    counts, horizon = np.full((4, 3), 4), {"stream__horizon": days(0, 3)}
    events = new_stream(tmp_path / "events", **horizon)
    events.counts = counts
    events.drawn(*days(*range(4)))
    for number, order in enumerate((range(4), [3, 1, 0, 2])):
        shop = new_customers(tmp_path / str(number), **horizon)
        shop.lines = lines
        shop.measure(*days(*order))
        np.testing.assert_array_equal(measured(shop), measured(events))  # type: ignore[arg-type]


def table_of(shop: CustomerShop) -> ChosenTable:
    run = shop.ledger.runs("counts")[-1]
    table = version_of(shop.output, run).chosen
    assert table is not None
    return table


def test_the_table_is_private_and_goes_with_the_last_day_or_the_end(tmp_path: Path) -> None:
    shop = new_customers(tmp_path, **WEEK)
    shop.lines = [("ann", day, 0, 1) for day in range(7)]
    shop.measure(*days(0, 1))
    table = table_of(shop)
    files = sorted(table.folder.iterdir())
    assert [oct(path.stat().st_mode & 0o777) for path in (table.folder, *files)] == ["0o700", "0o600", "0o600"]
    assert {path.stem for path in files} == set(table.names)
    assert b"ann" not in b"".join(path.read_bytes() for path in files)
    first, second = shop.ledger.runs("counts")[0].days
    assert (first.after, second.after) == (None, first.chosen)
    shop.measure(*days(*range(2, 7)))
    assert not table.folder.exists()
    # Another stream of the same account: the same rows have other names in it.
    shop.set(privacy__max_quantity=4).measure(*days(0))
    other = table_of(shop)
    assert len(other.names) == len(other.lying()) == 1
    assert not set(other.names) & set(table.names)
    outcome = shop.close()
    assert outcome.code == 0, outcome.err
    assert not other.folder.exists()
    assert not shop.ledger.audit()


@pytest.mark.parametrize("damage", ["lost", "older", "changed"])
def test_a_stream_whose_table_is_not_the_newest_can_be_closed_not_continued(tmp_path: Path, damage: str) -> None:
    shop = new_customers(tmp_path, **WEEK)
    shop.lines = [("ann", day, 0, 1) for day in range(7)]
    shop.day(*days(0, 1))
    table = table_of(shop)
    newest = table.folder / f"{table.names[-1]}.parquet"
    whole = newest.read_bytes()
    if damage == "lost":
        shutil.rmtree(table.folder)
    elif damage == "older":
        newest.unlink()
    else:
        newest.write_bytes((table.folder / f"{table.names[0]}.parquet").read_bytes())
    entries = shop.entries()
    with pytest.raises(IntegrityError, match="chosen rows"):
        shop.day(*days(2))
    assert shop.entries() == entries
    shown = dplib("stream", "show", "--config", str(shop.config))
    assert f"table of chosen rows {'kept' if damage == 'changed' else 'lost'}" in shown.out
    # What is put back is taken up again.
    if damage == "changed":
        newest.write_bytes(whole)
        shop.day(*days(2))
    outcome = shop.close()
    assert outcome.code == 0, outcome.err
    assert set(read_table(outcome.release / "estimates", ["status"]).column("status").to_pylist()) == {"final"}


def test_a_ledger_that_is_older_than_the_table_is_refused(tmp_path: Path) -> None:
    shop = new_customers(tmp_path, **WEEK)
    shop.lines = [("ann", 0, 0, 1)]
    shop.measure(*days(0))
    shutil.copy(shop.folder / "ledger.db", tmp_path / "older.db")
    shop.measure(*days(1))
    shutil.copy(tmp_path / "older.db", shop.folder / "ledger.db")
    with pytest.raises(ConfigError, match="ledger must be as new as the stream"):
        shop.measure(*days(2))
    # A crash can leave the table's file in place before the day's.
    shutil.rmtree(shop.stream / "measurement" / days(1)[0])
    with pytest.raises(ConfigError, match="ledger must be as new as the chosen rows"):
        shop.measure(*days(2))


def test_who_loses_a_race_counts_again_after_the_winner(tmp_path: Path, no_noise: None) -> None:
    # Eve may count with three rows; two runs start from the same table, each with three rows of hers.
    shop = new_customers(tmp_path, **WEEK)
    shop.lines = [("eve", day, 0, 1) for day in (0, 0, 1, 1)]
    prepared = shop.prepared(days(1)[0])
    run, measure = shop.reserve(prepared, prepared.open_ledger())
    check_writable(prepared.output)
    seen: list[str] = []

    def overtaken(reserved: Run, staging: Path) -> MeasurementKeys:
        keys = measure(reserved, staging)
        seen.append(staging.name)
        if len(seen) == 1:
            # A lease that ended is no proof that its owner is dead: the other one's day is recorded first.
            other = shop.prepared(days(0)[0])
            measure_day(other.open_ledger(), reserved, other.output, other.date, shop.measuring(other))
        return keys

    measure_day(prepared.open_ledger(), run, prepared.output, prepared.date, overtaken)
    assert len(seen) == 2
    stored = shop.ledger.runs("counts")[0].days
    assert [day.date for day in stored] == days(0, 1)
    found, design = measured(shop), shop.prepared().design
    assert found[design.tree.level_slice(1), 0].tolist() == [2, 1, 0, 0, 0, 0, 0]
    assert not shop.ledger.audit()


def test_a_stream_that_is_closed_beside_a_run_keeps_no_chosen_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, record = new_customers(tmp_path, **WEEK), Ledger.record_day
    shop.lines = [("ann", 0, 0, 1)]

    def closed_then(ledger: Ledger, run: Run, day: MeasuredDay) -> Run:
        found = record(ledger, run, day)
        end_stream(shop.ledger, found, shop.output, "over")
        return found

    monkeypatch.setattr(Ledger, "record_day", closed_then)
    assert shop.measure(*days(0)).is_closed
    assert {path.name for path in shop.output.iterdir()} == {".lock", shop.stream.name}


def test_what_a_dead_run_chose_is_gone_once_its_stream_is_closed(tmp_path: Path) -> None:
    shop = new_customers(tmp_path, **WEEK)
    shop.lines = [("ann", 0, 0, 1)]
    run = shop.measure(*days(0))
    dead = Staging(shop.output, run.release_id)
    table_of(shop).add(ChosenRows.together([]), dead.path, bytes(16))
    dead.__exit__(None, None, None)
    end_stream(shop.ledger, run, shop.output, "over")
    assert {path.name for path in shop.output.iterdir()} == {".lock", shop.stream.name}


def test_a_retry_repeats_its_bytes_and_what_nobody_recorded_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number, name in enumerate(("staged_name", "place_day", "")):
        shop = new_customers(tmp_path / str(number), **WEEK)
        shop.lines = some_lines(np.random.default_rng(1), ["ann", "bob"], 7)
        shop.measure(*days(0))
        if name:
            crashing(monkeypatch, name, shop, days(1)[0])
        shop.measure(*days(1))
        found.append((content(shop.stream / "measurement"), content(table_of(shop).folder)))
        left = {path.name for path in shop.output.iterdir()}
        assert left == {".lock", shop.stream.name, table_of(shop).folder.name}
    # One key, entry and input, each in a folder of its own.
    assert found[0] == found[1] == found[2]
