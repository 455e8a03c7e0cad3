import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from sqlalchemy import Connection

from dplib.errors import BudgetError, DplibError
from dplib.ledger import leases
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Balance, Run, RunState
from dplib.release.staging import MEASUREMENT
from dplib.workflow.run_keys import MeasurementKeys
from tests.support.ledgers import (
    KEY,
    SERVER,
    TERMS,
    Place,
    exported,
    key_number,
    measurement,
    open_with,
    reserve_and_measure,
    run_child,
    url_of,
)


def test_second_job_is_told_while_the_first_one_measures_and_spends_nothing(place: Place) -> None:
    first, second = open_with(place), Ledger.open(url_of(place))
    run = first.reserve(KEY, TERMS, Fraction(1, 4), "")
    before = exported(first)
    with pytest.raises(DplibError, match=f"{run.release_id} is being measured by another run") as caught:
        second.reserve(KEY, TERMS, Fraction(1, 4), "")
    assert caught.value.exit_code == 1
    with pytest.raises(DplibError, match="is being measured"):
        second.reserve(KEY, TERMS, Fraction(1, 4), "", again=True)
    assert exported(second) == before
    first.record_measurement(run, measurement())
    assert second.reserve(KEY, TERMS, Fraction(1, 4), "").state is RunState.MEASURED


def test_lease_ends_by_itself_and_the_first_to_record_wins(place: Place) -> None:
    first, second = open_with(place), Ledger.open(url_of(place))
    run = first.reserve(KEY, TERMS, Fraction(1, 4), "")
    place.let_leases_end(leases.LEASE_SECONDS - 30)
    with pytest.raises(DplibError, match="is being measured"):
        second.reserve(KEY, TERMS, Fraction(1, 4), "")
    place.let_leases_end(31)
    assert second.reserve(KEY, TERMS, Fraction(1, 4), "") == run
    won = second.record_measurement(run, measurement("second"))
    lost = first.record_measurement(run, measurement("first"))
    assert lost == won
    assert lost.measurement == measurement("second")
    assert first.balance("takeaway").spent == Fraction(1, 4)
    assert first.audit() == []


@pytest.mark.parametrize("hours", [-1, 1, 24 * 365], ids=["behind", "ahead", "a year ahead"])
def test_a_job_with_a_wrong_clock_takes_no_live_lease_waits_for_no_dead_one_and_overspends_nothing(
    hours: int, place: Place
) -> None:
    wrong = datetime.now(UTC) + timedelta(hours=hours)
    right, skewed = open_with(place), Ledger.open(url_of(place), clock=lambda: wrong)
    run = right.reserve(KEY, TERMS, Fraction(3, 4), "")
    with pytest.raises(DplibError, match="is being measured"):
        skewed.reserve(KEY, TERMS, Fraction(3, 4), "")
    with pytest.raises(BudgetError):
        skewed.reserve(key_number(2), TERMS, Fraction(1, 2), "")
    other = skewed.reserve(key_number(3), TERMS, Fraction(1, 4), "")
    with pytest.raises(DplibError, match="is being measured"):
        right.reserve(key_number(3), TERMS, Fraction(1, 4), "")
    place.let_leases_end(leases.LEASE_SECONDS + 1)
    assert skewed.reserve(KEY, TERMS, Fraction(3, 4), "") == run
    assert right.reserve(key_number(3), TERMS, Fraction(1, 4), "") == other
    assert right.audit() == []
    assert right.balance("takeaway").left == 0


def test_holding_keeps_the_lease_alive_and_lets_go_even_after_an_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[int] = []
    extend, heartbeat = leases.extend, leases.heartbeat

    def counted(connection: Connection, run: int, owner: leases.Owner) -> None:
        extend(connection, run, owner)
        beats.append(run)

    monkeypatch.setattr(leases, "extend", counted)
    monkeypatch.setattr(leases, "heartbeat", lambda beat, _: heartbeat(beat, 0.05))
    first, second = open_with(place), Ledger.open(url_of(place))
    run = first.reserve(KEY, TERMS, Fraction(1, 4), "")

    def hold_and_fail() -> None:
        with first.holding(run):
            # Longer than a lease goes by; however slow the machine is, the next beat begins a new one.
            place.let_leases_end(leases.LEASE_SECONDS + 1)
            before, patience = len(beats), time.monotonic() + 120
            while len(beats) < before + 2 and time.monotonic() < patience:
                time.sleep(0.01)
            with pytest.raises(DplibError, match="is being measured"):
                second.reserve(KEY, TERMS, Fraction(1, 4), "")
            raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        hold_and_fail()
    assert second.reserve(KEY, TERMS, Fraction(1, 4), "") == run


def reserve_and_die(url: str) -> None:
    Ledger.open(url).reserve(KEY, TERMS, Fraction(1, 4), "")
    os._exit(9)


def die_inside_the_transaction(url: str) -> None:
    Ledger.open(url, clock=lambda: os._exit(9)).reserve(KEY, TERMS, Fraction(1, 4), "")


def test_reservation_of_a_killed_job_is_taken_over_at_once_and_costs_nothing_more(place: Place) -> None:
    ledger = open_with(place)
    assert run_child(reserve_and_die, url_of(place)) == 9
    left_open = ledger.find_run(KEY)
    assert left_open is not None
    assert ledger.reserve(KEY, TERMS, Fraction(1, 4), "") == left_open
    assert ledger.balance("takeaway").reserved == Fraction(1, 4)


def test_a_kill_inside_a_transaction_leaves_no_trace(place: Place) -> None:
    ledger = open_with(place)
    before = exported(ledger)
    assert run_child(die_inside_the_transaction, url_of(place)) == 9
    assert exported(ledger) == before
    assert ledger.audit() == []
    assert ledger.reserve(KEY, TERMS, Fraction(1, 4), "").sequence == 2


# ---- many processes at once ------------------------------------------------------------------------------------------


def spend_until_refused(url: str, results: "multiprocessing.Queue[tuple[int, int]]", worker: int) -> None:
    ledger = Ledger.open(url)
    spent = refused = 0
    for number in range(4):
        try:
            run = ledger.reserve(key_number(100 * worker + number), TERMS, Fraction(2, 7), "")
            ledger.record_measurement(run, measurement())
            spent += 1
        except BudgetError:
            refused += 1
    results.put((spent, refused))


def reserve_the_same(url: str, results: "multiprocessing.Queue[tuple[int, int]]", everyone: Barrier) -> None:
    ledger = Ledger.open(url)
    try:
        run = ledger.reserve(KEY, TERMS, Fraction(2, 7), "")
        results.put((run.sequence, 0))
    except DplibError:
        results.put((0, 1))
    # The winner must be alive until all others have tried.
    everyone.wait(60)


def together(target: Callable[..., None], url: str, arguments: Sequence[object]) -> list[tuple[int, int]]:
    """Run one process for each argument at once and return what they report."""
    results = SERVER.Queue()
    children = [SERVER.Process(target=target, args=(url, results, argument)) for argument in arguments]
    for child in children:
        child.start()
    found = [results.get(timeout=120) for _ in children]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    return found


def test_six_processes_spend_exactly_what_there_is(place: Place) -> None:
    ledger = open_with(place, Fraction(5))
    found = together(spend_until_refused, url_of(place), range(6))
    assert sum(spent for spent, _ in found) == 17  # floor(5 / (2/7))
    assert sum(refused for _, refused in found) == 24 - 17
    assert ledger.balance("takeaway") == Balance(Fraction(5), Fraction(34, 7), Fraction(0))
    assert ledger.audit() == []
    assert [entry["sequence"] for entry in exported(ledger)] == list(range(1, 2 + 2 * 17))


def test_of_processes_with_one_key_a_single_one_measures(place: Place) -> None:
    ledger = open_with(place, Fraction(5))
    found = together(reserve_the_same, url_of(place), [SERVER.Barrier(4)] * 4)
    assert sorted(found) == [(0, 1), (0, 1), (0, 1), (2, 0)]
    assert ledger.balance("takeaway").reserved == Fraction(2, 7)


def whole_run(url: str, output: str, number: int, everyone: Barrier) -> None:
    """A whole run of the lifecycle whose rows are one number; ends with the exit code of a job."""

    def measure(run: Run, staging: Path) -> MeasurementKeys:
        (staging / MEASUREMENT).mkdir()
        (staging / MEASUREMENT / "top.parquet").write_text(f"noisy {number}")
        return MeasurementKeys("key-1", str(number).encode(), b"digest")

    ledger = Ledger.open(url)
    everyone.wait(120)
    try:
        reserve_and_measure(ledger, Path(output), measure, Fraction(1, 7), key_number(number))
    except DplibError as error:
        os._exit(error.exit_code)


def test_of_ten_jobs_at_once_exactly_those_succeed_that_the_budget_pays_for(place: Place, tmp_path: Path) -> None:
    ledger = open_with(place, Fraction(1))
    output = tmp_path / "releases"
    everyone = SERVER.Barrier(10)
    arguments = [(place.url, str(output), number, everyone) for number in range(10)]
    children = [SERVER.Process(target=whole_run, args=each) for each in arguments]
    for child in children:
        child.start()
    for child in children:
        child.join(240)
    assert sorted(str(child.exitcode) for child in children) == ["0"] * 7 + ["4"] * 3
    assert ledger.balance("takeaway") == Balance(Fraction(1), Fraction(1), Fraction(0))
    assert {run.state for run in ledger.runs("takeaway")} == {RunState.MEASURED}
    assert sorted(path.name for path in output.iterdir() if path.is_dir()) == sorted(
        run.release_id for run in ledger.runs("takeaway")
    )
    assert ledger.audit() == []
