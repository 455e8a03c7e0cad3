"""What a command says while it works: a moving line for people, lines with a time for logs, JSON lines for machines.

All of it goes to standard error; standard output holds results only. ``--log`` or DPLIB_LOG chooses: ``plain``,
``json``, or ``auto``, which is a moving line on a terminal and ``plain`` elsewhere.

A JSON line is one object with ``time`` (UTC) and ``event``, and with job, dataset, logical_date and release_id once
they are known. Events of a run: ``started``, ``reserved``, ``measured``, ``published``, ``appended``, ``warning``, and
at the end one of ``finished``, ``refused`` (exit codes 2, 3, 4: running it again changes nothing) and ``failed``, with
``exit_code`` and ``seconds``. In between stand ``stage`` and ``round``. No line holds a value or a number of rows.
"""

import datetime as dt
import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from dplib.errors import BudgetError, ConfigError, SchemaError
from dplib.progress import Progress, Round
from dplib.terminal.text import Terminal, visible
from dplib.validate import one_of

if TYPE_CHECKING:
    from rich import progress as bars

MODES = ("auto", "plain", "json")
VARIABLE = "DPLIB_LOG"
REFUSED = frozenset(error.exit_code for error in (ConfigError, SchemaError, BudgetError))
"""Exit codes that a repetition cannot change."""


class Log:
    """The log of one process. Not safe for threads.

    Args:
        console: standard error.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._given: str | None = None
        self._known: dict[str, object] = {}
        self._begun = time.monotonic()
        self._bar: bars.Progress | None = None
        handler = _Warnings(self)
        logger = logging.getLogger("dplib")
        logger.addHandler(handler)
        logger.propagate = False

    def choose(self, mode: str | None) -> None:
        """Take a mode from the command line; None leaves it to the environment.

        Raises:
            ConfigError: if there is no such mode.
        """
        self._given = None
        if mode is not None:
            self._given = one_of("--log", mode, MODES)
        elif os.environ.get(VARIABLE):
            one_of(VARIABLE, os.environ[VARIABLE], MODES)

    @property
    def mode(self) -> str:
        """``people``, ``plain`` or ``json``."""
        asked = self._given or os.environ.get(VARIABLE) or "auto"
        if asked in ("plain", "json"):
            return asked
        return "people" if self._console.is_terminal else "plain"

    def begin(self) -> None:
        """A command begins: nothing is known of it yet."""
        self._known, self._begun = {}, time.monotonic()

    def about(self, **known: object) -> None:
        """Name what all further events are about; empty values are left out."""
        self._known |= {name: value for name, value in known.items() if value}

    def event(self, name: str, /, **fields: object) -> None:
        """Note an event of a run."""
        if "release_id" in fields:
            self.about(release_id=fields["release_id"])
        if self.mode == "json":
            self._json(name, **fields)
        elif self.mode == "plain" and name not in ("started", "finished"):
            self._line(" ".join([name, *(str(value) for value in fields.values() if isinstance(value, str))]))

    def warning(self, text: str) -> None:
        """Say what a user should know although the run goes on."""
        if self.mode == "json":
            self._json("warning", message=text)
        elif self.mode == "plain":
            self._line(f"warning: {text}")
        else:
            self._console.print(f"Warning: {text}", style="yellow", markup=False)

    def ended(self, exit_code: int, sentence: str) -> None:
        """The last line of a command that failed."""
        if self.mode == "json":
            self.final("refused" if exit_code in REFUSED else "failed", exit_code, message=sentence)
        else:
            self._console.print(sentence, markup=False)

    def final(self, name: str, exit_code: int, **fields: object) -> None:
        """The last event of a command."""
        self.event(name, exit_code=exit_code, seconds=round(time.monotonic() - self._begun, 3), **fields)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Say that a part of the work runs, and how long it took."""
        started = time.monotonic()
        if self.mode == "people":
            with self._moving(name):
                yield
            self._console.print(f"{name}: {time.monotonic() - started:.1f} s", style="dim", markup=False)
            return
        if self.mode == "json":
            self._json("stage", stage=name, state="begun")
        else:
            self._line(f"{name} ...")
        yield
        seconds = time.monotonic() - started
        if self.mode == "json":
            self._json("stage", stage=name, state="done", seconds=round(seconds, 3))
        else:
            self._line(f"{name} done in {seconds:.1f} s")

    def round(self, each: Round) -> None:
        """Note a round of an iterative solver: all on a terminal, 1, 2, 4, 8, ... elsewhere."""
        number, change, deviation = each.number, each.change, each.deviation
        text = f"round {number:5d}  mean change {change:.3e}  consistency deviation {deviation:.3e}"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[-1], detail=text)
        elif number & (number - 1) == 0:
            if self.mode == "json":
                self._json("round", round=number, change=change, deviation=deviation)
            else:
                self._line(text)

    @property
    def progress(self) -> Progress:
        """All that work tells, as events of this log."""
        return Progress(self.stage, self.event, self.round)

    @contextmanager
    def _moving(self, name: str) -> Iterator[None]:
        """A line that turns while the block runs; an inner one stands below the outer ones."""
        # Imported where it is needed: nothing moves where nobody looks.
        from rich import progress as bars

        outermost = self._bar is None
        if self._bar is None:
            detail = bars.TextColumn("{task.fields[detail]}", markup=False)
            columns = (
                bars.SpinnerColumn(),
                bars.TextColumn("{task.description}", markup=False),
                bars.TimeElapsedColumn(),
                detail,
            )
            self._bar = bars.Progress(*columns, console=self._console, transient=True)
            self._bar.start()
        task = self._bar.add_task(name, total=None, detail="")
        try:
            yield
        finally:
            self._bar.remove_task(task)
            if outermost:
                self._bar.stop()
                self._bar = None

    def _json(self, name: str, **fields: object) -> None:
        line = {"time": _now().isoformat(timespec="milliseconds").replace("+00:00", "Z"), "event": name}
        self._write(json.dumps(line | self._known | fields, default=str))

    def _line(self, text: str) -> None:
        self._write(f"{_now():%Y-%m-%dT%H:%M:%SZ} {text}")

    def _write(self, text: str) -> None:
        # Not through the console, which would colour, wrap and read markup.
        self._console.file.write(visible(text) + "\n")
        self._console.file.flush()


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class _Warnings(logging.Handler):
    """Hands the warnings of the package's loggers to the log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record's message."""
        self._log.warning(record.getMessage())


err = Terminal(stderr=True)
log = Log(err)
"""The log of this process."""
