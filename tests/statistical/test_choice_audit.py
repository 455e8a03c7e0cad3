"""What one choice by the exponential mechanism, or one draw from a ladder, costs: exactly, on worst-case neighbours.

The laws are computed, not sampled: epsilon is the largest log ratio of two neighbours' probabilities, and rho the
largest Renyi divergence of order alpha over alpha.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.clustering.problem import Problem
from dplib.clustering.record import Recorded
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.graphs.statistics.degrees import second_largest_degree
from dplib.graphs.statistics.ladder_rungs import second_degree_rungs
from dplib.mechanisms.exponential import exponential_probability
from dplib.mechanisms.ladder import ladder_probability
from dplib.privacy.events import BoundedRangeEvent, PureEvent
from tests.support.clustering import METHODS, Asked, Witness, keyed

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


def spent(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Epsilon and rho of two laws on the same outcomes, either way round."""
    # Formulas leave out what is less likely than e^-60.
    seen = (one > 0) & (other > 0)
    one, other = one[seen], other[seen]
    ratio = np.log(one) - np.log(other)
    rhos = [
        np.log((p * np.exp((order - 1) * r)).sum()) / (order - 1) / order
        for order in ORDERS
        for p, r in ((one, ratio), (other, -ratio))
    ]
    return float(np.abs(ratio).max()), float(max(rhos))


LINE = Space.box([0.0], [1.0])
CHOOSING = ("local_search", "privgene")


def _choices(name: str, problem: Problem, points: tuple[FloatArray, FloatArray]) -> list[tuple[Asked, Asked]]:
    """Choices of one transcript on two neighbours, among the same candidates."""
    units = [LINE.to_units(rows) for rows in points]
    recorded = Recorded(keyed(5))
    METHODS[name](Blocks(units[0]), recorded, problem, Fraction(1))
    asked = []
    for rows in units:
        witness = Witness(recorded.records)
        METHODS[name](Blocks(rows), witness, problem, Fraction(1))
        asked.append([each for each in witness.asked if each[0] == "choose"])
    return list(zip(*asked, strict=True))


ROW = np.array([[0.0]])
MANY = np.concatenate([np.zeros((300, 1)), np.ones((300, 1))])


@pytest.mark.parametrize("name", CHOOSING)
@pytest.mark.parametrize("rows", [1, 4])
def test_added_rows_cost_their_part_and_use_the_whole_rate(name: str, rows: int) -> None:
    """Costs are monotone: the rate is epsilon / D, and epsilon / (2 D) would leave half of the budget unused."""
    problem = Problem(LINE, 2, rows=rows)
    pairs = _choices(name, problem, (MANY, np.concatenate([MANY, np.repeat(ROW, rows, axis=0)])))
    for one, other in pairs:
        moved = other[1] - one[1]
        assert (moved >= 0).all()
        assert moved.max() <= 8 * rows
        share = float(8 * rows * one[2])
        laws = exponential_probability(one[1], one[2]), exponential_probability(other[1], other[2])
        epsilon, rho = spent(*laws)
        assert epsilon <= share * (1 + 1e-9)
        assert rho <= share**2 / 8 * (1 + 1e-6)
    # All choices together spend what the method sets aside for them.
    total = sum(8 * rows * one[2] for one, _ in pairs)
    assert total == (Fraction(1, 3) if name == "local_search" else Fraction(19, 20))


@pytest.mark.parametrize("name", CHOOSING)
def test_replaced_rows_cost_their_part(name: str) -> None:
    """A replaced row moves losses both ways, which `rows` counts as two."""
    problem = Problem(LINE, 2, rows=2)
    for at in (0.0, 0.5, 1.0):
        moved = np.concatenate([MANY[:-1], np.array([[at]])])
        for one, other in _choices(name, problem, (MANY, moved)):
            epsilon, _ = spent(exponential_probability(one[1], one[2]), exponential_probability(other[1], other[2]))
            assert epsilon <= float(16 * one[2]) * (1 + 1e-9)


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1), Fraction(4)])
def test_a_ladder_spends_an_eighth_of_its_epsilon_squared(share: Fraction) -> None:
    """Stars that grow edge by edge into double stars: counts move by the local sensitivity, rungs by one."""
    reach = np.arange(-1500, 1501)
    worst = 0.0
    for one, other in pairwise([(k, second_largest_degree(np.array([9, k]))) for k in range(9)]):
        laws = []
        for true_count, second in (one, other):
            rungs = second_degree_rungs(second, 40)
            laws.append(ladder_probability(reach - true_count * 5, rungs, share))
        epsilon, rho = spent(*laws)
        if abs(one[0] - other[0]) * 5 <= one[1]:
            assert epsilon <= float(share) * (1 + 1e-9)
            assert rho <= float(BoundedRangeEvent("triangles", share).rho) * (1 + 1e-6)
            worst = max(worst, rho)
    # The claim is used: a quarter of the pure price, and no fourth of that.
    assert worst > float(PureEvent("triangles", share).rho) / 64
