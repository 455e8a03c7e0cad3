"""Faults of counting: how often noise alone is named, and what the share of counted rows tells."""

from collections.abc import Iterator

import numpy as np

from dplib.mechanisms.tree_counts import measure_levels
from dplib.metrics.faint_totals import NoisyTotal, find_faint
from dplib.privacy.budget import PureDP
from dplib.privacy.input_quality import QualityPlan
from dplib.privacy.noise_quantile import DrawLaw, Draws, std_error
from dplib.privacy.rounding import as_fraction
from dplib.workflow.quality import part_of
from scripts.accept.claims import Check, Result, at_least, at_most
from tests.statistical.test_quality_audit import (
    REMOVED,
    REPLACED,
    claimed,
    empirical_epsilon,
    for_one_row,
    for_removal,
)
from tests.support.coverage_of_intervals import drawn

TRIALS = 2000


def noise_alone_is_named() -> Iterator[Result]:
    """How often noise of few and many draws is named whole, and how often a real count is named."""
    for n_series, count in ((1, 1), (50, 1), (50, 3)):
        law = DrawLaw("discrete_laplace", 20.0)
        draws = (Draws(law, 1.0, float(count)),)
        noise = drawn(law, TRIALS * n_series * count, "faint", n_series, count)
        sums = noise.reshape(TRIALS, n_series, count).sum(axis=2)
        error = std_error(draws)
        whole = sum(
            find_faint([NoisyTotal(str(i), float(x), error, draws) for i, x in enumerate(row)]).everything
            for row in sums
        )
        yield at_least(f"noise alone of {n_series} series, {count} draws each: all are named", whole / TRIALS, 0.935)
        yield at_most(f"the same, not by a bound far too high ({n_series}, {count})", whole / TRIALS, 0.975)
        above = find_faint([NoisyTotal("s", 12 * error, error, draws)])
        yield Result("a total of 12 standard errors", "is not named", str(above.names), above.names == ())


def the_share_is_private_and_honest() -> Iterator[Result]:
    """Worst-case neighbours, planted faults, and the coverage of the percentage's interval."""
    for replaces, neighbours in ((False, REMOVED), (True, REPLACED)):
        words = "replaced" if replaces else "removed"
        yield at_most(
            f"empirical epsilon, a unit {words} (claim 1)", empirical_epsilon(claimed(3, replaces), *neighbours), 1.0
        )
    caught = empirical_epsilon(for_one_row(3, False), *REMOVED), empirical_epsilon(for_removal(3, True), *REPLACED)
    yield at_least("planted: q taken for 1, replacing for removing", min(caught), 1.2)
    plan = QualityPlan.of(PureDP(as_fraction("epsilon", "0.02")), 1, False, False)
    truth, error, covered = np.array([1900, 90_000, 8100], dtype=np.int64), float(np.sqrt(plan.rows.noise.variance)), 0
    for number in range(TRIALS):
        (noisy,) = measure_levels([truth], [plan.rows.noise], number.to_bytes(32, "big"), "quality", "input")
        counters = {name: (int(n), error) for name, n in zip(("day", "kept", "clipped"), noisy, strict=True)}
        found = part_of(counters, ("kept", "clipped"), DrawLaw.of(plan.rows.noise))
        covered += found is not None and abs(found[0] - 0.981) <= found[1]
    yield at_least("98.1 % counted: coverage of the stated interval", covered / TRIALS, 0.93)


CHECKS: tuple[Check, ...] = (
    noise_alone_is_named,
    the_share_is_private_and_honest,
)
