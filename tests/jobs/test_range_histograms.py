"""The job range-histograms from the command line: what it counts, publishes, answers, spends and refuses."""

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from dplib.config.load import check
from dplib.config.value_input import HistogramInput
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.measure import measure_on_driver
from dplib.jobs.range_histograms.tables import write_strategy
from dplib.jobs.table import job_named
from dplib.release.tables import read_table
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.bins import bin_rows, open_values
from dplib.spark.rows.counts import count_cells
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from tests.support.every_job import RANGES, Ranges
from tests.support.interpreted import planning_once
from tests.support.jobs import DROP, content, dplib, new_place, require_refused
from tests.support.made_releases import made_release
from tests.support.rows_in_python import count_in_python

JOB = "range-histograms"
SITES = ["north", "south"]
EXACT: dict[str, Any] = {"privacy__budget": {"epsilon": 30}, "tree": {"method": "dwork"}}
"""Noise that is 0 but for a chance of 1e-12 a bin: counts can be compared."""
SETTINGS: dict[str, Any] = RANGES | {"dataset": "visits"}
ROWS = [("3", "north", "a"), ("3.5", "north", "b"), ("20", "south", "c"), ("0", "south", "d"), ("19.99", "north", "e")]


class Visits(Ranges):
    """Rows are ages by site."""


def published(release: Path) -> np.ndarray:
    """Published counts, shape (n_groups, n_bins), by the groups' names."""
    table = read_table(release / "published").to_pandas()
    return table.pivot(index="group", columns="bin", values="count").to_numpy()


def new_visits(folder: Path, budget: str = "1000", **changes: object) -> Visits:
    return new_place(Visits, folder, SETTINGS, budget, **changes).rows(ROWS)


@pytest.fixture
def visits(tmp_path: Path) -> Visits:
    return new_visits(tmp_path)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> tuple[Visits, Path]:
    """A place and the release of its first run."""
    visits = new_visits(tmp_path_factory.mktemp("released"))
    return visits, visits.run().release


COUNTS = np.arange(40).reshape(2, 20) * 7 % 11


def measure_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on runs measure `COUNTS`: for what is done with counts, whatever rows they are of."""
    count_in_python(monkeypatch)
    run = "dplib.jobs.range_histograms.run"
    for name in ("open_values", "bin_rows", "bound_rows"):
        monkeypatch.setattr(f"{run}.{name}", lambda *_: None)
    monkeypatch.setattr(f"{run}.count_cells", lambda _, *shape: np.resize(COUNTS, shape))


def test_a_run_publishes_and_comes_again_for_nothing(released: tuple[Visits, Path]) -> None:
    visits, release = released
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["domain"]["groups"] == SITES
    assert manifest["cost"] == "1"
    assert manifest["details"]["method"] == "blue"
    assert (release / "report.html").is_file()
    before = content(visits.output)
    visits.rows([*ROWS, ("7", "north", "z")])
    assert visits.run().release == release
    assert content(visits.output) == before
    # Publish settings make other tables of the same measurement.
    assert visits.run("--set", "publish.output.csv=true").release == release
    assert (release / "published" / "block-000000.csv").is_file()
    assert visits.spent() == 1


BAD = [
    ("-0.001", "north", "p1"), ("20.5", "north", "p2"), ("inf", "south", "p3"), ("nan", "south", "p4"),
    ("SECRETVALUE", "south", "p5"), ("", "south", "p6"), ("5", "east SECRETVALUE", "p7"), ("5", "", "p8"),
    ("5", "north", ""), (" 6 ", " south ", "p9"), ("7",),
]  # fmt: skip


@pytest.mark.usefixtures("spark")
def test_rows_count_in_half_open_bins_within_their_cap_and_bad_ones_by_the_rule(tmp_path: Path) -> None:
    often = [(str(age), "north", "one") for age in range(5, 19)]
    visits = new_visits(tmp_path, **EXACT, histogram__outside="clamp").rows([*BAD, *ROWS, *often])
    found, expected = visits.run(), np.zeros((2, 20), dtype=np.int64)
    # One lies below, one above, one at infinity.
    expected[0, 3], expected[0, 19], expected[1, 19], expected[1, 0], expected[1, 6], expected[0, 0] = 2, 2, 2, 1, 1, 1
    others = published(found.release) - expected
    assert (others.min(), others.sum(), others[0, 5:19].sum()) == (0, 2, 2)  # of one unit, at most its cap
    assert visits.spent() == 30
    assert "SECRETVALUE" not in found.out + found.err
    assert all(b"SECRETVALUE" not in path.read_bytes() for path in visits.output.rglob("*") if path.is_file())


@pytest.mark.usefixtures("spark")
def test_inspect_counts_what_each_rule_drops(visits: Visits) -> None:
    found = visits.rows([*BAD, *ROWS]).command("inspect")
    rows = {line[:28].strip(): line.split()[-2:] for line in found.out.splitlines()[2:]}
    assert rows["unit is given"] == ["14", "2"]
    assert rows["value can be read"] == ["11", "3"]
    assert rows["value is in a bin"] == ["8", "3"]  # the last bin is closed
    assert rows["group is declared"] == ["6", "2"]


def counted(spark: SparkSession, visits: Visits) -> list[list[int]]:
    """What a run counts without caps, by group and bin."""
    prepared = job_named(JOB).prepare(visits.config)
    source, bins = prepared.source(HistogramInput), cast(Design, prepared.design).bins
    rows = bin_rows(open_values(spark, source, bins.row_domain, prepared.base), source, bins.row_domain)
    found: list[list[int]] = count_cells(rows, len(bins.groups), bins.n_bins).tolist()
    return found


def test_days_and_categories(tmp_path: Path, spark: SparkSession) -> None:
    days = {"days": {"first": "2024-01-01", "last": "2024-01-10", "days_per_bin": 3}, "groups": SITES}
    visits = new_visits(tmp_path, histogram=days).rows(
        [("2024-01-01", "north", "a"), ("2024-01-10", "north", "b"), ("2024-01-11", "north", "c"), ("x", "south", "d")]
    )
    assert counted(spark, visits) == [[1, 0, 0, 1], [0, 0, 0, 0]]
    # Without groups there is one histogram, of all.
    visits.set(histogram={"categories": ["mild", "severe"]}, input__columns__group=DROP)
    visits.rows([("severe", "south", "a"), (" mild", "", "b"), ("dead", "south", "c")])
    assert counted(spark, visits) == [[1, 1]]
    assert cast(Design, job_named(JOB).prepare(visits.config).design).bins.groups == ("all",)


def test_questions_of_days(tmp_path: Path) -> None:
    days = {"days": {"first": "2024-01-01", "last": "2024-01-10", "days_per_bin": 3}, "groups": SITES}
    release = made_release(new_visits(tmp_path, histogram=days, **EXACT), measure_counts_of)
    asked = ("--group", "north", "--from", "2024-01-04", "--to", "2024-01-10", "--json")
    (answer,) = json.loads(dplib("query", str(release), *asked).out)
    own = np.resize(COUNTS, (2, 4))[0, 1:].sum()
    assert (answer["published"], answer["range"]) == (own, "2024-01-04 to 2024-01-10")
    refused = dplib("query", str(release), "--from", "2024-01-02")
    assert (refused.code, refused.err.split(" must")[0]) == (2, "dplib: --from")


def measure_counts_of(design: Design, keys: RunKeys, folder: Path) -> MeasurementKeys:
    """What a run stores of `COUNTS`."""
    write_strategy(folder, design)
    return measure_on_driver(design, np.resize(COUNTS, (len(design.bins.groups), design.bins.n_bins)), keys, folder)


METHODS: list[dict[str, Any]] = [
    {"privacy__budget": {"rho": "0.5"}},
    {"tree": {"method": "lue_dptree"}},
    {"tree": {"method": "boost", "branching": 3}},
    {"tree": {"queries": {"ranges": [[0, 5], [5, 20]]}}},
    {"tree": {"method": "adaptive"}},
]


@pytest.mark.parametrize("changes", METHODS, ids=str)
def test_every_method_plans_publishes_verifies_and_answers(tmp_path: Path, changes: dict[str, Any]) -> None:
    visits = new_visits(tmp_path, **changes)
    require_planned_and_answered(visits, made_release(visits, measure_counts_of))


def test_a_run_is_planned_verified_with_its_ledger_and_answers(released: tuple[Visits, Path]) -> None:
    visits, release = released
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{visits.folder}/ledger.db").code == 0
    require_planned_and_answered(visits, release)


def require_planned_and_answered(visits: Visits, release: Path) -> None:
    planned = json.loads(visits.command("plan", "--json").out)
    chosen = [each for each in planned["methods"] if each["chosen"]]
    adaptive = visits.settings.get("tree", {}).get("method") == "adaptive"
    assert len(chosen) == (0 if adaptive else 1)
    assert dplib("verify", str(release)).code == 0
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


def test_questions_that_a_release_does_not_answer(released: tuple[Visits, Path]) -> None:
    release = str(released[1])
    twice = dplib("query", release, "--group", SITES[0], "--group", SITES[0], "--sum")
    assert (twice.code, twice.err.split(" must")[0]) == (2, "dplib: --group")
    assert dplib("query", release, "--where", "site=north").code == 2


def test_a_public_total_is_kept_exactly(tmp_path: Path) -> None:
    visits = new_visits(tmp_path, histogram__total_is_public=True, privacy__neighbors="replace_one")
    release = made_release(visits, measure_counts_of)
    totals = read_table(release / "published").to_pandas().groupby("group", observed=True)["count"].sum()
    sums = COUNTS.sum(axis=1).tolist()
    assert totals.to_dict() == dict(zip(SITES, sums, strict=True))
    answers = json.loads(dplib("query", str(release), "--json").out)
    assert [each["std_error"] for each in answers] == [0, 0]
    assert [each["estimate"] for each in answers] == pytest.approx(sums)
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["invariants"]
    assert manifest["sensitivities"]["l1"] == 4
    assert "public" in (release / "report.html").read_text()
    assert dplib("verify", str(release)).code == 0


def test_layouts_give_the_same_bytes(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are counted, drawn and estimated in several tasks, or all of them in this process."""
    names = [f"site {number}" for number in range(7)]
    rows = [(str(number % 20), names[number % 7], f"p{number}") for number in range(300)]
    monkeypatch.setattr("dplib.jobs.range_histograms.design.BLOCK_CELLS", 60)
    settings = {"histogram__groups": names, "privacy__max_rows_per_unit": 1, "publish__layout": "blocks"}
    visits = new_visits(tmp_path, **settings).rows(rows)
    with planning_once(spark, n_tasks=2):
        many = visits.run().release
    counts = np.zeros((7, 20), dtype=np.int64)
    np.add.at(counts, (np.arange(300) % 7, np.arange(300) % 20), 1)

    def measure(design: Design, keys: RunKeys, folder: Path) -> MeasurementKeys:
        write_strategy(folder, design)
        return measure_on_driver(design, counts, keys, folder)

    # The place has two accounts.
    one = made_release(visits.set(publish__layout="driver"), measure, entry=3)
    for table in ("measurement", "estimates", "published"):
        stored = [{path.name: path.read_bytes() for path in (each / table).glob("*.parquet")} for each in (many, one)]
        assert stored[0] == stored[1]
        assert len(stored[0]) > 2
    measured = Counter(read_table(many / "measurement", ["group"]).column("group").to_pylist())
    design = Design.resolve(check(RangeHistogramsConfig, visits.settings), visits.folder)
    assert measured == dict.fromkeys(names, np.count_nonzero(design.strategy.shares))


def test_tasks_get_no_password(visits: Visits) -> None:
    hidden = {"ledger": "postgresql://dp:pass-word-1@host/db", "secret": "command:print pass-word-2"}
    visits.set(**hidden, input__options={"header": "true", "fs.s3a.secret.key": "pass-word-3"})
    prepared = job_named(JOB).prepare(visits.config)
    assert b"pass-word" in pickle.dumps(prepared.config)
    assert b"pass-word" not in pickle.dumps(prepared.design)


def count_generated(path: Path, n_groups: int, n_bins: int) -> np.ndarray:
    """Counts of a rehearsal's rows, whose values lie inside bins of width 1."""
    rows, counts = pd.read_csv(path), np.zeros((n_groups, n_bins), dtype=np.int64)
    np.add.at(counts, (rows.group.map(SITES.index).to_numpy(), rows.value.astype(int).to_numpy()), 1)
    return counts


def test_rehearse_meets_what_it_predicts(visits: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal is a run, whose rows are counted without Spark here."""
    measure_counts(monkeypatch)
    run = "dplib.jobs.range_histograms.run"
    monkeypatch.setattr(f"{run}.open_values", lambda _, source, __, base: base / source.path)
    for name in ("bin_rows", "bound_rows"):
        monkeypatch.setattr(f"{run}.{name}", lambda rows, *_: rows)
    monkeypatch.setattr(f"{run}.count_cells", count_generated)
    found = visits.command("rehearse", "--rows", "200", "--seed", "3")
    assert found.code == 0, found.err
    lines = [line.split() for line in found.out.splitlines()[2:]]
    assert [line[0] for line in lines] == ["1", "2", "4", "8", "16", "20"]
    # Of short ranges there are many answers, of long ones few that share their noise.
    ratios = [float(line[3]) / float(line[2]) for line in lines[:2]]
    assert all(0.5 < ratio < 1.7 for ratio in ratios)
    assert visits.spent() == 0


def test_groups_of_a_table_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From counts to answers: totals are measured, published and answered, and the release verifies."""
    groups = {"file": "sites.csv", "columns": ["site"], "attributes": ["region"]}
    histogram = {"histogram__groups": groups, "histogram__groupings": [["region"], []]}
    more = {"queries": ["bin", "total"], "tree": "auto", "privacy__budget": {"epsilon": 60}}
    visits = new_visits(tmp_path, **histogram, **more, measure={"shares": [1, 1, 1]})
    visits.set(histogram__edges__width=5)
    (tmp_path / "sites.csv").write_text("site,region\nnorth,hills\nsouth,hills\neast,coast\n", encoding="utf-8")
    measure_counts(monkeypatch)
    release = visits.run().release
    table = read_table(release / "published").to_pandas().pivot(index="group", columns="bin", values="count")
    assert (table.loc["region=hills"] == table.loc["north"] + table.loc["south"]).all()
    assert (table.loc["grand total"] == table.loc["region=hills"] + table.loc["region=coast"]).all()
    assert table.loc["grand total"].sum() == pytest.approx(np.resize(COUNTS, (3, 4)).sum(), abs=2)
    manifest = json.loads((release / "manifest.json").read_text())
    spent = ["range counts, groups", "range counts, by region", "range counts, grand total"]
    assert [each["statistic"] for each in manifest["mechanisms"]] == spent
    assert manifest["details"]["design"]["measure"] == {"shares": ["1/3", "1/3", "1/3"]}
    assert dplib("verify", str(release)).code == 0
    one = json.loads(dplib("query", str(release), "--where", "region=hills", "--json").out)[0]
    both = json.loads(dplib("query", str(release), "--group", "north", "--group", "south", "--sum", "--json").out)[0]
    assert one["estimate"] == pytest.approx(both["estimate"], abs=1e-6)
    assert one["std_error"] == pytest.approx(both["std_error"], rel=1e-9)
    assert "region=hills" in (release / "report.html").read_text(encoding="utf-8")
    assert "by region" in visits.command("rehearse", "--rows", "20").out


@pytest.mark.usefixtures("spark")
def test_a_wrong_schema_is_named_and_nothing_happens(visits: Visits) -> None:
    require_refused(visits.rows(ROWS, ("old", "site", "patient")), 3)
