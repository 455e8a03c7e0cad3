from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dplib.estimates.adaptive_partition import (
    best_pruning,
    bucket_costs,
    partition_noise_scale,
    private_partition,
)
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.mechanisms.partition import PartitionNoise
from dplib.randomness.keyed import KeyedStream
from dplib.trees.complete import kary_tree
from dplib.trees.structure_search import best_design
from tests.support.goodness_of_fit import epsilon_lower_bound
from tests.support.oracles import discrete_laplace_pmf
from tests.support.range_pipelines import adaptive_histogram
from tests.support.tree_oracles import random_tree

KEY = bytes(range(32))


@pytest.mark.parametrize("seed", range(6))
def test_costs_are_the_least_absolute_deviations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 25)
    x = rng.poisson(3, 25)
    wanted = [
        min(np.abs(x[lo:hi] - c).sum() for c in range(x.max() + 1)) for lo, hi in zip(tree.lo, tree.hi, strict=True)
    ]
    costs = bucket_costs(tree, x)
    assert costs.tolist() == wanted
    # Sensitivity 1: add one record anywhere.
    for i in range(25):
        more = x.copy()
        more[i] += 1
        assert np.abs(bucket_costs(tree, more) - costs).max() <= 1


def test_the_pruning_is_the_best_of_all() -> None:
    tree, rng = kary_tree(6, 2), np.random.default_rng(0)

    def prunings(node: int) -> list[frozenset[int]]:
        below = [prunings(c) for c in np.flatnonzero(tree.parent == node)]
        return [frozenset([node])] + ([frozenset().union(*choice) for choice in product(*below)] if below else [])

    noisy = rng.integers(-30, 30, (tree.n_nodes, 50))
    chosen = best_pruning(tree, noisy, 4)
    for trial in range(50):
        least = min(sum(int(noisy[node, trial]) + 4 for node in pruning) for pruning in prunings(0))
        buckets = np.flatnonzero(chosen[:, trial])
        assert noisy[buckets, trial].sum() + 4 * len(buckets) == least
        assert (tree.hi - tree.lo)[buckets].sum() == 6


def output_law(x: tuple[int, ...], scale: float, reach: int = 14) -> dict[bytes, float]:
    """Exact law of the pruning of the binary tree over three bins (five nodes), up to the noise beyond ``reach``."""
    tree = kary_tree(3, 2)
    grid = np.arange(-reach, reach + 1)
    mass = discrete_laplace_pmf(scale)(grid.astype(float))
    # The bins' noises only matter through sums: nodes are root, pair, third bin, first bin, second bin.
    pair_sum = np.convolve(mass, mass)
    sums = np.arange(-2 * reach, 2 * reach + 1)
    pair, third, both = np.meshgrid(grid, grid, sums, indexing="ij", sparse=True)
    costs = bucket_costs(tree, np.array(x))
    weight = mass[:, None, None] * mass[None, :, None] * pair_sum[None, None, :]
    penalty = 2
    kept_pair = np.broadcast_to(costs[1] + pair + penalty <= both + 2 * penalty, weight.shape)
    below = np.minimum(costs[1] + pair + penalty, both + 2 * penalty) + third + penalty
    # The root is kept where its own noise is small enough.
    up_to = np.append(0.0, np.cumsum(mass))
    kept_root = up_to[np.clip(below - costs[0] - penalty + reach + 1, 0, len(mass))]
    lost = weight * (up_to[-1] - kept_root)
    parts = {b"root": weight * kept_root, b"pair": lost * kept_pair, b"bins": lost * ~kept_pair}
    return {name: float(part.sum()) for name, part in parts.items()}


def worst_loss(scale: float) -> float:
    losses = []
    for x in [(0, 0, 0), (3, 0, 3), (4, 4, 0), (0, 6, 0)]:
        for i in range(3):
            y = tuple(v + (j == i) for j, v in enumerate(x))
            p, q = output_law(x, scale), output_law(y, scale)
            losses += [abs(np.log(p[part] / q[part])) for part in p if min(p[part], q[part]) > 1e-4]
    return max(losses)


def test_exact_privacy_loss_of_the_choice() -> None:
    epsilon = Fraction(2)
    scale = float(partition_noise_scale(epsilon))
    assert worst_loss(scale) <= epsilon
    assert worst_loss(scale / 3) > epsilon  # a third of the noise must be caught


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1, 4)])
def test_empirical_epsilon_on_worst_case_neighbours(epsilon: Fraction) -> None:
    tree, trials = kary_tree(4, 4), 60_000

    def merged(x: list[int], scale: Fraction, label: str) -> np.ndarray:
        noise = draw_discrete_laplace(KeyedStream(KEY, label), scale, tree.n_nodes * trials)
        costs = bucket_costs(tree, np.array(x))[:, None] + noise.reshape(tree.n_nodes, trials)
        return best_pruning(tree, costs, 2)[0].astype(float)

    scale = partition_noise_scale(epsilon)
    # Merging costs one more where the changed bin stands out more.
    audits = {
        factor: epsilon_lower_bound(
            merged([5, 5, 5, 15], scale * factor, "a"), merged([5, 5, 5, 16], scale * factor, "b")
        )
        for factor in (Fraction(1), Fraction(1, 8))
    }
    assert audits[Fraction(1)] <= epsilon
    assert audits[Fraction(1, 8)] > epsilon  # an eighth of the noise must be caught


def test_flat_data_becomes_few_buckets_and_steps_are_found() -> None:
    x = np.repeat([0, 900, 0, 40], 256).astype(np.int64)
    edges = private_partition(x, Fraction(1), 4, PartitionNoise(KEY, "steps"))
    assert {0, 256, 512, 768, 1024} <= set(edges.tolist())
    assert len(edges) < 500


def test_whole_method_and_composition() -> None:
    x = np.zeros(500, dtype=np.int64)
    x[100] = 5000
    spent = []

    def measure_with(budget: Fraction) -> NodeMechanism:
        spent.append(budget)
        return NodeMechanism(KEY, "x", "laplace", budget)

    def draw(scale: Fraction, size: int) -> np.ndarray:
        spent.append(2 / scale)
        return PartitionNoise(KEY, "x")(scale, size)

    estimate = adaptive_histogram(x, Fraction(1), draw, measure_with)
    assert sum(spent) == 1
    assert len(estimate) == 500
    assert abs(estimate[100] - 5000) < 100


def range_error(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Mean squared error over all ranges, by cumulative differences."""
    gaps = np.append(0, np.cumsum(estimate - truth))
    n = len(truth)
    return float(((n + 1) * (gaps**2).sum() - gaps.sum() ** 2) / (n * (n + 1) / 2))


def test_beats_the_tree_on_sparse_data(shared: Path) -> None:
    x = np.load(shared / "data" / "histograms" / "MEDCOST.n4096.npy").astype(np.int64)
    epsilon = Fraction(1, 10)
    errors = []
    for run in range(4):
        key = bytes([run]) * 32
        mechanism = lambda budget, key=key: NodeMechanism(key, "medcost", "laplace", budget)  # noqa: E731
        estimate = adaptive_histogram(x, epsilon, PartitionNoise(key, "medcost"), mechanism)
        errors.append(range_error(estimate, x))
    tree = best_design(4096).mean_error / float(epsilon) ** 2
    assert np.mean(errors) <= 0.5 * tree
