"""Exact audit of streams over neighbouring histories: what all that was ever recorded costs, and a planted fault.

Noise is Gaussian, so what a history costs is the sum over all noisy counts that the ledger took of the squared
difference between the neighbours over twice sigma squared: rho, exactly. Histories are random: days out of order and
again, rows that come late, change and vanish between runs, one row version more in one of the neighbours.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np

from dplib.arrays import IntArray
from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms import stream_measure
from dplib.ledger.runs import MeasuredDay, Run
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.noise import Noise
from dplib.release.staging import check_writable
from dplib.workflow.stream import measure_day
from scripts.accept.claims import Check, Result
from tests.support.stream_shop import StreamShop, days, new_stream

N_DAYS, N_HISTORIES = 21, 4
Step = tuple[int, IntArray, bool]
"""A run: its day, the counts of the other rows at that moment, and whether the one row is there."""
Runs = Callable[[StreamShop, str], None]
"""Measures a day."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """The exact counts of one node that were given noise, and its key: equal keys are equal noise."""

    key: bytes
    counts: IntArray
    noise: Noise


def history(generator: np.random.Generator) -> list[Step]:
    """Runs of all days out of order, some again; the row is there from some run on, and perhaps deleted later."""
    order = [*generator.permutation(N_DAYS).tolist(), *generator.integers(N_DAYS, size=4).tolist()]
    comes, goes = sorted(generator.integers(0, 2 * len(order), 2).tolist())
    return [
        (
            day,
            generator.poisson(3, (N_DAYS, 3)).astype(np.int64),
            comes // 2 <= step and (step <= goes or bool(goes % 2)),
        )
        for step, day in enumerate(order)
    ]


def recorded(folder: Path, steps: Sequence[Step], row: int, quantity: int, runs: Runs) -> tuple[list[Drawn], Fraction]:
    """All that the ledger took of a history, a node after the other, and what the account paid.

    Args:
        folder: of the shop.
        steps: the runs.
        row: day of the one row.
        quantity: its quantity, 0 in the neighbour without it.
        runs: measures a day.
    """
    shop, seen, drawn = new_stream(folder), list[Drawn](), list[Drawn]()

    def record(counts: list[IntArray], noise: list[Noise | None], key: bytes, *name: str) -> list[IntArray]:
        drawn.extend(Drawn(key, each.copy(), law) for each, law in zip(counts, noise, strict=True) if law is not None)
        return measure_levels(counts, noise, key, *name)

    with patch.object(stream_measure, "measure_levels", record):
        for day, others, there in steps:
            shop.counts = others.copy()
            shop.counts[row, 1] += quantity * there
            before = shop.entries().count("day")
            drawn.clear()
            with suppress(IntegrityError):
                runs(shop, days(day)[0])
            if shop.entries().count("day") > before:
                seen.extend(drawn)
    return seen, shop.spent()


def run_day(shop: StreamShop, date: str) -> None:
    """Measure a day through ledger and store."""
    prepared = shop.prepared(date)
    ledger = prepared.open_ledger()
    check_writable(prepared.output)
    run, measure = shop.reserve(prepared, ledger)
    measure_day(ledger, run, prepared.output, date, measure)


def cost_of(folder: Path, steps: Sequence[Step], row: int, runs: Runs = run_day) -> tuple[Fraction, Fraction]:
    """What tells a history from its neighbour, and what the account paid."""
    one, paid = recorded(folder / "one", steps, row, 5, runs)
    other, _ = recorded(folder / "none", steps, row, 0, runs)
    assert len(one) == len(other)
    total, known = Fraction(0), set[tuple[bytes, bytes]]()
    for mine, theirs in zip(one, other, strict=True):
        if (mine.key, theirs.key) not in known:  # the same noise on the same counts says nothing more
            square = int(((mine.counts - theirs.counts) ** 2).sum())
            total += Fraction(square) / (2 * mine.noise.parameter)
        known.add((mine.key, theirs.key))
    return total, paid


def histories_stay_below_the_claim() -> Iterator[Result]:
    """Random histories, and the worst one: the row is always there."""
    costs = []
    with tempfile.TemporaryDirectory() as name:
        for seed in range(N_HISTORIES):
            generator = np.random.default_rng(seed)
            steps = history(generator)
            if not seed:
                steps = [(day, others, True) for day, others, _ in steps]
            costs.append(cost_of(Path(name, str(seed)), steps, int(generator.integers(N_DAYS))))
    paid = costs[0][1]
    worst = max(cost for cost, _ in costs)
    shown = ", ".join(f"{float(cost):.3g}" for cost, _ in costs)
    yield Result(
        f"rho of {N_HISTORIES} histories ({shown}), the worst reaches what was paid",
        f"{paid}",
        f"{worst}",
        worst == paid,
    )


class Forgetful:
    """Planted: neither a run nor the ledger knows the days that were measured before."""

    def __init__(self) -> None:
        self.forgotten = 0

    def measured_on(self, run: Run, date: str) -> MeasuredDay | None:
        """What is remembered."""
        return next((day for day in run.days[self.forgotten :] if day.date == date), None)


def a_node_that_is_measured_twice_is_caught() -> Iterator[Result]:
    """Planted: a day is measured again when other rows are there."""
    steps = [(day, others, True) for day, others, _ in history(np.random.default_rng(0))][: N_DAYS + 1]
    mind = Forgetful()

    def forgets(run: Run, date: str) -> MeasuredDay | None:
        return mind.measured_on(run, date)

    def run_again(shop: StreamShop, date: str) -> None:
        mind.forgotten = shop.entries().count("day")
        run_day(shop, date)

    with tempfile.TemporaryDirectory() as name, patch.object(Run, "measured_on", forgets):
        cost, paid = cost_of(Path(name), steps, steps[-1][0], run_again)
    yield Result("planted: a node is measured twice, rho", f"above {paid}", f"{cost} ({float(cost):.3g})", cost > paid)


CHECKS: tuple[Check, ...] = (histories_stay_below_the_claim, a_node_that_is_measured_twice_is_caught)
