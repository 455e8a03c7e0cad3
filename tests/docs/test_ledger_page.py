"""The ledger's page has all its commands."""

import typer

from dplib.cli.main import app
from dplib.guide import read_page


def test_the_page_has_all_commands_of_the_ledger() -> None:
    group = typer.main.get_command(app).commands["ledger"]  # type: ignore[attr-defined]  # a group
    page = read_page("ledger")
    assert {name for name in group.commands if f"dplib ledger {name}" not in page} == set()
