"""The stated 95 % intervals of both histogram jobs hold the truth in 95 of 100 cases, over 20,000 draws of the noise.

The true counts do not matter: estimates are their own truth plus a linear function of the noise, so each test runs the
jobs' own estimators on noise alone. Nothing starts Spark, and the noise is keyed, so nothing varies from run to run.
"""

import zlib
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.config.load import check
from dplib.consistency.answer_coefficients import range_coefficients
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.jobs.consistent_histograms import errors as consistent
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design as ConsistentDesign
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.range_histograms import estimate as ranges
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design as RangeDesign
from dplib.mechanisms.discrete_gaussian import discrete_gaussian_probability
from dplib.privacy.noise_quantile import Z95, DrawLaw, Draws, factor95, half_width
from tests.support.coverage_of_intervals import N_KEYS, covered, drawn, require_coverage


def range_design(method: str, n_bins: int, budget: dict[str, Any], **histogram: Any) -> RangeDesign:
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "d",
        "input": {"path": "none", "columns": {"value": "v"}},
        "privacy": {
            "unit": "event",
            "budget": budget,
            "neighbors": "replace_one" if histogram.get("total_is_public") else "add_remove",
        },
        "histogram": {"edges": list(range(n_bins + 1))} | histogram,
        "tree": {"method": method},
    }
    return RangeDesign.resolve(check(RangeHistogramsConfig, settings), Path())


def range_noise(design: RangeDesign) -> FloatArray:
    """Noise of every node, shape (n_nodes, N_KEYS)."""
    shares, noise = design.strategy.shares, np.zeros((design.strategy.tree.n_nodes, N_KEYS))
    for share in np.unique(shares[shares > 0]).tolist():
        nodes = np.flatnonzero(shares == share)
        law = DrawLaw(f"discrete_{design.noise}", float(design.noise_parameter(share)))
        noise[nodes] = drawn(law, len(nodes) * N_KEYS, "ranges", share).reshape(len(nodes), N_KEYS)
    return noise


BUDGETS: list[dict[str, Any]] = [{"epsilon": 1}, {"rho": "1/2"}, {"epsilon": "1/10"}, {"epsilon": 6}, {"rho": 8}]
"""Each way of estimating under the first two, one of them under all but the third, which is wide as the first."""


@pytest.mark.parametrize(
    ("method", "n_bins", "budget"),
    [("blue", 20, budget) for budget in (*BUDGETS[:2], *BUDGETS[3:])]
    + [(*each, budget) for each in (("dwork", 16), ("lue_dptree", 20), ("boost", 16)) for budget in BUDGETS[:2]],
)
def test_ranges(method: str, n_bins: int, budget: dict[str, Any]) -> None:
    design = range_design(method, n_bins, budget)
    tree, errors = design.strategy.tree, ranges.Errors(design)
    values = tree_blue_deep(tree, range_noise(design), design.variance[:, None])[tree.leaf_nodes]
    for lo, hi in ((0, 1), (1, 4), (0, n_bins), (5, n_bins - 1)):
        half = float(errors.half_widths(np.array([lo]), np.array([hi]))[0])
        answer = values[lo:hi].sum(axis=0)
        require_coverage(answer, half, (method, budget, lo, hi))
        # The sum of two groups, which have noise of their own.
        require_coverage(
            answer[::2] + answer[1::2], errors.sum_half_width(lo, hi, np.arange(2)), (method, budget, lo, hi, "sum")
        )


def test_ranges_under_a_public_total() -> None:
    design = range_design("blue", 20, {"epsilon": 1}, total_is_public=True)
    tree, errors = design.strategy.tree, ranges.Errors(design)
    values = tree_blue_deep(tree, range_noise(design), design.variance[:, None])[tree.leaf_nodes]
    for lo, hi in ((0, 1), (0, 10), (7, 19)):
        half = float(errors.half_widths(np.array([lo]), np.array([hi]))[0])
        require_coverage(values[lo:hi].sum(axis=0), half, (lo, hi))
    assert errors.half_widths(np.array([0]), np.array([20]))[0] == 0


def test_coefficients_give_the_estimate_and_its_error() -> None:
    design = range_design("blue", 20, {"epsilon": 1})
    tree, noise = design.strategy.tree, range_noise(design)[:, :50]
    values = tree_blue_deep(tree, noise, design.variance[:, None])[tree.leaf_nodes]
    for lo, hi in ((0, 1), (2, 17), (0, 20)):
        found = range_coefficients(tree, design.variance, lo, hi)
        np.testing.assert_allclose(found @ noise, values[lo:hi].sum(axis=0), rtol=1e-9, atol=1e-9)


def test_points_of_a_chart_are_covered_at_least() -> None:
    design = range_design("lue_dptree", 200, {"epsilon": 1})
    lo = np.arange(200)
    errors = ranges.Errors(design)
    many = errors.half_widths(lo, lo + 1)
    each = np.array([errors.half_widths(lo[at : at + 1], lo[at : at + 1] + 1)[0] for at in range(0, 200, 7)])
    assert (many[::7] >= 0.995 * each).all()
    assert (many[::7] <= 1.04 * each).all()


def shop(constraints: list[dict[str, Any]], budget: dict[str, Any], **changes: Any) -> ConsistentDesign:
    packages = any("packages" in each for each in constraints)
    settings: dict[str, Any] = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "shop",
        "input": {"path": "rows.csv", "columns": {"day": "d", ("package" if packages else "item"): "i"}},
        "privacy": {"unit": "event", "budget": budget},
        "domain": {"items": ["a", "b", "c", "d"], "first_day": "2024-01-01", "last_day": "2024-03-31"},
        "tree": {"levels": ["month", "day"]},
        "constraints": constraints,
    } | changes
    return ConsistentDesign.resolve(check(ConsistentHistogramsConfig, settings), Path())


MEASURED = [{"totals": {"ab": ["a", "b"], "abcd": ["ab", "c", "d"]}, "measured": True}]
FREE = [{"totals": {"ab": ["a", "b"]}}]
CHANGING = [
    {"totals": {"ab": ["a", "b"]}, "measured": True, "last": "2024-02-10"},
    {"totals": {"cd": ["c", "d"]}, "measured": True},
]
PACKAGES = [{"packages": {"small": {"a": 1, "b": 1}, "large": {"a": 2, "b": 1, "c": 1, "d": 3}}}]
GROUPED = [{"totals": {"ab": ["a", "b"], "cd": ["c", "d"]}}, {"totals": {"abc": ["a", "b", "c"]}}]
CASES: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "measured": MEASURED,
    "free": FREE,
    "changing": CHANGING,
    "packages": PACKAGES,
    "grouped": GROUPED,
}
SHARES = {"grouped": {"measure": {"shares": [2, 1, 1]}}}


@pytest.mark.parametrize(
    ("case", "budget"), [("measured", budget) for budget in BUDGETS[1:4]] + [(case, BUDGETS[0]) for case in CASES]
)
def test_days_months_and_totals(case: str, budget: dict[str, Any]) -> None:
    design = shop(CASES[case], budget, **SHARES.get(case, {}))
    errors = consistent.Errors(design)
    laws = [None if each is None else DrawLaw.of(each.noise) for each in design.measurements]
    for number in (0, len(design.series) - 1):
        for lo, hi in ((3, 4), (31, 60), (10, 45), (0, 91)):
            draws = errors.sum_draws(lo, hi, np.array([number]))
            assert draws is not None
            # The noise of an answer is its coefficients' (checked below), so that no tree is solved 10,000 times.
            rng = np.random.default_rng(zlib.crc32(f"{case} {number} {lo}".encode()))
            sums = [
                _normal(rng, each) if each.law.mechanism == "normal" else _sums(each.law, each.count) for each in draws
            ]
            found = np.sum(
                [each.coefficient * rng.permutation(sum_) for each, sum_ in zip(draws, sums, strict=True)], axis=0
            )
            stated = float(errors.half_widths(lo, hi, np.array([number]))[0])
            require_coverage(found, stated, (case, budget, design.series[number], lo, hi))
            spread = np.sqrt(sum(each.variance for each in draws))
            assert spread == pytest.approx(errors.range_std_error(lo, hi)[number], rel=1e-5)
    assert {each.law for each in draws} <= {*laws, *(each.law for each in draws if each.law.mechanism == "normal")}


def _normal(rng: np.random.Generator, draws: Draws) -> FloatArray:
    return rng.normal(0, np.sqrt(draws.count * draws.law.variance), N_KEYS // 2)


@cache
def _sums(law: DrawLaw, n_draws: float) -> FloatArray:
    """The sum of so many draws of one law, N_KEYS / 2 times, without drawing each; answers take it in any order.

    A Laplace draw is the difference of two geometric ones, whose sums are negative binomial. Discrete Gaussian draws of
    sigma^2 from 4 on sum to one of their summed sigma^2 up to e^-39 (Canonne, Kamath, Steinke 2020, theorem 9); of
    narrower ones few values have mass, so it is counted how often each comes up.
    """
    count, n_keys = round(n_draws), N_KEYS // 2
    assert count == pytest.approx(n_draws)
    rng = np.random.default_rng(zlib.crc32(f"{law} {count}".encode()))
    if law.mechanism == "discrete_laplace":
        one, other = rng.negative_binomial(count, -np.expm1(-1 / law.parameter), (2, n_keys))
        return np.asarray(one - other, dtype=np.float64)
    if law.parameter >= 4:
        summed = DrawLaw(law.mechanism, count * law.parameter)
        return drawn(summed, n_keys, int(rng.integers(2**62))).astype(np.float64)
    values = np.arange(-30, 31)
    mass = discrete_gaussian_probability(values, Fraction(law.parameter))
    return np.asarray(rng.multinomial(count, mass / mass.sum(), n_keys) @ values, dtype=np.float64)


@pytest.mark.parametrize("case", ["measured", "changing", "packages", "grouped"])
def test_coefficients_are_those_of_the_solver(case: str) -> None:
    """The answer of the job's own solver is the sum that is stated; affine in the noise, so that of units shows all."""
    own = {"domain": shop_domain("2024-01-08"), "tree": {"branching": [2, 4]}} | SHARES.get(case, {})
    changing = [CHANGING[0] | {"last": "2024-01-03"}, CHANGING[1]]
    design = shop(changing if case == "changing" else CASES[case], {"epsilon": 1}, **own)
    errors, laws, shape = consistent.Errors(design), _node_laws(design), (design.tree.n_nodes, len(design.series))
    noisy = np.flatnonzero([law is not None for law in laws])
    noise = np.zeros(len(laws))
    noise[noisy] = np.random.default_rng(1).normal(0, 10, len(noisy))

    def days(noise: FloatArray) -> FloatArray:
        return estimate(design, noise.reshape(shape), design.config.publish.solver).values[design.tree.leaf_nodes]

    zero = days(np.zeros(shape))
    parts = np.stack([days(unit) - zero for unit in np.eye(len(noise))[noisy]], axis=-1)
    np.testing.assert_allclose(parts @ noise[noisy], days(noise) - zero, atol=1e-6)
    for number in (0, len(design.series) - 1):
        for lo, hi in ((0, 8), (5, 6), (1, 6)):
            draws = errors.sum_draws(lo, hi, np.array([number]))
            assert draws is not None
            own = parts[lo:hi, number].sum(axis=0)
            # Equal sums of both powers, law by law; what is too small to matter stands as one normal variable.
            for power in (2, 4):
                whole = (own**power).sum()
                for law in {laws[at] for at in noisy}:
                    stated = sum(each.count * each.coefficient**power for each in draws if each.law == law)
                    found = sum(own[place] ** power for place, at in enumerate(noisy) if laws[at] == law)
                    assert found == pytest.approx(stated, rel=1e-5, abs=1e-5 * whole), (case, number, lo, hi, law)


def _node_laws(design: ConsistentDesign) -> list[DrawLaw | None]:
    """The law of the noise of every node and series, None where nothing is measured, n_nodes * n_series of them."""
    n_columns, of = design.columns.n_columns, design.columns.of
    noises = [design.measurements[level * n_columns + column] for level in design.tree.level.tolist() for column in of]
    return [None if each is None else DrawLaw.of(each.noise) for each in noises]


def shop_domain(last: str) -> dict[str, Any]:
    return {"items": ["a", "b", "c", "d"], "first_day": "2024-01-01", "last_day": last}


def test_the_bound_where_a_law_is_too_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    design = shop(CHANGING, {"epsilon": 1})
    exact = consistent.Errors(design).half_widths(3, 4, np.array([0]))[0]
    monkeypatch.setattr(consistent, "MAX_WORK", 1)
    bound = consistent.Errors(design).half_widths(3, 4, np.array([0]))[0]
    errors = consistent.Errors(design)
    assert bound == pytest.approx(factor95(errors.laws) * errors.range_std_error(3, 4)[0])
    assert exact <= bound


def test_the_normal_factor_misses_and_the_laws_hold() -> None:
    """What the quantiles are for: 1.96 standard errors of one Laplace draw cover 92.7 % at scale 1."""
    for scale, normal, low in ((1.0, 0.9272, 0.95), (40.0, 0.9375, 0.948)):
        law = DrawLaw("discrete_laplace", scale)
        noise = drawn(law, 400_000, "one", int(scale))
        assert covered(noise, Z95 * law.variance**0.5) == pytest.approx(normal, abs=0.002)
        assert covered(noise, half_width([Draws(law, 1.0, 1.0)])) >= low


def test_no_sum_of_laplace_draws_is_wider_than_one() -> None:
    """Over many weights none has a larger quantile for its standard error than ln(20) / sqrt(2)."""
    rng, law = np.random.default_rng(5), DrawLaw("discrete_laplace", 500.0)
    factor = factor95([law])
    assert factor == pytest.approx(np.log(20) / 2**0.5)
    for _ in range(50):
        weights = rng.gamma(rng.choice([0.1, 0.5, 2.0]), size=rng.integers(1, 12)) + 1e-6
        draws = [Draws(law, float(each), 1.0) for each in weights]
        assert half_width(draws) <= factor * np.sqrt(sum(each.variance for each in draws)) * 1.001


@pytest.mark.parametrize("parameter", [0.05, 0.1, 0.15, 0.3, 0.6, 0.75, 1.5, 3.0])
@pytest.mark.parametrize("mechanism", ["discrete_laplace", "discrete_gaussian"])
def test_the_factor_for_any_sum_holds_where_whole_numbers_decide(mechanism: str, parameter: float) -> None:
    """Exact laws of sums with whole weights, one draw's masses convolved with the next one's."""
    law, at = DrawLaw(mechanism, parameter), np.arange(-40, 41)
    mass = np.exp(-np.abs(at) / parameter if mechanism == "discrete_laplace" else -(at**2) / (2 * parameter))
    mass /= mass.sum()
    factor = factor95([law])
    assert factor < 20**0.5  # Chebyshev's
    sums = [range(1, 5), (1, 2), (1, 1, 9), (4, 8, 12), (2, 2, 4, 4), (2, 3), *([1] * n for n in (1, 2, 3, 8, 20, 64))]
    for weights in sums:
        sum_law = np.ones(1)
        for weight in weights:
            wide = np.zeros(80 * weight + 1)
            wide[::weight] = mass
            sum_law = np.convolve(sum_law, wide)
        error = np.sqrt(law.variance * sum(weight**2 for weight in weights))
        inside = np.abs(np.arange(len(sum_law)) - len(sum_law) // 2) <= factor * error + 1e-9
        assert sum_law[inside].sum() >= 0.945, list(weights)


def test_intervals_nest_with_the_variance() -> None:
    law = DrawLaw("discrete_gaussian", 2.0)
    widths = [half_width([Draws(law, 1.0, float(count))]) for count in (1, 2, 5, 20, 100)]
    assert all(low < high for low, high in pairwise(widths))
