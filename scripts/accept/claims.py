"""A claim, how it is shown, and checks that are test files."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

console = Console(width=150)


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


def unless_busy(timed: Result, most: float) -> Result:
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


def tests_pass(claim: str, *arguments: str) -> Iterator[Result]:
    """A claim that a set of tests checks: all pass, and there is at least one."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--no-header", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = next(
        (line for line in reversed(done.stdout.splitlines()) if re.search(r"\d+ (passed|failed|error)", line)), ""
    )
    passed = re.search(r"(\d+) passed", last)
    ok = done.returncode == 0 and passed is not None and int(passed[1]) > 0
    if not ok:
        console.print(done.stdout[-3000:], markup=False)
    yield Result(claim, "all tests pass", last.strip(" =") or f"exit {done.returncode}", ok)


def accept(name: str, checks: Iterable[Check]) -> int:
    """Run the checks, print the table, return the exit code."""
    results: list[Result] = []
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
    console.print(f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not results else 0


def verdict(result: Result) -> str:
    """The verdict in a word."""
    return {True: "pass", False: "FAIL", None: "skipped"}[result.ok]
