"""All jobs that count say that nothing was counted, and how much was, where a share of the budget is for it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.release.tables import read_table
from tests.support.every_job import COUNTING, new_place_of
from tests.support.jobs import Shop, dplib

pytestmark = pytest.mark.usefixtures("spark")
EDGES = {"vertices": {"count": 42}}
CHANGES: dict[str, dict[str, Any]] = {
    "network-statistics": {
        "graph": EDGES | {"statistics": {"edge_count": 1, "degree_histogram": 2, "sorted_degrees": 1}}
    },
    "minimum-cuts": {"graph": EDGES | {"weights": {"largest": 9}}, "cuts__releases": {"synthetic_graph": {}}},
}
"""What makes a job's small place large enough for these rows."""
ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "consistent-histograms": (("01/02/2024", "bread", "1", "bad{i}"), ("2024-01-02", "bread", "1", "{i}")),
    "range-histograms": (("five", "north", "bad{i}"), ("5", "north", "{i}")),
    "kmeans": (("a", "b", "bad{i}"), ("5", "5", "{i}")),
    "network-statistics": (("p{i}", "q{i}"), ("{j}", "{k}")),
    "minimum-cuts": (("p{i}", "q{i}", "1"), ("{j}", "{k}", "1")),
}
"""A row that no rule keeps, and one that counts."""


def made(folder: Path, job: str, bad: int, good: int, **changes: object) -> Shop:
    rows = [
        [cell.format(i=place, j=place % 8, k=8 + place // 8 % 32) for cell in kind]
        for kind, number in zip(ROWS[job], (bad, good), strict=True)
        for place in range(number)
    ]
    return new_place_of(job, folder, **CHANGES.get(job, {}), **changes).rows(rows)


@pytest.mark.parametrize("job", COUNTING)
def test_nothing_counted_is_said_loudly_everywhere(job: str, tmp_path: Path) -> None:
    place = made(tmp_path, job, bad=200, good=0)
    found = place.run()
    assert "warning: NOTHING MAY HAVE BEEN COUNTED" in found.err
    manifest = json.loads((found.release / "manifest.json").read_text())
    assert manifest["details"]["faint_totals"]["everything"]
    assert "Nothing may have been counted" in (found.release / "report.html").read_text()
    assert "NOTHING MAY HAVE BEEN COUNTED" in dplib("query", str(found.release)).err
    assert dplib("verify", str(found.release)).code == 0
    inspected = place.command("inspect")
    assert inspected.code == 3
    assert "Most often dropped by" in inspected.out
    assert "got none" in inspected.err


@pytest.mark.parametrize("job", COUNTING)
def test_what_was_counted_is_told_for_a_share(job: str, tmp_path: Path) -> None:
    good = 240
    share = {"privacy__quality_share": "0.5", "privacy__budget": {"epsilon": 40}}
    place = made(tmp_path, job, bad=60, good=good, **share)
    planned = place.command("plan")
    assert "0.5 of the budget tells how many of the rows were counted" in planned.out
    found = place.run("--yes")
    assert "About 80.0 % (+-" in found.out
    assert "NOTHING" not in found.err
    assert place.spent() == 40
    stored = read_table(found.release / "measurement" / "quality", ["place", "counter", "noisy"]).to_pylist()
    counters = {row["counter"]: row["noisy"] for row in stored}
    # Noise that is 0 but for a chance of 1e-6.
    assert (counters["kept"], sum(counters.values())) == (good, good + 60)
    manifest = json.loads((found.release / "manifest.json").read_text())
    assert {row["counter"]: row["noisy"] for row in manifest["details"]["quality"]["counters"]} == counters
    names = [each["statistic"] for each in manifest["mechanisms"] if each.get("statistic", "").startswith("input")]
    assert names[0] == "input quality: rows by rule"
    assert "About 80.0 % (+-" in (found.release / "report.html").read_text()
    assert "About 80.0 % (+-" in dplib("query", str(found.release)).out
    assert dplib("verify", str(found.release)).code == 0


def test_noise_of_the_counters_and_of_the_counts_hang_on_both(tmp_path: Path) -> None:
    """A row that only another rule drops changes every noise; equal rows repeat it."""

    def drawn(folder: Path, *more: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        place = made(folder, "consistent-histograms", 3, 3, privacy__quality_share="0.1")
        rows = [("2024-01-02", "bread", "1", str(i)) for i in range(3)]
        release = place.rows([*rows, *more]).run().release
        counts = read_table(release / "measurement", ["item", "node", "noisy"]).column("noisy").to_numpy()
        return counts, read_table(release / "measurement" / "quality", ["place", "noisy"]).column("noisy").to_numpy()

    one, again = drawn(tmp_path / "a"), drawn(tmp_path / "b")
    other = drawn(tmp_path / "c", ("2024-01-02", "cake", "1", "x"))
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert all((a != b).mean() > 0.3 for a, b in zip(one, other, strict=True))


def test_a_vertex_has_no_bound_on_its_rows(tmp_path: Path) -> None:
    place = made(tmp_path, "network-statistics", 1, 1).set(
        privacy__neighbors="vertex",
        privacy__quality_share="0.1",
        graph__degree_bound={"bounding": "projected", "largest": 3},
    )
    found = place.command("plan")
    assert found.code == 2
    assert "privacy.quality_share must be absent where the neighbours are vertex" in found.err
