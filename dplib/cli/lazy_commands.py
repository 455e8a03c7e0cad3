"""The commands by name, each loaded when it is run or its help is asked for.

What one command imports costs the others nothing: at the top of a command's module stands what it uses, as anywhere
else, and here alone nothing of it is loaded.
"""

from collections.abc import Iterator, MutableMapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer._click.core import Command, Context  # what typer.core itself takes and returns
from typer.core import TyperCommand, TyperGroup

from dplib.cli.help_texts import SUMMARIES, example_of
from dplib.terminal.own_process import leave_pandas_out, leave_tools_out

_PACKAGE = "dplib.cli.commands"
_USE_ARROW = frozenset({"plan", "query", "run", "verify"})
"""Commands that read or write tables, and convert none from or to pandas."""


class LazyCommands(TyperGroup):
    """The group of all commands; those that it lists have their names and summaries only."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: MutableMapping[str, Command] = _Loaded()

    def list_commands(self, ctx: Context) -> list[str]:
        """Their names."""
        return list(SUMMARIES)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """What a list says of a command; None where there is none of this name."""
        return TyperCommand(cmd_name, help=SUMMARIES[cmd_name]) if cmd_name in SUMMARIES else None

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """The command that is run, and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and self.commands[str(name)], rest


class _Loaded(MutableMapping[str, Command]):
    """The commands themselves: from each one's module the function, or the group, of its name."""

    def __init__(self) -> None:
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            self._made[name] = _command(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)

    def __setitem__(self, name: str, command: Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]


@cache
def _command(name: str) -> Command:
    """Made once in a process, which takes longer than many a command: readers of its options come with it."""
    if name in _USE_ARROW:
        leave_pandas_out()
        leave_tools_out()
    members: dict[str, object] = vars(import_module(f"{_PACKAGE}.{name}"))
    found = members[name]
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    assert callable(found)
    app = typer.Typer(add_completion=False)
    app.command(name, help=SUMMARIES[name], epilog=example_of(name))(found)
    return typer.main.get_command(app)
