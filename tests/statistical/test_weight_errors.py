"""Standard errors of weights: the formula against the estimator itself, and the share of true counts they cover."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dplib.clustering.central.quadtree as quadtree_module
from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.code_tree import Leaves, Level, leaves_of
from dplib.clustering.central.quadtree import CubeCodes, quadtree
from dplib.clustering.central.tree_errors import NOBODY, NodeErrors, weight_variances
from dplib.clustering.local.hash_rounds import HashRounds
from dplib.clustering.local.projected_tree import LiftedTree
from dplib.clustering.local.questions import Counts
from dplib.clustering.local.tree import LocalTree, local_points
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.clustering.sums import nearest, rounded
from dplib.clustering.weighted_kmeans import nearest_centers
from dplib.mechanisms.local.choose_oracle import OracleName, choose_oracle
from dplib.mechanisms.local.vector_sums import VectorSums
from dplib.randomness.user_streams import UserStreams, number_users
from tests.clustering_support import keyed, mixture

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


@settings(deadline=None, max_examples=60)
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
    assert weight_variances(levels, labels, k)[0] == pytest.approx(expected, abs=1e-9)


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


def _streams(n: int, run: int) -> UserStreams:
    return UserStreams(bytes(range(32)), number_users(np.arange(n)), "weights", run)


def _true_weights(tree: LocalTree, counts: Counts, centers: FloatArray, points: IntArray) -> IntArray:
    """How many users are in the leaves of each center."""
    coreset, cubes, truth = tree.coreset(counts), tree._cubes, np.zeros(K, dtype=np.int64)
    diagonal = 2.0 * sum(half**2 for half in tree.space.half_widths)
    levels = np.rint(np.log2(diagonal / coreset.sides) / 2).astype(np.int64)
    codes, places = cubes.codes(points), cubes.codes(np.rint(coreset.places).astype(np.int64))
    labels = np.zeros(len(places), dtype=np.int64)
    nearest_centers(coreset.places, centers, labels)
    for level in np.unique(levels):
        shift, at = tree.dimension * (tree.depth - level), np.flatnonzero(levels == level)
        of = dict(zip((places[at] >> shift).tolist(), labels[at].tolist(), strict=True))
        for cube, times in zip(*np.unique(codes >> shift, return_counts=True), strict=True):
            if int(cube) in of:
                truth[of[int(cube)]] += times
    return truth


ORACLES = [(OracleName.GENERALIZED_RESPONSE, 1, 2), (OracleName.UNARY_ENCODING, 1, 4), (OracleName.AUTO, 8, 4)]
ORACLES += [(OracleName.HADAMARD_RESPONSE, 1, 4), (OracleName.LOCAL_HASHING, 2, 4)]


@pytest.mark.parametrize(("name", "epsilon", "depth"), ORACLES)
def test_weights_of_a_local_tree_are_covered(name: OracleName, epsilon: int, depth: int) -> None:
    n, z = 30_000, []
    points = local_points(SQUARE, mixture(n, 2, K, 1))
    tree = LocalTree(SQUARE, depth, partial(choose_oracle, epsilon=Fraction(epsilon), name=name))
    for run in range(10):
        counts = tree.aggregate(tree.encode(_streams(n, run), points))
        found = tree.cluster(counts, Problem(SQUARE, K))
        truth = _true_weights(tree, counts, found.centers, points)
        z.append((found.weights - truth) / found.weight_deviations)
    _require_covered(z)


def test_weights_of_a_projected_tree_are_covered() -> None:
    n, epsilon, space, z = 30_000, Fraction(4), Space.ball([0.0] * 7, 1.0), []
    points = local_points(space, mixture(n, 7, K, 1))
    lifted = LiftedTree(
        Problem(space, K), 3, partial(choose_oracle, epsilon=epsilon), partial(VectorSums, epsilon=epsilon)
    )
    for run in range(10):
        places, collected = lifted.places_after([]), list[Counts]()
        for number in range(2):
            answers = lifted.encode(_streams(n, run), points, number, places)
            collected.append(lifted.aggregate(answers, number, places))
            places = lifted.places_after(collected[:1])
        found = lifted.cluster(collected)
        truth = _true_weights(lifted.tree, collected[0], places, lifted.project(points))
        z.append((found.weights - truth) / found.weight_deviations)
    _require_covered(z)


@pytest.mark.parametrize("epsilon", [1, 8])
def test_weights_of_hash_rounds_are_covered(epsilon: int) -> None:
    n, z = 30_000, []
    points = local_points(SQUARE, mixture(n, 2, K, 1))
    rounds = HashRounds(Problem(SQUARE, K), 3, partial(choose_oracle, epsilon=Fraction(epsilon)))
    for run in range(10):
        places, collected = rounds.places_after([]), list[Counts]()
        for number in range(rounds.n_rounds):
            places = rounds.places_after(collected)
            answers = rounds.encode(_streams(n, run), points, number, places)
            collected.append(rounds.aggregate(answers, number, places))
        found = rounds.cluster(collected)
        users, labels = nearest(points, rounded(places)), nearest(rounded(places), rounded(found.centers))
        assert found.weights.sum() == pytest.approx(n)
        z.append((found.weights - np.bincount(labels[users], minlength=K)) / found.weight_deviations)
    _require_covered(z)
