"""What every command shares: exit codes, messages and progress.

A command ends with the exit code of its error (`dplib.errors`) after one sentence on standard error. An error nobody
foresaw ends with 1 and names its class and place only, since its message could hold a value of an input row;
``DPLIB_DEBUG=1`` shows the whole traceback to whoever may see the data.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console
from rich.table import Table

from dplib.errors import DplibError

out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def fail(error: BaseException) -> NoReturn:
    """Print one sentence for ``error`` and exit with its code."""
    if os.environ.get("DPLIB_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, DplibError):
        err.print(f"dplib: {error}", markup=False)
        sys.exit(error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        err.print("dplib: interrupted")
        sys.exit(130)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "an unknown place"
    err.print(
        f"dplib: unforeseen {type(error).__name__} at {place}; its message may hold data and is withheld"
        " (DPLIB_DEBUG=1 shows it)",
        markup=False,
    )
    sys.exit(1)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn every error of the block into its sentence and exit code."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:  # the last place that can keep values off the screen
        fail(error)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say on standard error that a stage runs, and how long it took."""
    started = time.monotonic()
    err.print(f"[dim]{name} ...[/dim]")
    yield
    err.print(f"[dim]{name} done in {time.monotonic() - started:.1f} s[/dim]")


def show_rounds() -> Callable[[int, float, float], None]:
    """A callback that prints the rounds of an iterative solver: all on a terminal, 1, 2, 4, 8, ... elsewhere."""

    def show(number: int, change: float, deviation: float) -> None:
        if err.is_terminal or number & (number - 1) == 0:
            err.print(
                f"[dim]  round {number:5d}  mean change {change:.3e}  consistency deviation {deviation:.3e}[/dim]"
            )

    return show


def table(title: str, columns: list[str], rows: list[list[str]], right: frozenset[str] = frozenset()) -> Table:
    """A plain table; the columns named in ``right`` are aligned to the right."""
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    return shown
