from fractions import Fraction

import pytest

from dplib.errors import ConfigError
from dplib.privacy.calibration import (
    epsilon_from_rho,
    gaussian_sigma_squared,
    rho_from_approx,
    split,
)
from dplib.privacy.rounding import log_above, sqrt_above
from tests.support.oracles import discrete_gaussian_pmf, true_delta


def test_a_denominator_limit_adds_noise_and_no_more_than_one_unit() -> None:
    exact = gaussian_sigma_squared(Fraction(3), Fraction(1, 7))
    assert exact <= gaussian_sigma_squared(Fraction(3), Fraction(1, 7), max_denominator=1) < exact + 1
    with pytest.raises(ConfigError, match="max_denominator must be at least 1"):
        gaussian_sigma_squared(Fraction(1), Fraction(3), max_denominator=0)


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
