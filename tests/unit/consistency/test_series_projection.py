"""The dual form of a node's projection, dense and matrix-free, against the span form, which has oracles of its own."""

import numpy as np
import pytest

from dplib.consistency.dual_projection import DualProjection
from dplib.consistency.series_projection import FEW, SpanProjection, covariance, series_projection
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolve import resolve
from dplib.constraints.resolved import parted, restrict
from dplib.constraints.specs import Equation, Total
from dplib.errors import ConfigError

MATRIX_FREE, DENSE = 0, 6_000


def totals_and_equations(rng: np.random.Generator, n_items: int) -> tuple[DayConstraints, np.ndarray]:
    """Random totals, nested or crossing, some unmeasured, perhaps with an equation that names one; and variances."""
    items = [f"i{n}" for n in range(n_items)]
    totals: list[Total] = []
    for number in range(int(rng.integers(1, n_items))):
        held = set(rng.choice(items, int(rng.integers(1, n_items + 1)), replace=False).tolist())
        nested = {"t0"} if number and rng.random() < 0.5 else set()
        members = nested | (held - set(totals[0].members) if nested else held)
        totals.append(Total(f"t{number}", tuple(sorted(members)), bool(rng.random() < 0.6)))
    equations = [Equation({"t0": 1, "i0": -2}, 3, invariant=True)] if rng.random() < 0.4 else []
    found = resolve(items, 3, totals=totals, equations=equations)
    variance = np.where(found.measured, np.exp(rng.normal(0, 2, len(found.series))), np.inf)
    return found.day_constraints[0], variance


@pytest.mark.parametrize("max_dense", [DENSE, MATRIX_FREE])
@pytest.mark.parametrize("seed", range(12))
def test_dual_form_is_the_span_form(seed: int, max_dense: int) -> None:
    rng = np.random.default_rng(seed)
    daily, variance = totals_and_equations(rng, int(rng.integers(2, 9)))
    span, dual = SpanProjection.of(daily, variance), DualProjection.of(daily, variance, max_dense)
    assert dual.identifiable == span.identifiable
    known = np.isfinite(variance)
    noisy = rng.normal(0, 10, (5, len(variance)))
    np.testing.assert_allclose(dual(noisy) + dual.origin(), span(noisy * known) + span.origin(), atol=1e-9)
    np.testing.assert_allclose(dual.variances(), span.variances(), rtol=1e-9)
    np.testing.assert_allclose(covariance(dual, variance), covariance(span, variance), atol=1e-9)
    answer = rng.normal(size=len(variance))
    np.testing.assert_allclose(dual.coefficients(answer), span.coefficients(answer), atol=1e-9)
    column, few = rng.integers(0, 3, len(variance)), rng.integers(0, len(variance), 4)
    np.testing.assert_allclose(dual.squares(column, 3, few), span.squares(column, 3, few), atol=1e-9)


def test_a_series_that_nothing_determines_is_told() -> None:
    daily = DayConstraints(0, 1, np.array([[1.0, 1.0, 0.0]]), np.zeros(1))
    for variance in (np.array([1.0, 1.0, np.inf]), np.array([np.inf, np.inf, 1.0])):
        assert not DualProjection.of(daily, variance).identifiable


def test_parts_of_equations_that_share_no_series() -> None:
    rng = np.random.default_rng(4)
    items = [f"i{n}" for n in range(40)]
    totals = [Total(f"t{n}", tuple(items[3 * n : 3 * n + 3]), True) for n in range(10)]
    totals += [Total("t", ("t0", "t1", "t2"), True), Total("u", ("t3", "i39"))]
    found = resolve(items, 2, totals=totals)
    variance = np.where(found.measured, np.exp(rng.normal(size=52)), np.inf)
    (daily,) = found.day_constraints
    span, dual = SpanProjection.of(daily, variance), DualProjection.of(daily, variance)
    assert sorted(dual.dual.size.tolist()) == [1] * 7 + [4]
    np.testing.assert_allclose(dual.variances(), span.variances(), rtol=1e-11)
    column = rng.integers(0, 2, 52)
    np.testing.assert_allclose(dual.squares(column, 2), span.squares(column, 2), atol=1e-11)


def test_exchangeable_items_follow_the_formula_of_classes() -> None:
    # 1,000 items in 10 categories and a grand total: sums of classes as one number each (design, section 1).
    n, n_classes, v, v_class, v_all = 100, 10, 2.0, 3.0, 0.5
    names = [f"i{c} {k}" for c in range(n_classes) for k in range(n)]
    totals = [Total(f"c{c}", tuple(names[c * n : c * n + n]), True) for c in range(n_classes)]
    found = resolve(names, 1, totals=[*totals, Total("all", tuple(f"c{c}" for c in range(n_classes)), True)])
    variance = np.concatenate([np.full(n * n_classes, v), np.full(n_classes, v_class), [v_all]])
    projection = series_projection(found.day_constraints[0], variance)
    assert isinstance(projection, DualProjection)
    sums = np.linalg.inv(np.eye(n_classes) * (1 / (n * v) + 1 / v_class) + 1 / v_all)
    expected = np.concatenate(
        [np.full(n * n_classes, v * (1 - 1 / n) + sums[0, 0] / n**2), np.diag(sums), [sums.sum()]]
    )
    np.testing.assert_allclose(projection.variances(), expected, rtol=1e-12)


def test_few_series_or_odd_equations_take_the_span_form() -> None:
    few = DayConstraints(0, 1, np.ones((1, FEW)), np.zeros(1))
    many = DayConstraints(0, 1, np.ones((1, FEW + 1)), np.zeros(1))
    odd = DayConstraints(0, 1, np.full((1, FEW + 1), 2.0), np.zeros(1))
    kinds = [type(series_projection(each, np.ones(each.n_series))) for each in (few, many, odd)]
    assert kinds == [SpanProjection, DualProjection, SpanProjection]


def test_parted_is_restrict_for_every_group() -> None:
    totals = [Total("t", ("a", "b")), Total("u", ("d", "e")), Total("w", ("c",))]
    found = resolve("abcdefg", 10, totals=totals)
    groups = list(found.components)
    for daily in found.day_constraints:
        for group, part in zip(groups, parted(daily, groups), strict=True):
            dense, alone = daily.matrix.toarray(), restrict(daily, group)
            assert np.array_equal(part.matrix.toarray(), dense[dense[:, group].any(axis=1)][:, group])
            assert np.array_equal(part.matrix.toarray(), alone.matrix.toarray())
            generators = daily.generators.toarray()[group]
            assert np.array_equal(part.generators.toarray(), generators[:, generators.any(axis=0)])
            assert part.generator_names == alone.generator_names
    with pytest.raises(ConfigError, match="whole components"):
        parted(found.day_constraints[0], [groups[0][:2]])
