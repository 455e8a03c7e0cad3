"""The marker of an inspection hangs on the input rules, is private, and decides whether a run asks or warns."""

import io
import sys
from pathlib import Path

import pytest
import typer

import dplib.terminal.output
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.job import JOB
from dplib.terminal.output import consent
from dplib.terminal.run import require_inspected
from dplib.workflow.inspected import VARIABLE, is_inspected, mark_inspected
from tests.support.jobs import Shop, new_shop


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "state"))
    return new_shop(tmp_path)


def test_a_marker_is_for_these_rules_whatever_they_cost(shop: Shop, tmp_path: Path) -> None:
    prepared = JOB.prepare(shop.config)
    assert not is_inspected(prepared)
    assert mark_inspected(prepared)
    assert is_inspected(JOB.prepare(shop.config))
    assert is_inspected(JOB.prepare(shop.set(privacy__budget={"epsilon": 2}, tree={"branching": 14}).config))
    for changed in ({"privacy__max_quantity": 4}, {"input__date_format": "dd/MM/yyyy"}, {"domain__items": ["tea"]}):
        copy = Shop(tmp_path)
        assert not is_inspected(JOB.prepare(copy.set(constraints=[], **changed).config)), changed
    (marker,) = (tmp_path / "state" / "inspected").iterdir()
    assert (marker.stat().st_mode & 0o777, marker.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert marker.read_bytes() == b""


def test_tomorrow_counts_as_inspected(shop: Shop) -> None:
    shop.set(input__path="orders-{date}.csv")
    assert mark_inspected(JOB.prepare(shop.config, (), "2024-01-02"))
    assert is_inspected(JOB.prepare(shop.config, (), "2024-01-03"))


def test_no_state_folder_is_no_error(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    assert not mark_inspected(JOB.prepare(shop.config))
    assert not is_inspected(JOB.prepare(shop.config))


def test_a_terminal_is_asked_and_others_are_warned(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, warnings, questions, answer = JOB.prepare(shop.config), list[str](), list[str](), [False]

    def confirm(question: str, err: bool) -> bool:
        questions.append(question)
        return answer[0] and err

    monkeypatch.setattr(dplib.terminal.output.log, "warning", warnings.append)
    monkeypatch.setattr(typer, "confirm", confirm)
    monkeypatch.setattr(consent, "given", False)
    monkeypatch.setattr(consent, "can_ask", True)
    require_inspected(prepared)
    assert (len(warnings), len(questions)) == (1, 0)
    stdin = io.StringIO()
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(type(dplib.terminal.output.err), "is_terminal", True)
    with pytest.raises(ConfigError, match="never inspected, got no: nothing was spent"):
        require_inspected(prepared)
    answer[0] = True
    require_inspected(prepared)
    assert (len(warnings), len(questions)) == (1, 2)
    # A program that spark-submit starts never asks.
    monkeypatch.setattr(consent, "can_ask", False)
    require_inspected(prepared)
    assert (len(warnings), len(questions)) == (2, 2)
    monkeypatch.setattr(consent, "given", True)
    require_inspected(prepared)
    monkeypatch.setattr(consent, "given", False)
    mark_inspected(prepared)
    require_inspected(prepared)
    assert (len(warnings), len(questions)) == (2, 2)
