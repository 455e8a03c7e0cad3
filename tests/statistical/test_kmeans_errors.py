"""Stated errors of clusterings hold as often as they should: over keys, unequal, even and tight point sets."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplib.clustering.central import lloyd
from dplib.clustering.central.cell_errors import Cells
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from tests.clustering_coverage import SQUARE, coverage
from tests.clustering_support import METHODS, keyed, mixture

LAPLACE, GAUSSIAN = (Fraction(1, 2), Fraction(2)), (Fraction(1, 50), Fraction(3, 10))
LEAST, MOST = 0.92, 0.99
N_KEYS = {"local_search": 6, "tree_coreset": 10}
METHODS_WITH_ERRORS = [
    ("grid", 2, LAPLACE),
    ("quadtree", 2, LAPLACE),
    ("lloyd_laplace", 2, LAPLACE),
    ("lloyd_laplace", 12, LAPLACE),
    ("lloyd_gaussian", 2, GAUSSIAN),
    ("lloyd_gaussian", 12, GAUSSIAN),
    ("local_search", 2, LAPLACE),
    ("max_cover", 2, GAUSSIAN),
    ("tree_coreset", 2, GAUSSIAN),
    ("tree_coreset", 12, GAUSSIAN),
]


@pytest.mark.parametrize(("method", "dimension", "budgets"), METHODS_WITH_ERRORS)
def test_intervals_hold_the_truth_about_as_often_as_they_say(
    method: str, dimension: int, budgets: tuple[Fraction, ...]
) -> None:
    found = coverage(method, dimension, budgets, N_KEYS.get(method, 8))
    assert found["centers"][1] > 300
    for name in ("centers", "weights"):
        held, of = found[name]
        # Three standard deviations of a share near 0.95 beyond the least and the most.
        room = 3 * np.sqrt(0.05 * 0.95 / of)
        assert LEAST - room / 2 <= held / of <= MOST + room / 2, (name, held, of)
    held, of = found["loss"]
    assert held >= 0.9 * of - 1
    if method in ("grid", "tree_coreset"):
        assert of > 0


def test_errors_without_the_divisor_and_without_the_cells_width_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what was stated before."""

    def of_sums_only(centers: np.ndarray, counts: np.ndarray, noise: lloyd.Round) -> np.ndarray:
        return np.repeat((lloyd.deviation(noise.sums) / counts)[:, np.newaxis], centers.shape[1], axis=1)

    monkeypatch.setattr(lloyd, "quotient_errors", of_sums_only)
    held, of = coverage("max_cover", 2, GAUSSIAN, 6)["centers"]
    assert held / of < LEAST - 0.02
    monkeypatch.setattr(Cells, "center_errors", _of_noise_only)
    held, of = coverage("grid", 2, LAPLACE, 6)["centers"]
    assert held / of < LEAST - 0.05


CENTER_ERRORS = Cells.center_errors


def _of_noise_only(cells: Cells) -> np.ndarray:
    return CENTER_ERRORS(replace(cells, spread=0.0, sides=np.zeros_like(cells.sides)))


def test_a_cluster_in_one_cell_has_an_error() -> None:
    points = np.repeat([[0.13, 0.27], [-0.7, 0.4]], 2000, axis=0)
    for method in ("grid", "quadtree"):
        found = METHODS[method](Blocks(SQUARE.to_units(points)), keyed(1), Problem(SQUARE, 2), Fraction(1))
        assert (found.deviations > 100).all()


@pytest.mark.parametrize("method", ["kvariates", "privgene"])
def test_what_was_never_measured_is_no_zero(method: str) -> None:
    points = SQUARE.to_units(mixture(500, 2, 3, 1))
    found = METHODS[method](Blocks(points), keyed(1), Problem(SQUARE, 3), Fraction(1))
    assert np.isnan(found.weights).all()
    assert np.isnan(found.deviations).all()
