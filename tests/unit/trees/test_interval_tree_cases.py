"""The stored reference trees: coverage by enumeration, certified budgets, exact rational least squares."""

from typing import Any

import numpy as np
import pytest

from dplib.estimates.range_variance import RangeVariance
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.trees.budgets import non_uniform_budget_distribution, unit_variance
from dplib.trees.coverage import (
    FixedLengthRanges,
    PrefixRanges,
    ProductRanges,
    UniformRanges,
    node_coverage_probabilities,
    raw_mean_error,
)
from tests.support.tree_oracles import CASE_NAMES, CASES, case_tree, tree_blue

pytestmark = pytest.mark.parametrize("case", CASES, ids=CASE_NAMES)


def close(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_coverage(case: dict[str, Any]) -> None:
    tree, n = case_tree(case), case["n"]
    fixed, product = case["coverage_fixed_length"], case["coverage_product"]
    close(node_coverage_probabilities(tree, UniformRanges(n)), case["coverage"])
    close(node_coverage_probabilities(tree, PrefixRanges(n)), case["coverage_prefix"])
    close(node_coverage_probabilities(tree, FixedLengthRanges(n, fixed["length"])), fixed["p"])
    close(node_coverage_probabilities(tree, ProductRanges(product["u"], product["v"])), product["p"])


def test_budgets_and_errors(case: dict[str, Any]) -> None:
    tree = case_tree(case)
    coverage = node_coverage_probabilities(tree, UniformRanges(case["n"]))
    shares = non_uniform_budget_distribution(tree, coverage)
    close(shares, case["eps"])
    close(raw_mean_error(coverage, unit_variance(shares, "laplace")), case["mean_error_raw"])
    close(RangeVariance(tree, unit_variance(shares, "laplace")).mean(), case["mean_error_blue"])
    equal = np.full(tree.n_nodes, 1 / tree.n_levels)
    close(RangeVariance(tree, unit_variance(equal, "laplace")).mean(), case["mean_error_blue_equal_budget"])


@pytest.mark.parametrize(("weights", "blue"), [("eps", "blue"), ("weights2", "blue_weights2")])
def test_least_squares(case: dict[str, Any], weights: str, blue: str) -> None:
    tree, noisy = case_tree(case), np.array(case["noisy"])
    weight = np.array(case[weights]) ** (2 if weights == "eps" else 1)
    variance = (1 / weight)[:, None]
    close(tree_blue(tree, noisy[:, None], variance)[:, 0], case[blue])
    close(tree_blue_deep(tree, noisy[:, None], variance)[:, 0], case[blue])
