"""``dplib ledger audit`` beside jobs that go on."""

from fractions import Fraction
from pathlib import Path

import pytest

from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Run
from dplib.release.staging import MEASUREMENT
from dplib.workflow.run_keys import MeasurementKeys
from tests.support.jobs import dplib
from tests.support.ledgers import open_with, reserve_and_measure, url_of


def measure(run: Run, staging: Path) -> MeasurementKeys:
    (staging / MEASUREMENT).mkdir()
    (staging / MEASUREMENT / "top.parquet").write_text("noisy")
    return MeasurementKeys("key-1", b"key", b"digest")


def test_what_a_job_makes_during_an_audit_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The book is read before the folder: what lies there by then is looked up in the book of then."""
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    before, read = ledger.entries(), Ledger.entries
    earlier = [before]
    reserve_and_measure(ledger, output, measure, Fraction(1, 4))
    monkeypatch.setattr(Ledger, "entries", lambda self: earlier.pop() if earlier else read(self))
    command = ("ledger", "audit", "--ledger", url_of(tmp_path), "--releases", str(output))
    found = dplib(*command)
    assert "older backup" not in found.err
    assert earlier == []
    monkeypatch.setattr(Ledger, "entries", lambda self: before)
    assert "older backup" in dplib(*command).err
