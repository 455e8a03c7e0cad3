import math
from fractions import Fraction

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.privacy.budget import (
    ZCDP,
    ApproxDP,
    PureDP,
)
from dplib.privacy.rounding import as_fraction


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (3, Fraction(3)),
        ("1/3", Fraction(1, 3)),
        (" 0.25 ", Fraction(1, 4)),
        ("1E-9", Fraction(1, 10**9)),
        ("-2.5", Fraction(-5, 2)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int64(7), Fraction(7)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_numbers_mean_the_decimal_that_was_typed(value: object, expected: Fraction) -> None:
    assert as_fraction("epsilon", value) == expected


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, True, None, "", "nan", "inf", "1/0", "one", "1e9999", [1], 1j, "1/2/3"]
)
def test_everything_else_is_refused_by_name(value: object) -> None:
    with pytest.raises(ConfigError, match=r"^privacy\.budget\.epsilon must be a finite number"):
        as_fraction("privacy.budget.epsilon", value)


@pytest.mark.parametrize("kind", [PureDP, ZCDP])
@pytest.mark.parametrize("value", [0, -1, "-1/2", math.nan, False])
def test_budgets_are_above_zero(kind: type[PureDP] | type[ZCDP], value: object) -> None:
    with pytest.raises(ConfigError, match="must be"):
        kind(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0, 1, 2, -0.1])
def test_delta_lies_between_zero_and_one(delta: float) -> None:
    with pytest.raises(ConfigError, match="delta must lie strictly between 0 and 1"):
        ApproxDP(Fraction(1), as_fraction("delta", delta))


def test_text_forms_are_the_configurations_and_readable() -> None:
    budget = ApproxDP(as_fraction("epsilon", 0.5), as_fraction("delta", 1e-6))
    assert budget.to_dict() == {"epsilon": "0.5", "delta": "0.000001"}
    assert PureDP(Fraction(1, 3)).to_dict() == {"epsilon": "1/3"}


def test_descriptions_state_the_factor_rounded_up() -> None:
    assert "at most 1.11-fold" in PureDP(Fraction(1, 10)).describe()  # e^0.1 = 1.1052
    assert "1e-06" in ApproxDP(Fraction(1), Fraction(1, 10**6)).describe()
    assert "a shift of 1 standard deviations" in ZCDP(Fraction(1, 2)).describe()
    assert "protects nobody" in PureDP(Fraction(100)).describe()
