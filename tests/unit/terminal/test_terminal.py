"""Names stand on a terminal as they are: no markup, no escapes."""

import io

import pytest
from rich.console import Console

from dplib.terminal import output as cli
from dplib.terminal import progress
from dplib.terminal.text import cell, visible

NAMES = ["beer [can]", "[/x]", "[bold]loud[/bold]", ":smile:", "[link=https://a.example]x[/link]"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_table_is_printed_whole(name: str) -> None:
    with cli.out.capture() as caught:
        cli.out.print(cli.table(f"counts of {name}", ["item", f"{name} (std error)"], [[name, "1"]]))
        cli.out.print(f"Note: {name}")
    assert caught.get().count(name) == 4


def test_control_characters_are_shown_and_do_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert visible("a\x1b[2Jb\x07\x9b\u202ec\n") == "a\\x1b[2Jb\\x07\\x9b\\u202ec\n"
    assert "\x1b" not in cell("a\x1b]0;title\x07").plain
    cli.out.print("a\x1b[2Jb")
    progress.log.ended(2, "dplib: item must be x, got \x1b[2J[/x]")
    progress.log.event("appended", table="\x1b[2J")
    found = capsys.readouterr()
    assert "\x1b[2J" not in found.out + found.err
    assert "got \\x1b[2J[/x]" in found.err


def test_styles_still_work_where_they_are_asked_for() -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    console.print(cell("[bold]x"))
    assert "[bold]x" in console.file.getvalue()  # type: ignore[attr-defined]
