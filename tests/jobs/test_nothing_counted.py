"""All jobs that count say that nothing was counted, and how much was, where a share of the budget is for it."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.jobs.consistent_histograms.job import JOB as HISTOGRAMS
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.table import job_named
from dplib.privacy.input_quality import CLIPPED, KEPT, UNITS
from dplib.progress import SILENT
from dplib.release.tables import read_table
from dplib.spark.rows.bins import BIN_RULES
from dplib.spark.rows.inspection import DroppedValue, Inspection, RuleCount
from dplib.spark.rows.row_domain import RULES
from dplib.workflow.dry_publication import KEYS
from dplib.workflow.job import Resources
from dplib.workflow.quality import InputCounts, measured_with_quality
from tests.support.every_job import COUNTING, new_place_of
from tests.support.jobs import Shop, dplib
from tests.support.made_releases import made_release
from tests.support.rows_in_python import inspect_in_python

CHANGES: dict[str, dict[str, Any]] = {
    job: {"graph__vertices": {"count": 42}} for job in ("network-statistics", "minimum-cuts")
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


def shown_everywhere(release: Path) -> tuple[dict[str, Any], str, str]:
    """The manifest, the page and all that a question prints, of a release that verifies."""
    asked = dplib("query", str(release))
    assert dplib("verify", str(release)).code == 0
    page = (release / "report.html").read_text()
    return json.loads((release / "manifest.json").read_text()), page, asked.out + asked.err


def counters_of(release: Path) -> dict[str, int]:
    """The stored noisy counters, after checking that the manifest has the same."""
    stored = read_table(release / "measurement" / "quality", ["place", "counter", "noisy"]).to_pylist()
    manifest = json.loads((release / "manifest.json").read_text())
    counters = {row["counter"]: row["noisy"] for row in stored}
    assert {row["counter"]: row["noisy"] for row in manifest["details"]["quality"]["counters"]} == counters
    return counters


def test_nothing_counted_is_said_loudly_everywhere(tmp_path: Path, rows_in_python: None) -> None:
    """By a run; what else tells of a release is below."""
    place = new_place_of(HISTOGRAMS.name, tmp_path).rows([])
    found = place.run()
    assert "warning: NOTHING MAY HAVE BEEN COUNTED" in found.err
    manifest, page, said = shown_everywhere(found.release)
    assert manifest["details"]["faint_totals"]["everything"]
    assert "Nothing may have been counted" in page
    assert "NOTHING MAY HAVE BEEN COUNTED" in said


def test_an_inspection_ends_with_the_rule_that_drops_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How it finds them is tested in `tests.spark`; here it is given what it finds."""
    unread = Inspection([RuleCount("value can be read", 0, 20)], {"value can be read": [DroppedValue("five", 20)]})
    monkeypatch.setattr("dplib.jobs.range_histograms.run.open_values", lambda *_: None)
    inspect_in_python(monkeypatch, "dplib.jobs.range_histograms.run", "inspect_values", lambda *_: unread)
    inspected = new_place_of("range-histograms", tmp_path).command("inspect")
    assert inspected.code == 3
    assert "Most often dropped by `value can be read` (rows): five (20)" in inspected.out
    assert "`value can be read`, got none" in inspected.err


@pytest.mark.parametrize("job", COUNTING)
def test_a_release_of_every_job_says_both(job: str, tmp_path: Path) -> None:
    """Of totals that are all 0, and of counters far above their noise."""
    place = new_place_of(job, tmp_path, privacy__quality_share="0.5", privacy__budget={"epsilon": 40})
    release = made_release(place)
    manifest, page, said = shown_everywhere(release)
    assert manifest["details"]["faint_totals"]["everything"]
    assert "Nothing may have been counted" in page
    assert "NOTHING MAY HAVE BEEN COUNTED" in said
    names = [each["statistic"] for each in manifest["mechanisms"] if each.get("statistic", "").startswith("input")]
    assert names[0] == "input quality: rows by rule"
    counters = counters_of(release)
    rows = {name: n for name, n in counters.items() if name != UNITS}
    part = 100 * (rows[KEPT] + rows[CLIPPED]) / sum(rows.values())
    for text in (page, said):
        assert f"About {part:.1f} % (+-" in text


@pytest.mark.parametrize("job", [job for job in COUNTING if job != "range-histograms"])
def test_every_job_judges_its_rows_by_rule(job: str, tmp_path: Path, spark: object) -> None:
    """What counts such rows is shared: a run that tells of its ranges is below."""
    place = made(tmp_path, job, bad=6, good=24, privacy__quality_share="0.5")
    prepared = job_named(job).prepare(place.config)
    stages = prepared.job.stages()
    with closing(Resources(prepared, SILENT)) as resources:
        judged = stages.judge(resources, stages.open_input(resources))
    assert judged.rules == prepared.job.publishing().trial.rules
    ends = Counter(
        (row.failed is None, bool(row.clipped)) for row in judged.frame.select("failed", "clipped").collect()
    )
    assert ends == {(True, False): 24, (False, False): 6}
    assert judged.max_rows == getattr(prepared.config.privacy, "max_rows_per_unit", None)


def test_what_was_counted_is_told_for_a_share(tmp_path: Path, spark: object) -> None:
    good = 240
    share = {"privacy__quality_share": "0.5", "privacy__budget": {"epsilon": 40}}
    place = made(tmp_path, "range-histograms", bad=60, good=good, **share)
    planned = place.command("plan")
    assert "0.5 of the budget tells how many of the rows were counted" in planned.out
    found = place.run("--yes")
    assert "About 80.0 % (+-" in found.out
    assert "NOTHING" not in found.err
    assert place.spent() == 40
    counters = counters_of(found.release)
    # Noise that is 0 but for a chance of 1e-6.
    assert (counters[KEPT], counters["value can be read"], sum(counters.values())) == (good, 60, good + 60)
    assert counters.keys() == {*BIN_RULES, KEPT, CLIPPED, UNITS}
    _, page, said = shown_everywhere(found.release)
    assert "About 80.0 % (+-" in page
    assert "About 80.0 % (+-" in said


def test_noise_of_the_counters_and_of_the_counts_hang_on_both(tmp_path: Path) -> None:
    """A row that only another rule drops, or that only the counts know, changes every noise; equal rows repeat it."""
    design = HISTOGRAMS.prepare(new_place_of(HISTOGRAMS.name, tmp_path, privacy__quality_share="0.1").config).design

    def drawn(name: str, counted: int, dropped: int) -> tuple[IntArray, IntArray]:
        """Noise of the counts, of which one is ``counted``, and of the counters; all others are 0."""
        folder = tmp_path / name
        counts = np.zeros((14, 3), dtype=np.int64)
        rules = np.zeros(len(RULES) + 2, dtype=np.int64)
        counts[-1, 0], rules[0] = counted, dropped
        measured_with_quality(
            design.config,
            lambda _: InputCounts(RULES, [rules, np.zeros(1, dtype=np.int64)]),
            lambda own: measure_on_driver(design, counts, own, folder),
            KEYS,
            folder,
        )
        table = read_table(folder / "measurement", ["item", "first_day", "last_day", "noisy"]).to_pandas()
        first = table[(table.first_day == table.last_day) & (table.first_day != table.last_day.max())]
        quality = read_table(folder / "measurement" / "quality", ["place", "noisy"]).column("noisy").to_numpy()
        return first.noisy.to_numpy(), quality[1:]

    one, again = drawn("a", 3, 5), drawn("b", 3, 5)
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    for other in (drawn("c", 3, 6), drawn("d", 4, 5)):
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
