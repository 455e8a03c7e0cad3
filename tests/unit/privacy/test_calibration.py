from fractions import Fraction

import pytest

from dplib.errors import ConfigError
from dplib.privacy.calibration import (
    discrete_laplace_scale,
    epsilon_from_rho,
    gaussian_sigma_squared,
    rho_from_approx,
    split,
)
from dplib.privacy.noise import Law, Noise
from dplib.privacy.rounding import log_above, sqrt_above
from tests.support.oracles import discrete_gaussian_pmf, discrete_laplace_pmf, true_delta


def test_noise_and_event_are_inverse() -> None:
    scale = discrete_laplace_scale(Fraction(7), Fraction(1, 3))
    assert Noise(Law.LAPLACE, scale, Fraction(7)).event("x").epsilon == Fraction(1, 3)
    sigma_squared = gaussian_sigma_squared(Fraction(7), Fraction(1, 3))
    assert Noise(Law.GAUSSIAN, sigma_squared, Fraction(7)).event("x").rho == Fraction(1, 3)


def test_a_denominator_limit_adds_noise_and_no_more_than_one_unit() -> None:
    exact = discrete_laplace_scale(Fraction(10), Fraction(7))
    rounded = discrete_laplace_scale(Fraction(10), Fraction(7), max_denominator=4)
    assert exact < rounded < exact + Fraction(1, 4)
    assert rounded.denominator <= 4
    assert discrete_laplace_scale(Fraction(10), Fraction(4), max_denominator=2) == Fraction(5, 2)
    exact = gaussian_sigma_squared(Fraction(3), Fraction(1, 7))
    assert exact <= gaussian_sigma_squared(Fraction(3), Fraction(1, 7), max_denominator=1) < exact + 1
    with pytest.raises(ConfigError, match="max_denominator must be at least 1"):
        discrete_laplace_scale(Fraction(1), Fraction(3), max_denominator=0)


@pytest.mark.parametrize("shift", [[2, 0], [1, 1], [1, -1]])
def test_laplace_noise_keeps_its_epsilon_on_counts(shift: list[int]) -> None:
    epsilon = Fraction(4, 5)
    noise = discrete_laplace_pmf(float(discrete_laplace_scale(Fraction(2), epsilon)))
    assert true_delta([noise, noise], [shift], 0.8, 150) <= 1e-14


def test_laplace_noise_for_half_the_sensitivity_is_caught() -> None:
    noise = discrete_laplace_pmf(float(discrete_laplace_scale(Fraction(1), Fraction(4, 5))))
    assert true_delta([noise, noise], [[2, 0]], 0.8, 150) > 0.1
    assert true_delta([noise, noise], [[1, 1]], 0.8, 150) > 0.1


def test_gaussian_noise_keeps_the_asked_epsilon_and_half_the_sensitivity_is_caught() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 1000)
    rho = rho_from_approx(epsilon, delta)
    shifts = [[2, 0], [1, 1], [-1, 1]]
    noise = discrete_gaussian_pmf(float(gaussian_sigma_squared(Fraction(4), rho)))
    assert true_delta([noise, noise], shifts, 1.0, 80) <= float(delta)
    halved = discrete_gaussian_pmf(float(gaussian_sigma_squared(Fraction(1), rho)))
    assert true_delta([halved, halved], shifts, 1.0, 80) > 3 * float(delta)


@pytest.mark.parametrize("rho", ["1e-6", "0.01", "1/2", "3", "200"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.1"])
def test_the_sharp_conversion_beats_the_simple_one_and_every_order(rho: str, delta: str) -> None:
    exact_rho, exact_delta = Fraction(rho), Fraction(delta)
    epsilon = epsilon_from_rho(exact_rho, exact_delta)
    assert epsilon < exact_rho + 2 * sqrt_above(exact_rho * log_above(1 / exact_delta))
    for exponent in range(-20, 50):
        order = 1 + Fraction(2) ** exponent
        at_order = order * exact_rho + log_above(1 - 1 / order) + log_above(1 / (exact_delta * order)) / (order - 1)
        assert epsilon <= max(at_order, Fraction(0)) * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-6"), ("1e-9", "1e-6"), ("1/3", "1e-300"), ("100", "0.5"), ("10000", "0.99")]
)
def test_rho_is_the_largest_that_converts_back(epsilon: str, delta: str) -> None:
    rho = rho_from_approx(Fraction(epsilon), Fraction(delta))
    assert epsilon_from_rho(rho, Fraction(delta)) <= Fraction(epsilon)
    assert epsilon_from_rho(rho * (1 + Fraction(1, 10**9)), Fraction(delta)) > Fraction(epsilon)


def test_nothing_spent_is_nothing_lost() -> None:
    assert epsilon_from_rho(Fraction(0), Fraction(1, 10)) == 0
    with pytest.raises(ConfigError, match="rho must be at least 0"):
        epsilon_from_rho(Fraction(-1), Fraction(1, 10))
    with pytest.raises(ConfigError, match="delta must lie strictly between 0 and 1"):
        epsilon_from_rho(Fraction(1), Fraction(1))


def test_split_gives_everything_and_nothing_more() -> None:
    assert split(Fraction(1), [Fraction(1), Fraction(0), Fraction(2)]) == [Fraction(1, 3), 0, Fraction(2, 3)]
    with pytest.raises(ConfigError, match="weights must hold at least one number above 0"):
        split(Fraction(1), [Fraction(0)])
    with pytest.raises(ConfigError, match="weight must be at least 0"):
        split(Fraction(1), [Fraction(2), Fraction(-1)])
