"""A run killed at any step and tried again, over data that changed meanwhile, costs and shows one measurement."""

import os
from fractions import Fraction
from pathlib import Path

import pytest

from dplib.errors import BudgetError, ConfigError, DplibError, IntegrityError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Balance, Run, StoredMeasurement
from dplib.release.files import MANIFEST
from dplib.release.membership import Found, found_in
from dplib.release.staging import MEASUREMENT, Staging
from dplib.workflow import storing
from dplib.workflow.run_keys import MeasurementKeys
from dplib.workflow.storing import Measure, Publish, publish_run
from tests.support.jobs import visible
from tests.support.ledgers import exported, key_number, open_with, reserve_and_measure, run_child, url_of

COST = Fraction(1, 4)
STEPS = {
    "reserve": (Ledger, "reserve"),
    "seal": (Staging, "seal"),
    "record": (Ledger, "record_measurement"),
    "move": (os, "rename"),
    "publish": (Staging, "publish"),
    "record release": (Ledger, "record_published"),
}


def measuring(data: str) -> Measure:
    def measure(run: Run, staging: Path) -> MeasurementKeys:
        (staging / MEASUREMENT).mkdir()
        (staging / MEASUREMENT / "top.parquet").write_text(f"noisy {data}")
        return MeasurementKeys("key-1", data.encode(), data.encode())

    return measure


def publishing(style: str) -> Publish:
    def publish(run: Run, staging: Path) -> None:
        noisy = (staging / MEASUREMENT / "top.parquet").read_text()
        (staging / MANIFEST).write_text(f"{style} of {noisy}")

    return publish


def whole_run(ledger: Ledger, output: Path, data: str, style: str = "plain", again: bool = False) -> Path:
    run = reserve_and_measure(ledger, output, measuring(data), COST, again=again)
    return publish_run(ledger, run, output, style, publishing(style))


def text_of(release: Path) -> str:
    return (release / MANIFEST).read_text()


def run_until_killed(url: str, output: str, step: str, after: bool) -> None:
    owner, name = STEPS[step]
    original = getattr(owner, name)

    def deadly(*arguments: object, **options: object) -> None:
        if after:
            original(*arguments, **options)
        os._exit(9)

    setattr(owner, name, deadly)
    whole_run(Ledger.open(url), Path(output), "first")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_costs_once_and_shows_one_measurement(step: str, after: bool, tmp_path: Path) -> None:
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    assert run_child(run_until_killed, url_of(tmp_path), str(output), step, after) == 9
    recorded = list(STEPS).index(step) > list(STEPS).index("record") or (step == "record" and after)
    release = whole_run(ledger, output, "second")
    # Once the ledger names a measurement it is the only one, whatever the data are by now.
    assert text_of(release) == f"plain of noisy {'first' if recorded else 'second'}"
    assert ledger.balance("takeaway") == Balance(Fraction(1), COST, Fraction(0))
    assert len(ledger.runs("takeaway")) == 1
    assert ledger.audit() == []
    assert visible(output) == [release.name]


def refuse(_run: Run, _path: Path) -> MeasurementKeys:
    raise AssertionError("rows were read")


def test_second_run_reads_nothing_spends_nothing_and_leaves_the_bytes(tmp_path: Path) -> None:
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    release = whole_run(ledger, output, "first")
    book = exported(ledger)
    run = reserve_and_measure(ledger, output, refuse, COST)
    assert publish_run(ledger, run, output, "plain", lambda _run, _path: refuse(_run, _path)) == release
    assert exported(ledger) == book


def test_other_publish_settings_never_spend_and_again_does(tmp_path: Path) -> None:
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    first = whole_run(ledger, output, "first")
    assert whole_run(ledger, output, "changed rows", style="fancy") == first
    assert text_of(first) == "fancy of noisy first"
    assert ledger.balance("takeaway").spent == COST
    second = whole_run(ledger, output, "changed rows", again=True)
    assert text_of(second) == "plain of noisy changed rows"
    assert ledger.balance("takeaway").spent == 2 * COST
    assert text_of(first) == "fancy of noisy first"


def test_a_refused_or_impossible_run_writes_and_spends_nothing(tmp_path: Path) -> None:
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    with pytest.raises(BudgetError):
        reserve_and_measure(ledger, output, refuse, Fraction(2))
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"publish\.output\.path"):
        whole_run(ledger, tmp_path / "file", "first")
    assert visible(output) == []
    assert len(exported(ledger)) == 1


def test_an_error_while_measuring_leaves_nothing_to_see_and_the_reservation_for_the_retry(tmp_path: Path) -> None:
    ledger, output = open_with(tmp_path), tmp_path / "releases"

    def broken(run: Run, staging: Path) -> MeasurementKeys:
        measuring("broken")(run, staging)
        raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        reserve_and_measure(ledger, output, broken, COST)
    assert visible(output) == []
    assert ledger.balance("takeaway").reserved == COST
    assert text_of(whole_run(Ledger.open(url_of(tmp_path)), output, "second")) == "plain of noisy second"
    assert ledger.balance("takeaway").spent == COST


def test_the_slower_of_two_measurements_is_never_seen(tmp_path: Path) -> None:
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    fast = Ledger.open(url_of(tmp_path))

    def overtaken(run: Run, staging: Path) -> MeasurementKeys:
        keys = measuring("slow")(run, staging)
        with ledger.holding(run):
            pass  # The lease is lost, as after a long pause.
        whole_run(fast, output, "fast")
        return keys

    run = reserve_and_measure(ledger, output, overtaken, COST)
    release = publish_run(ledger, run, output, "plain", publishing("plain"))
    assert text_of(release) == "plain of noisy fast"
    assert (release / MEASUREMENT / "top.parquet").read_text() == "noisy fast"
    assert visible(output) == [release.name]
    assert ledger.balance("takeaway").spent == COST


def test_a_changed_stored_measurement_is_never_published(tmp_path: Path) -> None:
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    run = reserve_and_measure(ledger, output, measuring("first"), COST)
    (output / run.release_id / MEASUREMENT / "top.parquet").write_text("noisy forged")
    with pytest.raises(IntegrityError, match="got a changed one"):
        publish_run(ledger, run, output, "plain", publishing("plain"))
    assert not (output / run.release_id / MANIFEST).exists()


def test_a_measurement_that_the_ledger_refuses_is_discarded_unseen(tmp_path: Path) -> None:
    ledger, output, plan = open_with(tmp_path), tmp_path / "releases", "a" * 64
    ledger.require_approval("takeaway", True, "board")
    ledger.approve("takeaway", plan, "officer", "")

    def revoked_meanwhile(run: Run, staging: Path) -> MeasurementKeys:
        ledger.revoke("takeaway", plan, "officer", "stop")
        return measuring("rows")(run, staging)

    with pytest.raises(BudgetError, match="revoked"):
        reserve_and_measure(ledger, output, revoked_meanwhile, COST, plan=plan)
    assert visible(output) == []
    assert ledger.balance("takeaway").spent == 0
    assert ledger.audit() == []


def test_a_record_whose_answer_got_lost_is_found_by_the_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server committed and died before it could say so."""
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    record = Ledger.record_measurement

    def record_and_lose_the_answer(self: Ledger, run: Run, measurement: StoredMeasurement) -> Run:
        record(self, run, measurement)
        raise DplibError("ledger must be reachable, got no answer")

    with monkeypatch.context() as lost:
        lost.setattr(Ledger, "record_measurement", record_and_lose_the_answer)
        with pytest.raises(DplibError, match="no answer"):
            whole_run(ledger, output, "first")
    release = whole_run(ledger, output, "second")
    assert text_of(release) == "plain of noisy first"
    assert ledger.balance("takeaway") == Balance(Fraction(1), COST, Fraction(0))


def test_what_another_job_makes_while_the_output_is_looked_at_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders are read before the ledger: otherwise one of two sound jobs would take its ledger for a backup."""
    ledger, output = open_with(tmp_path), tmp_path / "releases"
    others = [key_number(1)]

    def found_meanwhile(folder: Path) -> list[Found]:
        while others:
            reserve_and_measure(ledger, output, measuring("other"), COST, others.pop())
        return list(found_in(folder))

    monkeypatch.setattr(storing, "found_in", found_meanwhile)
    assert reserve_and_measure(ledger, output, measuring("own"), COST, key_number(2)).sequence > 0
    assert others == []
    assert len(ledger.runs("takeaway")) == 2
