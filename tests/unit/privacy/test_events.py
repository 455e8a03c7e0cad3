import json
from fractions import Fraction

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.privacy.budget import ZCDP, PureDP
from dplib.privacy.events import PureEvent
from dplib.privacy.noise import Law, Noise, discrete_gaussian_variance, discrete_laplace_variance
from dplib.privacy.rounding import as_fraction
from tests.support.oracles import Pmf, discrete_gaussian_pmf, discrete_laplace_pmf


def test_costs_are_exact() -> None:
    laplace = Noise(Law.LAPLACE, Fraction(10), Fraction(3)).event("level 0")
    assert laplace.epsilon == Fraction(3, 10)
    assert laplace.rho == Fraction(9, 200)
    gaussian = Noise(Law.GAUSSIAN, Fraction(10), Fraction(9)).event("level 0")
    assert gaussian.epsilon is None
    assert gaussian.rho == Fraction(9, 20)
    assert PureEvent("choice", Fraction(1, 3)).rho == Fraction(1, 18)


def test_parameters_are_above_zero() -> None:
    with pytest.raises(ConfigError, match="scale must be a number above 0"):
        Noise(Law.LAPLACE, Fraction(0), Fraction(1)).event("x")
    with pytest.raises(ConfigError, match="l2_sensitivity_squared must be a number above 0"):
        Noise(Law.GAUSSIAN, Fraction(1), Fraction(-1)).event("x")
    with pytest.raises(ConfigError, match="epsilon must be a number above 0"):
        PureEvent("x", Fraction(0))


def test_the_manifest_reads_back_exactly() -> None:
    event = Noise(Law.LAPLACE, Fraction(7, 9), Fraction(10, 3)).event("level 0")
    data = json.loads(json.dumps(event.to_dict()))
    read = Noise(Law.LAPLACE, as_fraction("b", data["scale"]), as_fraction("s", data["l1_sensitivity"])).event(
        data["statistic"]
    )
    assert read == event
    assert as_fraction("epsilon", data["epsilon"]) == event.epsilon
    choice = PureEvent("cut", Fraction(1, 2), "exponential")
    assert choice.to_dict() == {"mechanism": "exponential", "statistic": "cut", "epsilon": "0.5"}


def _variance(pmf: Pmf, reach: int) -> float:
    x = np.arange(-reach, reach + 1.0)
    return float((x**2 * pmf(x)).sum() / pmf(x).sum())


@pytest.mark.parametrize("scale", ["0.05", "1/3", "1", "7/2", "100"])
def test_laplace_variance_is_the_masses(scale: str) -> None:
    exact = Fraction(scale)
    assert discrete_laplace_variance(exact) == pytest.approx(
        _variance(discrete_laplace_pmf(float(exact)), 6000), rel=1e-10
    )


@pytest.mark.parametrize("sigma_squared", ["0.05", "0.4", "1", "3.9", "4", "100"])
def test_gaussian_variance_is_the_masses(sigma_squared: str) -> None:
    exact = Fraction(sigma_squared)
    assert discrete_gaussian_variance(exact) == pytest.approx(
        _variance(discrete_gaussian_pmf(float(exact)), 200), rel=1e-12
    )


def test_vanishing_noise_has_no_variance_and_does_not_fail() -> None:
    assert discrete_laplace_variance(Fraction(1, 10**5)) == 0.0
    assert discrete_gaussian_variance(Fraction(1, 10**5)) == 0.0


def test_noise_within_a_budget_spends_it_and_no_more() -> None:
    laplace = Noise.within(PureDP(Fraction(1, 5)), 4, 16)
    assert (laplace.law, laplace.parameter, laplace.sensitivity) == (Law.LAPLACE, 20, 4)
    assert laplace.event("level 2").epsilon == Fraction(1, 5)
    gaussian = Noise.within(ZCDP(Fraction(1, 12)), 4, 5)
    assert (gaussian.law, gaussian.parameter, gaussian.sensitivity) == ("discrete_gaussian", 30, 5)
    assert (gaussian.variance, gaussian.event("level 3").rho) == (30.0, Fraction(1, 12))
    assert Noise.within(ZCDP(Fraction(1, 3)), 4, Fraction(7, 9), max_denominator=2).parameter == Fraction(3, 2)
    with pytest.raises(ValueError, match="laplace"):
        Noise("laplace", Fraction(1), Fraction(1))  # type: ignore[arg-type]
