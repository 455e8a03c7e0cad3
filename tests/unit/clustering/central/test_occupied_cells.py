"""Which cells of a noisy grid are kept."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.clustering.central.bounds import private_radius
from dplib.clustering.central.grid import cells_an_axis
from dplib.clustering.central.occupied_cells import _blocks, occupied_cells
from dplib.clustering.problem import Problem
from dplib.clustering.record import Replayed
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from tests.support.clustering import METHODS


def kept_of(counts: np.ndarray, scale: float = 2.0) -> np.ndarray:
    n = counts.shape[0]
    inside = np.ones(counts.size, dtype=np.bool_)
    return occupied_cells(counts.ravel().astype(float), inside, scale, float(counts.sum()), n).reshape(counts.shape)


def noise(shape: tuple[int, ...], scale: float = 2.0) -> np.ndarray:
    generator = np.random.default_rng(3)
    return np.rint(generator.laplace(scale=scale, size=shape)).astype(np.int64)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_blocks_are_sums_over_neighbours(d: int) -> None:
    values = np.random.default_rng(1).integers(-9, 9, (7,) * d).astype(float)
    found = _blocks(values, 2)
    for place in np.ndindex(values.shape):
        part = tuple(slice(max(0, at - 2), at + 3) for at in place)
        assert found[place] == values[part].sum()


def test_clusters_are_kept_with_their_outskirts_and_empty_cells_are_not() -> None:
    counts = noise((30, 30))
    counts[5, 5] += 500
    counts[20:23, 20:23] += 9  # no cell stands out by itself, all nine together do
    kept = kept_of(counts)
    assert kept[5, 5]
    assert kept[21, 21]
    assert kept[20:23, 20:23].mean() > 0.6
    assert kept.mean() < 0.1


def test_points_spread_evenly_keep_every_cell() -> None:
    assert kept_of(noise((30, 30)) + 3).mean() > 0.97


@pytest.mark.parametrize("total", [-50.0, 0.0, 3.0])
def test_where_nothing_stands_out_all_cells_are_kept(total: float) -> None:
    inside = np.ones(100, dtype=np.bool_)
    inside[:7] = False
    assert np.array_equal(occupied_cells(np.zeros(100), inside, 1.0, total, 10), inside)


@pytest.mark.parametrize("n", [-40, 0, 60])
def test_a_grid_of_empty_answers_has_centers(n: int) -> None:
    """No stored numbers, however few points they tell of, end a run."""
    problem = Problem(Space.box([0.0, 0.0], [1.0, 1.0]), 3)
    size = cells_an_axis(n, 0.95, 2) ** 2
    records = [("number of points", np.array([n])), ("cells of the grid", np.zeros(size, dtype=np.int64))]
    found = METHODS["grid"](Blocks(), Replayed(records), problem, Fraction(1))
    assert found.centers.shape == (3, 2)
    assert np.isfinite(found.centers).all()
    assert (found.weights == 0).all()


def test_a_radius_of_nobody_is_no_answer_whatever_the_noise() -> None:
    class Silent:
        """Noise that is 0, as at a large epsilon."""

        def add(self, values: np.ndarray, noise: object, *labels: str | int) -> np.ndarray:
            del noise, labels
            return values

        choose = add

    empty = np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.int64)
    assert private_radius(empty, Silent(), Fraction(30)).radius is None  # type: ignore[arg-type]
