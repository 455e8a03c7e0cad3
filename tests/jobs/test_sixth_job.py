"""A job that is one package and one line in the table of jobs gets every command, the books and recovery."""

import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.value_input import BinDomain, HistogramInput
from dplib.jobs.table import JOBS
from dplib.ledger.ledger import Ledger
from dplib.spark.rows.inspection import Inspection, RuleCount
from tests.support.every_job import ONE_RUN, OWN_SPARK, entries_of
from tests.support.jobs import ROOT, Shop, content, dplib, new_place, require_refused, visible
from tests.support.rows_by_day.config import NAME
from tests.support.rows_by_day.run import read_days
from tests.support.rows_in_python import count_in_python, inspect_in_python

pytestmark = pytest.mark.pictures
SETTINGS: dict[str, Any] = {
    "config_version": 1,
    "job": NAME,
    "dataset": "visits",
    "input": {"path": "orders.csv", "options": {"header": "true"}, "columns": {"value": "date", "unit": "visitor"}},
    "privacy": {"unit": "visitor", "max_rows_per_unit": 2, "budget": {"epsilon": 1}},
    "days": {"first": "2026-01-01", "last": "2026-01-14"},
    "spark": OWN_SPARK,
    "publish": {"output": {"path": "releases"}},
    "ledger": "sqlite:///ledger.db",
    "secret": "file:shop.key",
}
ROWS = [(f"2026-01-{day:02d}", f"v{day}-{visitor}") for day in range(1, 15) for visitor in range(10 * day)]
MODULE = "tests.support.rows_by_day"
PROGRAM = f"""
from dplib.cli.main import submit
from {MODULE}.__main__ import register
register()
submit("{NAME}")
"""


class Visits(Shop):
    """Visits of people on days."""

    job, header = NAME, ("date", "visitor")


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line in the table of jobs."""
    monkeypatch.setitem(JOBS, NAME, f"{MODULE}.job")


@pytest.fixture
def visits(tmp_path: Path) -> Visits:
    return new_place(Visits, tmp_path, SETTINGS, "10").rows(ROWS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Visits:
    """A place with its release, made by the job's own program as spark-submit or Airflow starts it, in this process.

    A job's file in a process of its own is run in `tests.spark.test_session`.
    """
    place = new_place(Visits, tmp_path_factory.mktemp("made"), SETTINGS, "10").rows(ROWS)
    program = place.folder / "rows_by_day.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(JOBS, NAME, "")  # the program has a line of its own for it
        patch.setattr(sys, "argv", [str(program), "--config", str(place.config)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(program), run_name="__main__")
    assert ended.value.code == 0
    return place


def release_of(place: Visits) -> Path:
    (name,) = visible(place.output)
    return place.output / name


def test_it_is_smaller_than_400_lines() -> None:
    files = list((ROOT / "tests" / "support" / "rows_by_day").glob("*.py"))
    assert sum(path.read_text(encoding="utf-8").count("\n") for path in files) < 400


def test_init_and_plan(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text(dplib("example", NAME).out, encoding="utf-8")
    config = str(tmp_path / "my.yaml")
    assert dplib("init", "--config", config, "--budget", "10", "--yes").code == 0
    text, found = dplib("plan", NAME, "--config", config), dplib("plan", NAME, "--config", config, "--json")
    assert (text.code, found.code) == (0, 0), text.err
    plan = json.loads(found.out)
    assert (plan["job"], plan["n_days"], plan["ledger"]["cost"]) == (NAME, 14, "1")
    assert plan["std_error"] == pytest.approx(2 * np.sqrt(2), rel=0.1)
    assert f"14 days, each +- {plan['std_error']:.2f}" in text.out


def test_settings_are_refused_in_one_sentence_and_nothing_is_spent(visits: Visits) -> None:
    outcome = require_refused(visits.set(privacy__budget={"rho": 1}), 2)
    assert outcome.err.startswith("dplib: privacy.budget must be epsilon alone")
    assert entries_of(visits) == []


def test_a_run_by_the_program_is_the_run_of_the_command_and_is_paid_once(made: Visits) -> None:
    before = content(made.output)
    again = made.run()
    assert (again.code, again.last) == (0, str(release_of(made))), again.err
    assert content(made.output) == before
    assert made.run("--again", "--stage", "publish").code == 2
    assert entries_of(made) == ONE_RUN
    assert made.spent() == 1
    true = np.arange(10, 141, 10)
    assert np.abs(read_days(release_of(made), "estimates", "estimate") - true).max() < 60


def test_query_verify_and_report(made: Visits) -> None:
    release = str(release_of(made))
    asked = dplib("query", release, "--from", "2026-01-03", "--to", "2026-01-04", "--json")
    assert [each["day"] for each in json.loads(asked.out)] == ["2026-01-03", "2026-01-04"]
    assert "2026-01-14" in dplib("query", release).out
    assert dplib("query", release, "--from", "2027-01-01").code == 2
    checked = dplib("verify", release, "--ledger", f"sqlite:///{made.folder}/ledger.db", "--json")
    assert checked.code == 0, checked.err
    assert {"every day once", "counts are the estimates, cut at 0"} < {each["name"] for each in json.loads(checked.out)}
    page = Path(dplib("report", release).last)
    assert "2026-01-14" in page.read_text(encoding="utf-8")


def test_verify_finds_a_changed_table(made: Visits, tmp_path: Path) -> None:
    release = tmp_path / release_of(made).name
    shutil.copytree(release_of(made), release)
    estimates, counts = (next((release / name).glob("*.parquet")) for name in ("estimates", "published"))
    shutil.copyfile(estimates, counts)
    assert dplib("verify", str(release)).code == 1


def test_the_ledger_s_audit_works_its_costs_out_again(made: Visits) -> None:
    assert dplib("ledger", "audit", "--ledger", f"sqlite:///{made.folder}/ledger.db").code == 0


def count_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on runs start no Spark and measure the counts of `ROWS`."""
    count_in_python(monkeypatch)
    for name in ("open_values", "bin_rows", "bound_rows"):
        monkeypatch.setattr(f"{MODULE}.run.{name}", lambda *_: None)
    monkeypatch.setattr(f"{MODULE}.run.count_cells", lambda *_: np.arange(10, 141, 10)[None])


def test_a_run_that_breaks_off_is_met_by_a_retry(made: Visits, visits: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    """It breaks off before its measurement is recorded, and its retry before its release is; no Spark counts here."""
    count_no_rows(monkeypatch)
    for step in ("record_measurement", "record_published"):
        with monkeypatch.context() as broken:
            broken.setattr(Ledger, step, lambda *_, **__: sys.exit("killed"))
            assert visits.run().code == 1
    assert visits.run().code == 0
    assert entries_of(visits) == ONE_RUN
    assert content(release_of(visits)) == content(release_of(made))


def test_inspect_and_rehearse(visits: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal is a run, which is on Spark above, of rows of its own; values are inspected in `tests.spark`."""

    def inspect(_: object, source: HistogramInput, domain: BinDomain, cap: int) -> Inspection:
        assert (source.columns.value, domain.n_days, cap) == ("date", 14, 2)
        return Inspection([RuleCount("unit is given", len(ROWS), 0)])

    monkeypatch.setattr(f"{MODULE}.job.open_values", lambda *_: None)
    inspect_in_python(monkeypatch, f"{MODULE}.job", "inspect_values", inspect)
    found = visits.command("inspect")
    assert found.code == 0, found.err
    assert f"{len(ROWS):,}" in found.out
    count_no_rows(monkeypatch)
    rehearsed = visits.command("rehearse", "--rows", "50")
    assert rehearsed.code == 0, rehearsed.err
    assert "predicted error" in rehearsed.out
    assert entries_of(visits) == []
