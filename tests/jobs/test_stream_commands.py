"""A stream by the command line and Spark: rows become the counts of the nodes that close on a day."""

from pathlib import Path

import numpy as np
import pytest

from dplib.release.tables import read_table
from tests.support.jobs import dplib
from tests.support.stream_shop import days, new_customers, new_stream

pytestmark = pytest.mark.spark


def test_days_run_in_one_call_count_the_rows_of_their_nodes(tmp_path: Path) -> None:
    shop = new_stream(tmp_path, privacy__budget={"rho": 8})  # noise of about a quarter: rounding shows the counts
    counts = np.random.default_rng(3).integers(0, 40, (21, 3))
    shop.rows(
        [
            (date, item, "1", "")
            for day, date in enumerate(days(*range(21)))
            for item, count in zip(shop.settings["domain"]["items"], counts[day].tolist(), strict=True)
            for _ in range(count)
        ]
    )
    ran = shop.run("--dates", f"{days(5)[0]}..{days(7)[0]}", "--yes")
    assert ran.release == shop.stream / "000003"
    assert sorted(path.name for path in (shop.stream / "measurement").iterdir()) == days(5, 6, 7)
    rows = read_table(shop.stream / "measurement" / days(6)[0]).to_pylist()
    tea = {(str(row["first_day"]), str(row["last_day"])): row["noisy"] for row in rows if row["item"] == "tea"}
    week, day = counts[:7, 2].sum(), counts[6, 2]
    assert tea.keys() == {(days(0)[0], days(6)[0]), (days(6)[0], days(6)[0])}
    assert abs(tea[days(0)[0], days(6)[0]] - week) <= 5
    assert abs(tea[days(6)[0], days(6)[0]] - day) <= 5
    again = shop.run("--date", days(6)[0], "--yes")
    assert again.release == ran.release
    late = shop.run("--date", days(0)[0], "--yes")
    assert late.release == shop.stream / "000004"
    # The stages of a schedule's run.
    measured = shop.run("--date", days(1)[0], "--yes", "--stage", "measure")
    published = shop.run("--date", days(1)[0], "--stage", "publish", "--release", measured.last)
    assert published.release == shop.stream / "000005"
    checked = dplib("verify", "--config", str(shop.config), "--date", days(0)[0])
    assert checked.code == 0, checked.out + checked.err
    planned = shop.command("plan")
    assert planned.code == 0, planned.err
    assert "last 7 days" in planned.out
    assert "rehearsal" in shop.command("rehearse").err


def test_customers_count_once_for_all_levels_and_days(tmp_path: Path) -> None:
    shop = new_customers(tmp_path, privacy__budget={"rho": 8}, privacy__max_rows_per_unit=2, privacy__max_quantity=1)
    # One customer with a row on each day, and many within the caps.
    lines = [(date, "tea", "1", "eve") for date in days(*range(7))]
    lines += [(date, "milk", "1", f"{date}-{n}") for date in days(*range(7)) for n in range(30)]
    ran = shop.rows(lines).run("--dates", f"{days(0)[0]}..{days(6)[0]}", "--yes")
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
