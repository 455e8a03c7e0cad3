"""Audit of the job range-histograms: empirical epsilon on worst-case neighbours, with planted faults it must catch.

Every group is a copy of the same experiment: its noise is independent, so one release is thousands of trials.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.arrays import FloatArray, IntArray
from dplib.config.load import check
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.measure import measure_on_driver, noisy_histogram
from dplib.privacy.calibration import epsilon_from_rho
from dplib.randomness.keyed import derive_key
from dplib.trees.budgets import WHOLE, noise_parameter
from dplib.workflow.run_keys import RunKeys
from tests.support.goodness_of_fit import epsilon_between

COPIES, N_BINS = 700, 6
"""Of as many copies the bounds are about 0.4 at a true epsilon of 1, and above 1 where half the noise makes it 2."""
KEY = bytes(range(5, 37))


def design_of(budget: dict[str, Any], method: str = "blue", rows: int = 1, **histogram: Any) -> Design:
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "audit",
        "input": {"path": "none", "columns": {"value": "v", "unit": "u"}},
        "privacy": {
            "unit": "order",
            "max_rows_per_unit": rows,
            "neighbors": "replace_one" if histogram.get("total_is_public") else "add_remove",
            "budget": budget,
        },
        "histogram": {"edges": list(range(N_BINS + 1))} | histogram,
        "tree": {"method": method},
    }
    return Design.resolve(check(RangeHistogramsConfig, settings), Path())


def log_mass(design: Design, noise: IntArray) -> FloatArray:
    """Log of the mass of the claimed noise at every node, up to a constant; copies in the rows."""
    shares = design.strategy.shares
    measured = np.flatnonzero(shares)
    parameters = np.array(
        [
            float(noise_parameter(int(s), design.budget, Fraction(design.sensitivity), design.noise))
            for s in shares[measured]
        ]
    )
    gaps = np.abs(noise[:, measured]).astype(np.float64)
    powers = gaps / parameters if design.noise == "laplace" else gaps**2 / (2 * parameters)
    return -powers.sum(axis=1)


def ratios(claimed: Design, used: Design, present: IntArray, absent: IntArray) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood ratios under the claimed noise, of copies with and without the unit."""
    exact = [claimed.strategy.tree.sums(each).astype(np.int64) for each in (present, absent)]
    noise = noisy(used, present, COPIES) - exact[0]
    # One key and name have one noise, whatever the counts: it is drawn once for both.
    again, measured = noisy(used, absent, 20) - exact[1], used.strategy.shares > 0
    assert np.array_equal(again[:, measured], noise[:20, measured])
    ratio = [log_mass(claimed, noise + own - exact[0]) - log_mass(claimed, noise + own - exact[1]) for own in exact]
    return ratio[0], ratio[1]


def noisy(design: Design, counts: IntArray, copies: int) -> IntArray:
    """The noisy counts of every copy."""
    return np.stack([noisy_histogram(design, f"copy {copy}", counts, KEY).noisy for copy in range(copies)])


def empirical_epsilon(claimed: Design, used: Design, present: IntArray, absent: IntArray, delta: float = 0.0) -> float:
    return epsilon_between(*ratios(claimed, used, present, absent), delta, error=1e-3)


BASE = np.full(N_BINS, 7, dtype=np.int64)


def unit_at(*bins: int) -> IntArray:
    counts = BASE.copy()
    np.add.at(counts, list(bins), 1)
    return counts


Case = tuple[Design, IntArray, IntArray]
CASES: dict[str, Callable[[], Case]] = {
    "one row": lambda: (design_of({"epsilon": 1}), unit_at(0), BASE),
    "rows in one bin": lambda: (design_of({"epsilon": 1}, rows=3), unit_at(2, 2, 2), BASE),
    "rows apart": lambda: (design_of({"epsilon": 1}, rows=2), unit_at(0, 5), BASE),
    "node budgets": lambda: (design_of({"epsilon": 1}, "lue_dptree", rows=2), unit_at(1, 1), BASE),
    "public total": lambda: (design_of({"epsilon": 1}, total_is_public=True), unit_at(0), unit_at(5)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_job_keeps_its_epsilon_and_uses_it(name: str) -> None:
    design, present, absent = CASES[name]()
    found = empirical_epsilon(design, design, present, absent)
    assert found <= 1
    assert found > 0.25


def test_the_job_keeps_its_rho() -> None:
    design = design_of({"rho": "0.5"}, rows=2)
    found = empirical_epsilon(design, design, unit_at(3, 3), BASE, delta=1e-2)
    assert 0.5 < found <= float(epsilon_from_rho(Fraction(1, 2), Fraction(1, 100)))


class HalfNoise(Design):
    """Planted fault: half the sensitivity that the claim needs."""

    def sensitivity_of(self, column: int) -> int:
        return super().sensitivity_of(column) // 2


@pytest.mark.parametrize("name", ["rows in one bin", "rows apart", "public total"])
def test_a_sensitivity_that_is_too_small_is_caught(name: str) -> None:
    design, present, absent = CASES[name]()
    broken = HalfNoise(design.config, design.bins, design.law, design.strategy)
    assert broken.sensitivity < design.sensitivity
    assert empirical_epsilon(design, broken, present, absent) > 1


def test_budgets_that_overspend_a_path_are_refused_before_noise_is_drawn() -> None:
    design = design_of({"epsilon": 1})
    greedy = replace(design, strategy=replace(design.strategy, shares=np.full_like(design.strategy.shares, WHOLE)))
    with pytest.raises(Exception, match="spends more"):
        noisy_histogram(greedy, "all", BASE, KEY)


def test_other_counts_never_meet_the_same_noise(tmp_path: Path) -> None:
    design = design_of({"epsilon": 1})
    keys = RunKeys("audit", b"", derive_key(KEY, "digest"), derive_key(KEY, "parent"))
    found = [
        measure_on_driver(design, counts[None, :], keys, tmp_path / str(number)).measurement_key
        for number, counts in enumerate((BASE, BASE, unit_at(0)))
    ]
    assert found[0] == found[1] != found[2]
