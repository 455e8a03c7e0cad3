"""A claim, its target, what was measured, and the table of a whole issue."""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

console = Console(width=150)
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


def accept(name: str, checks: Iterable[Check]) -> int:
    """Run the checks, print the table, return the exit code."""
    started, results = time.monotonic(), list[Result]()
    for check in checks:
        console.print(f"[dim]{check.__name__ if hasattr(check, '__name__') else check} ...[/dim]")
        for result in check():
            results.append(result)
            console.print(f"  {verdict(result)}  {result.claim}: {result.measured} ({result.target})", markup=False)
    table = Table(title=f"Acceptance of {name}", show_lines=False)
    for column in ("claim", "target", "measured", "verdict"):
        table.add_column(column, overflow="fold")
    for result in results:
        table.add_row(result.claim, result.target, result.measured, verdict(result))
    console.print(table)
    failed = sum(result.ok is False for result in results)
    skipped = sum(result.ok is None for result in results)
    spent, elapsed = sum(os.times()[:4]), time.monotonic() - started
    console.print(
        f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped;"
        f" {elapsed:.0f} s, {spent:.0f} s of processor time in Python and what has ended"
    )
    return 1 if failed or not results else 0


def verdict(result: Result) -> str:
    """The verdict in a word."""
    return {True: "pass", False: "FAIL", None: "skipped"}[result.ok]
