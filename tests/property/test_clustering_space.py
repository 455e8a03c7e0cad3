"""The public space: bounds that hold exactly whatever the rows, and rows that do not see each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dplib.clustering.space import UNITS, Space
from dplib.clustering.sums import ClusterSums, nearest, squared_distances
from dplib.errors import ConfigError

ANY = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def rows_and_space(draw):  # type: ignore[no-untyped-def]
    d = draw(st.integers(1, 6))
    rows = draw(arrays.arrays(np.float64, st.tuples(st.integers(0, 12), st.just(d)), elements=ANY))
    if draw(st.booleans()):
        center = draw(st.lists(st.floats(-1e6, 1e6), min_size=d, max_size=d))
        return rows, Space.ball(center, draw(st.floats(1e-6, 1e9)))
    lows = draw(st.lists(st.floats(-1e6, 1e6), min_size=d, max_size=d))
    widths = draw(st.lists(st.floats(1e-3, 1e6), min_size=d, max_size=d))
    return rows, Space.box(lows, [low + width for low, width in zip(lows, widths, strict=True)])


@settings(deadline=None, max_examples=20)  # the first call compiles
@given(rows_and_space())
def test_vectors_keep_the_bounds_of_the_space_exactly(case) -> None:  # type: ignore[no-untyped-def]
    rows, space = case
    units = space.to_units(rows)
    assert len(units) == int((~np.isnan(rows)).all(axis=1).sum())
    for vector in units.tolist():
        assert all(abs(z) <= half for z, half in zip(vector, space.half_widths, strict=True))
        assert sum(z * z for z in vector) <= space.norm_squared
        assert sum(map(abs, vector)) <= space.l1


@settings(deadline=None, max_examples=60)
@given(rows_and_space(), st.integers(0, 3))
def test_a_row_is_mapped_by_itself(case, start) -> None:  # type: ignore[no-untyped-def]
    """By compiled code among many numbers, by the same code as it is written where they are few."""
    rows, space = case
    alone = [space.to_units(row[np.newaxis]) for row in rows[start:]]
    np.testing.assert_array_equal(space.to_units(rows[start:]), np.concatenate([space.to_units(rows[:0]), *alone]))


def test_points_come_back_within_a_unit_and_far_ones_on_their_ray() -> None:
    space = Space.ball([1.0, -2.0], 4.0)
    inside = np.array([[1.5, -1.0], [4.0, -4.0]])
    np.testing.assert_allclose(space.to_data(space.to_units(inside).astype(float)), inside, atol=4.0 / UNITS)
    far = space.to_data(space.to_units(np.array([[1.0 + 3e9, -2.0 + 4e9], [math.inf, 0.0]])).astype(float))
    np.testing.assert_allclose(far, [[1 + 4 * 0.6, -2 + 4 * 0.8], [5.0, -2.0]], atol=1e-3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Space.ball([0.0], 0.0),
        lambda: Space.ball([math.nan], 1.0),
        lambda: Space.ball([], 1.0),
        lambda: Space.box([0.0, 1.0], [1.0]),
        lambda: Space.box([0.0], [0.0]),
        lambda: Space.box([0.0], [math.inf]),
        lambda: Space.ball([0.0], math.inf),
    ],
)
def test_wrong_settings_are_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError):
        make()


INTS = st.integers(-UNITS, UNITS)


@settings(deadline=None, max_examples=20)  # the first call compiles
@given(
    arrays.arrays(np.int64, st.tuples(st.integers(0, 8), st.just(3)), elements=INTS),
    arrays.arrays(np.int64, st.tuples(st.integers(1, 5), st.just(3)), elements=INTS),
)
def test_distances_nearest_centers_and_sums_are_exact(points, centers) -> None:  # type: ignore[no-untyped-def]
    exact = [[sum((a - b) ** 2 for a, b in zip(x, c, strict=True)) for c in centers.tolist()] for x in points.tolist()]
    assert squared_distances(points, centers).tolist() == exact
    labels = [row.index(min(row)) for row in exact]
    assert nearest(points, centers).tolist() == labels
    keys, totals = ClusterSums(centers)(points)
    assert keys.tolist() == list(range(len(centers)))
    for j in range(len(centers)):
        members = [x for x, label in zip(points.tolist(), labels, strict=True) if label == j]
        assert totals[j].tolist() == [len(members), *(sum(x[c] for x in members) for c in range(3))]
