"""What every command shares: exit codes, messages, options and tables. `progress` shows its work.

A command ends with the exit code of its error (`dplib.errors`) after one sentence on standard error. An error nobody
foresaw ends with 1 and names its class and place only, since its message could hold a value of an input row;
``DPLIB_DEBUG=1`` shows the whole traceback to anyone who may see the data.
"""

import datetime as dt
import json
import math
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer
from rich.table import Table

from dplib.errors import ConfigError, DplibError
from dplib.terminal.progress import err as err
from dplib.terminal.progress import log
from dplib.terminal.tables import fitted_table
from dplib.terminal.text import Terminal
from dplib.workflow.shown import Shown

out = Terminal()
stage = log.stage


def fail(error: BaseException) -> NoReturn:
    """Print one sentence for ``error`` and exit with its code."""
    if os.environ.get("DPLIB_DEBUG") == "1":
        traceback.print_exception(error)
    code, sentence = _ending(error)
    log.ended(code, sentence)
    sys.exit(code)


def _ending(error: BaseException) -> tuple[int, str]:
    if isinstance(error, DplibError):
        return error.exit_code, f"dplib: {error}"
    if isinstance(error, KeyboardInterrupt):
        return 130, "dplib: interrupted"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "an unknown place"
    withheld = "its message may hold data and is withheld (DPLIB_DEBUG=1 shows it)"
    return 1, f"dplib: unexpected {type(error).__name__} at {place}; {withheld}"


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn every error of the block into its sentence and exit code."""
    log.begin()
    try:
        yield
    except BrokenPipeError:
        # Anyone who read the output has enough, as `| head` has; Python would complain once more at its end.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as error:  # the last place that can keep values off the screen
        fail(error)


def day_option(name: str, text: str | None) -> dt.date | None:
    """The day that an option names, None where it is absent.

    Raises:
        ConfigError: if it is no day.
    """
    try:
        return None if text is None else dt.date.fromisoformat(text)
    except ValueError:
        raise ConfigError(name, "be a day YYYY-MM-DD", text) from None


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str] = frozenset()
) -> Table:
    """A plain table that fits the terminal; the columns named in ``right`` are aligned to the right."""
    return fitted_table(title, columns, rows, right, out.width)


class Consent:
    """What was said about runs of input rules that nobody inspected.

    Attributes:
        given: ``--yes``.
        can_ask: whether the command may ask: never a program that a scheduler or spark-submit starts.
    """

    given = False
    can_ask = False


consent = Consent()


def someone_there() -> bool:
    """Whether a person sits at standard input."""
    return sys.stdin.isatty()


def answer_of(name: str, default: str) -> str:
    """What a person answers; empty where nothing is said and there is no default."""
    return str(typer.prompt(name, default=default or None))


def json_text(value: Any) -> str:
    """JSON as its standard has it: null in place of NaN and infinity, other values as texts."""
    return json.dumps(_finite(value), indent=2, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(shown: Iterable[Shown]) -> None:
    """Print what a job has to say."""
    for each in shown:
        out.print(each if isinstance(each, str) else table(each.title, each.columns, each.rows, each.right))
