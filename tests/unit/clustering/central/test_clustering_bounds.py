"""A private radius: covers what it should, says when it cannot, and one row moves one count."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.clustering.central.bounds import N_CLASSES, RadiusClasses, private_radius
from dplib.clustering.source import dense
from dplib.errors import ConfigError
from tests.support.clustering import keyed

CLASSES = RadiusClasses((3.0, -1.0))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 250.0])
def test_the_radius_covers_nearly_all_and_is_not_far_too_large(scale: float) -> None:
    rows = np.random.default_rng(1).normal(size=(5000, 2)) * scale + [3.0, -1.0]
    distances = np.linalg.norm(rows - [3.0, -1.0], axis=1)
    for number in range(20):
        found = private_radius(CLASSES(rows), keyed(number), Fraction(1, 10))
        assert found.radius is not None
        assert (distances <= found.radius).mean() >= 0.95
        assert found.radius <= 1.5 * distances.max()


def test_few_rows_give_no_answer_and_cost_the_same() -> None:
    for rows in (np.zeros((0, 2)), np.ones((3, 2))):
        found = private_radius(CLASSES(rows), keyed(1), Fraction(1, 10))
        assert found.radius is None
        assert found.event.epsilon == Fraction(1, 10)


def test_one_row_moves_one_count_by_one_whatever_it_holds() -> None:
    strange = [[np.nan, 0], [np.inf, 0], [-np.inf, 0], [np.inf, np.nan], [3.0, -1.0], [1e300, 0], [3.0 + 1e-9, -1.0]]
    for row in strange:
        counts = dense(CLASSES(np.array([row])), N_CLASSES)[:, 0]
        assert counts.sum() == (0 if np.isnan(row).any() else 1)
        assert set(counts.tolist()) <= {0, 1}
    whole = dense(CLASSES(np.array(strange)), N_CLASSES)
    parts = sum(dense(CLASSES(np.array([row])), N_CLASSES) for row in strange)
    np.testing.assert_array_equal(whole, parts)


def test_a_class_ends_where_it_says() -> None:
    for radius in (1.0, 2.0**0.5, 2.0, 4.0):
        ends = [dense(CLASSES(np.array([[3.0 + radius * f, -1.0]])), N_CLASSES)[:, 0].argmax() for f in (0.99, 1.01)]
        assert ends[1] == ends[0] + 1


def test_wrong_settings_are_refused() -> None:
    counted = CLASSES(np.zeros((0, 2)))
    for epsilon, rows in ((Fraction(0), 1), (Fraction(1), 0)):
        with pytest.raises(ConfigError):
            private_radius(counted, keyed(1), epsilon, rows)
