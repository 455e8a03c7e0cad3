"""The commands on the ledger's page exist, with the options that it gives them."""

import re
import shlex

import pytest
import typer

from dplib.guide import read_page
from jobs.main import app

COMMANDS = re.findall(r"(?m)^    (dplib [^\n]*)$", read_page("ledger"))


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_page_exists_with_its_options(line: str) -> None:
    words = shlex.split(re.split(r"\s{3,}|\s>", line)[0].replace(" ...", ""))[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, line
        command = command.commands[words.pop(0)]
    options = {name for parameter in command.params for name in parameter.opts}
    given = {word for word in words if word.startswith("--")}
    assert given <= options, line
    required = {
        parameter.opts[0] for parameter in command.params if parameter.required and parameter.opts[0].startswith("--")
    }
    assert required <= given, line


def test_the_page_has_all_commands_of_the_ledger() -> None:
    group = typer.main.get_command(app).commands["ledger"]  # type: ignore[attr-defined]  # a group
    page = read_page("ledger")
    assert {name for name in group.commands if f"dplib ledger {name}" not in page} == set()
