"""Stated errors of clusterings hold as often as they should: over keys, and point sets that decided them or did not.

Of 100 intervals of 95 % between 92 and 99 hold, of centers and of weights: for all methods on the sets that the models
of what cells do not tell were made with, for `grid` and `quadtree` also on `held_out` ones (rings, boxes, one-sided and
long clusters, heavy tails, sizes 20 to 1, even and skewed points, coordinates rounded to less than a cell). The bounds
are those that a share of 92 or 99 in 100 keeps with probability 0.999 by the binomial law; no two runs share noise, but
the intervals of one run depend on each other.

What does not hold: where points lie alike in all cells (`aligned`: on a line, or rounded to steps of about a cell), the
errors that `grid` states of centers and of the loss are too small. Cells tell nothing of it.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dplib.clustering.central import lloyd
from dplib.clustering.central.cell_errors import Cells
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from tests.support.clustering import METHODS, keyed
from tests.support.clustering_coverage import SQUARE, Case, aligned, cases, coverage, held_out

LAPLACE, GAUSSIAN = (Fraction(1, 2), Fraction(2)), (Fraction(1, 50), Fraction(3, 10))
LEAST, MOST = 0.92, 0.99
ONE_KEY = ("local_search", "max_cover")
"""Dear ones, whose errors are those of the last question of Lloyd's methods: errors half as large hold in 67 of 100,
and one key asks for 83. All others are run with two keys."""
METHODS_WITH_ERRORS = [
    ("grid", 2, LAPLACE), ("quadtree", 2, LAPLACE), ("lloyd_laplace", 2, LAPLACE), ("lloyd_laplace", 12, LAPLACE),
    ("lloyd_gaussian", 2, GAUSSIAN), ("lloyd_gaussian", 12, GAUSSIAN), ("local_search", 2, LAPLACE),
    ("max_cover", 2, GAUSSIAN), ("tree_coreset", 2, GAUSSIAN), ("tree_coreset", 12, GAUSSIAN),
]  # fmt: skip


def _require_held(held: int, of: int, least: float = LEAST, most: float = MOST) -> None:
    assert binom.ppf(0.001, of, least) <= held <= binom.ppf(0.999, of, most), (held, of)


@pytest.mark.parametrize(("method", "dimension", "budgets"), METHODS_WITH_ERRORS)
def test_intervals_hold_the_truth_about_as_often_as_they_say(
    method: str, dimension: int, budgets: tuple[Fraction, ...]
) -> None:
    n_keys = 1 if method in ONE_KEY else 2
    found = coverage(method, cases(dimension), budgets, n_keys)
    assert found["centers"][1] > 75 * n_keys
    for name in ("centers", "weights"):
        _require_held(*found[name])
    held, of = found["loss"]
    assert held >= binom.ppf(0.001, of, LEAST)
    if method in ("grid", "tree_coreset"):
        assert of > 0


def _together(sets: list[Mapping[str, Case]]) -> dict[str, Case]:
    return {f"{name} {i}": case for i, each in enumerate(sets) for name, case in each.items()}


@pytest.mark.parametrize("method", ["grid", "quadtree"])
def test_models_of_cells_hold_on_sets_that_did_not_make_them(method: str) -> None:
    found = coverage(method, held_out(700), LAPLACE, 2)
    for name in ("centers", "weights"):
        assert found[name][1] > 250
        _require_held(*found[name])


def test_points_that_lie_alike_in_all_cells_are_what_the_model_does_not_know() -> None:
    found = coverage("grid", _together([aligned(seed) for seed in range(700, 704)]), LAPLACE, 4)
    _require_held(*found["centers"], 0.84, 0.84)
    _require_held(*found["loss"], 0.45, 0.45)


@pytest.mark.parametrize("n_keys", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_the_loss_of_a_coreset_holds_in_95_of_100_runs(n_keys: int) -> None:
    """Of 72 runs 62 must hold: an error that is too small by two fifths holds in 76 of 100."""
    held, of = coverage("tree_coreset", cases(12), (Fraction(1, 50), Fraction(3, 10), Fraction(2)), n_keys)["loss"]
    assert of > 5 * n_keys
    _require_held(held, of, 0.95, 0.95)


def test_errors_without_the_divisor_and_without_the_cells_width_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what was stated before."""

    def of_sums_only(centers: np.ndarray, counts: np.ndarray, noise: lloyd.Round) -> np.ndarray:
        return np.repeat((lloyd.deviation(noise.sums) / np.maximum(counts, 1))[:, np.newaxis], centers.shape[1], axis=1)

    monkeypatch.setattr(lloyd, "quotient_errors", of_sums_only)
    held, of = coverage("lloyd_gaussian", cases(2), GAUSSIAN, 3)["centers"]
    assert held / of < LEAST - 0.02
    monkeypatch.setattr(Cells, "center_errors", _of_noise_only)
    held, of = coverage("grid", cases(2), LAPLACE, 3)["centers"]
    assert held / of < LEAST - 0.05


CENTER_ERRORS = Cells.center_errors


def _of_noise_only(cells: Cells, missed: np.ndarray | float = 0.0) -> np.ndarray:
    return CENTER_ERRORS(replace(cells, spread=0.0, sides=np.zeros_like(cells.sides)))


def test_what_a_cell_gives_away_the_other_center_gets() -> None:
    places, centers, weights = np.array([[0.0], [4.0]]), np.array([[-1.0], [3.0]]), np.array([100.0, 0.0])
    cells = Cells(places, np.full((2, 1), 4.0), weights, centers, np.array([0, 1]), lambda _: np.zeros(2))
    assert cells.weight_errors() == pytest.approx(np.sqrt([100 * 102 / 12] * 2))


def test_a_cluster_in_one_cell_has_an_error() -> None:
    points = np.repeat([[0.13, 0.27], [-0.7, 0.4]], 2000, axis=0)
    for method in ("grid", "quadtree"):
        found = METHODS[method](Blocks(SQUARE.to_units(points)), keyed(1), Problem(SQUARE, 2), Fraction(1))
        assert (found.deviations > 100).all()
