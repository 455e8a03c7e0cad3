"""Exchanges of centers: every change against costs computed anew, and what one row can move."""

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.clustering.central.swaps import ExchangeCosts
from dplib.clustering.projection import Projection, largest_squared_distance
from dplib.clustering.source import dense
from dplib.clustering.space import Space

SPACE = Space.ball([0.0] * 3, 1.0)
MOST = 1 << 24


def _costs(points: IntArray, centers: IntArray, step: int) -> int:
    return int((((points[:, np.newaxis] - centers) ** 2).sum(axis=2) // step).min(axis=1).sum())


@pytest.mark.parametrize("k", [1, 2, 5])
def test_every_change_is_the_difference_of_two_costs(k: int) -> None:
    generator = np.random.default_rng(k)
    points = SPACE.to_units(generator.normal(size=(200, 3)))
    candidates = SPACE.to_units(generator.normal(size=(9, 3)))
    chosen, step = generator.choice(9, size=k, replace=False), -(-largest_squared_distance(SPACE) // MOST)
    exchange = ExchangeCosts(Projection(None, SPACE), candidates, chosen, step, MOST)
    totals = dense(exchange(points), 1 + k * 9)[:, 0]
    now = _costs(points, candidates[chosen], step)
    assert totals[0] == now
    for j in range(k):
        for c in range(9):
            other = chosen.copy()
            other[j] = c
            assert totals[1 + j * 9 + c] == _costs(points, candidates[other], step) - now


def test_one_row_moves_costs_and_changes_by_no_more_than_the_largest_cost() -> None:
    step = -(-largest_squared_distance(SPACE) // MOST)
    poles = SPACE.to_units(np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 9.0, 0]]))
    totals = ExchangeCosts(Projection(None, SPACE), poles, np.array([1]), step, MOST)(poles[:1])[1]
    assert np.abs(totals).max() <= MOST
    assert totals[0, 0] > 0.99 * MOST  # attained by antipodes


def test_projected_points_stay_in_the_ball_and_keep_distances_on_average() -> None:
    space = Space.ball([0.0] * 200, 1.0)
    points = space.to_units(np.random.default_rng(1).normal(size=(400, 200)) / 30)
    ratios = []
    for seed in range(20):
        projection = Projection.to_dimension(space, 5, seed)
        placed = projection(points)
        assert ((placed**2).sum(axis=1) <= projection.space.norm_squared).all()
        ratios.append(
            (placed[:200] - placed[200:]).astype(float).var()
            * 5
            / ((points[:200] - points[200:]) ** 2).sum(axis=1).mean()
        )
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)
