"""Half widths of answers whose noise is nearly always nothing, beside those that the grid gives."""

import pytest

from dplib.privacy import noise_quantile
from dplib.privacy.noise_quantile import DrawLaw, Draws, half_width


@pytest.mark.parametrize(
    "law",
    [DrawLaw("discrete_laplace", 1 / 16), DrawLaw("discrete_laplace", 1 / 10.5), DrawLaw("discrete_gaussian", 1 / 24)],
    ids=str,
)
def test_hardly_any_noise_has_the_half_width_of_the_grid(law: DrawLaw, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a hundredth of it, which the steps of the grid are; what is covered does not depend on it."""
    draws = [Draws(law, 1.0, 4.0), Draws(law, 0.4, 10.0)]
    monkeypatch.setattr(noise_quantile, "_unit_half_width", noise_quantile._unit_half_width.__wrapped__)
    found = half_width(draws)
    monkeypatch.setattr(noise_quantile, "_STILL", 1.0)
    grid = half_width(draws)
    assert found != grid
    assert found == pytest.approx(grid, rel=0.01)
