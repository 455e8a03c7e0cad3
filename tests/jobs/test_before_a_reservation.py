"""What the settings alone decide is tried before a budget is reserved: the whole publication, on no rows."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.every_job import JOBS, entries_of, new_place_of
from tests.jobs_support import dplib, named

WIDE = {"epsilon": 14, "delta": "1e-6"}
"""A budget whose pairs of units get no promise at all: their delta would be above 1."""


@pytest.mark.parametrize("job", JOBS)
def test_a_fault_of_publishing_is_found_before_the_budget_is_spent(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place_of(job, tmp_path)

    def broken(*_: object) -> dict[str, Any]:
        raise OverflowError("(34, 'Numerical result out of range')")

    module = job.replace("-", "_")
    monkeypatch.setattr(f"dplib.jobs.{module}.run.manifest_fields", broken)
    monkeypatch.setattr("dplib.workflow.job.open_session", lambda *_: nullcontext())
    for command in ("plan", "run"):
        refused = place.command(command)
        assert refused.code == 2, refused.err
        assert "dplib: the settings must give a release that can be published, got OverflowError at " in refused.err
        assert entries_of(place) == []
        assert not place.output.exists()


def test_a_sentence_of_the_terminal_s_own_table_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = new_place_of("kmeans", tmp_path)
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
