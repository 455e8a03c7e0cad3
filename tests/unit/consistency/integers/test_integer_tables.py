"""Published integer tables: exact constraints, cut passes, and errors beside the estimates and clipping."""

import numpy as np
import pytest

from dplib.consistency.integers.coupled_division import Coupling, needs_coupling
from dplib.consistency.integers.generator_space import GeneratorSpace
from dplib.consistency.integers.integer_tables import divide_counts, node_offers, publish_counts, root_counts
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.trees.block_plan import BlockPlan
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges, regular_edges

RESTAURANT = np.array([[2, 1, 0], [1, 0, 1], [1, 2, 1], [1, 1, 1], [0, 1, 2]])
CYCLE = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])


def daily(first: int, end: int, generators: np.ndarray) -> DayConstraints:
    return DayConstraints(first, end, np.zeros((0, len(generators))), np.zeros(0), generators)


def day_tree(n_days: int, k: int = 4) -> IntervalTree:
    return IntervalTree.from_level_edges(regular_edges(n_days, k))


def noisy_days(generators: np.ndarray, true: np.ndarray, scale: float, seed: int) -> np.ndarray:
    """Estimates of days whose noise satisfies the constraints."""
    noise = np.random.default_rng(seed).laplace(0, scale, true.shape)
    return (true + noise) @ generators.T


def assert_published(counts: np.ndarray, tree: IntervalTree, day_constraints: tuple[DayConstraints, ...]) -> None:
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    days = counts[tree.leaf_nodes]
    assert np.array_equal(counts, tree.sums(days))
    for each in day_constraints:
        assert each.generators is not None
        assert_sums_of(each.generators.toarray(), days[each.first : each.end])


def assert_sums_of(generators: np.ndarray, days: np.ndarray) -> None:
    """Every day is a combination of the generators (non-negative integer ones where they are independent)."""
    if not generators.shape[1]:
        assert not days.any()
        return
    used = np.linalg.lstsq(generators.astype(float), days.T.astype(float), rcond=None)[0]
    assert np.allclose(generators @ used, days.T, atol=1e-6)
    if np.linalg.matrix_rank(generators) == generators.shape[1]:
        assert np.allclose(used, np.rint(used), atol=1e-6)
        assert used.min(initial=0) > -1e-6


def test_a_consistent_integer_table_is_published_as_it_is() -> None:
    tree = day_tree(37)
    packages = np.random.default_rng(0).poisson(3, (37, 3))
    estimates = tree.sums(packages @ RESTAURANT.T).astype(float)
    assert np.array_equal(publish_counts(tree, estimates, (daily(0, 37, RESTAURANT),)), estimates)


def test_constraints_that_change_offer_only_their_packages() -> None:
    tree = day_tree(50, 3)
    day_constraints = (
        daily(0, 20, RESTAURANT[:, :2]),
        daily(20, 21, RESTAURANT[:, :0]),
        daily(21, 50, RESTAURANT[:, 1:]),
    )
    rng = np.random.default_rng(1)
    estimates = tree.sums(
        np.vstack(
            [rng.normal(1, 8, (m.end - m.first, m.generators.shape[1])) @ m.generators.T for m in day_constraints]
        )  # type: ignore[union-attr]
    )
    space = GeneratorSpace.from_day_constraints(day_constraints)
    assert space.n_generators == 3
    counts = publish_counts(tree, estimates, day_constraints)
    assert_published(counts, tree, day_constraints)
    assert not counts[tree.leaf_nodes][20].any()


def test_a_package_that_is_a_sum_of_others_adds_nothing() -> None:
    meal = np.array([[1, 0, 1, 2], [0, 1, 1, 0]])
    space = GeneratorSpace.from_day_constraints((daily(0, 8, meal),))
    assert space.independent
    assert sorted(space.matrix.toarray().T.tolist()) == [[0, 1], [1, 0]]
    tree = day_tree(8)
    estimates = tree.sums(np.random.default_rng(2).normal(2, 5, (8, 2)))
    assert_published(publish_counts(tree, estimates, (daily(0, 8, np.eye(2, dtype=np.int64)),)), tree, ())


def test_dependent_packages_are_divided_in_the_metric_of_the_items() -> None:
    n_days = 64
    tree, day_constraints = day_tree(n_days), (daily(0, n_days, CYCLE),)
    assert not GeneratorSpace.from_day_constraints(day_constraints).independent
    true = np.random.default_rng(3).poisson([30, 0, 30, 5], (n_days, 4))
    exact = publish_counts(tree, tree.sums(true @ CYCLE.T).astype(float), day_constraints)
    assert_published(exact, tree, day_constraints)
    # Rounding moves each of two packages of an item by less than 1 at each level.
    assert np.abs(exact[tree.leaf_nodes] - true @ CYCLE.T).mean() < 2
    noisy = publish_counts(tree, tree.sums(noisy_days(CYCLE, true, 10, 4)), day_constraints)
    assert_published(noisy, tree, day_constraints)


def test_a_range_without_rows_is_zeros_and_noise() -> None:
    n_days = 256
    tree, day_constraints = day_tree(n_days), (daily(0, n_days, RESTAURANT),)
    estimates = tree.sums(noisy_days(RESTAURANT, np.zeros((n_days, 3)), 20, 5))
    counts = publish_counts(tree, estimates, day_constraints)
    assert_published(counts, tree, day_constraints)
    # No larger than the noise of the whole range's own sum, far from 0.5 * 20 a day as clipping would have it.
    assert counts[0].sum() <= np.abs(estimates[0]).sum() + 10
    zeros = publish_counts(tree, np.minimum(estimates, 0) * 0, day_constraints)
    assert not zeros.any()


def test_a_single_day_and_no_generators() -> None:
    tree = IntervalTree.from_level_edges([[0, 1]])
    counts = publish_counts(tree, np.array([[2.4, -1.0, 3.6]]), (daily(0, 1, np.eye(3, dtype=np.int64)),))
    assert counts.sum() == 5
    assert counts[0, 1] == 0
    nothing = publish_counts(tree, np.array([[2.4, -1.0]]), (daily(0, 1, np.zeros((2, 0), dtype=np.int64)),))
    assert nothing.tolist() == [[0, 0]]


def test_the_root_keeps_nested_totals() -> None:
    rng = np.random.default_rng(6)
    groups = np.repeat(np.eye(3, dtype=np.int64), 20, axis=0).T
    generators = np.vstack([np.eye(60, dtype=np.int64), groups, np.ones((1, 60), dtype=np.int64)])
    space = GeneratorSpace.from_day_constraints((daily(0, 1, generators),))
    items = rng.normal(1, 100, 60)
    root = root_counts(space, space.targets((generators @ items)[None])[0], generators @ items)
    published = space.series_counts(root[None])[0]
    assert published.min() >= 0
    sums = np.maximum(groups @ items, 0)
    assert published[-1] == np.rint(max(0.0, items.sum()))
    # The groups share the grand total: no item of a group pushes it up.
    excess = (sums.sum() - max(0.0, items.sum())) / max(1, np.count_nonzero(sums))
    assert np.all(published[60:63] <= sums + 1)
    assert np.all(published[60:63] >= sums - 2 * excess - 1)


@pytest.mark.parametrize("generators", [RESTAURANT, CYCLE, np.eye(3, dtype=np.int64)])
def test_a_pass_cut_into_blocks_gives_the_same_table(generators: np.ndarray) -> None:
    n_days = 60
    tree = IntervalTree.from_level_edges(branching_edges(n_days, [3, 4, 5]))
    half = generators[:, :-1]
    day_constraints = (daily(0, 25, generators), daily(25, n_days, half))
    space = GeneratorSpace.from_day_constraints(day_constraints)
    estimates = tree.sums(np.random.default_rng(7).normal(3, 9, (n_days, generators.shape[1])) @ generators.T)
    whole = publish_counts(tree, estimates, day_constraints)
    plan = BlockPlan(tree, 1)
    blocks = [plan.block_tree(block) for block in range(plan.n_blocks)]
    targets, offers = [], []
    for block, (below, numbers) in enumerate(blocks):
        first, end = plan.days(block)
        targets.append(below.sums(space.targets(estimates[numbers][below.leaf_nodes], first)).astype(float))
        offers.append(space.offered(first, end - first))
    coupled = needs_coupling(space, n_days)

    def coupling(nodes: np.ndarray) -> Coupling | None:
        return Coupling.of(space, estimates[nodes], None) if coupled else None

    top = plan.top_tree
    top_targets = top.sums(np.stack([each[0] for each in targets])).astype(float)
    top_offers = node_offers(top, np.stack([each.any(axis=0) for each in offers]))
    root = root_counts(space, top_targets[0], estimates[0])
    top_counts = divide_counts(top, top_targets, root, top_offers, coupling=coupling(np.arange(top.n_nodes)))
    assert np.array_equal(space.series_counts(top_counts), whole[: top.n_nodes])
    for block, (below, numbers) in enumerate(blocks):
        counts = divide_counts(
            below,
            targets[block],
            top_counts[top.leaf_nodes[block]],
            node_offers(below, offers[block]),
            coupling=coupling(numbers),
        )
        assert np.array_equal(space.series_counts(counts), whole[numbers])


def range_error(published: np.ndarray, true: np.ndarray) -> float:
    """Root of the mean squared error of all series over many ranges."""
    sums = np.vstack([np.zeros(true.shape[1]), np.cumsum(published - true, axis=0)])
    lo, hi = np.triu_indices(len(sums), 1)
    return float(np.sqrt(np.mean((sums[hi] - sums[lo]) ** 2)))


@pytest.mark.parametrize("case", ["packages", "totals"])
def test_range_errors_stay_at_the_estimates_and_far_below_clipping(case: str) -> None:
    n_days = 216
    rng = np.random.default_rng(8)
    totals = np.vstack([np.eye(30, dtype=np.int64), np.ones((1, 30), dtype=np.int64)])
    generators = RESTAURANT if case == "packages" else totals
    true = rng.poisson(rng.gamma(0.3, 2, generators.shape[1]), (n_days, generators.shape[1]))
    tree, day_constraints = day_tree(n_days, 6), (daily(0, n_days, generators),)
    estimates = consistent_estimates(tree, true, generators, 10.0)
    published = publish_counts(tree, estimates, day_constraints)
    assert_published(published, tree, day_constraints)
    leaves, true_series = tree.leaf_nodes, true @ generators.T
    used = np.linalg.pinv(generators) @ estimates[leaves].T
    clipped = np.maximum(np.rint(used), 0).T @ generators.T
    for series in (slice(None), slice(-1, None)):
        wanted = true_series[:, series]
        error = range_error(published[leaves][:, series], wanted)
        assert error < 1.3 * range_error(estimates[leaves][:, series], wanted)
        assert error < 0.2 * range_error(clipped[:, series], wanted)


def test_a_flat_year_of_items_and_their_total_is_divided_in_runs() -> None:
    """Divided among all days at once, the empty half got so much that ranges of the total were 12 times worse."""
    n_days, items = 365, 60
    generators = np.vstack([np.eye(items, dtype=np.int64), np.ones((1, items), dtype=np.int64)])
    rng = np.random.default_rng(1)
    true = rng.poisson(30, (n_days, items)) * (np.arange(n_days) > 182)[:, None]
    days = (true @ generators.T + rng.laplace(0, 20, (n_days, items + 1))) @ (generators @ np.linalg.pinv(generators)).T
    tree = IntervalTree.from_level_edges([[0, n_days], np.arange(n_days + 1)])
    day_constraints = (daily(0, n_days, generators),)
    published = publish_counts(tree, tree.sums(days).astype(float), day_constraints)
    assert_published(published, tree, day_constraints)
    for series, most in ((slice(-1), 1.1), (slice(-1, None), 3.5)):
        wanted = (true @ generators.T)[:, series]
        error = range_error(published[tree.leaf_nodes][:, series], wanted)
        assert error < most * range_error(days[:, series], wanted)


def consistent_estimates(tree: IntervalTree, true: np.ndarray, generators: np.ndarray, scale: float) -> np.ndarray:
    """Least squares from noise of equal variance on every node and series (tree and package projections commute)."""
    exact = tree.sums(true @ generators.T)
    noisy = exact + np.random.default_rng(9).laplace(0, scale, exact.shape)
    membership = tree.sums(np.eye(tree.n_leaves))
    days = np.linalg.lstsq(membership, noisy, rcond=None)[0]
    return tree.sums(days @ (generators @ np.linalg.pinv(generators)).T)


def test_equations_have_no_generators_to_divide() -> None:
    with pytest.raises(SolverError, match="explicit equations"):
        GeneratorSpace.from_day_constraints((DayConstraints(0, 1, np.ones((1, 2)), np.ones(1)),))


def test_counts_above_the_exact_range_of_floats_stay_exact() -> None:
    space = GeneratorSpace.from_day_constraints((daily(0, 1, np.array([[3, 1]])),))
    large = np.array([[2**53 + 1] * space.n_generators])
    expected = sum(int(entry) for entry in space.matrix.toarray()[0]) * (2**53 + 1)
    assert space.series_counts(large).tolist() == [[expected]]
