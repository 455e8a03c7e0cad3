"""Trees over codes: leaves part the codes, weights add up, cubes hold their points, hashes do not see other rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.clustering.central.code_tree import counts_by_code, grow, leaves_of
from dplib.clustering.central.quadtree import CubeCodes, cube_depth
from dplib.clustering.central.simhash import SimHash
from dplib.clustering.space import UNITS, Space
from dplib.hashing import hash_rows


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 200), st.floats(0, 20), st.integers(0, 50))
def test_leaves_part_the_codes_and_exact_counts_come_back(
    bits: int, depth: int, n: int, least: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    drawn = generator.integers(1 << bits * depth, size=n)
    codes, counts = np.unique(drawn, return_counts=True)
    keyed = codes.astype(np.int64), counts.astype(np.int64)[:, np.newaxis]
    levels = grow(keyed, bits, depth, lambda c, _: c, lambda noisy, _: noisy > least, 10**6)
    leaves = leaves_of(levels, bits, depth, [1.0] * (depth + 1))
    ends = leaves.first_codes + (1 << bits * (depth - leaves.levels))
    assert leaves.first_codes[0] == 0
    np.testing.assert_array_equal(ends[:-1], leaves.first_codes[1:])
    assert ends[-1] == 1 << bits * depth
    # Without noise all weights are the counts themselves.
    inside = [np.count_nonzero((drawn >= a) & (drawn < b)) for a, b in zip(leaves.first_codes, ends, strict=True)]
    np.testing.assert_allclose(leaves.weights, inside, atol=1e-9)


@given(st.integers(0, 30))
def test_noisy_weights_are_never_negative_and_add_up_to_the_root(seed: int) -> None:
    generator = np.random.default_rng(seed)
    counted = np.arange(64), generator.integers(0, 50, size=(64, 1))
    levels = grow(
        counted, 2, 3, lambda c, _: c + generator.integers(-30, 31, size=c.shape), lambda noisy, _: noisy > 20, 5
    )
    assert all(level.expanded.sum() <= 5 for level in levels)
    leaves = leaves_of(levels, 2, 3, [300.0] * 4)
    assert (leaves.weights >= 0).all()
    # Generalized least squares of the whole tree, solved densely, gives the same root.
    rows, values = [], []
    for number, level in enumerate(levels):
        for prefix, noisy in zip(level.prefixes.tolist(), level.noisy.tolist(), strict=True):
            low, high = prefix << 2 * (3 - number), prefix + 1 << 2 * (3 - number)
            rows.append((leaves.first_codes >= low) & (leaves.first_codes < high))
            values.append(noisy)
    solved = np.linalg.lstsq(np.array(rows, dtype=float), np.array(values), rcond=None)[0]
    assert leaves.weights.sum() == pytest.approx(max(solved.sum(), 0.0), abs=1e-6)


@given(st.integers(1, 6), st.integers(0, 20))
def test_a_cube_holds_the_points_of_its_code(d: int, seed: int) -> None:
    space = Space.box([-1.0] * d, np.random.default_rng(seed).uniform(0.0, 3.0, size=d).tolist())
    depth = cube_depth(d)
    codes = CubeCodes(space.half_widths, depth)
    half = np.array(space.half_widths)
    points = np.random.default_rng(seed).integers(-half, half + 1, size=(40, d))
    found = codes.codes(points)
    assert (found < 1 << d * depth).all()
    for level in range(depth + 1):
        first = found >> d * (depth - level) << d * (depth - level)
        places = codes.places(first, np.full(len(points), level))
        assert (np.abs(points - places) <= (2 * half + 1) / 2.0 ** (level + 1) + 0.5).all()  # a unit is a step


@given(st.integers(1, 30), st.integers(0, 20))
def test_hashes_depend_on_the_row_alone_and_spread(d: int, seed: int) -> None:
    points = np.random.default_rng(seed).integers(-UNITS, UNITS + 1, size=(300, d))
    np.testing.assert_array_equal(hash_rows(points, seed)[7:9], hash_rows(points[7:9], seed))
    assert (hash_rows(points, seed) >= 0).all()
    assert not np.array_equal(hash_rows(points, seed), hash_rows(points, seed + 1))


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(0, 20))
def test_simhash_bits_are_the_sides_of_the_hyperplanes(d: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    points, middle = generator.integers(-UNITS, UNITS, size=(20, d)), generator.integers(-99, 99, size=d)
    hashing = SimHash.through(middle, 6, seed)
    exact = [
        [sum(int(x) * int(v) for x, v in zip(point - middle, plane, strict=True)) >= 0 for plane in hashing.vectors.T]
        for point in points
    ]
    bits = [[code >> 5 - j & 1 == 1 for j in range(6)] for code in hashing.codes(points).tolist()]
    assert bits == exact


@given(st.lists(st.integers(0, 40), min_size=1), st.sampled_from([1, 10_000]))
def test_codes_are_counted_alike_however_far_apart_they_lie(codes: list[int], apart: int) -> None:
    found, counts = counts_by_code(np.array(codes) * apart)
    assert dict(zip(found.tolist(), counts[:, 0].tolist(), strict=True)) == Counter(code * apart for code in codes)
    assert (np.diff(found) > 0).all()
    assert counts.dtype == np.int64
