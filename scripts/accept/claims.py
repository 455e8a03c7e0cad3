"""A claim, its target, what was measured, and the table of a whole issue."""

import ctypes
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

console = Console(width=150)
SUBREAPER = 36
"""Linux's PR_SET_CHILD_SUBREAPER: a Java that outlives the command which started it becomes ours, and is counted."""
BUSY = 3.0
"""Load average up to which two cores are ours."""


@dataclass(frozen=True)
class Result:
    """One claim after its check; ``ok`` is None where the machine lacks what the check needs, or is too busy to time.

    ``measured`` says which.
    """

    claim: str
    target: str
    measured: str
    ok: bool | None


Check = Callable[[], Iterable[Result]]


def at_most(claim: str, measured: float, target: float, unit: str = "") -> Result:
    """A claim with an upper limit."""
    return Result(claim, f"<= {target:g}{unit}", f"{measured:.4g}{unit}", measured <= target)


def at_least(claim: str, measured: float, target: float, unit: str = "") -> Result:
    """A claim with a lower limit."""
    return Result(claim, f">= {target:g}{unit}", f"{measured:.4g}{unit}", measured >= target)


def unless_busy(timed: Result, most: float = BUSY) -> Result:
    """A timed claim; one that is missed gets no verdict where other processes hold the cores, and the table says so.

    Args:
        timed: by the clock on the wall.
        most: load average of the last minute up to which the cores are ours.
    """
    now = os.getloadavg()[0]
    if timed.ok or now <= most:
        return timed
    return replace(timed, measured=f"{timed.measured}: MISSED, no verdict at load {now:.1f} > {most:g}", ok=None)


def load() -> str:
    """The machine's load and cores, for timed lines."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def processor_seconds() -> float:
    """Processor time of this process and of all that it started, ended or not: Spark's, and its tasks'."""
    parent, ticks = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = file.read_text().rpartition(")")[2].split()
            parent[int(file.parent.name)] = int(fields[1])
            ticks[int(file.parent.name)] = sum(map(int, fields[11:15]))
    mine, total = {os.getpid()}, 0
    while mine:
        total += sum(ticks.get(process, 0) for process in mine)
        mine = {process for process, its_parent in parent.items() if its_parent in mine}
    return total / os.sysconf("SC_CLK_TCK")


def name_of(check: Check) -> str:
    """Module and function."""
    return f"{check.__module__.rpartition('.')[2]}.{getattr(check, '__name__', '')}"


def accept(name: str, checks: Iterable[Check]) -> int:
    """Run the checks, print their claims and what each took, return the exit code."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    results, took = list[Result](), Table(title=f"Acceptance of {name}")
    for column in ("check", "seconds", "of processor time", "passed", "failed", "skipped"):
        took.add_column(column, justify="left" if column == "check" else "right")
    started = first = time.monotonic(), processor_seconds()
    for check in checks:
        console.print(f"[dim]{name_of(check)} ...[/dim]")
        found = []
        for result in check():
            found.append(result)
            console.print(f"  {verdict(result)}  {result.claim}: {result.measured} ({result.target})", markup=False)
        ended = time.monotonic(), processor_seconds()
        seconds, used = _spent(started, ended)
        console.print(f"[dim]  {seconds} s, {used} s of processor time[/dim]")
        took.add_row(name_of(check), seconds, used, *_counted(found))
        started, results = ended, results + found
    took.add_section()
    took.add_row("all", *_spent(first, started), *_counted(results))
    console.print(took)
    for result in results:
        if result.ok is False:
            console.print(f"FAIL  {result.claim}: {result.measured} ({result.target})", markup=False)
    return 1 if any(result.ok is False for result in results) or not results else 0


def _spent(before: tuple[float, float], after: tuple[float, float]) -> list[str]:
    return [f"{end - start:,.1f}" for start, end in zip(before, after, strict=True)]


def _counted(results: list[Result]) -> list[str]:
    return [str(sum(result.ok is ok for result in results)) for ok in (True, False, None)]


def verdict(result: Result) -> str:
    """The verdict in a word."""
    return {True: "pass", False: "FAIL", None: "skipped"}[result.ok]
