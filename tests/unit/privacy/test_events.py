import json
from fractions import Fraction

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.privacy.budget import as_fraction
from dplib.privacy.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, PureEvent
from dplib.privacy.measurement import Measurement, discrete_gaussian_variance, discrete_laplace_variance
from tests.support.oracles import Pmf, discrete_gaussian_pmf, discrete_laplace_pmf


def test_costs_are_exact() -> None:
    laplace = DiscreteLaplaceEvent("level 0", Fraction(3), Fraction(10))
    assert laplace.epsilon == Fraction(3, 10)
    assert laplace.rho == Fraction(9, 200)
    gaussian = DiscreteGaussianEvent("level 0", Fraction(9), Fraction(10))
    assert gaussian.epsilon is None
    assert gaussian.rho == Fraction(9, 20)
    assert PureEvent("choice", Fraction(1, 3)).rho == Fraction(1, 18)


def test_parameters_are_above_zero() -> None:
    with pytest.raises(ConfigError, match="scale must be a number above 0"):
        DiscreteLaplaceEvent("x", Fraction(1), Fraction(0))
    with pytest.raises(ConfigError, match="l2_sensitivity_squared must be a number above 0"):
        DiscreteGaussianEvent("x", Fraction(-1), Fraction(1))
    with pytest.raises(ConfigError, match="epsilon must be a number above 0"):
        PureEvent("x", Fraction(0))


def test_the_manifest_reads_back_exactly() -> None:
    event = DiscreteLaplaceEvent("level 0", Fraction(10, 3), Fraction(7, 9))
    data = json.loads(json.dumps(event.to_dict()))
    read = DiscreteLaplaceEvent(
        data["statistic"], as_fraction("s", data["l1_sensitivity"]), as_fraction("b", data["scale"])
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


def test_a_measurement_says_what_was_measured_and_how() -> None:
    laplace = Measurement(DiscreteLaplaceEvent("level 2", Fraction(4), Fraction(20)))
    assert (laplace.statistic, laplace.mechanism) == ("level 2", "discrete_laplace")
    assert (laplace.parameter, laplace.sensitivity) == (20, 4)
    gaussian = Measurement(DiscreteGaussianEvent("level 3", Fraction(5), Fraction(30)))
    assert (gaussian.mechanism, gaussian.parameter, gaussian.sensitivity) == ("discrete_gaussian", 30, 5)
    assert gaussian.to_dict() == {**gaussian.event.to_dict(), "variance": 30.0}
