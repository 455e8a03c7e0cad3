"""Laws of projections: feasible, idempotent, non-expansive, nearest."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dplib.arrays import FloatArray, IntArray
from dplib.projection.rounding import round_to_totals
from dplib.projection.simplex import project_simplex


@st.composite
def simplex_cases(draw: st.DrawFn) -> tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """Values, offsets, totals, weights and a second array of values."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    n_columns = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([1e-3, 1.0, 1e6]))
    shape = (sum(sizes), n_columns)
    offsets = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    totals = np.maximum(rng.normal(0, spread * 3, (len(sizes), n_columns)), 0)
    # Rounded values make ties common.
    values = np.round(rng.normal(0, spread, shape), draw(st.integers(0, 3)))
    return values, offsets, totals, rng.uniform(0.1, 10, shape), rng.normal(0, spread, shape)


@settings(deadline=None, max_examples=25)
@given(simplex_cases(), st.booleans())
def test_simplex_projection_meets_the_optimality_conditions(case: tuple[FloatArray, ...], weighted: bool) -> None:
    values, offsets, totals, weights, _ = case
    h = project_simplex(values, offsets.astype(np.int64), totals, weights if weighted else None)
    w = weights if weighted else np.ones_like(weights)
    scale = 1 + np.abs(values).max() + totals.max()
    assert h.min() >= 0
    assert_allclose(np.add.reduceat(h, offsets, axis=0), totals, atol=1e-10 * scale)
    # Nearest: the gradient w (a - h) is one multiplier where h > 0 and not above it where h = 0.
    gradient = w * (values - h)
    for start, end in zip(offsets, [*offsets[1:], len(values)], strict=True):
        for series in range(values.shape[1]):
            g, inside = gradient[start:end, series], h[start:end, series] > 1e-12 * scale
            if inside.any():
                multiplier = g[inside].mean()
                assert_allclose(g[inside], multiplier, atol=1e-8 * scale)
                assert np.all(g <= multiplier + 1e-8 * scale)


@settings(deadline=None, max_examples=25)
@given(simplex_cases())
def test_simplex_projection_is_idempotent_and_non_expansive(case: tuple[FloatArray, ...]) -> None:
    values, offsets, totals, weights, other = case
    starts, scale = offsets.astype(np.int64), 1 + np.abs(values).max() + totals.max()
    h, k = (project_simplex(each, starts, totals, weights) for each in (values, other))
    assert_allclose(project_simplex(h, starts, totals, weights), h, atol=1e-9 * scale)
    before, after = (np.sqrt(np.sum(weights * gap**2)) for gap in (values - other, h - k))
    assert after <= before * (1 + 1e-9) + 1e-9 * scale


@settings(deadline=None, max_examples=25)
@given(simplex_cases(), st.integers(0, 2**32 - 1))
def test_a_mask_is_the_projection_without_the_masked_entries(case: tuple[FloatArray, ...], seed: int) -> None:
    values, offsets, totals, weights, _ = case
    starts = offsets.astype(np.int64)
    allowed = np.random.default_rng(seed).random(values.shape) < 0.6
    totals = np.where(np.add.reduceat(allowed.astype(int), starts, axis=0) > 0, totals, 0.0)
    h = project_simplex(values, starts, totals, weights, allowed)
    assert not h[~allowed].any()
    for group, (start, end) in enumerate(zip(starts, [*starts[1:], len(values)], strict=True)):
        for series in range(values.shape[1]):
            kept = np.flatnonzero(allowed[start:end, series]) + start
            if len(kept):
                alone = project_simplex(
                    values[kept][:, [series]],
                    np.zeros(1, dtype=np.int64),
                    totals[[group]][:, [series]],
                    weights[kept][:, [series]],
                )
                assert_allclose(h[kept, series], alone[:, 0], atol=1e-9 * (1 + np.abs(values).max() + totals.max()))


@settings(deadline=None, max_examples=25)
@given(simplex_cases())
def test_rounding_keeps_sums_and_moves_by_less_than_one(case: tuple[FloatArray, ...]) -> None:
    values, offsets, totals, _, _ = case
    starts, whole = offsets.astype(np.int64), np.rint(totals).astype(np.int64)
    real = project_simplex(values, starts, whole)
    rounded = round_to_totals(real, starts, whole)
    assert np.array_equal(np.add.reduceat(rounded, starts, axis=0), whole)
    assert rounded.min() >= 0
    assert np.abs(rounded - real).max() < 1 + 1e-5
    assert np.array_equal(round_to_totals(rounded.astype(float), starts, whole), rounded)
    assert not rounded[real == 0].any()
