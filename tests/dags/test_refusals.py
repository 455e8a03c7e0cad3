"""Which failures Airflow tries again: programs that end as they are told, in DAGs that are real."""

import datetime as dt
import json
import re

import pytest
from airflow_place import STREAM, Played, World

DAY = "2024-01-02"
LEDGER = {
    "account": "shop",
    "currency": "pure",
    "total": "20",
    "left": "20",
    "cost": "1",
    "existing_run": None,
    "existing_state": None,
}


def planned(horizon: tuple[str, str] | None = None, **changes: object) -> str:
    return f"0 {json.dumps({'ledger': LEDGER | changes, 'horizon': horizon})}"


def check_refused(played: Played, task: str) -> None:
    assert played.state == "failed"
    assert played.tasks[task] == ("failed", 1)
    after = [state for name, (state, _) in played.tasks.items() if name != task and state != "success"]
    assert set(after) <= {"upstream_failed"}


def test_each_task_runs_its_command_for_its_day(world: World) -> None:
    world.tell("dplib", planned(), "0 verified")
    world.tell("submit", "0 measured", "0 published")
    # What someone types into the form of a run reaches no job.
    played = world.play("scripted", DAY, run_conf={"again": True, "date": "2020-01-01"})
    assert played.tasks == dict.fromkeys(("plan", "measure", "publish", "verify"), ("success", 1))
    config = world.place("scripted") / "job.yaml"
    assert world.calls("dplib") == [
        f"plan consistent-histograms --config {config} --date {DAY} --json",
        f"verify --config {config} --date {DAY}",
    ]
    for call, stage in zip(world.calls("submit"), ("measure", "publish"), strict=True):
        assert call.startswith("--master local[1] ")
        job = world.home / "jobs" / "consistent_histograms.py"
        assert call.endswith(f" {job} --config {config} --stage {stage} --date {DAY}")


def test_a_job_takes_the_keys_that_its_selection_released_for_the_day(world: World) -> None:
    selected = planned(existing_run="shop-000002", existing_state="published", existing_release="/some where/k-2")
    world.tell("dplib", planned(), "0 verified", *[selected, planned()], *[selected] * 2, *[selected, "0 verified"])
    world.tell("submit", *["0 done"] * 4)
    assert {state for state, _ in world.play("chained", DAY).tasks.values()} == {"success"}
    place = world.place("chained")
    ask = f"plan key-selection --config {place}/keys.yaml --date {DAY} --json"
    given = '--set domain.items={"release": "/some where/k-2"}'
    verify = f"--config {place}/job.yaml --date {DAY} {given}"
    counts = f"plan consistent-histograms --config {place}/job.yaml --date {DAY} --json {given}"
    first = [ask, f"verify --config {place}/keys.yaml --date {DAY}"]
    assert world.calls("dplib") == [*first, ask, counts, ask, ask, ask, f"verify {verify}"]
    assert [given in call for call in world.calls("submit")] == [False, False, True, True]


def test_a_job_without_its_keys_is_not_tried_again(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.tell("dplib", planned(), "0 verified", planned())
    world.tell("submit", *["0 done"] * 2)
    check_refused(world.play("chained", DAY), "plan")
    assert f"the selection must have released keys for {DAY}, got none" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("name", "horizon", "said"),
    [
        ("scripted", STREAM, "stream of the entry scripted must be true, since"),
        ("streamed", None, "stream of the entry streamed must be false, since"),
        ("streamed", ("2024-01-02", STREAM[1]), "start_date must be a day of the stream's horizon"),
        ("streamed", (STREAM[0], "2024-01-09"), "end_date must be a day of the stream's horizon"),
    ],
)
def test_an_entry_that_does_not_agree_with_its_configuration_about_a_stream_is_refused(
    name: str, horizon: tuple[str, str] | None, said: str, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    world.tell("dplib", planned(horizon))
    world.tell("submit")
    check_refused(world.play(name, DAY), "plan")
    assert said in capfd.readouterr().out
    assert world.calls("submit") == []


@pytest.mark.parametrize(
    ("name", "day", "n_measured", "closes"),
    [
        ("streamed", DAY, 9, False),
        ("streamed", STREAM[1], 9, False),
        ("streamed", DAY, 10, True),
        ("ended", DAY, 9, False),
        ("ended", STREAM[1], 9, True),
    ],
)
def test_a_stream_is_closed_when_no_day_is_missing_or_after_its_last_date(
    name: str, day: str, n_measured: int, closes: bool, world: World
) -> None:
    state = json.dumps({"n_days": 10, "n_measured": n_measured, "closed": False})
    world.tell("dplib", planned(STREAM), "0 verified", f"0 {state}", *["0 closed"] * closes)
    world.tell("submit", *["0 done"] * 2)
    assert world.play(name, day).state == "success"
    config = world.place(name) / "job.yaml"
    shown, *closed = world.calls("dplib")[2:]
    assert shown == f"stream show --config {config} --json"
    assert len(closed) == closes
    assert all(call.startswith(f"stream close --config {config} --why ") for call in closed)


@pytest.mark.parametrize("code", [2, 3, 4])
def test_a_refused_measurement_is_not_tried_again(code: int, world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.tell("dplib", planned())
    world.tell("submit", f"{code} dplib: something must be right, got wrong")
    check_refused(world.play("scripted", DAY), "measure")
    assert len(world.calls("submit")) == 1
    said = capfd.readouterr().out
    assert re.search(rf"refused with exit code {code} \([^)]+\): dplib: something must be right, got wrong", said)


@pytest.mark.parametrize("code", [2, 3, 4])
def test_a_refused_publication_is_not_tried_again(code: int, world: World) -> None:
    world.tell("dplib", planned())
    world.tell("submit", "0 measured", f"{code} dplib: something must be right, got wrong")
    check_refused(world.play("scripted", DAY), "publish")


@pytest.mark.parametrize(
    "answer",
    [
        "2 dplib: a.b must be c, got d",
        planned(left="1/2"),
        planned(account=None, problem="dataset must be an account"),
        planned(approval={"required": True, "runs_left": 0}, plan_hash="abc"),
    ],
    ids=["wrong setting", "short budget", "no account", "no approval"],
)
def test_a_refused_plan_starts_no_spark(answer: str, world: World) -> None:
    world.tell("dplib", answer)
    world.tell("submit")
    check_refused(world.play("scripted", DAY), "plan")
    assert world.calls("submit") == []


def test_a_run_that_is_paid_for_needs_no_budget(world: World) -> None:
    world.tell("dplib", planned(left="0", existing_run="shop-000002", existing_state="measured"), "0 verified")
    world.tell("submit", "0 there", "0 published")
    assert world.play("scripted", DAY).state == "success"


def test_other_failures_are_tried_again(world: World) -> None:
    world.tell("dplib", "1 dplib: the ledger is busy", planned(), "1 dplib: the ledger is busy", "0 verified")
    world.tell("submit", "1 dplib: Spark must be able to count, got Lost", "137 killed", "0 measured", "1 no", "0 done")
    played = world.play("scripted", DAY)
    tries = {"plan": 2, "measure": 3, "publish": 2, "verify": 2}
    assert played.tasks == {name: ("success", number) for name, number in tries.items()}
    assert world.calls("submit")[0] == world.calls("submit")[2]


def test_tries_end(world: World) -> None:
    world.tell("dplib", planned())
    world.tell("submit", *["1 dplib: no"] * 3)
    assert world.play("scripted", DAY).tasks["measure"] == ("failed", 3)


@pytest.mark.parametrize("code", [2, 3, 4])
def test_a_cluster_that_states_the_driver_s_exit_code_is_believed(code: int, world: World) -> None:
    world.tell("dplib", planned())
    world.tell("submit", f"1 diagnostics: User application exited with status {code}")
    check_refused(world.play("clustered", DAY), "measure")
    assert world.calls("submit")[0].startswith("--master yarn ")


def test_where_a_cluster_hides_the_exit_code_the_ledger_is_asked(world: World) -> None:
    world.tell("dplib", planned(), planned(left="0"))
    world.tell("submit", "1 application failed")
    check_refused(world.play("clustered", DAY), "measure")
    world.tell("dplib", planned(), planned(), "0 verified")
    world.tell("submit", "1 application failed", "0 measured", "0 published")
    assert world.play("clustered", DAY).tasks["measure"] == ("success", 2)


def test_a_day_that_is_not_over_and_a_run_without_a_day_are_refused(world: World) -> None:
    world.tell("dplib")
    world.tell("submit")
    check_refused(world.play("scripted", dt.datetime.now(dt.UTC).date().isoformat()), "plan")
    world.dags()["scripted"].test(logical_date=None)
    check_refused(world.played("scripted"), "plan")
    assert world.calls("dplib") == world.calls("submit") == []


def test_a_checkout_without_dplib_is_refused(world: World) -> None:
    program = world.home / ".venv" / "bin" / "dplib"
    aside = program.rename(program.with_name("aside"))
    try:
        check_refused(world.play("scripted", DAY), "plan")
    finally:
        aside.rename(program)
