"""Streams: every answer against dense least squares over the nodes that closed, and a life with crashes and holes."""

import datetime as dt
import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.config.event_input import Input
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.consistent_histograms import stream_measure
from dplib.jobs.consistent_histograms.check import check_tables
from dplib.jobs.consistent_histograms.config import Publish
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.consistent_histograms.publish import published_table
from dplib.jobs.consistent_histograms.query import query_release
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.jobs.pricing import price
from dplib.ledger.runs import RunState
from dplib.release.manifest import STREAM, load_manifest, version_as_of
from dplib.release.staging import check_writable
from dplib.release.tables import read_table
from dplib.workflow import stream as stream_module
from dplib.workflow.stream import measure_day
from tests.support.jobs import content, dplib
from tests.support.stream_shop import StreamShop, days, new_stream

CHANGING = [
    {"totals": {"drinks": ["milk", "tea"]}, "measured": True},
    {"totals": {"all": ["bread", "drinks"]}, "measured": True, "from": "2026-02-04"},
]


def noisy_counts(shop: StreamShop, design: Design) -> FloatArray:
    """All that was measured, shape (n_nodes, n_series); NaN elsewhere."""
    found = np.full((design.tree.n_nodes, len(design.series)), np.nan)
    for place in (shop.stream / "measurement").iterdir():
        rows = read_table(place, ["item", "node", "noisy"])
        for item, node, noisy in zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True):
            found[node, design.series_number[item]] = noisy
    return found


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
                row[day] = design.constraints.incidence[number].toarray()[series]
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


@pytest.mark.parametrize("constraints", [[], CHANGING[:1], CHANGING])
@pytest.mark.parametrize("order", HOLES)
def test_answers_are_least_squares_over_the_nodes_that_closed(
    tmp_path: Path, constraints: list[object], order: list[int]
) -> None:
    shop = new_stream(tmp_path, constraints=constraints, stream__levels=["2 weeks", "week", "day"])
    version = shop.set(stream__shares=[3, 1, 2]).day(*days(*order))
    design, manifest = shop.prepared().design, load_manifest(version)
    # The constraints of days before and from the ninth on differ: what a missing day takes up is not all of the rest.
    waiting = [(0, 14), (7, 14)] if (constraints, order) == (CHANGING, HOLES[3]) else []
    expected, covariance, known = dense(shop, design, waiting)
    for lo, hi in [(0, 3), (4, 7), (8, 9), (0, 9), (0, 7), (3, 4), (2, 6), (0, 14), (5, 8), (2, 3), (2, 18), (16, 19)]:
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


@pytest.mark.parametrize("constraints", [[], CHANGING])
def test_after_the_last_day_the_stream_is_the_batch_release_of_its_tree(
    tmp_path: Path, constraints: list[object]
) -> None:
    shop = new_stream(tmp_path, constraints=constraints)
    shop.counts //= 8  # so small that some estimates are below 0
    version = shop.day(*days(*range(21)))
    found = shop.prepared().design
    publish = Publish.model_validate({"divided_from": "tops", "solver": {"layout": "driver"}})
    config = found.config.model_copy(update={"stream": None, "tree": found.days.shape, "publish": publish})
    batch = Design.of(config, rows_are_packages=False)
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
    for number, seed in enumerate((0, 1, 2)):
        # One folder after the other at one place: the same account, entry and key.
        shop = new_stream(tmp_path / str(number), stream__horizon=["2026-01-26", "2026-02-02"])
        version = shop.day(*days(*np.random.default_rng(seed).permutation(8).tolist()))
        measured = content(shop.stream / "measurement")
        finals.append((measured, content(version / "estimates"), content(version / "published")))
    assert finals[0] == finals[1] == finals[2]


@pytest.mark.parametrize("counts", ["integers", "reals"])
def test_a_closed_stream_publishes_a_week_with_a_hole_from_its_own_measurement(tmp_path: Path, counts: str) -> None:
    closed = []
    for seed in (0, 1):
        publish = {"counts": counts, "output": {"path": "releases"}}
        levels = ["2 weeks", "week", "day"]
        shop = new_stream(tmp_path / str(seed), constraints=[], publish=publish, stream__levels=levels)
        shop.day(*days(*np.random.default_rng(seed).permutation([*range(3), *range(5, 14), 20]).tolist()))
        outcome = dplib("stream", "close", "--config", str(shop.config), "--why", "over")
        assert outcome.code == 0, outcome.err
        closed.append((content(outcome.release / "estimates"), content(outcome.release / "published")))
        manifest = load_manifest(outcome.release)
        checks = check_tables(outcome.release, manifest)
        assert all(check.ok for check in checks), checks
    assert closed[0] == closed[1]
    design, tables = shop.prepared().design, Tables(outcome.release, shop.prepared().design)
    rows = read_table(outcome.release / "estimates")
    written, noisy = np.unique(rows.column("node").to_numpy()), noisy_counts(shop, design)
    assert set(rows.column("status").to_pylist()) == {"final"}
    leaves = design.tree.leaf_nodes
    # Two weeks with their hole, the last week but for its first days, and no day that was not measured.
    assert written.tolist() == [1, 2, 3, 4, 5, *leaves[[*range(3), *range(5, 14), 20]].tolist()]
    estimates = tables.scatter(rows, "estimate")
    published = tables.scatter(read_table(outcome.release / "published"), "count")
    assert estimates[2] == pytest.approx((noisy[2] + noisy[5]) / 2)
    for values in (estimates, published):
        np.testing.assert_allclose(values[1], values[3] + values[4], rtol=1e-6)
        np.testing.assert_allclose(values[4], values[leaves[7:14]].sum(axis=0), rtol=1e-6)
    assert np.abs(published - np.maximum(estimates, 0))[1:6].max() < 2


def test_final_numbers_never_change_and_old_versions_stay(tmp_path: Path) -> None:
    shop, kept, final = new_stream(tmp_path), {}, {}
    for date in days(*range(5, 15)):
        version = shop.day(date)
        kept[version] = content(version)
        rows = read_table(version / "published").to_pylist()
        now = {(row["item"], row["node"]): row["count"] for row in rows if row["status"] == "final"}
        assert final.items() <= now.items()
        final = now
    assert len(final) == 8 * 4
    assert {version: content(version) for version in kept} == kept
    assert version_as_of(shop.stream, days(8)[0]) == list(kept)[3]
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
    order, day = generator.permutation(21).tolist(), int(generator.integers(21))
    seen = []
    for number, more in enumerate((0, 5)):
        shop, snapshots = new_stream(tmp_path / str(number)), np.random.default_rng(seed)
        for each in order:
            shop.counts = snapshots.poisson(3, shop.counts.shape).astype(np.int64)
            shop.counts[day, 1] += more
            prepared = shop.prepared(days(each)[0])
            ledger = prepared.open_ledger()
            check_writable(prepared.output)
            run, measure = shop.reserve(prepared, ledger)
            measure_day(ledger, run, prepared.output, prepared.date, measure)
        seen.append(noisy_counts(shop, shop.prepared().design))
    design = shop.prepared().design
    moved = np.nan_to_num(seen[1] - seen[0])
    for level in (1, 2):
        own = moved[design.tree.level_slice(level)]
        assert np.abs(own).sum() == 5 * design.constraints.row_l1
        assert (own**2).sum() == 25 * design.constraints.row_l2_squared
        assert design.noise_of(level)[0].noise.sensitivity == 25 * design.constraints.row_l2_squared  # type: ignore[union-attr]


def test_a_closed_stream_takes_no_more_days_and_all_of_it_is_final(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])
    run = shop.ledger.runs("counts")[0]
    assert run.state is RunState.PUBLISHED
    with pytest.raises(ConfigError, match="reservation without a measurement"):
        shop.ledger.void(run, "no")
    outcome = dplib("stream", "close", "--config", str(shop.config), "--why", "over")
    assert outcome.code == 0, outcome.err
    version = outcome.release
    assert set(read_table(version / "estimates", ["status"]).column("status").to_pylist()) == {"final"}
    assert shop.ledger.runs("counts")[0].is_closed
    with pytest.raises(IntegrityError, match="none after its end"):
        shop.day(days(1)[0])
    assert shop.run("--date", days(1)[0]).code == 2
    again = dplib("stream", "close", "--config", str(shop.config), "--why", "again")
    assert (again.code, again.last) == (0, str(version))
    assert not shop.ledger.audit()


def test_plan_and_verify_speak_of_a_stream_s_day(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])

    def planned(date: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(shop.command("plan", "--json", "--date", date).out)
        assert found["horizon"] == ["2026-01-26", "2026-02-15"]
        return found["ledger"]  # type: ignore[return-value]  # an object

    assert [planned(date)["existing_state"] for date in days(0, 1)] == ["published", "reserved"]
    verified = [dplib("verify", "--config", str(shop.config), "--date", date).code for date in days(0, 1)]
    assert verified == [0, 1]
    assert dplib("stream", "close", "--config", str(shop.config), "--why", "over").code == 0
    refused = shop.command("plan", "--date", days(1)[0])
    assert refused.code == 2
    assert "--date must name a day of an open stream" in refused.err
    assert planned(days(0)[0])["existing_state"] == "published"
    assert shop.command("plan").code == 0


@pytest.mark.parametrize(
    ("horizon", "levels"),
    [
        (("2026-01-26", "2026-02-15"), ["week", "day"]),
        (("2025-12-20", "2026-04-10"), ["quarter", "month", "day"]),
        (("2026-01-28", "2026-06-02"), ["4 weeks", "2 weeks", "day"]),
        (("2026-02-01", "2026-02-28"), ["month", "day"]),  # the month is the root
    ],
)
def test_a_run_reads_the_files_of_the_days_of_the_nodes_that_close(
    tmp_path: Path, horizon: tuple[str, str], levels: list[str]
) -> None:
    shop = new_stream(tmp_path, stream__horizon=list(horizon), stream__levels=levels, input__path="{date}.csv")
    whole = shop.prepared()
    days = [whole.design.date(day).isoformat() for day in range(whole.design.config.domain.n_days)]
    assert whole.source(Input).path == [f"{day}.csv" for day in days]
    for number, date in enumerate(days):
        prepared = shop.prepared(date)
        _, first = stream_measure.closing(whole.design, number)
        assert prepared.source(Input).path == [f"{day}.csv" for day in days[first : number + 1]]
        assert prepared.key == whole.key  # one stream


def test_other_publish_settings_make_final_numbers_anew_and_a_version_is_never_replaced(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    first = shop.day(*days(*range(8)))
    before = content(first)
    other = shop.set(publish={"counts": "reals", "output": {"path": "releases", "csv": True}}).day(days(0)[0])
    assert (other.name, content(first)) == ("000002", before)
    assert (other / "published" / "top-00000.csv").is_file()
    assert str(read_table(other / "published", ["count"]).schema.field("count").type) == "double"
    assert shop.spent() == 1
    # What a crash left unrecorded stays as it is; the next version stands behind it.
    shutil.copytree(other, shop.stream / "000003")
    assert shop.day(days(8)[0]).name == "000004"


def test_a_stream_stays_where_it_began(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    first = shop.day(days(0)[0])
    second = shop.set(publish={"output": {"path": "elsewhere"}}).day(days(1)[0])
    assert second.parent == first.parent
    assert sorted(path.name for path in (second.parent / "measurement").iterdir()) == days(0, 1)


def test_a_measured_day_that_was_changed_or_lost_is_found(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(*days(0, 1))
    place = shop.stream / "measurement" / days(0)[0] / "nodes.parquet"
    whole = place.read_bytes()
    place.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    found = dplib("verify", str(shop.stream))
    failed = next(line for line in found.out.splitlines() if line.startswith("FAILED"))
    assert (found.code, failed.split()) == (1, ["FAILED", "measured", "days", days(0)[0]])
    with pytest.raises(IntegrityError, match="a changed one"):
        shop.day(days(2)[0])
    place.unlink()
    with pytest.raises(IntegrityError):
        shop.day(days(2)[0])
    assert [day.date for day in shop.ledger.runs("counts")[0].days] == days(0, 1)


@pytest.mark.parametrize("rho", ["37/100", "0.123456789"])
def test_the_cost_of_chosen_levels_hangs_on_no_query(tmp_path: Path, rho: str) -> None:
    costs = []
    for number, queries in enumerate((["day"], ["year to date", {"range": "last 7 days", "weight": 3}])):
        shop = new_stream(tmp_path / str(number), queries=queries, privacy__budget={"rho": rho}, stream__levels="auto")
        shop.day(days(0)[0])
        costs.append(shop.spent())
        assert not shop.ledger.audit(pricing=price)
    assert costs[0] == costs[1]


def test_commands_show_a_stream(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    for date in days(0, 1, 3):
        shop.day(date)
    shown = dplib("stream", "show", "--config", str(shop.config))
    assert shown.code == 0, shown.err
    assert "3 of 21 days" in shown.out
    assert f"missing    {days(2)[0]}" in shown.out
    asked = dplib("query", str(shop.stream), "--item", "tea", "--from", days(0)[0], "--to", days(1)[0])
    assert asked.code == 0, asked.err
    missing = dplib("query", str(shop.stream), "--from", days(0)[0], "--to", days(3)[0])
    assert missing.err == (
        f"dplib: --from and --to must be days that the stream has measured, got {days(2)[0]}, which it has not\n"
    )
    sound = dplib("verify", str(shop.stream), "--ledger", f"sqlite:///{shop.folder}/ledger.db")
    assert sound.code == 0, sound.out + sound.err
    details = load_manifest(shop.stream / "000003").details[STREAM]
    assert details["missing"] == days(2)  # type: ignore[index,call-overload]
    assert shop.ledger.runs("counts")[0].state is RunState.PUBLISHED
    old = dplib("verify", str(shop.stream / "000001"), "--ledger", f"sqlite:///{shop.folder}/ledger.db")
    assert old.code == 0, old.out + old.err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"domain__first_day": "2026-01-01"}, "domain.first_day must be absent"),
        ({"tree": {"levels": ["day"]}}, "tree must be absent"),
        ({"measure": "auto"}, "measure must be absent"),
        ({"publish__output": {"tables": {"published": "t"}}}, "publish.output.tables must be absent"),
        ({"publish": {"solver": {"layout": "blocks"}}}, "publish.solver.layout must be auto or driver"),
        ({"publish__divided_from": "tops"}, "publish.divided_from must be range unless"),
        (
            {"publish": {"divided_from": "tops", "solver": {"layout": "driver"}}},
            "publish.divided_from must be absent in a stream",
        ),
        ({"stream__shares": [1, 1], "stream__levels": "auto"}, "stream.shares must be absent"),
        ({"stream__levels": ["13 weeks", "2 weeks", "day"]}, "each number of weeks dividing the next"),
        ({"stream__levels": ["month", "week", "day"]}, "weeks do not nest in months"),
        ({"stream__levels": ["week"]}, "include day"),
        ({"stream__horizon": ["2026-02-15", "2026-01-26"]}, "must not be before"),
        ({"input__path": "rows-{date}.csv", "stream__levels": "auto"}, "stream.levels must be a list where input.path"),
        ({"input__path": "rows-{date}", "input__format": "delta", "input__options": {}}, "name the rows of all days"),
        ({"privacy__quality_share": "1/10"}, "privacy.quality_share must be absent"),
        ({"queries": ["last 1 days"]}, "queries"),
    ],
)
def test_wrong_settings_get_one_sentence(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    shop = new_stream(tmp_path)
    shop.set(**changes)
    outcome = shop.run("--date", "2026-01-26")
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert shop.spent() == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "--date must name the day of the stream to measure"),
        (("--date", "2026-03-01"), "--date must be a day from 2026-01-26 to 2026-02-15"),
        (("--date", "2026-01-26", "--again"), "--again must not be given for a stream"),
    ],
)
def test_wrong_days_get_one_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    shop = new_stream(tmp_path)
    outcome = shop.run(*words)
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert shop.spent() == 0


def test_questions_about_recent_days_are_of_streams(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    settings = {name: value for name, value in shop.settings.items() if name != "stream"}
    settings["domain"] |= {"first_day": "2026-01-26", "last_day": "2026-02-15"}
    shop.settings = settings | {"queries": ["last 7 days"]}
    outcome = shop.set().run()
    assert (outcome.code, "queries must be of whole periods" in outcome.err) == (2, True), outcome.err
