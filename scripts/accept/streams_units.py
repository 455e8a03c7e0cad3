"""Exact audit of streams whose units span days: what neighbouring histories of customers cost, and planted faults.

Noise is Gaussian, so what a history costs is the sum over all noisy counts that the ledger took of the squared
difference between the neighbours over twice sigma squared: rho, exactly. One neighbour has a customer more, whose rows
come late, change, are dated anew and vanish between runs; days are run out of order.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np

from dplib.arrays import IntArray
from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms import stream_measure
from dplib.ledger.runs import MeasuredDay, Run
from dplib.mechanisms.chosen_rows import Caps, Choice, Chosen, Snapshot, choose
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.noise import Noise
from dplib.release.chosen_table import ChosenRows, ChosenTable
from scripts.accept.claims import Check, Result
from tests.support import stream_shop
from tests.support.stream_shop import days, new_customers

N_DAYS, WEEK, N_HISTORIES, ROWS, ROWS_A_DAY = 14, 7, 6, 4, 2
SETTINGS = {
    "stream__horizon": ["2026-01-26", "2026-02-08"],
    "stream__levels": ["week", "day"],
    "privacy__max_rows_per_unit": ROWS,
    "privacy__max_rows_per_day": ROWS_A_DAY,
}
MOVED = "a late row moves a closed node"
Line = tuple[str, int, int, int]
Step = tuple[int, list[Line], list[Line]]
"""A run: its day, the rows of the other customers at that moment, and those of the one."""
Drawn = tuple[IntArray, Noise]
"""The exact counts of a node that were given noise."""


def some_lines(generator: np.random.Generator, name: str, most: int) -> list[Line]:
    """Up to so many rows of a customer, on any days."""
    n = int(generator.integers(most + 1))
    drawn = zip(*(generator.integers(of, size=n).tolist() for of in (N_DAYS, 3, 6)), strict=True)
    return [(name, day, item, quantity) for day, item, quantity in drawn]


def history(generator: np.random.Generator) -> list[Step]:
    """Runs of all days out of order, each with rows of its own."""
    return [
        (day, some_lines(generator, "ann", 9) + some_lines(generator, "bob", 9), some_lines(generator, "eve", 12))
        for day in generator.permutation(N_DAYS).tolist()
    ]


def worst_history(generator: np.random.Generator) -> list[Step]:
    """The rows of two days as large as they may be, as many as a day may have, all there from the start."""
    rows = [("eve", day, 1, 5) for day in (2, 4) for _ in range(ROWS_A_DAY)]
    return [(day, some_lines(generator, "ann", 9), rows) for day in range(N_DAYS)]


def moving_history(generator: np.random.Generator) -> list[Step]:
    """Each run sees its own day's rows alone: those before are gone."""
    return [(day, some_lines(generator, "ann", 9), [("eve", day, 1, 5)] * ROWS_A_DAY) for day in range(N_DAYS)]


def recorded(folder: Path, steps: Sequence[Step], has_eve: bool) -> tuple[list[Drawn], Fraction]:
    """The exact counts of all nodes that the ledger took, a node after the other, and what the account paid."""
    shop = new_customers(folder, **SETTINGS)
    seen, drawn = list[Drawn](), list[Drawn]()

    def record(counts: list[IntArray], noise: list[Noise | None], *name: object) -> list[IntArray]:
        drawn.extend((each.copy(), law) for each, law in zip(counts, noise, strict=True) if law is not None)
        return measure_levels(counts, noise, *name)  # type: ignore[arg-type]

    with patch.object(stream_measure, "measure_levels", record):
        for day, others, hers in steps:
            shop.lines = others + (hers if has_eve else [])
            before = shop.entries().count("day")
            drawn.clear()
            # A fault can leave two measurements of a day, which the store finds once both are recorded.
            with suppress(IntegrityError):
                shop.measure(*days(day))
            if shop.entries().count("day") > before:
                seen.extend(drawn)
    return seen, shop.spent()


def cost_of(folder: Path, steps: Sequence[Step]) -> tuple[Fraction, Fraction]:
    """What tells a history from its neighbour, and what the account paid."""
    (one, paid), (other, _) = (recorded(folder / str(has), steps, has) for has in (True, False))
    squares = (
        Fraction(int(((mine - theirs) ** 2).sum())) / (2 * noise.parameter)
        for (mine, noise), (theirs, _) in zip(one, other, strict=True)
    )
    return sum(squares, Fraction(0)), paid


def histories_stay_below_the_claim() -> Iterator[Result]:
    """Random histories, one whose rows move, and the worst."""
    made = [history(np.random.default_rng(seed)) for seed in range(N_HISTORIES)]
    made += [make(np.random.default_rng(0)) for make in (moving_history, worst_history)]
    with tempfile.TemporaryDirectory() as name:
        costs = [cost_of(Path(name, str(number)), steps) for number, steps in enumerate(made)]
    paid, worst = costs[0][1], max(cost for cost, _ in costs)
    shown = ", ".join(f"{float(cost):.3g}" for cost, _ in costs)
    claim = f"rho of {len(made)} histories of customers ({shown}), the worst reaches what was paid"
    yield Result(claim, f"{paid}", f"{worst}", worst == paid)


def oldest_afresh(rows: Snapshot, before: Chosen, caps: Caps, key: bytes) -> Choice:
    """Planted: the oldest rows of the present snapshot."""
    start = np.append(True, rows.unit[1:] != rows.unit[:-1])[: len(rows.unit)]
    ahead = np.cumsum(rows.copies) - rows.copies
    ahead = ahead - ahead[start][np.cumsum(start) - 1]
    kept = np.clip(caps.rows - ahead, 0, np.minimum(rows.copies, caps.rows_per_day))
    return Choice(kept, kept, choose(rows, Chosen.nothing(), caps, key).entry)


def only_newest(run: Run, date: str) -> MeasuredDay | None:
    """Planted: neither a run nor the ledger knows a day once another one was measured."""
    return next((day for day in run.days[-1:] if day.date == date), None)


def faults() -> dict[str, AbstractContextManager[object]]:
    """By name, what breaks the bound."""
    return {
        "a cap by day only": patch.object(stream_shop, "Caps", lambda _rows, a_day: Caps(1000, a_day)),
        "oldest rows afresh": patch.object(stream_shop, "choose", oldest_afresh),
        "a table that is reset": patch.object(ChosenTable, "read", lambda *_: ChosenRows.together([])),
        MOVED: patch.object(Run, "measured_on", only_newest),
    }


def planted_faults_are_caught() -> Iterator[Result]:
    """Each costs more than was paid."""
    with tempfile.TemporaryDirectory() as name:
        for number, (fault, planted) in enumerate(faults().items()):
            steps = moving_history(np.random.default_rng(0))
            if fault == MOVED:
                steps = worst_history(np.random.default_rng(0))[: WEEK + 1]
                steps.append(steps[WEEK - 1])
            with planted:
                cost, paid = cost_of(Path(name, str(number)), steps)
            yield Result(f"planted: {fault}, rho", f"above {paid}", f"{float(cost):.3g}", cost > paid)


CHECKS: tuple[Check, ...] = (histories_stay_below_the_claim, planted_faults_are_caught)
