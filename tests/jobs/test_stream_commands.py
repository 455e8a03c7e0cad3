"""A stream by the command line and Spark: rows become the counts of the nodes that close on a day."""

from pathlib import Path

import numpy as np
import pytest

from dplib.release.tables import read_table
from tests.support.jobs import dplib
from tests.support.stream_shop import days, new_stream

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
