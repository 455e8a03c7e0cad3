"""Streams of range histograms: every answer against dense least squares over the nodes that closed, and the batch."""

import datetime as dt
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.jobs.pricing import price
from dplib.jobs.range_histograms import stream_measure
from dplib.jobs.range_histograms.check import check_tables
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors, estimate_block, estimate_sums
from dplib.jobs.range_histograms.kinds import recent_errors
from dplib.jobs.range_histograms.quantiles import quantile
from dplib.jobs.range_histograms.query import design_of, query_release, tidy
from dplib.jobs.range_histograms.stream_page import days_section
from dplib.jobs.range_histograms.stream_parts import state_of
from dplib.jobs.range_histograms.tables import Tables
from dplib.page.account_state import AccountState
from dplib.page.blocks import Chooser
from dplib.privacy.budget import Currency
from dplib.release.manifest import load_manifest
from dplib.release.tables import read_table
from dplib.workflow.dry_publication import try_publication
from tests.support.jobs import content, dplib
from tests.support.range_stream import RangeShop, new_range_stream
from tests.support.stream_shop import days, snapshots

SUMS = {
    "groups": ["pier", "mill", "town"],
    "totals": [{"totals": {"coast": ["pier", "mill"], "all": ["coast", "town"]}}],
}
TOGETHER = {**SUMS, "totals": [{**SUMS["totals"][0], "measured": True}]}  # type: ignore[dict-item]
KINDS: list[dict[str, object]] = [
    {},
    {"histogram": TOGETHER},
    {"histogram": SUMS, "measure": {"shares": [2, 1]}, "privacy__budget": {"epsilon": 1}},
    {"histogram": SUMS, "measure": "auto"},
]


HOLES = [
    range(9),
    [13, 0, 2, 1, 4, 5, 6, 12, 8, 9, 10, 11, 7],  # a hole under two nodes
    [0, 1, 3, 4, 6, *range(7, 14), 20],  # two under one, a whole week, and a week of which one day is known
    [*range(6), 7, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20],  # a day that closes a week is missing
]


def noisy_counts(shop: RangeShop, design: Design) -> FloatArray:
    """All that was measured, shape (n_histograms, n_nodes); NaN elsewhere."""
    found = np.full((len(design.series), design.strategy.tree.n_nodes), np.nan)
    for place in (shop.stream / "measurement").iterdir():
        rows = read_table(place, ["group", "node", "noisy"])
        for group, node, noisy in zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True):
            found[design.series_number[group], node] = noisy
    return found


def dense(shop: RangeShop, design: Design) -> tuple[FloatArray, ...]:
    """Estimates of groups by day, their covariance and what is determined: all measured nodes."""
    noisy, tree, n_groups = noisy_counts(shop, design), design.strategy.tree, len(design.bins.groups)
    adds = np.eye(n_groups) if design.sums is None else design.sums.constraints.incidence[0].toarray()
    rows, values, weights, variances = [], [], [], []
    for node in range(tree.n_nodes):
        inside = np.zeros(tree.n_leaves)
        inside[tree.lo[node] : tree.hi[node]] = 1
        for number in np.flatnonzero(np.isfinite(noisy[:, node])):
            rows.append(np.outer(inside, adds[number]).reshape(-1))
            values.append(noisy[number, node])
            # Columns of their own are weighed by the variances of continuous noise; with one column, by the exact ones.
            column = int(design.column_of[number])
            weights.append(1 / (design.weights[node] * _factor(design, column)))
            variances.append(design.noise_variance[column, node])
    matrix, weight = np.array(rows), np.array(weights)
    solve = np.linalg.pinv(matrix.T @ (weight[:, None] * matrix), rcond=1e-11, hermitian=True) @ (matrix.T * weight)
    covariance = solve @ (np.array(variances)[:, None] * solve.T)
    return (solve @ np.array(values)).reshape(-1, n_groups), covariance, np.linalg.pinv(matrix) @ matrix


def _factor(design: Design, column: int) -> float:
    """Variance of continuous noise of a column over that of the first."""
    own = [
        float(design.noise_parameter(1 << 40, each)) ** design.config.privacy.mechanism.exponent for each in (column, 0)
    ]
    return own[0] / own[1]


# What days leave open is one code for all kinds: each kind meets one order, each order one kind.
@pytest.mark.usefixtures("without_half_widths")
@pytest.mark.parametrize(("kind", "order"), [(kind, HOLES[(n + 1) % 4]) for n, kind in enumerate(KINDS)])
def test_answers_are_least_squares_over_the_nodes_that_closed(
    tmp_path: Path, kind: dict[str, object], order: list[int]
) -> None:
    shop = new_range_stream(tmp_path, stream__levels=["2 weeks", "week", "day"], **kind)
    version = shop.set(stream__shares=[3, 1, 2]).estimated(*days(*order))
    design, manifest = shop.prepared().design, load_manifest(version)
    expected, covariance, known = dense(shop, design)
    adds = np.eye(3) if design.sums is None else design.sums.constraints.incidence[0].toarray()
    for lo, hi in [(0, 3), (8, 9), (0, 9), (0, 7), (3, 4), (2, 6), (0, 14), (5, 8), (2, 18), (16, 19)]:
        ends, inside = days(lo, hi - 1), np.zeros(len(expected))
        inside[lo:hi] = 1
        flat = np.outer(inside, np.ones(3)).reshape(-1)
        if not np.allclose(flat @ known, flat, atol=1e-8):
            with pytest.raises(ConfigError, match="be days that the stream has measured"):
                query_release(version, manifest, (), *ends)
            continue
        answers = query_release(version, manifest, (), *ends)
        answers += query_release(version, manifest, ("pier", "town"), *ends, add_up=True)
        own = [adds[design.series_number[each.group]] for each in answers[:-1]]
        for answer, groups in zip(answers, [*own, adds[0] + adds[2]], strict=True):
            asked = np.outer(inside, groups).reshape(-1)
            assert answer.estimate == pytest.approx((asked @ expected.reshape(-1)), abs=1e-8)
            assert answer.std_error == pytest.approx(np.sqrt(asked @ covariance @ asked))
            assert (answer.published is None) == (not set(range(lo, hi)) <= set(order))
    assert all(check.ok for check in check_tables(version, manifest))
    shown = tidy(version, manifest).to_pylist()
    assert [row for row in shown if row["published"] is None] or order in HOLES[:1]


# Shares that are chosen are as good as given ones here: that they are exact shows above.
@pytest.mark.parametrize("kind", KINDS[:3])
def test_after_the_last_day_the_stream_is_the_batch_release_of_its_tree(
    tmp_path: Path, kind: dict[str, object]
) -> None:
    shop = new_range_stream(tmp_path, stream__horizon=days(0, 14), **kind)
    version = shop.estimated(*days(*range(15)))
    design = shop.prepared().design
    settings = design.config.model_dump(exclude={"stream", "queries"}, exclude_none=True)
    measure = None if design.sums is None else design.sums.columns.measure
    batch = Design.of(type(design.config).model_validate(settings), design.strategy, measure)
    assert batch.events == design.events
    noisy = np.nan_to_num(noisy_counts(shop, design))
    found = estimate_block(batch, noisy) if batch.sums is None else estimate_sums(batch, noisy)
    tables, measured = Tables(version, design), np.arange(1, design.strategy.tree.n_nodes)
    values, errors = (tables.values("estimates", "node", name) for name in ("estimate", "std_error"))
    np.testing.assert_allclose(values[:, measured], found.estimates[:, measured], rtol=0, atol=1e-9)
    own = Errors(batch).nodes(measured, np.arange(len(design.series)))
    np.testing.assert_allclose(errors[:, measured], own, rtol=1e-9)
    assert set(read_table(version / "published", ["status"]).column("status").to_pylist()) == {"final"}
    assert shop.spent() == (1 if "privacy__budget" not in kind else Fraction(1))
    assert not shop.ledger.audit(pricing=price)


def test_what_links_groups_is_shared_by_equal_settings_alone(tmp_path: Path) -> None:
    """Equal but for the order of their names settings have totals in another order."""
    totals = [("coast", ["pier", "mill"]), ("all", ["pier", "mill", "town"])]
    found = []
    for number, own in enumerate((totals, totals[::-1], totals)):
        histogram = {"groups": SUMS["groups"], "totals": [{"totals": dict(own)}]}
        found.append(new_range_stream(tmp_path / str(number), histogram=histogram).prepared().design)
    assert found[0].sums is found[2].sums
    assert found[0].strategy is found[1].strategy
    assert [each.series[3:] for each in found] == [("coast", "all"), ("all", "coast"), ("coast", "all")]


@pytest.mark.usefixtures("without_pictures")
def test_every_order_of_the_days_gives_the_same_final_bytes(tmp_path: Path) -> None:
    finals = []
    for seed in (0, 1):
        horizon = ["2026-01-26", "2026-02-02"]
        shop = new_range_stream(tmp_path / str(seed), stream__horizon=horizon, histogram=TOGETHER)
        run = shop.drawn(*days(*np.random.default_rng(seed).permutation(8).tolist()))
        shop.pages = bool(seed)
        version = shop.versions(run, 6, 8)[-1]
        measured = content(shop.stream / "measurement")
        finals.append((measured, content(version / "estimates"), content(version / "published")))
    assert finals[0] == finals[1]
    state = state_of(design_of(version, load_manifest(version)), load_manifest(version))
    assert state is not None
    (choice,) = (block for block in days_section(state, version, None).blocks if isinstance(block, Chooser))
    levels = json.loads(choice.data)["levels"]
    assert [(level["of"], len(level["labels"])) for level in levels] == [("count a day", 8), ("count a week", 2)]
    page = (version / "report.html").read_text(encoding="utf-8")
    assert "Revised since the version before: the numbers of 6 days, " in page


def test_final_numbers_never_change_and_preliminary_ones_say_so(tmp_path: Path) -> None:
    shop, final = new_range_stream(tmp_path, histogram=TOGETHER), {}
    for version in shop.versions(shop.drawn(*days(*range(5, 15))), 3, 8, 9, 10):
        rows = read_table(version / "published").to_pylist()
        now = {(row["group"], row["bin"]): row["count"] for row in rows if row["status"] == "final"}
        assert final.items() <= now.items()
        final = now
    assert {day for _, day in final} == set(range(7, 14))
    shown = tidy(version, load_manifest(version)).to_pylist()
    weeks = [row for row in shown if row["level"] == 1]
    early, weeks = ([row for row in weeks if (row["published"] is None) == holed] for holed in (True, False))
    assert {row["status"] for row in early} == {"preliminary"}
    assert {row["status"] for row in weeks} == {"final"}
    for row in weeks:
        assert row["low"] < row["estimate"] < row["high"]
        own = [count for (group, day), count in final.items() if group == row["group"]]
        assert row["published"] == sum(own)


def test_neighbouring_histories_differ_by_no_more_than_one_row_at_each_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Snapshots of the input change between runs, days are out of order; without noise all that is measured shows.
    monkeypatch.setattr(stream_measure, "measure_levels", lambda counts, *_: counts)
    generator = np.random.default_rng(0)
    order, day = generator.permutation(9).tolist(), int(generator.integers(9))
    seen = []
    for more in (0, 1):
        shop = new_range_stream(tmp_path / str(more), histogram=TOGETHER, stream__horizon=days(0, 8))
        shop.drawn(*days(*order), snapshots=snapshots(0, shop.counts.shape, (1, day), more))
        seen.append(noisy_counts(shop, shop.prepared().design))
    design = shop.prepared().design
    moved, tree = np.nan_to_num(seen[1] - seen[0]), design.strategy.tree
    for level in (1, 2):
        own = moved[:, tree.level_slice(level)]
        assert (own**2).sum() == design.sensitivity == 3  # mill, coast and all
        assert np.count_nonzero(own.any(axis=0)) == 1


@pytest.mark.usefixtures("without_half_widths")
def test_errors_that_the_plan_predicts_are_those_of_the_answers_on_their_day(tmp_path: Path) -> None:
    queries = ["day", "last 3 days", {"range": "week to date", "target": {"count": 100, "relative_error": "1/10"}}]
    shop = new_range_stream(tmp_path, histogram=TOGETHER, queries=queries, stream__horizon=["2026-01-26", "2026-02-02"])
    found, design = {}, shop.prepared().design
    for day, version in enumerate(shop.versions(shop.drawn(*days(*range(8))), *range(1, 9))):
        starts = {"day": day, "last 3 days": day - 2, "week to date": 0 if day < 7 else 7}
        for query, first in starts.items():
            if first >= 0:
                answers = query_release(version, load_manifest(version), (), *days(first, day))
                found.setdefault(query, []).append([answer.std_error for answer in answers])
    predicted, said = recent_errors(design)
    for each in predicted:
        own = slice(0, 3) if each.of == "groups" else slice(3, 5)
        assert each.error == pytest.approx(np.array(found[each.query])[:, own].mean(), rel=1e-9)
    assert [sentence[:4] for sentence in said] == ["Met:"]
    chosen = shop.set(stream__levels="auto").prepared().design
    values = [sum(np.log(each.error) for each in recent_errors(one)[0]) for one in (design, chosen)]
    assert values[1] <= values[0]


@pytest.mark.usefixtures("without_pictures")
def test_commands_show_answer_and_check_a_stream(tmp_path: Path) -> None:
    shop = new_range_stream(tmp_path, histogram=SUMS, measure="auto", stream__levels=["week", "day"])
    for date in days(0, 1, 3):
        version = shop.day(date)
    shown = dplib("stream", "show", "--config", str(shop.config))
    assert "3 of 21 days" in shown.out, shown.err
    assert f"missing    {days(2)[0]}" in shown.out
    missing = dplib("query", str(shop.stream), "--from", days(0)[0], "--to", days(3)[0])
    assert missing.err.endswith(f"be days that the stream has measured, got {days(2)[0]}, which it has not\n")
    known = dplib("query", str(shop.stream), "--as-of", days(1)[0], "--group", "all", "--json")
    assert known.code == 0, known.err
    assert f"{days(0)[0]} to {days(1)[0]}" in known.out
    sound = dplib("verify", str(shop.stream), "--ledger", f"sqlite:///{shop.folder}/ledger.db")
    assert sound.code == 0, sound.out + sound.err
    planned = shop.command("plan")
    assert "last 7 days" in planned.out, planned.err
    assert "rehearsal" in shop.command("rehearse").err
    place = version / "published" / "top-00000.parquet"
    place.write_bytes(place.read_bytes()[:-1] + b"x")
    assert dplib("verify", str(shop.stream)).code == 1
    shop.day(days(6)[0])
    closed = dplib("stream", "close", "--config", str(shop.config), "--why", "over")
    rows = read_table(closed.release / "estimates", ["status"]).column("status").to_pylist()
    assert set(rows) == {"final"}
    # The week has a number, though most of its days have none: it is said, and answered.
    page = (closed.release / "report.html").read_text()
    assert "all days whose sum is known" in page
    assert "3 histograms and 2 sums of them, of 4 days" in page
    assert "both included (4 of 7)" in page
    assert f"--from {days(6)[0]} --to {days(6)[0]}" in page
    assert f"stream up to {days(6)[0]}" in page
    week = dplib("query", str(shop.stream), "--from", days(0)[0], "--to", days(6)[0], "--group", "all")
    assert (week.code, week.out.split()[-1]) == (0, "-"), week.out + week.err


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("changes", [{}, {"histogram": SUMS, "measure": "auto"}])
def test_a_publication_is_tried_with_its_page(tmp_path: Path, changes: dict[str, object]) -> None:
    shop, pages = new_range_stream(tmp_path, **changes), []
    account = AccountState(Currency.ZCDP, Fraction(10), Fraction(0), Fraction(1))
    try_publication(shop.prepared(), lambda folder: pages.append((folder / "report.html").read_text()), account)
    assert "Preliminary and final numbers" in pages[0]
    assert "Expected error of recent days" in pages[0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"histogram__edges": [0, 1]}, "histogram.edges must be absent in a stream"),
        ({"histogram__days": {"first": "2026-01-01", "last": "2026-02-15"}}, "histogram.days.first must be absent"),
        ({"histogram__days": {"days_per_bin": 7}}, "histogram.days.days_per_bin must be 1 in a stream"),
        ({"tree": {"branching": 2}}, "tree must be absent"),
        ({"queries": ["prefix"]}, "queries must be of days"),
        ({"queries": [{"range": {"length": 7}}]}, "queries must be of days"),
        ({"publish__layout": "blocks"}, "publish.layout must be auto or driver in a stream"),
        ({"publish__output": {"tables": {"published": "t"}}}, "publish.output.tables must be absent"),
        (
            {"privacy__neighbors": "replace_one", "histogram__total_is_public": True},
            "histogram.total_is_public must be false in a stream",
        ),
        ({"stream__shares": [1, 1, 1]}, "stream.shares must have one share for each of the 2 levels"),
        ({"stream__shares": [1, 0]}, "stream.shares must be numbers of at least 0, the last one above 0"),
        ({"stream__levels": ["month", "week", "day"]}, "stream.levels must nest, and weeks do not nest in months"),
    ],
)
def test_wrong_settings_get_one_sentence(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    shop = new_range_stream(tmp_path)
    shop.set(**changes)
    outcome = shop.run("--date", "2026-01-26")
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert shop.spent() == 0


def test_recent_days_are_of_streams_and_quantiles_of_whole_releases(tmp_path: Path) -> None:
    shop = new_range_stream(tmp_path)
    version = shop.day(days(0)[0])
    with pytest.raises(ConfigError, match="be of a release of all its bins"):
        quantile(version, load_manifest(version), (), [0.5])
    del shop.settings["stream"]
    first, last = dt.date(2026, 1, 26), dt.date(2026, 2, 15)
    shop.set(queries=["last 7 days"], histogram__days={"first": str(first), "last": str(last)})
    assert "queries must be ranges of bins where there is no stream" in shop.run().err
