"""Totals against their noise: quantiles are those of the exact laws, and noise alone is named as such."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dplib.consistency.answer_coefficients import range_coefficients
from dplib.errors import ConfigError
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.metrics.faint_totals import LEVEL, NoisyTotal, find_faint
from dplib.page.notices import caps_caveat, faint_sentence
from dplib.privacy.noise_quantile import (
    DrawLaw,
    Draws,
    grouped,
    half_width,
    one_draw,
    std_error,
)
from dplib.privacy.noise_tail import upper_quantile
from dplib.trees.complete import kary_tree
from tests.support.coverage_of_intervals import drawn

TAILS = (0.05, 1e-3, 1e-6)


def laplace(scale: float, count: int = 1, coefficient: float = 1.0) -> Draws:
    """Some discrete Laplace draws."""
    return Draws(DrawLaw("discrete_laplace", scale), coefficient, float(count))


def gaussian(sigma_squared: float, count: int = 1, coefficient: float = 1.0) -> Draws:
    """Some discrete Gaussian draws."""
    return Draws(DrawLaw("discrete_gaussian", sigma_squared), coefficient, float(count))


def mass_of(law: DrawLaw) -> np.ndarray:
    """Masses of one draw on -reach ... reach."""
    scale = law.parameter if law.mechanism == "discrete_laplace" else law.parameter**0.5
    reach = 1 + int(40 * scale)
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    if law.mechanism == "discrete_laplace":
        mass = np.exp(-np.abs(x) / law.parameter)
    else:
        mass = np.exp(-(x**2) / (2 * law.parameter))
    return np.asarray(mass / mass.sum())


def tail_above(draws: Sequence[Draws], value: float) -> float:
    """P(sum > value) by exact convolution; all coefficients 1."""
    mass = np.ones(1)
    for each in draws:
        for _ in range(int(each.count)):
            mass = np.convolve(mass, mass_of(each.law))
    middle = len(mass) // 2
    return float(mass[middle + math.floor(value) + 1 :].sum())


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("mechanism", ["discrete_laplace", "discrete_gaussian"])
@pytest.mark.parametrize("parameter", [1 / 3, 3.5, 60.0])
def test_the_quantile_of_one_draw_is_exact(mechanism: str, parameter: float, tail: float) -> None:
    draws = one_draw(DrawLaw(mechanism, parameter))
    value = upper_quantile(draws, tail)
    assert value == int(value)
    assert tail_above(draws, value) <= tail * (1 + 1e-9)
    assert value == 0 or tail_above(draws, value - 1) > tail


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("count", [2, 3, 8])
def test_the_quantile_of_a_sum_of_laplace_draws_is_that_of_its_law(count: int, tail: float) -> None:
    draws = (laplace(25.0, count),)
    # One count more or less is a few percent of the tail here.
    assert tail_above(draws, upper_quantile(draws, tail)) == pytest.approx(tail, rel=0.06)


def test_draws_of_different_laws_and_coefficients_mix() -> None:
    whole = (laplace(30.0), gaussian(50.0, 4))
    assert tail_above(whole, upper_quantile(whole, 1e-4)) == pytest.approx(1e-4, rel=0.06)
    scaled = (laplace(30.0, 1, 3.0), gaussian(50.0, 4, 3.0))
    assert upper_quantile(scaled, 1e-4) == pytest.approx(3 * upper_quantile(whole, 1e-4))


@pytest.mark.parametrize(
    ("draws", "rel", "step"),
    [
        # One draw: both are the least whole number that holds enough.
        *(((kind(at),), 0.0, 0.0) for kind in (laplace, gaussian) for at in (0.3, 1.0, 3.5, 60.0, 500.0)),
        # 3 % of the tail's probability are 1 % of the quantile here. On the integers the saddlepoint runs between them.
        *(((laplace(at, count),), 0.01, 0.5) for at in (3.5, 60.0, 500.0) for count in (2, 3, 8)),
        ((gaussian(50.0, 4),), 0.01, 0.5),
        ((laplace(30.0), gaussian(50.0, 4)), 0.01, 0.5),
        # Wide against its steps: the law is as good as continuous.
        ((laplace(2e4),), 0.001, 0.0),
        ((laplace(500.0, 1, 0.7), laplace(300.0, 6, 0.2)), 0.01, 0.0),
        ((gaussian(9e4, 2, 0.6), laplace(300.0, 2, 0.31)), 0.01, 0.0),
        (one_draw(DrawLaw("normal", 2e4)), 0.0, 0.5),
    ],
)
def test_at_a_tail_of_a_fortieth_it_is_the_half_width(draws: tuple[Draws, ...], rel: float, step: float) -> None:
    whole, tail = half_width(draws), upper_quantile(draws, 0.025)
    assert abs(whole - tail) <= step + rel * whole


def test_the_draws_of_a_total_are_those_of_least_squares() -> None:
    tree = kary_tree(7, 3)
    variance = np.linspace(1.0, 2.0, tree.n_nodes)
    variance[0] = np.inf
    laws = [DrawLaw("discrete_gaussian", float(each)) for each in range(1, tree.n_nodes + 1)]
    draws = grouped(range_coefficients(tree, variance, 0, tree.n_leaves), laws, np.arange(tree.n_nodes))
    unit = np.eye(tree.n_nodes)
    weights = tree_blue_deep(tree, unit, np.repeat(variance[:, None], tree.n_nodes, axis=1))[0]
    expected = {laws[node]: weights[node] for node in np.flatnonzero(np.abs(weights) > 1e-12)}
    assert {each.law: pytest.approx(each.coefficient) for each in draws} == expected


@pytest.mark.parametrize("n_leaves", [2, 50_000])
def test_a_total_with_the_only_count_is_its_own_draw(n_leaves: int) -> None:
    tree = kary_tree(n_leaves, 2)
    variance = np.full(tree.n_nodes, np.inf)
    variance[0] = 7.0
    found = range_coefficients(tree, variance, 0, n_leaves)
    assert found[0] == pytest.approx(1.0, abs=1e-12)
    assert not found[1:].any()


def test_a_total_on_its_bound_is_named_however_its_error_was_rounded() -> None:
    draw = laplace(20.0, 1, 1 / 3)
    bound = upper_quantile((laplace(20.0),), LEVEL)
    for error in (np.nextafter(std_error((draw,)), 0.0), std_error((draw,))):
        assert find_faint([NoisyTotal("s", bound / 3, error, (draw,))]).names == ("s",)
        assert find_faint([NoisyTotal("s", (bound + 1) / 3, error, (draw,))]).names == ()


def test_noise_alone_is_named_whole_and_counts_are_not() -> None:
    law = laplace(20.0)
    n_series, n_times = 40, 200
    noise = drawn(law.law, n_series * n_times, "faint")
    error = std_error((law,))
    whole = 0
    for row in noise.reshape(n_times, n_series):
        found = find_faint([NoisyTotal(f"s{i}", float(x), error, (law,)) for i, x in enumerate(row)])
        whole += found.everything
    # The share of runs in which every series is named: at least 1 - 0.05, and not by a bound that is far too high.
    assert n_times * (1 - LEVEL) - 3 * math.sqrt(n_times * LEVEL) <= whole < n_times
    counted = [NoisyTotal("beer", 2000.0, error, (law,)), NoisyTotal("beeer", 12.0, error, (law,))]
    found = find_faint(counted)
    assert found.names == ("beeer",)
    assert not found.everything


def test_what_has_no_error_is_not_judged_and_an_exact_zero_is() -> None:
    found = find_faint([NoisyTotal("triangles", 3.0, float("nan")), NoisyTotal("rows", 0.0, 0.0)])
    assert (found.n_judged, found.names) == (1, ("rows",))
    with pytest.raises(ConfigError, match="tail must"):
        upper_quantile((), 0.6)


def test_sentences_are_loud_where_nothing_stands_out() -> None:
    assert faint_sentence(5, []) == ""
    assert faint_sentence(3, ["a", "b", "c"]).startswith("NOTHING MAY HAVE BEEN COUNTED")
    some = faint_sentence(30, [f"item {i}" for i in range(10)])
    assert "item 7 and 2 more" in some
    assert "NOTHING" not in some


def test_the_caveat_names_the_caps() -> None:
    privacy = {"unit": "order", "max_rows_per_unit": 10, "max_rows_per_day": None, "max_quantity": 3}
    text = caps_caveat({"privacy": privacy})
    assert "at most 10 rows of one order; each row as 3 at most" in text
    assert caps_caveat({"privacy": {"unit": "edge"}, "graph": {}}) == ""
