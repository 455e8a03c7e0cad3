"""The share for the quality of the input: exact division, stated sensitivities, honest intervals."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dplib.arrays import IntArray
from dplib.config.input_quality import quality_plan
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.job import JOB
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.budget import ZCDP, PureDP
from dplib.privacy.input_quality import UNITS, QualityPlan
from dplib.privacy.noise_quantile import DrawLaw
from dplib.workflow.quality import part_of, quality_words
from tests.support.jobs import Shop


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("has_cap", [False, True])
def test_the_share_is_spent_exactly(q: int, replaces: bool, has_cap: bool) -> None:
    pure = QualityPlan.of(PureDP(Fraction(1, 20)), q, replaces, has_cap)
    assert sum((event.epsilon or 0 for event in pure.events), Fraction(0)) == Fraction(1, 20)
    assert pure.rows.noise.sensitivity == q * (1 + replaces)
    concentrated = QualityPlan.of(ZCDP(Fraction(1, 50)), q, replaces, has_cap)
    assert sum((event.rho for event in concentrated.events), Fraction(0)) == Fraction(1, 50)
    assert concentrated.rows.noise.sensitivity == q * q * (1 + replaces)
    assert all(plan.units is None or plan.units.noise.sensitivity == 1 for plan in (pure, concentrated))


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.1"}])
def test_the_release_costs_its_budget_and_no_more(tmp_path: Path, budget: dict[str, object]) -> None:
    shop = Shop(tmp_path).set(privacy__budget=budget)
    before, plain = JOB.prepare(shop.config), JOB.prepare(shop.config).design.events
    assert "quality_share" not in before.settings["privacy"]
    with_share = JOB.prepare(shop.set(privacy__quality_share="0.04").config)
    events = with_share.design.events
    assert len(events) == len(plain) + 2
    assert sum((event.rho if "rho" in budget else event.epsilon or 0) for event in events) == Fraction(
        str(next(iter(budget.values())))
    )
    assert with_share.key.settings_hash != before.key.settings_hash
    assert JOB.prepare(shop.set(privacy__quality_rows=2).config).key.settings_hash != with_share.key.settings_hash
    again = type(with_share.design).from_public(with_share.design.public())
    assert again.events == events
    assert quality_plan(before.design.config) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"privacy__quality_share": 0}, "quality_share must be above 0"),
        ({"privacy__quality_share": "0.6"}, "at most 1/2"),
        ({"privacy__quality_rows": 2}, "quality_rows must be absent"),
        ({"privacy__quality_share": "0.1", "privacy__budget": {"epsilon": 1, "delta": "1e-6"}}, "has a delta"),
        ({"privacy__quality_share": "0.000000000001"}, "privacy.budget must give noise"),
    ],
)
def test_shares_that_cannot_be_are_refused(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        _ = JOB.prepare(Shop(tmp_path).set(**changes).config).design.events


@pytest.mark.parametrize(
    ("budget", "truth", "names", "runs"),
    [
        (PureDP(Fraction(1, 20)), (400, 9000, 600), ("kept", "clipped"), 500),
        (PureDP(Fraction(2)), (400, 9000, 600), ("day can be read",), 1000),
        (PureDP(Fraction(1, 20)), (9000, 600), ("clipped",), 3000),
        (ZCDP(Fraction(1, 2000)), (0, 0, 700, 0, 2000, 300), ("kept", "clipped"), 1000),
    ],
)
def test_intervals_of_parts_cover(
    budget: PureDP | ZCDP, truth: tuple[int, ...], names: tuple[str, ...], runs: int
) -> None:
    """Exact bounds at 1e-3, of a fixed key: 3000 runs catch 1.96 standard errors, which hold 93.7 % of a Laplace draw.

    Other draws share the quantile's code; a part of the sum that is mixed up covers nothing like 95 %.
    """
    plan, truths = QualityPlan.of(budget, 1, False, False), np.array(truth)
    law = DrawLaw.of(plan.rows.noise)
    counters = [f"rule {n}" for n in range(len(truth) - 2)] + ["kept", "clipped"]
    names = tuple(counters[0] if each not in counters else each for each in names)
    inside = np.array([name in names for name in counters])
    zeros = np.zeros((runs, len(truth)), np.int64)
    (noise,) = measure_levels([zeros], [plan.rows.noise], bytes(32), "quality", "input")

    def asked(numbers: IntArray) -> tuple[float, float]:
        found = part_of({name: (n, 0.0) for name, n in zip(counters, numbers.tolist(), strict=True)}, names, law)
        assert found is not None
        return found

    noisy = truths + noise
    parts, (true, half) = noisy[:, inside].sum(axis=1) / noisy.sum(axis=1), asked(truths)
    off, halves = np.abs(parts - true), half * truths.sum() / noisy.sum(axis=1)
    held = off <= halves
    # Widths differ little between runs: asked of the first ones, and wherever they decide.
    near = (off < 1.1 * halves) & (1.1 * off > halves) | (np.arange(runs) < 40)
    for run in np.flatnonzero(near):
        part, half = asked(noisy[run])
        assert part == pytest.approx(parts[run])
        assert 1 / 1.1 < half / halves[run] < 1.1
        held[run] = off[run] <= half + 1e-12
    covered = int(held.sum())
    # A law of wide steps covers more, never less.
    assert stats.binomtest(covered, runs, 0.95, "less").pvalue > 1e-3
    if law.variance > 100:
        assert stats.binomtest(covered, runs, 0.955, "greater").pvalue > 1e-3


def test_parts_of_noise_are_none() -> None:
    assert part_of({"kept": (3, 28.0), "x": (-2, 28.0)}, ("kept",), DrawLaw("discrete_laplace", 20.0)) is None


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.1"}])
def test_what_is_said_of_units_above_the_cap_covers(tmp_path: Path, budget: dict[str, object]) -> None:
    shop = Shop(tmp_path).set(privacy__budget=budget, privacy__quality_share="0.04")
    config = JOB.prepare(shop.config).design.config
    plan, runs = quality_plan(config), 20_000
    assert plan is not None
    assert plan.units is not None
    counters = {"kept": (90_000, 1.0), "clipped": (5, 1.0), UNITS: (500, 1.0)}
    said = next(each for each in quality_words(config, plan, counters) if "of the units" in each)
    half = int(said.partition("+- ")[2].partition(",")[0])
    (noise,) = measure_levels([np.zeros(runs, np.int64)], [plan.units.noise], bytes(32), "quality", "input")
    held = int((np.abs(noise) <= half).sum())
    assert stats.binomtest(held, runs, 0.95, "less").pvalue > 1e-6
    assert stats.binomtest(int((np.abs(noise) <= half - 1).sum()), runs, 0.95, "greater").pvalue > 1e-6
