"""Standard errors of weights: the formula against the estimator itself, and the share of true counts they cover."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dplib.clustering.central.quadtree as quadtree_module
from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.code_tree import Leaves, Level, leaves_of
from dplib.clustering.central.quadtree import CubeCodes, quadtree
from dplib.clustering.central.tree_errors import NOBODY, NodeErrors, weight_variances
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.clustering.sums import nearest, rounded
from tests.support.clustering import keyed, mixture

K = 5
SQUARE = Space.box([-1.0, -1.0], [1.0, 1.0])


def _weights(levels: list[NodeErrors], counts: list[FloatArray], labels: IntArray, k: int) -> FloatArray:
    """Both sweeps as they are defined, node by node."""
    totals = [each.copy() for each in counts]
    children = len(levels[1].own) // max(1, int(levels[0].expanded.sum())) if len(levels) > 1 else 1
    for i in reversed(range(len(levels) - 1)):
        for family, node in enumerate(np.flatnonzero(levels[i].expanded)):
            below = totals[i + 1][family * children : (family + 1) * children].sum()
            totals[i][node] = levels[i].own[node] * counts[i][node] + (1 - levels[i].own[node]) * below
    weights, given_to = np.zeros(k), totals[0]
    for i, level in enumerate(levels):
        for node in np.flatnonzero(level.leaves != NOBODY):
            weights[labels[level.leaves[node]]] += given_to[node]
        if i + 1 < len(levels):
            families = totals[i + 1].reshape(-1, children)
            lacking = given_to[level.expanded] - families.sum(axis=1)
            given_to = (families + lacking[:, np.newaxis] / children).ravel()
    return weights


@st.composite
def node_errors(draw: st.DrawFn) -> tuple[list[NodeErrors], int]:
    """Small trees of two or four children, some of whose childless nodes are no leaves."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    children, depth = draw(st.sampled_from([2, 4])), draw(st.integers(0, 3))
    levels, n, n_leaves = [], 1, 0
    for number in range(depth + 1):
        expanded = (rng.random(n) < 0.6) & (number < depth)
        leaf = ~expanded & (rng.random(n) < 0.8)
        leaves = np.where(leaf, n_leaves + np.cumsum(leaf) - 1, NOBODY)
        own = np.where(expanded, rng.random(n), 1.0)
        levels.append(NodeErrors(own, rng.random(n) * 10, expanded, leaves))
        n, n_leaves = int(expanded.sum()) * children, n_leaves + int(leaf.sum())
        if not n:
            break
    return levels, n_leaves


@settings(deadline=None, max_examples=25)
@given(node_errors(), st.integers(1, 4))
def test_variance_is_that_of_the_two_sweeps(tree: tuple[list[NodeErrors], int], k: int) -> None:
    levels, n_leaves = tree
    labels = np.arange(n_leaves) % k
    zeros = [np.zeros(len(level.own)) for level in levels]
    expected = np.zeros(k)
    for i, level in enumerate(levels):
        for node in range(len(level.own)):
            counts = [each.copy() for each in zeros]
            counts[i][node] = 1.0
            expected += level.variances[node] * _weights(levels, counts, labels, k) ** 2
    assert weight_variances(levels, labels, k) == pytest.approx(expected, abs=1e-9)


def _require_covered(z: list[FloatArray]) -> None:
    """About 19 of 20 true counts lie within 1.96 standard errors, and errors are not stated too large either."""
    found = np.concatenate(z)
    assert (np.abs(found) < 1.96).mean() > 0.88
    assert 0.7 < np.sqrt((found**2).mean()) < 1.3
    assert abs(found.mean()) < 1


QUADTREES = [(20_000, Fraction(1)), (3_000, Fraction(1, 2))]


@pytest.mark.parametrize(("n", "epsilon"), [*QUADTREES, pytest.param(60_000, Fraction(3), marks=pytest.mark.slow)])
def test_weights_of_a_quadtree_are_covered(n: int, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    points, seen, z = SQUARE.to_units(mixture(n, 2, K, 1)), list[Leaves](), []

    def capture(levels: list[Level], bits: int, depth: int, variances: list[float]) -> Leaves:
        seen.append(leaves_of(levels, bits, depth, variances))
        return seen[-1]

    monkeypatch.setattr(quadtree_module, "leaves_of", capture)
    for key in range(20):
        found = quadtree(Blocks(points), keyed(key), Problem(SQUARE, K), epsilon)
        assert found.cells is not None
        assert found.weight_deviations is not None
        codes = CubeCodes(SQUARE.half_widths, int(found.choices["last level"])).codes(points)
        leaf = np.searchsorted(seen[-1].first_codes, codes, side="right") - 1
        labels = nearest(rounded(found.cells), rounded(found.centers))
        z.append((found.weights - np.bincount(labels[leaf], minlength=K)) / found.weight_deviations)
    _require_covered(z)
