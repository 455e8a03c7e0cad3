"""What the commands teach, plans as JSON, and the version of settings; nothing here starts Spark."""

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from dplib.cli.help_texts import EXAMPLES
from dplib.cli.main import app
from dplib.config.load import check
from dplib.errors import ConfigError
from dplib.jobs.kmeans.config import KMeansConfig
from dplib.jobs.table import JOBS
from dplib.page.number_text import terminal_number
from dplib.terminal import output as cli
from dplib.version import __version__
from tests.support.jobs import ROOT, Outcome, content, dplib, named, refuse_spark

FRAME = {
    "plan_version", "dataset", "job", "budget", "unit", "neighbors", "caps", "totals", "notes", "settings_hash",
    "ledger", "changed", "horizon",
}  # fmt: skip
OWN = {
    "consistent-histograms": {
        "row_l1", "row_l2_squared", "levels", "errors", "solvers", "n_series", "n_days", "n_nodes", "n_blocks",
        "kinds",
    },
    "key-selection": {"mechanism", "rounds", "threshold", "std_error", "sizes"},
    "kmeans": {
        "n_clusters", "coordinates", "space", "method", "what", "why", "spent_as", "relative_noise", "collection",
        "expected_accuracy",
    },
    "minimum-cuts": {"n_vertices", "relation", "releases", "sampler", "synthetic", "expected_accuracy"},
    "network-statistics": {"n_vertices", "statistics", "triangles", "stars", "graphs", "choices", "models"},
    "range-histograms": {
        "n_groups", "n_bins", "n_nodes", "n_levels", "n_blocks", "method", "queries", "levels", "methods", "lengths",
        "kinds", "columns", "recent",
    },
}  # fmt: skip
"""Keys of version 1 of each job's plan: one that goes, or means something else, raises PLAN_VERSION."""
TOTAL = {"accountant": str, "epsilon": float, "delta": float | int, "exact": str | None, "note": str}


def command_tree() -> Any:
    """The commands as typer's own kind of click's group."""
    return typer.main.get_command(app)


def options_of(command: Any) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


@pytest.fixture(params=JOBS, scope="module")
def job(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def config(job: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The job's own example, beside an account that can pay."""
    path = tmp_path_factory.mktemp(job) / "my.yaml"
    path.write_text(dplib("example", job).out, encoding="utf-8")
    assert dplib("init", "--config", str(path), "--budget", "10", "--yes").code == 0
    return path


@pytest.mark.parametrize("words", [(), *((name,) for name in sorted(EXAMPLES))], ids=" ".join)
def test_help_fits_80_columns_and_shows_an_example_and_the_exit_codes(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    lines = result.stdout.splitlines()
    assert max(len(line) for line in lines) <= 80
    text = " ".join(result.stdout.split())
    assert all(f"{code} " in text.partition("Exit codes: ")[2] for code in range(5))
    typed = [line.strip() for line in lines if re.match(r"\s+(\d\. )?dplib [a-z]", line)]
    assert typed
    if words:
        # An example stands on one line: nobody has to put it together again.
        assert [line for line in EXAMPLES[words[0]].splitlines() if line not in typed] == []


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_name_commands_and_options_that_exist(name: str) -> None:
    known = command_tree()
    assert name in known.commands
    for line in EXAMPLES[name].splitlines():
        words = line.partition(" > ")[0].split()
        assert words[:2] == ["dplib", name]
        command = known.commands[name]
        if hasattr(command, "commands"):
            command = command.commands[words[2]]
        given = {word for word in words if word.startswith("--")}
        assert given <= options_of(command)


def test_the_first_steps_name_every_job_and_commands_that_exist() -> None:
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).stdout
    steps = re.findall(r"(?m)^\s+(?:\d\. )?dplib ([a-z]+)", text)
    assert steps == ["doctor", "example", "init", "plan", "rehearse", "run", "query", "report", "verify"]
    assert set(steps) <= set(command_tree().commands)
    assert all(name in text for name in JOBS)


def test_a_file_for_spark_submit_takes_what_run_takes(
    job: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def submitted(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["job.py", *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "jobs" / f"{job.replace('-', '_')}.py"), run_name="__main__")
        return Outcome(int(ended.value.code or 0), *capsys.readouterr())

    monkeypatch.setenv("COLUMNS", "200")
    found = submitted("--help")
    assert found.code == 0, found.err
    assert {name for name in options_of(command_tree().commands["run"]) if name not in found.out} <= {"job"}
    refused = submitted("--config", "nowhere.yaml", "--yes")
    assert (refused.code, named(refused)) == (2, "--config")


@pytest.fixture(scope="module")
def plans(job: str, config: Path) -> tuple[dict[str, Any], str]:
    """The plan of the job's example, as JSON and for people."""
    asked = ("plan", job, "--config", str(config))
    with pytest.MonkeyPatch.context() as patch:
        # A console that was made where COLUMNS is set keeps that width.
        patch.setattr(cli.out, "_width", 1000)
        return json.loads(dplib(*asked, "--json").out), dplib(*asked).out


def test_a_plan_as_json_keeps_its_schema(job: str, plans: tuple[dict[str, Any], str]) -> None:
    found, _ = plans
    assert set(found) == FRAME | OWN[job]
    assert found["plan_version"] == 1
    for total in found["totals"]:
        assert set(total) == set(TOTAL)
        assert all(isinstance(total[key], kind) for key, kind in TOTAL.items())
    assert all(type(cap) is int for cap in found["caps"].values())
    assert re.fullmatch(r"[0-9a-f]{64}", found["settings_hash"])
    assert found["job"] == job
    assert found["ledger"]["account"] == found["dataset"]


def test_the_plan_for_people_says_what_the_json_says(job: str, plans: tuple[dict[str, Any], str]) -> None:
    found, shown = plans
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0].startswith(f"Plan of {job} for the account {found['dataset']} ")
    assert f"Guarantee: {found['budget']}; {found['neighbors']}." in lines
    caps = ", ".join(f"{name} at most {value}" for name, value in found["caps"].items())
    assert f"Caps: {caps}." in lines
    for total in found["totals"]:
        row = f"{total['accountant']} {total['epsilon']:.4g} {total['delta']:.1g} {total['note']}"
        assert row in lines
    assert [line for line in lines if line.startswith("Note: ")] == [f"Note: {note}" for note in found["notes"]]
    ledger = found["ledger"]
    assert any(line.startswith(f"Ledger: costs {ledger['cost']} of {ledger['left']} left") for line in lines)
    # The job's own numbers: each standard error in the JSON stands in a table.
    own = [each["std_error"] for key in ("statistics", "releases", "methods") for each in found.get(key, [])]
    own += [end for each in found.get("errors", []) for end in each["items_span"]]
    cells = set(shown.replace(",", "").split())
    for error in own:
        if error is not None:
            # One notation: thousands apart, no powers of ten beside plain numbers (the commas went above).
            assert any(terminal_number(error, digits).replace(",", "") in cells for digits in (3, 4)), error
    assert not re.search(r"\de\+\d", shown)


VERSIONS = [
    (2, r"\(install a newer dplib, or start again from dplib example JOB\), got 2"),
    (None, r"\(add the line to the file; dplib example JOB shows a whole one\), got nothing"),
    ("1", r"\(a whole number without quotes\), got '1'"),
    (True, r"\(a whole number without quotes\), got True"),
    (0, r"\(a whole number without quotes\), got 0"),
]


@pytest.mark.parametrize(("given", "advice"), VERSIONS)
def test_another_version_of_settings_says_what_to_do(given: object, advice: str) -> None:
    # A setting of the other version must not be what is complained about.
    with pytest.raises(ConfigError) as refused:
        check(KMeansConfig, {"config_version": given, "unknown_here": 1})
    sentence = rf"config_version must be 1, the version of settings that dplib \S+ reads {advice}"
    assert re.fullmatch(sentence, str(refused.value))


def test_another_version_is_refused_by_every_job(job: str, tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    text = dplib("example", job).out.replace("config_version: 1", "config_version: 2\nunknown_here: 1")
    path.write_text(text, encoding="utf-8")
    for command in ("plan", "run"):
        outcome = dplib(command, job, "--config", str(path))
        assert (outcome.code, named(outcome)) == (2, "config_version"), outcome.err


def json_lines(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.err.splitlines()]


def test_a_refusal_is_an_event_and_names_no_secret(job: str, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_spark(monkeypatch)
    poor = ("--config", str(config), "--dataset", "poor", "--budget", "0.001", "--yes")
    assert dplib("init", *poor).code == 0
    before = content(config.parent)
    outcome = dplib("run", job, "--config", str(config), "--set", "dataset=poor", "--log", "json")
    assert (outcome.code, content(config.parent)) == (4, before), outcome.err
    lines = json_lines(outcome)
    assert [line["event"] for line in lines] == ["started", "refused"]
    assert (lines[-1]["exit_code"], lines[-1]["job"]) == (4, job)
    assert lines[-1]["seconds"] >= 0
    key = (config.parent / "dplib.key").read_text(encoding="ascii")
    assert all(word not in outcome.err for word in key.split() if len(word) > 16)
    wrong = dplib("--log", "json", "run", job, "--config", str(config), "--set", "privacy.budget.epsilon=-1")
    assert [(line["event"], line["exit_code"]) for line in json_lines(wrong)] == [("refused", 2)]


def test_the_rest_of_a_pipe_may_be_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_off(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("dplib.cli.commands.example.job_named", cut_off)
    outcome = dplib("example", "kmeans")
    assert (outcome.code, outcome.err) == (1, "")


def test_the_console_script_tells_its_version() -> None:
    told = CliRunner().invoke(app, ["--version"])
    assert (told.exit_code, told.output) == (0, f"{__version__}\n")
