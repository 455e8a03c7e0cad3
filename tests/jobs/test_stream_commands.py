"""A stream by the command line and Spark: rows become the counts of the nodes that close on a day."""

from pathlib import Path

import numpy as np
import pytest

from dplib.release.tables import read_table
from tests.support.jobs import dplib
from tests.support.range_stream import GROUPS, new_range_stream
from tests.support.rows_in_python import count_in_python
from tests.support.stream_shop import days, new_customers, new_stream

pytestmark = pytest.mark.usefixtures("spark")


def test_days_run_in_one_call_count_the_rows_of_their_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = new_stream(tmp_path, privacy__budget={"rho": 8})  # noise of about a quarter: rounding shows the counts
    shop.set(input__path="orders-{date}.csv")
    counts = np.random.default_rng(3).integers(0, 40, (21, 3))
    for day, date in enumerate(days(*range(21))):
        rows = [
            (date, item, "1", "")
            for item, count in zip(shop.settings["domain"]["items"], counts[day].tolist(), strict=True)
            for _ in range(count)
        ]
        (shop.rows(rows).folder / "orders.csv").rename(shop.folder / f"orders-{date}.csv")
    # A week has a day without its file.
    third = shop.folder / f"orders-{days(2)[0]}.csv"
    third.rename(shop.folder / "aside")
    lacking = shop.run("--date", days(6)[0], "--yes")
    assert lacking.code == 3
    assert lacking.err.endswith(f"dplib: input.path must name a file or folder that is there, got {third}\n")
    assert "reserve" not in shop.entries()
    (shop.folder / "aside").rename(third)
    ran = shop.run("--dates", f"{days(5)[0]}..{days(6)[0]}", "--yes")
    assert ran.release == shop.stream / "000002"
    assert sorted(path.name for path in (shop.stream / "measurement").iterdir()) == days(5, 6)
    rows = read_table(shop.stream / "measurement" / days(6)[0]).to_pylist()
    tea = {(str(row["first_day"]), str(row["last_day"])): row["noisy"] for row in rows if row["item"] == "tea"}
    week, day = counts[:7, 2].sum(), counts[6, 2]
    assert tea.keys() == {(days(0)[0], days(6)[0]), (days(6)[0], days(6)[0])}
    assert abs(tea[days(0)[0], days(6)[0]] - week) <= 5
    assert abs(tea[days(6)[0], days(6)[0]] - day) <= 5
    again = shop.run("--date", days(6)[0], "--yes")
    assert again.release == ran.release
    # A late day, by the stages of a schedule's run.
    measured = shop.run("--date", days(1)[0], "--yes", "--stage", "measure")
    published = shop.run("--date", days(1)[0], "--stage", "publish", "--release", measured.last)
    assert published.release == shop.stream / "000003"
    checked = dplib("verify", "--config", str(shop.config), "--date", days(1)[0])
    assert checked.code == 0, checked.out + checked.err
    planned = shop.command("plan")
    assert planned.code == 0, planned.err
    assert "last 7 days" in planned.out
    # A rehearsal is a run of a batch, which counts here in Python.
    count_in_python(monkeypatch)
    rehearsed = shop.command("rehearse", "--rows", "30")
    assert rehearsed.code == 0, rehearsed.err
    lines = [line.split() for line in rehearsed.out.splitlines() if line.startswith(("day", "last 7"))]
    assert len(lines) == 2
    for line in lines:
        n_answers, predicted, met, _ = map(float, line[-4:])
        assert n_answers == 48
        assert 0.5 < met / predicted < 2


def test_customers_count_once_for_all_levels_and_days(tmp_path: Path) -> None:
    shop = new_customers(tmp_path, privacy__budget={"rho": 8}, privacy__max_rows_per_unit=2, privacy__max_quantity=1)
    # One customer with a row on each day, and many within the caps; the days before the last two are never measured.
    lines = [(date, "tea", "1", "eve") for date in days(*range(7))]
    lines += [(date, "milk", "1", f"{date}-{n}") for date in days(*range(7)) for n in range(30)]
    ran = shop.rows(lines).run("--dates", f"{days(5)[0]}..{days(6)[0]}", "--yes")
    assert ran.code == 0, ran.err
    rows = read_table(ran.release / "estimates").to_pylist()
    week = {row["item"]: row["estimate"] for row in rows if row["first_day"] != row["last_day"]}
    milk = [row["estimate"] for row in rows if row["item"] == "milk" and row["first_day"] == row["last_day"]]
    assert abs(week["milk"] - 210) < 3
    assert np.abs(np.array(milk) - 30).max() < 4
    assert abs(week["tea"] - 2) < 3  # not 7
    planned = shop.command("plan")
    assert planned.code == 0, planned.err
    assert "chosen once" in " ".join(planned.out.split())
    shown = dplib("stream", "show", "--config", str(shop.config))
    assert "table of chosen rows kept" in shown.out, shown.err
    assert "eve" not in ran.out + ran.err + shown.out


def test_days_of_range_histograms_count_the_rows_of_their_groups(tmp_path: Path) -> None:
    totals = [{"totals": {"all": GROUPS}, "measured": True}]
    changes = {"histogram": {"groups": GROUPS, "totals": totals}, "privacy__budget": {"rho": 8}}
    shop = new_range_stream(tmp_path, stream__horizon=[days(5)[0], days(8)[0]], **changes)
    counts = np.random.default_rng(3).integers(0, 40, (3, 21))
    rows = [
        (date, group, "1", "")
        for day, date in enumerate(days(*range(21)))
        for group, count in zip([*GROUPS, "elsewhere"], [*counts[:, day].tolist(), 3], strict=True)
        for _ in range(count)
    ]
    shop.rows(rows)
    ran = shop.run("--date", days(6)[0], "--yes")
    assert ran.release == shop.stream / "000001"
    found = read_table(shop.stream / "measurement" / days(6)[0]).to_pylist()
    noisy = {(row["group"], str(row["lo"]), str(row["hi"])): row["noisy"] for row in found}
    for lo in (5, 6):
        ends = (days(lo)[0], days(6)[0])
        expected = counts[:, lo:7].sum(axis=1)
        for group, count in zip([*GROUPS, "all"], [*expected, expected.sum()], strict=True):
            assert abs(noisy[group, *ends] - count) <= 5
    assert len(noisy) == 8
    assert shop.run("--date", days(6)[0], "--yes").release == ran.release
    assert "Preliminary and final numbers" in (ran.release / "report.html").read_text(encoding="utf-8")


def test_rows_of_a_unit_are_chosen_for_all_days_of_range_histograms(tmp_path: Path) -> None:
    shop = new_range_stream(
        tmp_path,
        stream={"horizon": [days(0)[0], days(6)[0]], "levels": ["week", "day"]},
        privacy={"unit": "customer", "max_rows_per_unit": 1, "budget": {"rho": 10}},  # sigma^2 of 1/10
        input__columns={"value": "date", "group": "product", "unit": "order_id"},
    )
    shop.rows([(days(day)[0], GROUPS[0], "1", f"customer {n}") for day in (5, 6) for n in range(40)])
    assert shop.run("--date", days(6)[0], "--yes").code == 0
    rows = read_table(shop.stream / "measurement" / days(6)[0]).to_pylist()
    noisy = {row["node"]: row["noisy"] for row in rows if row["group"] == GROUPS[0]}
    # Not 80: one of the two rows of each, chosen on the first run: the other day will count the rest of them.
    assert noisy[0] == pytest.approx(40, abs=5)
    assert 5 < noisy[7] < 35
    assert "table of chosen rows kept" in dplib("stream", "show", "--config", str(shop.config)).out
