"""Streams: every answer against dense least squares over the nodes that closed, and a life with crashes and holes."""

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms import stream_measure
from dplib.jobs.consistent_histograms.check import check_tables
from dplib.jobs.consistent_histograms.config import Publish
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.consistent_histograms.publish import published_table
from dplib.jobs.consistent_histograms.query import query_release
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.release.manifest import load_manifest, version_as_of
from dplib.release.tables import read_table
from dplib.workflow import stream as stream_module
from dplib.workflow.stream import measure_day
from tests.support.jobs import content
from tests.support.stream_shop import StreamShop, days, new_stream, noisy_counts, snapshots

CHANGING = [
    {"totals": {"drinks": ["milk", "tea"]}, "measured": True},
    {"totals": {"all": ["bread", "drinks"]}, "measured": True, "from": "2026-02-04"},
]

PACKAGES = [{"packages": {"breakfast": {"bread": 2, "milk": 1}, "lunch": {"bread": 1, "tea": 1}}}]
"""Rows are packages, whose two counts decide those of three items."""


def dense(shop: StreamShop, design: Design, waiting: list[tuple[int, int]]) -> tuple[FloatArray, ...]:
    """Estimates of items by day, their covariance and what is determined: all nodes but those that wait for a day."""
    noisy, tree, shape = noisy_counts(shop, design), design.tree, (design.tree.n_leaves, design.constraints.n_items)
    ends = [each.end for each in design.constraints.day_constraints]
    rows, values, weights = [], [], []
    for node in range(tree.n_nodes):
        own = range(int(tree.lo[node]), int(tree.hi[node]))
        if (own.start, own.stop) in waiting:
            continue
        at = [next(n for n, end in enumerate(ends) if day < end) for day in own]
        for series in np.flatnonzero(np.isfinite(noisy[node])):
            row = np.zeros(shape)
            for day, number in zip(own, at, strict=True):
                row[day] = design.constraints.incidence[number].toarray()[series] * design.constraints.valid[number]
            rows.append(row.reshape(-1))
            values.append(noisy[node, series])
            weights.append(1 / design.variance[node, series])
    matrix, weight = np.array(rows), np.array(weights)
    covariance = np.linalg.pinv(matrix.T @ (weight[:, None] * matrix), rcond=1e-11, hermitian=True)
    found = (covariance @ (matrix.T @ (weight * np.array(values)))).reshape(shape)
    return found, covariance, np.linalg.pinv(matrix) @ matrix


HOLES = [
    range(9),
    [13, 0, 2, 1, 4, 5, 6, 12, 8, 9, 10, 11, 7],  # a hole under two nodes
    [0, 1, 3, 4, 6, *range(7, 14), 20],  # two under one, a whole week, and a week of which one day is known
    [*range(6), 7, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20],  # a day that closes a week is missing
]


NEW_ITEM = {"file": "items.csv", "columns": ["product"], "first_day": "from"}


@pytest.mark.usefixtures("without_half_widths")
@pytest.mark.parametrize(
    ("constraints", "order"),
    [([], HOLES[1]), (CHANGING[:1], HOLES[2]), (CHANGING, HOLES[3]), (NEW_ITEM, HOLES[3]), (NEW_ITEM, HOLES[0])],
)
def test_answers_are_least_squares_over_the_nodes_that_closed(
    tmp_path: Path, constraints: object, order: list[int]
) -> None:
    (tmp_path / "items.csv").write_text("product,from\nbread,\nmilk,2026-02-04\ntea,\n")
    changes = {"domain__items": NEW_ITEM} if constraints is NEW_ITEM else {"constraints": constraints}
    shop = new_stream(tmp_path, stream__levels=["2 weeks", "week", "day"], **changes)
    first = 9 if constraints is NEW_ITEM else 0
    shop.counts[:first, 1] = 0
    version = shop.set(stream__shares=[3, 1, 2]).estimated(*days(*order))
    design, manifest = shop.prepared().design, load_manifest(version)
    # The constraints of days before and from the ninth on differ: what a missing day takes up is not all of the rest.
    waiting = [(0, 14), (7, 14)] if order == HOLES[3] and constraints in (CHANGING, NEW_ITEM) else []
    expected, covariance, known = dense(shop, design, waiting)
    asked_for = [(0, 3), (4, 7), (8, 9), (0, 9), (0, 7), (3, 4), (2, 6), (0, 14), (5, 8), (2, 3), (2, 18), (16, 19)]
    for lo, hi in (each for each in [*asked_for, (9, 12), (10, 14)] if each[0] >= first):
        ends = [dt.date.fromisoformat(date) for date in days(lo, hi - 1)]
        asked = np.zeros(expected.shape)
        asked[lo:hi, 1] = 1
        flat = asked.reshape(-1)
        if not np.allclose(flat @ known, flat, atol=1e-8):
            with pytest.raises(ConfigError, match="be days that the stream has measured"):
                query_release(version, manifest, [design.items[1]], *ends)
            continue
        (answer,) = query_release(version, manifest, [design.items[1]], *ends)
        assert answer.estimate == pytest.approx((asked * expected).sum(), abs=1e-8)
        assert answer.std_error == pytest.approx(np.sqrt(flat @ covariance @ flat))
    assert all(check.ok for check in check_tables(version, manifest))


@pytest.mark.parametrize("kind", ["items", "totals that change", "packages", "groupings"])
def test_after_the_last_day_the_stream_is_the_batch_release_of_its_tree(tmp_path: Path, kind: str) -> None:
    is_packages = kind == "packages"
    columns = {"day": "date", "package" if is_packages else "item": "product", "quantity": "quantity"}
    changes = {"totals that change": {"constraints": CHANGING}, "packages": {"constraints": PACKAGES}}.get(kind, {})
    if kind == "groupings":
        (tmp_path / "items.csv").write_text("name,kind\nbread,food\nmilk,drink\ntea,drink\n", encoding="utf-8")
        table = {"file": "items.csv", "columns": ["name"], "attributes": ["kind"]}
        changes = {"domain__items": table, "domain__groupings": [{"by": ["kind"], "measured": True}, []]}
    shop = new_stream(tmp_path, input__columns=columns, stream__horizon=days(0, 14), **changes)
    shop.counts = shop.counts[:, : len(shop.prepared().design.constraints.row_types)] // 8  # some estimates are below 0
    version = shop.estimated(*days(*range(15)))
    found = shop.prepared().design
    publish = Publish.model_validate({"divided_from": "tops", "solver": {"layout": "driver"}})
    config = found.config.model_copy(update={"stream": None, "tree": found.days.shape, "publish": publish})
    batch = Design.of(config, rows_are_packages=is_packages)
    values = estimate(batch, np.nan_to_num(noisy_counts(shop, batch)), batch.config.publish.solver).values
    rows = read_table(version / "estimates", ["item", "node", "estimate", "status"])
    nodes = np.unique(rows.column("node").to_numpy())
    assert set(rows.column("status").to_pylist()) == {"final"}
    own = Tables(version, batch).scatter(rows, "estimate")
    assert nodes.tolist() == list(range(1, batch.tree.n_nodes))
    np.testing.assert_allclose(own[nodes], values[nodes], rtol=0, atol=1e-9)
    counts = published_table(batch, values).counts
    assert np.array_equal(
        Tables(version, batch).scatter(read_table(version / "published"), "count")[nodes], counts[nodes]
    )
    assert np.array_equal(counts, batch.tree.sums(counts[batch.tree.leaf_nodes]))
    assert values[batch.tree.leaf_nodes].min() < 0
    assert shop.spent() == Fraction(1)


def test_every_order_of_the_days_gives_the_same_final_bytes(tmp_path: Path) -> None:
    finals = []
    for seed in (0, 1):
        # One folder after the other at one place: the same account, entry and key.
        shop = new_stream(tmp_path / str(seed), stream__horizon=["2026-01-26", "2026-02-02"])
        version = shop.estimated(*days(*np.random.default_rng(seed).permutation(8).tolist()))
        measured = content(shop.stream / "measurement")
        finals.append((measured, content(version / "estimates"), content(version / "published")))
    assert finals[0] == finals[1]


@pytest.mark.parametrize("counts", ["integers", "reals"])
def test_a_closed_stream_publishes_a_week_with_a_hole_from_its_own_measurement(tmp_path: Path, counts: str) -> None:
    closed = []
    for seed in (0, 1) if counts == "integers" else (0,):
        publish = {"counts": counts, "output": {"path": "releases"}}
        levels = ["2 weeks", "week", "day"]
        shop = new_stream(tmp_path / str(seed), constraints=[], publish=publish, stream__levels=levels)
        order = np.random.default_rng(seed).permutation([*range(3), *range(5, 14), 20]).tolist()
        run = replace(shop.drawn(*days(*order)), is_closed=True)
        (version,) = shop.versions(run, len(order))
        closed.append((content(version / "estimates"), content(version / "published")))
        checks = check_tables(version, load_manifest(version))
        assert all(check.ok for check in checks), checks
    assert closed[0] == closed[-1]
    design = shop.prepared().design
    tables, rows = Tables(version, design), read_table(version / "estimates")
    written, noisy = np.unique(rows.column("node").to_numpy()), noisy_counts(shop, design)
    assert set(rows.column("status").to_pylist()) == {"final"}
    leaves = design.tree.leaf_nodes
    # Two weeks with their hole, the last week but for its first days, and no day that was not measured.
    assert written.tolist() == [1, 2, 3, 4, 5, *leaves[[*range(3), *range(5, 14), 20]].tolist()]
    estimates = tables.scatter(rows, "estimate")
    published = tables.scatter(read_table(version / "published"), "count")
    assert estimates[2] == pytest.approx((noisy[2] + noisy[5]) / 2)
    for values in (estimates, published):
        np.testing.assert_allclose(values[1], values[3] + values[4], rtol=1e-6)
        np.testing.assert_allclose(values[4], values[leaves[7:14]].sum(axis=0), rtol=1e-6)
    assert np.abs(published - np.maximum(estimates, 0))[1:6].max() < 2


def test_final_numbers_never_change(tmp_path: Path) -> None:
    shop, final = new_stream(tmp_path), {}
    versions = shop.versions(shop.drawn(*days(*range(5, 15))), 3, 4, 8, 9, 10)
    for version in versions:
        rows = read_table(version / "published").to_pylist()
        now = {(row["item"], row["node"]): row["count"] for row in rows if row["status"] == "final"}
        assert final.items() <= now.items()
        final = now
    assert len(final) == 8 * 4
    assert version_as_of(shop.stream, days(8)[0]) == versions[1]
    with pytest.raises(ConfigError, match="--as-of must be a day on which"):
        version_as_of(shop.stream, "2026-01-01")


def test_a_day_is_measured_once_whatever_is_run_again(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    version = shop.day(days(0)[0])
    before, entries = content(shop.stream / "measurement"), shop.entries()
    shop.counts[0] += 100
    assert shop.day(days(0)[0]) == version
    assert content(shop.stream / "measurement") == before
    assert shop.entries() == entries == ["account", "account", "reserve", "day", "publish"]
    shop.day(days(1)[0])
    assert shop.spent() == 1
    assert [day.date for day in shop.ledger.runs("counts")[0].days] == days(0, 1)


def test_a_crash_after_the_record_is_taken_up_and_before_it_nothing_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, date = new_stream(tmp_path), days(0)[0]

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stream_module, "place_day", fails)
        with pytest.raises(KeyboardInterrupt):
            shop.day(date)
    assert shop.entries() == ["account", "account", "reserve", "day"]
    shop.counts += 1  # rows that came later change nothing
    shop.day(date)
    assert shop.entries() == ["account", "account", "reserve", "day", "publish"]
    prepared = shop.prepared(days(1)[0])
    ledger = prepared.open_ledger()
    run, _ = shop.reserve(prepared, ledger)
    with pytest.raises(KeyboardInterrupt):
        measure_day(ledger, run, prepared.output, prepared.date, fails)  # type: ignore[arg-type]
    assert shop.ledger.runs("counts")[0].measured_on(days(1)[0]) is None
    assert [path.name for path in shop.output.iterdir() if path.name.startswith(".staging")] == []


def test_a_retry_repeats_its_noise_and_other_counts_never_share_it(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    prepared = shop.prepared(days(6)[0])
    run, measure = shop.reserve(prepared, prepared.open_ledger())
    noise = []
    for number, more in enumerate((0, 0, 1)):
        shop.counts[6, 0] += more
        place = tmp_path / f"try-{number}"
        place.mkdir()
        measure(run, place)
        rows = read_table(place / "measurement", ["item", "node", "noisy"]).to_pylist()
        noise.append({(row["item"], row["node"]): row["noisy"] for row in rows})
    assert noise[0] == noise[1]
    assert {node for _, node in noise[0]} == {1, 10}
    moved = {key: noise[2][key] - noise[0][key] for key in noise[0]}
    # Both nodes that hold the day draw anew, in every series: not the difference of 1 is seen.
    assert all(value not in (0, 1) for value in moved.values()) or len(set(moved.values())) > 2


@pytest.mark.parametrize("seed", range(2))
def test_neighbouring_histories_differ_by_no_more_than_one_row_at_each_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # Snapshots of the input change between runs, days are out of order; without noise all that is measured shows.
    monkeypatch.setattr(stream_measure, "measure_levels", lambda counts, *_: counts)
    generator = np.random.default_rng(seed)
    order, day = generator.permutation(9).tolist(), int(generator.integers(9))
    seen = []
    for more in (0, 5):
        shop = new_stream(tmp_path / str(more), stream__horizon=days(0, 8))
        shop.drawn(*days(*order), snapshots=snapshots(seed, shop.counts.shape, (day, 1), more))
        seen.append(noisy_counts(shop, shop.prepared().design))
    design = shop.prepared().design
    moved = np.nan_to_num(seen[1] - seen[0])
    for level in (1, 2):
        own = moved[design.tree.level_slice(level)]
        assert np.abs(own).sum() == 5 * design.constraints.row_l1
        assert (own**2).sum() == 25 * design.constraints.row_l2_squared
        assert design.noise_of(level)[0].noise.sensitivity == 25 * design.constraints.row_l2_squared  # type: ignore[union-attr]


def test_a_named_solver_takes_missing_days_or_the_plan_refuses_it(tmp_path: Path) -> None:
    def with_solver(method: str, **changes: object) -> StreamShop:
        publish = {"solver": {"method": method}, "output": {"path": "releases"}}
        return new_stream(tmp_path / f"{method}-{len(changes)}", publish=publish, **changes)

    levels = ["2 weeks", "week", "day"]
    for shop in (
        with_solver("commuting", constraints=CHANGING, stream__levels=levels),  # not in the weeks that change nothing
        with_solver("boosting", constraints=[], stream__levels=levels),
    ):
        method = shop.settings["publish"]["solver"]["method"]
        planned = shop.command("plan")
        assert (planned.code, f"publish.solver must be another than {method}" in planned.err) == (2, True), planned.err
    seven = {"stream__levels": ["7 weeks", "week", "day"], "stream__horizon": days(0, 48)}
    shop = with_solver("boosting", constraints=[], **seven)
    assert shop.command("plan").code == 0
    assert shop.estimated(*days(*range(7), *range(13, 49, 7))).is_dir()
