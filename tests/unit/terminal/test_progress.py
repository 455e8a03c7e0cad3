"""What a command says while it works, in its three forms."""

import io
import json
import logging
import re

import pytest
from rich.console import Console

from dplib.errors import ConfigError
from dplib.progress import Round
from dplib.terminal.progress import Log


def new_log(terminal: bool = False) -> tuple[Log, io.StringIO]:
    text = io.StringIO()
    return Log(Console(file=text, force_terminal=terminal, width=100, soft_wrap=True)), text


def some_work(log: Log) -> None:
    log.begin()
    log.about(job="kmeans", dataset="shop", logical_date="")
    log.event("started", stage="all")
    with log.stage("counting"):
        log.event("reserved", release_id="shop-kmeans-undated-000002")
        for number in range(1, 6):
            log.round(Round(number, 0.5, 0.25))
    logging.getLogger("dplib.some.module").warning("the page is on (%s)", "spark.ui.enabled")
    log.final("finished", 0)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPLIB_LOG", raising=False)
    monkeypatch.setattr(logging.getLogger("dplib"), "handlers", [])


def test_plain_lines_have_a_time_and_no_colour() -> None:
    log, text = new_log(terminal=True)
    log.choose("plain")
    some_work(log)
    lines = [line.split(" ", 1) for line in text.getvalue().splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", moment) for moment, _ in lines)
    assert [re.sub(r"\d\.\d s", "_ s", said) for _, said in lines] == [
        "counting ...",
        "reserved shop-kmeans-undated-000002",
        *(f"round {n:5d}  mean change 5.000e-01  consistency deviation 2.500e-01" for n in (1, 2, 4)),
        "counting done in _ s",
        "warning: the page is on (spark.ui.enabled)",
    ]


def test_json_lines_are_objects_that_say_what_they_are_about() -> None:
    log, text = new_log()
    log.choose("json")
    some_work(log)
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [
        "started", "stage", "reserved", "round", "round", "round", "stage", "warning", "finished",
    ]  # fmt: skip
    assert all((line["job"], line["dataset"]) == ("kmeans", "shop") for line in lines)
    assert all("logical_date" not in line for line in lines)
    known = [line.get("release_id") for line in lines]
    assert known == [None, None] + ["shop-kmeans-undated-000002"] * 7
    assert (lines[-1]["exit_code"], lines[-1]["seconds"] >= 0) == (0, True)
    assert [line.get("state") for line in lines if line["event"] == "stage"] == ["begun", "done"]
    assert lines[-2]["message"] == "the page is on (spark.ui.enabled)"


@pytest.mark.parametrize(("code", "event"), [(2, "refused"), (3, "refused"), (4, "refused"), (1, "failed")])
def test_the_end_says_whether_a_retry_helps(code: int, event: str) -> None:
    log, text = new_log()
    log.choose("json")
    log.begin()
    log.ended(code, "dplib: x must y, got z")
    (line,) = [json.loads(line) for line in text.getvalue().splitlines()]
    assert (line["event"], line["exit_code"], line["message"]) == (event, code, "dplib: x must y, got z")


def test_people_see_a_moving_line_and_what_it_took() -> None:
    log, text = new_log(terminal=True)
    log.begin()
    with log.stage("counting"):
        log.round(Round(3, 0.5, 0.25))
        with log.stage("starting [Spark]"):
            pass
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.getvalue())
    assert re.search(r"counting: \d+\.\d s\n", plain)
    assert "starting [Spark]" in plain
    assert "Z counting" not in plain


def test_the_environment_chooses_where_the_command_line_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = new_log()
    assert log.mode == "plain"
    monkeypatch.setenv("DPLIB_LOG", "json")
    log.choose(None)
    assert log.mode == "json"
    log.choose("plain")
    assert log.mode == "plain"
    monkeypatch.setenv("DPLIB_LOG", "loud")
    for choose, name in ((lambda: log.choose("shout"), "--log"), (lambda: log.choose(None), "DPLIB_LOG")):
        with pytest.raises(ConfigError, match=rf"^{name} must be one of auto, json, plain, got"):
            choose()
