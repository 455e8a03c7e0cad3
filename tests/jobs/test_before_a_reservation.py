"""What the settings alone decide is tried before a budget is reserved: the whole publication, on no rows."""

from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dplib.jobs.table import job_named
from dplib.workflow import dry_publication
from tests.support.every_job import COUNTING, JOBS, entries_of, new_place_of
from tests.support.jobs import ITEMS, Shop, dplib, named

LARGE: dict[str, dict[str, Any]] = {
    "consistent-histograms": {
        "domain__items": [*ITEMS, *(f"item {number}" for number in range(500))],
        "domain__last_day": "2043-12-31",
        "tree": {"levels": ["year", "month", "day"]},
    },
    "range-histograms": {
        "histogram__edges": {"start": 0, "stop": 50_000, "width": 1},
        "histogram__groups": [f"site {number}" for number in range(1000)],
    },
    "kmeans": {"clustering__n_clusters": 4000},
    "network-statistics": {"graph__vertices": {"count": 10**7}, "graph__last_bin": 10**5},
    "minimum-cuts": {"graph__vertices": {"count": 2000}},
    "key-selection": {},
}
"""Designs whose whole release would take minutes and gigabytes; that of key-selection is as small as its rows."""
WIDE = {"epsilon": 14, "delta": "1e-6"}
"""A budget whose pairs of units get no promise at all: their delta would be above 1."""


def refused_by_both(
    place: Shop, words: str, monkeypatch: pytest.MonkeyPatch, commands: Sequence[str] = ("plan", "run")
) -> None:
    """Neither plan nor run lets these settings pass, and nothing is spent."""
    monkeypatch.setattr(dry_publication, "_sound", set())
    monkeypatch.setattr("dplib.spark.engine.session.open_session", lambda *_: nullcontext())
    for command in commands:
        refused = place.command(command)
        assert (refused.code, words in refused.err) == (2, True), refused.err
        assert entries_of(place) == []


@pytest.mark.parametrize("job", JOBS)
def test_a_large_design_that_fails_only_in_publishing_costs_nothing(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place_of(job, tmp_path, **LARGE[job]).set(publish__output__csv=True)
    assert place.command("plan").code == 0
    module = job_named(job).publishing().publish.__module__
    true = import_module(module).write_tables

    def only_with_csv(design: Any, *rest: Any) -> Any:
        assert not design.config.publish.output.csv
        return true(design, *rest)

    monkeypatch.setattr(f"{module}.write_tables", only_with_csv)
    # What a run does of it is the same for small designs (`test_a_table_that_no_release_has...`).
    refused_by_both(place, "AssertionError at ", monkeypatch, ["plan"])


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("general", "publish.solver must be another than general above 20000 values, got "),
        ("tree_blue", "publish.solver must be one that takes day constraints, got tree_blue"),
        ("boosting", "publish.solver must be "),
    ],
)
def test_a_solver_that_does_not_take_a_large_design_costs_nothing(
    method: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place_of(
        "consistent-histograms", tmp_path, **(LARGE["consistent-histograms"] | {"domain__items": ITEMS})
    )
    refused_by_both(place.set(publish__solver={"method": method}), sentence, monkeypatch, ["plan"])


@pytest.mark.parametrize("job", COUNTING)
def test_the_sentences_on_the_input_are_tried_too(job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = new_place_of(job, tmp_path, privacy__quality_share="0.02", privacy__budget={"epsilon": 1})
    assert place.command("plan").code == 0
    monkeypatch.setattr("dplib.workflow.quality._percent", lambda _: 1 / 0)
    refused_by_both(place, "ZeroDivisionError at ", monkeypatch)


@pytest.mark.parametrize(("layout", "kernel"), [("blocks", "_finish"), ("reference", "_project_nodes")])
def test_what_executors_do_is_tried_without_spark(
    layout: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place_of("consistent-histograms", tmp_path, publish__solver={"layout": layout})
    assert place.command("plan").code == 0
    module = {"blocks": "block_layout", "reference": "reference_layout"}[layout]
    monkeypatch.setattr(f"dplib.jobs.consistent_histograms.{module}.{kernel}", lambda *_: 1 / 0)
    refused_by_both(place, "ZeroDivisionError at ", monkeypatch)


def test_a_sentence_of_the_terminal_s_own_table_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = new_place_of("kmeans", tmp_path)
    monkeypatch.setattr(dry_publication, "_sound", set())
    monkeypatch.setattr("dplib.jobs.kmeans.terminal.terminal_with_error", lambda *_: 1 / 0)
    refused = place.command("plan")
    assert (refused.code, named(refused)) == (2, "the settings")
    assert "ZeroDivisionError" in refused.err


@pytest.mark.parametrize("job", ["range-histograms", "kmeans", "network-statistics"])
def test_a_budget_without_a_promise_for_pairs_can_be_published(job: str, tmp_path: Path) -> None:
    place = new_place_of(job, tmp_path).set(privacy__budget=WIDE)
    config = place.config.read_text(encoding="utf-8").replace("ledger.db", "other.db")
    place.config.write_text(config, encoding="utf-8")
    planned = dplib("plan", job, "--config", str(place.config))
    assert planned.code == 0, planned.err


@pytest.mark.parametrize("job", JOBS)
def test_a_table_that_no_release_has_is_found_before_the_budget_is_spent(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place_of(job, tmp_path, publish__output__tables={"estimates/mistaken": "lake"})
    refused_by_both(place, "publish.output.tables must name tables of the release", monkeypatch)


def test_tables_that_noise_may_leave_out_are_none_that_are_missing(tmp_path: Path) -> None:
    """A graph of noisy weights has its cuts, and may have a cactus; a release of one number has neither for sure."""
    tables = {"estimates/cuts": "cuts", "estimates/cactus_edges": "edges"}
    place = new_place_of("minimum-cuts", tmp_path, publish__output__tables=tables)
    assert place.set(cuts__releases={"synthetic_graph": {}}).command("plan").code == 0
    alone = place.set(cuts__releases={"minimum_cut_value": {}}).command("plan")
    assert (alone.code, "name tables of the release" in alone.err) == (2, True)
