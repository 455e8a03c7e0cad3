from fractions import Fraction

import pytest

from dplib.errors import ConfigError
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP
from dplib.privacy.neighbors import Neighbors, group_privacy
from tests.support.oracles import discrete_gaussian_pmf, discrete_laplace_pmf, true_delta


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_every_relation_is_described_with_its_unit(neighbors: Neighbors) -> None:
    assert "customer" in neighbors.describe("customer")


def test_a_graph_relation_does_not_repeat_its_own_name() -> None:
    assert Neighbors.EDGE.describe("edge").count("edge") == 1


@pytest.mark.parametrize("size", [2, 3])
def test_a_group_moves_counts_further_and_the_bound_holds(size: int) -> None:
    """The group's true delta is at most what group privacy makes of the single unit's true delta."""
    noise = [discrete_gaussian_pmf(9.0)]
    epsilon = Fraction(2, 5)
    single = Fraction(true_delta(noise, [[1]], float(epsilon), 60) * (1 + 1e-9))
    group = group_privacy(ApproxDP(epsilon, single), size)
    assert isinstance(group, ApproxDP)
    assert true_delta(noise, [[size]], float(group.epsilon), 60) <= float(group.delta)


def test_pure_groups_are_tight_for_laplace_noise() -> None:
    group = group_privacy(PureDP(Fraction(1, 4)), 3)
    assert group == PureDP(Fraction(3, 4))
    noise = [discrete_laplace_pmf(4.0)]
    assert true_delta(noise, [[3]], 0.75, 200) <= 1e-15
    assert true_delta(noise, [[3]], 0.74, 200) > 1e-3


def test_concentrated_groups_grow_with_the_square() -> None:
    assert group_privacy(ZCDP(Fraction(1, 8)), 3) == ZCDP(Fraction(9, 8))


def test_groups_without_any_promise_are_refused() -> None:
    budget = ApproxDP(Fraction(1), Fraction(1, 10**6))
    for size in (14, 10**9):
        with pytest.raises(ConfigError, match="group size must keep the group's delta below 1"):
            group_privacy(budget, size)
    with pytest.raises(ConfigError, match="group size must be at least 1"):
        group_privacy(budget, 0)
