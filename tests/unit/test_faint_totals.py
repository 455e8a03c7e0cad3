"""Totals against their noise: quantiles are those of the exact laws, and noise alone is named as such."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.inference.tree_blue_deep import deep_gains, tree_blue_deep
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.metrics.faint_totals import LEVEL, NoisyTotal, find_faint
from dplib.metrics.noise_sums import Draws, root_draws, sum_variance, upper_quantile
from dplib.randomness.keyed import KeyedStream
from dplib.report.notices import caps_caveat, faint_sentence
from dplib.trees.complete import kary_tree

TAILS = (0.05, 1e-3, 1e-6)


def mass_of(draw: Draws) -> np.ndarray:
    """Masses of one draw on -reach ... reach."""
    reach = 4000
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    if draw.mechanism == "discrete_laplace":
        mass = np.exp(-np.abs(x) / float(draw.parameter))
    else:
        mass = np.exp(-(x**2) / (2 * float(draw.parameter)))
    return np.asarray(mass / mass.sum())


def tail_above(draws: Sequence[Draws], value: float) -> float:
    """P(sum > value) by exact convolution; all weights 1."""
    mass = np.ones(1)
    for each in draws:
        for _ in range(each.count):
            mass = np.convolve(mass, mass_of(each))
    middle = len(mass) // 2
    return float(mass[middle + math.floor(value) + 1 :].sum())


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("mechanism", ["discrete_laplace", "discrete_gaussian"])
@pytest.mark.parametrize("parameter", [Fraction(1, 3), Fraction(7, 2), Fraction(60)])
def test_the_quantile_of_one_draw_is_exact(mechanism: str, parameter: Fraction, tail: float) -> None:
    draws = (Draws(mechanism, parameter),)
    value = upper_quantile(draws, tail)
    assert value == int(value)
    assert tail_above(draws, value) <= tail * (1 + 1e-9)
    assert value == 0 or tail_above(draws, value - 1) > tail


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("count", [2, 3, 8])
def test_the_quantile_of_a_sum_of_laplace_draws_is_that_of_its_law(count: int, tail: float) -> None:
    draws = (Draws("discrete_laplace", Fraction(25), count),)
    # One count more or less is a few percent of the tail here.
    assert tail_above(draws, upper_quantile(draws, tail)) == pytest.approx(tail, rel=0.06)


def test_a_normal_quantile_would_be_wrong_for_few_laplace_draws() -> None:
    draws = (Draws("discrete_laplace", Fraction(25), 2),)
    normal = math.sqrt(sum_variance(draws)) * 4.753  # of one in a million
    assert tail_above(draws, normal) > 20e-6


def test_draws_of_different_weights_mix() -> None:
    whole = (Draws("discrete_laplace", Fraction(30)), Draws("discrete_gaussian", Fraction(50), 4))
    assert tail_above(whole, upper_quantile(whole, 1e-4)) == pytest.approx(1e-4, rel=0.06)
    scaled = tuple(Draws(each.mechanism, each.parameter, each.count, 3.0) for each in whole)
    assert upper_quantile(scaled, 1e-4) == pytest.approx(3 * upper_quantile(whole, 1e-4))


def test_the_weights_of_the_root_are_those_of_least_squares() -> None:
    tree = kary_tree(7, 3)
    variance = np.linspace(1.0, 2.0, tree.n_nodes)
    variance[0] = np.inf
    own = deep_gains(tree, variance[:, None]).own[:, 0]
    kinds = [("discrete_gaussian", Fraction(each)) for each in range(1, tree.n_nodes + 1)]
    draws = root_draws(tree, own, np.arange(tree.n_nodes), kinds)
    unit = np.eye(tree.n_nodes)
    weights = tree_blue_deep(tree, unit, np.repeat(variance[:, None], tree.n_nodes, axis=1))[0]
    expected = {kinds[node][1]: weights[node] for node in np.flatnonzero(np.abs(weights) > 1e-12)}
    assert {each.parameter: pytest.approx(each.weight) for each in draws} == expected


def test_noise_alone_is_named_whole_and_counts_are_not() -> None:
    law = Draws("discrete_laplace", Fraction(20))
    n_series, n_times = 40, 400
    noise = draw_discrete_laplace(KeyedStream(bytes(32), "faint"), law.parameter, n_series * n_times)
    error = math.sqrt(law.variance)
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
