"""The share for the quality of the input: exact division, stated sensitivities, honest intervals."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.job import JOB
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.budget import ZCDP, PureDP
from dplib.privacy.input_quality import QualityPlan
from dplib.workflow.quality import part_of, quality_plan
from tests.jobs_support import Shop


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("has_cap", [False, True])
def test_the_share_is_spent_exactly(q: int, replaces: bool, has_cap: bool) -> None:
    pure = QualityPlan.of(PureDP(Fraction(1, 20)), q, replaces, has_cap)
    assert sum((event.epsilon or 0 for event in pure.events), Fraction(0)) == Fraction(1, 20)
    assert pure.rows.sensitivity == q * (1 + replaces)
    concentrated = QualityPlan.of(ZCDP(Fraction(1, 50)), q, replaces, has_cap)
    assert sum((event.rho for event in concentrated.events), Fraction(0)) == Fraction(1, 50)
    assert concentrated.rows.sensitivity == q * q * (1 + replaces)
    assert all(plan.units is None or plan.units.sensitivity == 1 for plan in (pure, concentrated))


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.1"}])
def test_the_release_costs_its_budget_and_no_more(tmp_path: Path, budget: dict[str, object]) -> None:
    shop = Shop(tmp_path).set(privacy__budget=budget)
    before, plain = JOB.prepare(shop.config), JOB.prepare(shop.config).design.events
    assert "quality_share" not in before.design.settings["privacy"]
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


def test_intervals_of_parts_cover() -> None:
    plan = QualityPlan.of(PureDP(Fraction(1, 20)), 1, False, False)
    names = ["day can be read", "kept", "clipped"]
    truth = np.array([400, 9000, 600], dtype=np.int64)
    covered, runs, error = 0, 1500, float(np.sqrt(plan.rows.variance))
    for number in range(runs):
        (noisy,) = measure_levels([truth], [plan.rows], number.to_bytes(32, "big"), "quality", "input")
        found = part_of({name: (int(n), error) for name, n in zip(names, noisy, strict=True)}, ("kept", "clipped"))
        assert found is not None
        covered += abs(found[0] - 0.96) <= found[1]
    assert 0.93 <= covered / runs <= 0.975
    assert part_of({"kept": (3, error), "x": (-2, error)}, ("kept",)) is None
