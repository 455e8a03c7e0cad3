"""What the README, SECURITY.md and the guide name exists: commands, options, targets, files; nothing is left out."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from dplib.cli.main import app
from dplib.guide import read_page, titles
from dplib.jobs.table import JOBS

ROOT = Path(__file__).resolve().parents[2]
NOT_MECHANISMS = {"__init__", "choose_oracle", "clustering_noise", "frequency_oracle", "partition"}
"""Choices from settings, and what only hands draws on."""


TEXTS = {page: read_page(page) for page in titles()}
TEXTS |= {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "SECURITY.md")}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def commands_of(text: str) -> list[str]:
    """What stands after `dplib` in indented lines and in code, without comments and results."""
    lines = re.findall(r"^ {4}dplib ((?:.*\\\n)*.*)$", text, re.MULTILINE) + re.findall(r"`dplib\s([^`]*)`", text)
    return [re.split(r"\s{3,}|\s[>#|]", line.replace("\\\n", " "))[0].replace(" ...", "") for line in lines]


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_page_names_exists(name: str) -> None:
    text = TEXTS[name]
    assert text.startswith("# ")
    for file in re.findall(r"`((?:dplib|jobs|conf|scripts|tests)/[A-Za-z0-9_/.-]+)`", text):
        assert (ROOT / file).exists(), file
    for target in re.findall(r"(?:`|^ {4})make ([a-z-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:.*## ", MAKEFILE, re.MULTILINE), target


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if commands_of(text)])
def test_every_command_of_a_page_exists_with_its_options(name: str) -> None:
    for line in commands_of(TEXTS[name]):
        words, command = shlex.split(line), get_command(app)
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            first = words.pop(0)
            assert set(first.split("|")) <= set(command.commands), line
            command = command.commands[first.split("|")[0]]
        known = {option for parameter in command.params for option in (*parameter.opts, "--help")}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line
        if command.name == "guide" and words and words[0].islower():
            assert words[0] in titles(), line


def test_every_mechanism_and_every_job_has_its_proof() -> None:
    text = read_page("proofs")
    mechanisms = {path.stem for path in (ROOT / "dplib" / "mechanisms").glob("*.py")} - NOT_MECHANISMS
    assert {name for name in mechanisms if f"`dplib/mechanisms/{name}.py`" not in text} == set()
    assert {job for job in JOBS if f"**`{job}`.**" not in text} == set()


def test_the_command_lists_and_prints_pages_and_refuses_others() -> None:
    runner = CliRunner()
    listed = runner.invoke(app, ["guide"])
    assert listed.exit_code == 0
    assert all(page in listed.output for page in titles())
    assert runner.invoke(app, ["guide", "proofs"]).output == read_page("proofs")
    assert runner.invoke(app, ["guide", "nothing"]).exit_code == 2
