"""The search by scipy's compiled steps alone is the one of ``scipy.optimize``."""

import numpy as np
import pytest
import scipy

from dplib.arrays import FloatArray
from dplib.consistency import bounded_search
from dplib.consistency.bounded_search import WithGradient, least

SPAN, TOLERANCE = 2.0, 1e-13


def _waves(n: int) -> WithGradient:
    """Of many local minima, some at the border: a quadratic form with a cosine along each axis."""
    rng = np.random.default_rng(n)
    form, pull = rng.normal(size=(n, n)), rng.normal(size=n) * 3

    def value(at: FloatArray) -> tuple[float, FloatArray]:
        moved = form.T @ (form @ at)
        return float(at @ moved / 2 - pull @ at + np.cos(3 * at).sum()), moved - pull - 3 * np.sin(3 * at)

    return value


def test_values_and_points_are_those_of_scipy_bit_by_bit() -> None:
    at_the_border = set()
    for n in (2, 3, 7, 15):
        value, start = _waves(n), np.zeros(n)
        bounds, options = [(-SPAN, SPAN)] * n, {"ftol": TOLERANCE}
        found = scipy.optimize.minimize(  # type: ignore[call-overload]
            value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        reached, at = least(value, start, SPAN, TOLERANCE)
        assert (reached, at.tolist()) == (found.fun, found.x.tolist())
        at_the_border.add(bool((abs(at) == SPAN).any()))
        assert not start.any()
    assert at_the_border == {False, True}


def test_a_scipy_whose_steps_are_called_in_another_way_searches_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    own = least(_waves(3), np.zeros(3), SPAN, TOLERANCE)
    monkeypatch.setattr(bounded_search, "_TAKES", "setulb(anything else)")
    bounded_search._compiled_steps.cache_clear()
    try:
        other = least(_waves(3), np.zeros(3), SPAN, TOLERANCE)
    finally:
        bounded_search._compiled_steps.cache_clear()
    assert (other[0], other[1].tolist()) == (own[0], own[1].tolist())
