"""What both samplers of discrete noise have in common: keyed draws, probabilities with their variance, refusals."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.arrays import FloatArray, IntArray
from dplib.errors import ConfigError
from dplib.mechanisms.discrete_gaussian import discrete_gaussian_probability, draw_discrete_gaussian
from dplib.mechanisms.discrete_laplace import discrete_laplace_probability, draw_discrete_laplace
from dplib.privacy.noise import Law
from dplib.randomness.keyed import KeyedStream

KEY = bytes(range(32))
DRAW: dict[Law, Callable[..., IntArray]] = {Law.LAPLACE: draw_discrete_laplace, Law.GAUSSIAN: draw_discrete_gaussian}
SIZES = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(55), Fraction(1234567, 1000), Fraction(2**40)]
LAWS = list(Law)


def probability(law: Law, k: IntArray, parameter: Fraction) -> FloatArray:
    of = discrete_laplace_probability if law is Law.LAPLACE else discrete_gaussian_probability
    return np.asarray(of(k, parameter))


@pytest.mark.parametrize(("law", "parameter"), list(product(LAWS, SIZES)))
def test_same_key_same_noise_and_other_labels_other_noise(law: Law, parameter: Fraction) -> None:
    size, draw = 40_000, DRAW[law]
    draws = draw(KeyedStream(KEY, "a"), parameter, size)
    assert (draws.dtype, draws.shape) == (np.int64, (size,))
    np.testing.assert_array_equal(draws, draw(KeyedStream(KEY, "a"), parameter, size))
    if parameter >= Fraction(1, 3):
        other = draw(KeyedStream(KEY, "b"), parameter, size)
        assert abs(np.corrcoef(draws, other)[0, 1]) < 7 / size**0.5
        for lag in (1, 2, 8192, 16384):
            assert abs(np.corrcoef(draws[lag:], draws[:-lag])[0, 1]) < 7 / (size - lag) ** 0.5


@settings(deadline=None)
@given(st.sampled_from(LAWS), st.fractions(min_value=Fraction(1, 50), max_value=300, max_denominator=1000))
def test_probabilities_sum_to_one_and_have_the_variance(law: Law, parameter: Fraction) -> None:
    k = np.arange(-20_000, 20_001)
    mass = probability(law, k, parameter)
    assert mass.sum() == pytest.approx(1, rel=1e-12)
    assert mass @ k.astype(float) ** 2 == pytest.approx(law.variance(parameter), rel=1e-9)
    exponents = np.arange(6) / float(parameter) if law is Law.LAPLACE else np.arange(6) ** 2 / (2 * float(parameter))
    np.testing.assert_allclose(mass[20_000:20_006] / mass[20_000], np.exp(-exponents), rtol=1e-12)
    assert law is Law.LAPLACE or law.variance(parameter) <= float(parameter) * (1 + 1e-14)


@pytest.mark.parametrize("law", LAWS)
def test_variance_is_stable_at_both_ends(law: Law) -> None:
    largest = {Law.LAPLACE: (Fraction(2**40), 2.0**81), Law.GAUSSIAN: (Fraction(2**78), 2.0**78)}[law]
    assert law.variance(largest[0]) == pytest.approx(largest[1], rel=1e-15)
    assert law.variance(Fraction(1, 2**100)) == 0
    values = [law.variance(Fraction(3**n, 1000)) for n in range(20)]
    assert all(low < high for low, high in pairwise(values))
    below, at = (law.variance(each) for each in (Fraction(4) - Fraction(1, 2**60), Fraction(4)))
    assert below == pytest.approx(at, rel=1e-14)


@pytest.mark.parametrize("law", LAWS)
def test_tiny_parameters_give_zero_no_draws_are_none_and_others_are_refused(law: Law) -> None:
    draw = DRAW[law]
    assert not draw(KeyedStream(KEY), Fraction(1, 2**100), 10_000).any()
    assert draw(KeyedStream(KEY), Fraction(9), 0).shape == (0,)
    name, most = ("scale", 40) if law is Law.LAPLACE else ("sigma_squared", 78)
    wrong: list[tuple[Any, int, str]] = [
        (parameter, 1, rf"{name} must lie between 2\^-100 and 2\^{most}")
        for parameter in (Fraction(0), Fraction(-1), Fraction(2**most + 1), Fraction(1, 2**101))
    ]
    for parameter, size, rule in [
        *wrong,
        (1.5, 1, f"{name} must be an exact"),
        (Fraction(1), -1, "size must"),
    ]:
        with pytest.raises(ConfigError, match=rule):
            draw(KeyedStream(KEY), parameter, size)
