"""Every central method: k centers whatever the rows, nothing of the points but through the noise, the stated cost."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.record import Record, Recorded, Replayed
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.errors import ConfigError
from tests.support.clustering import METHODS, PURE, keyed, loss, mixture

SPACE = Space.ball([0.0, 0.0], 1.0)
POINTS = SPACE.to_units(mixture(1500, 2, 4, 3))
BUDGET = Fraction(1)


@cache
def run(name: str) -> tuple[Clustering, list[Record]]:
    """A method on all points, and the noisy numbers that it saw."""
    recorded = Recorded(keyed(2))
    return METHODS[name](Blocks(POINTS), recorded, Problem(SPACE, 4), BUDGET), recorded.records


@pytest.mark.parametrize("name", METHODS)
def test_there_are_always_k_centers_in_the_space(name: str) -> None:
    few = [METHODS[name](Blocks(POINTS[:n]), keyed(1), Problem(SPACE, 4), BUDGET) for n in (0, 1)]
    for found in (*few, run(name)[0]):
        assert found.centers.shape == (4, 2)
        assert (np.linalg.norm(found.centers, axis=1) <= 65536 * 1.0001).all()
        assert found.weights.shape == (4,)
        assert found.deviations.shape == (4, 2)
        assert ((found.weights >= 0) | np.isnan(found.weights)).all()
        assert np.isnan(found.weights).all() == (name in ("kvariates", "privgene"))


@pytest.mark.parametrize("name", METHODS)
def test_noisy_numbers_alone_give_the_same_centers(name: str) -> None:
    """Nothing of the points reaches the output but through the noise."""
    found, records = run(name)
    again = METHODS[name](Blocks(), Replayed(records), Problem(SPACE, 4), BUDGET)
    np.testing.assert_array_equal(found.centers, again.centers)
    np.testing.assert_array_equal(found.weights, again.weights)
    np.testing.assert_array_equal(found.deviations, again.deviations)
    assert found.choices == again.choices
    assert found.events == again.events
    with pytest.raises(ConfigError, match="measurement"):
        METHODS[name](Blocks(), Replayed(records[:-1]), Problem(SPACE, 4), BUDGET)


@pytest.mark.parametrize("name", METHODS)
def test_blocks_and_order_do_not_matter(name: str) -> None:
    shuffled = np.random.default_rng(0).permutation(POINTS)
    other = METHODS[name](Blocks(shuffled[:700], shuffled[:0], shuffled[700:]), keyed(2), Problem(SPACE, 4), BUDGET)
    np.testing.assert_array_equal(run(name)[0].centers, other.centers)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_the_events_cost_the_budget_and_no_more(name: str, rows: int) -> None:
    found = run(name)[0] if rows == 1 else METHODS[name](Blocks(POINTS), keyed(4), Problem(SPACE, 4, rows=rows), BUDGET)
    events = found.events
    spent = sum(event.epsilon or 0 for event in events) if name in PURE else sum(event.rho for event in events)
    assert all(event.epsilon is not None for event in events) or name not in PURE
    assert Fraction(95, 100) < spent <= 1


@pytest.mark.parametrize("name", METHODS)
def test_with_a_large_budget_the_centers_are_good(name: str) -> None:
    points = SPACE.to_data(POINTS.astype(float))
    found = METHODS[name](Blocks(POINTS), keyed(5), Problem(SPACE, 4), Fraction(200))
    alone = loss(points, points.mean(axis=0, keepdims=True))
    assert loss(points, SPACE.to_data(found.centers)) < 0.25 * alone


@pytest.mark.parametrize("name", METHODS)
def test_settings_out_of_range_are_refused(name: str) -> None:
    for budget in (Fraction(0), Fraction(-1)):
        with pytest.raises(ConfigError):
            METHODS[name](Blocks(POINTS), keyed(6), Problem(SPACE, 4), budget)
    for settings in ({"n_clusters": 0}, {"n_clusters": 4, "rows": 0}, {"n_clusters": 10**6}):
        with pytest.raises(ConfigError):
            Problem(SPACE, **settings)
