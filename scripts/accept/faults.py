"""Acceptance of the faults that outside readers found: what each one's cure states in numbers, measured again."""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from scripts.accept import faults_counted, faults_cuts, faults_errors, faults_kmeans, faults_sens
from scripts.accept.claims import Check, Result, at_most
from tests.support.configurations import configuration
from tests.support.drawn import outcome
from tests.support.ledger_faults import many_entries
from tests.support.ledgers import TERMS, key_number

CONFIGURATIONS = 600
ENTRIES = 100_000


def drawn_configurations() -> Iterator[Result]:
    """Nothing that a setting decides fails after a reservation."""
    kinds: Counter[str] = Counter()
    lost: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(CONFIGURATIONS):
            kind, said = outcome(number, Path(folder))
            kinds[kind] += 1
            if kind == "lost":
                lost.append(f"{number} ({configuration(number)['job']}): {said[:120]}")
    # The largest share of lost ones that still shows none of so many in one case of twenty.
    bound = 1 - 0.05 ** (1 / CONFIGURATIONS)
    measured = f"{kinds['published']} published, {kinds['refused']} refused with a sentence, {len(lost)} lost"
    ok = not lost and min(kinds["published"], kinds["refused"]) >= 100
    claim = f"{CONFIGURATIONS:,} drawn configurations of five jobs: none is lost (95 %: fewer than {bound:.2%} are)"
    yield Result(claim, "0 lost", "; ".join([measured, *lost[:5]]), ok)


def long_chain() -> Iterator[Result]:
    """A reservation reads the whole book."""
    with tempfile.TemporaryDirectory() as name:
        long = many_entries(Path(name), ENTRIES)
        started = time.process_time()
        long.reserve(key_number(1), TERMS, Fraction(1, 8), "")
        yield at_most(f"a reservation checks {ENTRIES:,} entries", time.process_time() - started, 5, " s")


CHECKS: tuple[Check, ...] = (
    *faults_sens.CHECKS,
    *faults_errors.CHECKS,
    *faults_kmeans.CHECKS,
    *faults_cuts.CHECKS,
    *faults_counted.CHECKS,
    long_chain,
    drawn_configurations,
)
