"""The job range-histograms from the command line: what it counts, publishes, answers, spends and refuses."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.load import check
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.publish import results_in_blocks, results_on_driver
from dplib.jobs.table import job_named
from dplib.release.tables import read_table
from dplib.spark.engine.blocks import SparkSession
from tests.support.every_job import RANGES, Ranges
from tests.support.jobs import DROP, content, dplib, new_place, require_refused

pytestmark = pytest.mark.usefixtures("spark")
JOB = "range-histograms"
SITES = ["north", "south"]
EXACT: dict[str, Any] = {"privacy__budget": {"epsilon": 30}, "tree": {"method": "dwork"}}
"""Noise that is 0 but for a chance of 1e-12 a bin: counts can be compared."""
SETTINGS: dict[str, Any] = RANGES | {"dataset": "visits"}
ROWS = [("3", "north", "a"), ("3.5", "north", "b"), ("20", "south", "c"), ("0", "south", "d"), ("19.99", "north", "e")]


class Visits(Ranges):
    """Rows are ages by site."""

    def counts(self, *words: str) -> np.ndarray:
        """Published counts, shape (n_groups, n_bins), by the groups' names."""
        table = read_table(self.run(*words).release / "published").to_pandas()
        return table.pivot(index="group", columns="bin", values="count").to_numpy()


def new_visits(folder: Path, budget: str = "1000", **changes: object) -> Visits:
    return new_place(Visits, folder, SETTINGS, budget, **changes).rows(ROWS)


@pytest.fixture
def visits(tmp_path: Path) -> Visits:
    return new_visits(tmp_path)


def test_a_run_publishes_and_comes_again_for_nothing(visits: Visits, pictures: None) -> None:
    release = visits.run().release
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["domain"]["groups"] == SITES
    assert manifest["cost"] == "1"
    assert manifest["details"]["method"] == "blue"
    assert (release / "report.html").is_file()
    before = content(visits.output)
    visits.rows([*ROWS, ("7", "north", "z")])
    assert visits.run().release == release
    assert content(visits.output) == before
    assert visits.spent() == 1
    assert visits.run("--again").release != release
    assert visits.run("--set", "histogram.outside=clamp").release != release
    assert visits.spent() == 3
    # Publish settings make other tables of the same measurement.
    csv_release = visits.run("--set", "histogram.outside=clamp", "--set", "publish.output.csv=true").release
    assert visits.spent() == 3
    assert (csv_release / "published" / "block-000000.csv").is_file()


def test_numbers_fall_into_half_open_bins_and_the_last_is_closed(tmp_path: Path) -> None:
    visits = new_visits(tmp_path, **EXACT)
    expected = np.zeros((2, 20), dtype=np.int64)
    expected[0, 3], expected[0, 19], expected[1, 19], expected[1, 0] = 2, 1, 1, 1
    assert np.array_equal(visits.counts(), expected)


BAD = [
    ("-0.001", "north", "p1"), ("20.5", "north", "p2"), ("inf", "south", "p3"), ("nan", "south", "p4"),
    ("SECRETVALUE", "south", "p5"), ("", "south", "p6"), ("5", "east SECRETVALUE", "p7"), ("5", "", "p8"),
    ("5", "north", ""), (" 6 ", " south ", "p9"), ("7",),
]  # fmt: skip


def test_bad_values_follow_the_rule_and_appear_nowhere(tmp_path: Path) -> None:
    visits = new_visits(tmp_path, **EXACT).rows(BAD)
    expected = np.zeros((2, 20), dtype=np.int64)
    expected[1, 6] = 1
    found = visits.run()
    table = read_table(found.release / "published").to_pandas()
    assert np.array_equal(table.pivot(index="group", columns="bin", values="count").to_numpy(), expected)
    clamped = visits.counts("--set", "histogram.outside=clamp")
    expected[0, 0], expected[0, 19], expected[1, 19] = 1, 1, 1
    assert np.array_equal(clamped, expected)
    assert "SECRETVALUE" not in found.out + found.err
    assert all(b"SECRETVALUE" not in path.read_bytes() for path in visits.output.rglob("*") if path.is_file())


def test_inspect_counts_what_each_rule_drops(visits: Visits) -> None:
    found = visits.rows([*BAD, *ROWS]).command("inspect")
    rows = {line[:28].strip(): line.split()[-2:] for line in found.out.splitlines()[2:]}
    assert rows["unit is given"] == ["14", "2"]
    assert rows["value can be read"] == ["11", "3"]
    assert rows["value is in a bin"] == ["8", "3"]
    assert rows["group is declared"] == ["6", "2"]


def test_a_unit_counts_with_at_most_its_cap(tmp_path: Path) -> None:
    visits = new_visits(tmp_path, **EXACT).rows([(str(age), "north", "one") for age in range(20)])
    assert visits.counts().sum() == 2


def test_days_and_categories(tmp_path: Path) -> None:
    days = {"days": {"first": "2024-01-01", "last": "2024-01-10", "days_per_bin": 3}, "groups": SITES}
    visits = new_visits(tmp_path, histogram=days, **EXACT).rows(
        [("2024-01-01", "north", "a"), ("2024-01-10", "north", "b"), ("2024-01-11", "north", "c"), ("x", "south", "d")]
    )
    assert visits.counts().tolist() == [[1, 0, 0, 1], [0, 0, 0, 0]]
    release = visits.run().release
    answer = json.loads(
        dplib("query", str(release), "--group", "north", "--from", "2024-01-04", "--to", "2024-01-10", "--json").out
    )[0]
    assert (answer["published"], answer["range"]) == (1, "2024-01-04 to 2024-01-10")
    refused = dplib("query", str(release), "--from", "2024-01-02")
    assert (refused.code, refused.err.split(" must")[0]) == (2, "dplib: --from")
    kinds = {"categories": ["mild", "severe"], "groups": SITES}
    visits.set(histogram=kinds).rows([("severe", "south", "a"), (" mild", "south", "b"), ("dead", "south", "c")])
    assert visits.counts().tolist() == [[0, 0], [1, 1]]


def test_one_histogram_without_groups(tmp_path: Path) -> None:
    visits = new_visits(tmp_path, **EXACT)
    visits.set(histogram__groups=DROP, input__columns__group=DROP)
    assert visits.counts().sum() == 5
    assert set(read_table(visits.run().release / "published").column("group").to_pylist()) == {"all"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"privacy__budget": {"rho": "0.5"}},
        {"tree": {"method": "lue_dptree"}},
        {"tree": {"method": "boost", "branching": 3}},
        {"tree": {"queries": {"ranges": [[0, 5], [5, 20]]}}},
        {"tree": {"method": "adaptive"}},
    ],
    ids=str,
)
def test_every_method_plans_publishes_verifies_and_answers(tmp_path: Path, changes: dict[str, Any]) -> None:
    budget = changes.get("privacy__budget", {"epsilon": 1})
    visits = new_visits(tmp_path, **changes)
    if "rho" in budget:
        visits.settings["dataset"] = "gaussian"
        visits.set()
        dplib("init", "--config", str(visits.config), "--budget", "9", "--yes")
    planned = json.loads(visits.command("plan", "--json").out)
    chosen = [each for each in planned["methods"] if each["chosen"]]
    adaptive = visits.settings.get("tree", {}).get("method") == "adaptive"
    assert len(chosen) == (0 if adaptive else 1)
    release = visits.run().release
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{visits.folder}/ledger.db").code == 0
    stored = read_table(release / "measurement").column_names
    assert stored == ["group", "node", "level", "lo", "hi", "noisy", "variance"]
    answers = json.loads(dplib("query", str(release), "--from", "2", "--to", "9", "--json").out)
    assert [each["group"] for each in answers] == SITES
    assert all((each["std_error"] is None) == adaptive for each in answers)
    leaves = read_table(release / "estimates").to_pandas()
    leaves = leaves[(leaves.hi - leaves.lo == 1) & (leaves.lo >= 2) & (leaves.hi <= 9)]
    sums = leaves.groupby("group", observed=True).estimate.sum()
    assert np.allclose([each["estimate"] for each in answers], [sums[name] for name in SITES])
    (summed,) = json.loads(dplib("query", str(release), "--from", "2", "--to", "9", "--sum", "--json").out)
    assert (summed["estimate"], summed["published"]) == pytest.approx(
        (sums.sum(), sum(a["published"] for a in answers))
    )
    errors = [each["std_error"] for each in answers]
    assert summed["std_error"] == (None if adaptive else pytest.approx(np.linalg.norm(errors)))
    twice = dplib("query", str(release), "--group", SITES[0], "--group", SITES[0], "--sum")
    assert (twice.code, twice.err.split(" must")[0]) == (2, "dplib: --group")
    assert dplib("query", str(release), "--where", "site=north").code == 2


def test_a_public_total_is_kept_exactly(tmp_path: Path) -> None:
    visits = new_visits(tmp_path, histogram__total_is_public=True, privacy__neighbors="replace_one")
    release = visits.run().release
    totals = read_table(release / "published").to_pandas().groupby("group", observed=True)["count"].sum()
    assert totals.to_dict() == {"north": 3, "south": 2}
    answers = json.loads(dplib("query", str(release), "--json").out)
    assert [each["std_error"] for each in answers] == [0, 0]
    assert [each["estimate"] for each in answers] == pytest.approx([3, 2])
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["invariants"]
    assert manifest["sensitivities"]["l1"] == 4
    assert "public" in (release / "report.html").read_text()
    assert dplib("verify", str(release)).code == 0


def test_layouts_give_the_same_bytes(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"site {number}" for number in range(7)]
    settings = {"histogram__groups": names, "privacy__max_rows_per_unit": 1}
    rows = [(str(number % 20), names[number % 7], f"p{number}") for number in range(300)]
    driver = new_visits(tmp_path / "driver", **settings).rows(rows)
    one = driver.run().release
    monkeypatch.setattr("dplib.jobs.range_histograms.design.BLOCK_CELLS", 60)
    blocks = new_visits(tmp_path / "blocks", **settings, publish__layout="blocks").rows(rows)
    many = blocks.run().release
    columns = ["group", "node", "noisy"]
    # Noise is keyed by the counts of whole blocks, so other blocks are another measurement: the true counts agree.
    assert len(list((many / "measurement").glob("*.parquet"))) > 2
    assert read_table(one / "measurement", columns).num_rows == read_table(many / "measurement", columns).num_rows
    config = check(RangeHistogramsConfig, blocks.settings)
    design = Design.resolve(config, blocks.folder)
    expected = dict(results_on_driver(design, many))
    for n_partitions in (1, 2, 7):
        found = dict(results_in_blocks(spark, design, many, n_partitions))
        assert sorted(found) == sorted(expected)
        for block, each in found.items():
            assert np.array_equal(each.estimates, expected[block].estimates)
            assert np.array_equal(each.counts, expected[block].counts)


def test_both_measurements_have_the_same_bytes(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = []
    for name, layout in (("driver", "driver"), ("blocks", "blocks")):
        monkeypatch.setattr("dplib.jobs.range_histograms.run.layout_of", lambda design, layout=layout: layout)
        visits = new_visits(tmp_path / name)
        release = visits.run().release
        stored.append({p.name: p.read_bytes() for p in (release / "measurement").rglob("*.parquet")})
    assert stored[0] == stored[1]


def test_tasks_get_no_password(visits: Visits) -> None:
    hidden = {"ledger": "postgresql://dp:pass-word-1@host/db", "secret": "command:print pass-word-2"}
    visits.set(**hidden, input__options={"header": "true", "fs.s3a.secret.key": "pass-word-3"})
    prepared = job_named(JOB).prepare(visits.config)
    assert b"pass-word" in pickle.dumps(prepared.config)
    assert b"pass-word" not in pickle.dumps(prepared.design)


def test_rehearse_meets_what_it_predicts(visits: Visits) -> None:
    found = visits.command("rehearse", "--rows", "200", "--seed", "3")
    assert found.code == 0, found.err
    lines = [line.split() for line in found.out.splitlines()[2:]]
    assert [line[0] for line in lines] == ["1", "2", "4", "8", "16", "20"]
    # Of short ranges there are many answers, of long ones few that share their noise.
    ratios = [float(line[3]) / float(line[2]) for line in lines[:2]]
    assert all(0.5 < ratio < 1.7 for ratio in ratios)
    assert visits.spent() == 0


def test_groups_of_a_table_add_up(tmp_path: Path) -> None:
    """From rows to answers: totals are measured, published and answered, and the release verifies."""
    groups = {"file": "sites.csv", "columns": ["site"], "attributes": ["region"]}
    histogram = {"histogram__groups": groups, "histogram__groupings": [["region"], []]}
    more = {"queries": ["bin", "total"], "tree": "auto", "privacy__budget": {"epsilon": 60}}
    visits = new_visits(tmp_path, **histogram, **more, measure={"shares": [1, 1, 1]})
    (tmp_path / "sites.csv").write_text("site,region\nnorth,hills\nsouth,hills\neast,coast\n", encoding="utf-8")
    release = visits.run().release
    table = read_table(release / "published").to_pandas().pivot(index="group", columns="bin", values="count")
    assert (table.loc["region=hills"] == table.loc["north"] + table.loc["south"]).all()
    assert (table.loc["grand total"] == table.loc["region=hills"] + table.loc["region=coast"]).all()
    assert table.loc["grand total"].sum() == pytest.approx(len(ROWS), abs=2)
    manifest = json.loads((release / "manifest.json").read_text())
    spent = ["range counts, groups", "range counts, by region", "range counts, grand total"]
    assert [each["statistic"] for each in manifest["mechanisms"]] == spent
    assert manifest["details"]["design"]["measure"] == {"shares": ["1/3", "1/3", "1/3"]}
    assert dplib("verify", str(release)).code == 0
    one = json.loads(dplib("query", str(release), "--where", "region=hills", "--json").out)[0]
    both = json.loads(dplib("query", str(release), "--group", "north", "--group", "south", "--sum", "--json").out)[0]
    assert one["estimate"] == pytest.approx(both["estimate"], abs=1e-6)
    assert one["std_error"] == pytest.approx(both["std_error"], rel=1e-9)
    assert "by region" in visits.command("rehearse", "--rows", "20").out
    assert "region=hills" in (release / "report.html").read_text(encoding="utf-8")


def test_a_wrong_schema_is_named_and_nothing_happens(visits: Visits) -> None:
    require_refused(visits.rows(ROWS, ("old", "site", "patient")), 3)
