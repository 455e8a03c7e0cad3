"""Laws of published tables, for any tree, day constraints and estimates."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.consistency.integers.coupled_division import needs_coupling
from dplib.consistency.integers.generator_space import GeneratorSpace
from dplib.consistency.integers.integer_tables import divide_counts, node_offers, publish_counts, root_counts
from dplib.constraints.day_constraints import DayConstraints
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges


@st.composite
def publications(draw: st.DrawFn) -> tuple[IntervalTree, np.ndarray, tuple[DayConstraints, ...]]:
    """A tree, estimates of every size and sign, and one to three day constraints."""
    n_days = draw(st.integers(1, 24))
    radices = draw(st.sampled_from([[2] * 5, [3, 3, 3], [24], [5, 5], [2, 12], [4, 2, 3]]))
    n_series, n_packages = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    packages = rng.integers(0, 3, (n_series, n_packages))
    cuts = sorted({0, n_days, *rng.integers(0, n_days + 1, draw(st.integers(0, 2))).tolist()})
    day_constraints = tuple(
        DayConstraints(first, end, np.zeros((0, n_series)), np.zeros(0), packages[:, rng.random(n_packages) < 0.7])
        for first, end in pairwise(cuts)
    )
    tree = IntervalTree.from_level_edges(branching_edges(n_days, radices))
    spread = draw(st.sampled_from([0.0, 0.3, 5.0, 1e6]))
    return tree, rng.normal(draw(st.sampled_from([-5.0, 0.0, 3.0])), spread, (tree.n_nodes, n_series)), day_constraints


@settings(deadline=None, max_examples=25)
@given(publications())
def test_tables_are_non_negative_integers_that_add_up_and_fit_the_constraints(
    case: tuple[IntervalTree, np.ndarray, tuple[DayConstraints, ...]],
) -> None:
    tree, estimates, day_constraints = case
    counts = publish_counts(tree, estimates, day_constraints)
    days = counts[tree.leaf_nodes]
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert np.array_equal(counts, tree.sums(days))
    for daily in day_constraints:
        assert daily.generators is not None
        part = days[daily.first : daily.end]
        if daily.generators.nnz:
            used = np.linalg.lstsq(daily.generators.toarray().astype(float), part.T.astype(float), rcond=None)[0]
            assert np.allclose(daily.generators @ used, part.T, atol=1e-6 * (1 + part.max()))
        else:
            assert not part.any()


@settings(deadline=None, max_examples=25)
@given(publications())
def test_a_generator_stays_where_it_is_offered(
    case: tuple[IntervalTree, np.ndarray, tuple[DayConstraints, ...]],
) -> None:
    tree, estimates, day_constraints = case
    space = GeneratorSpace.from_day_constraints(day_constraints)
    leaf_offers = space.offered(0, tree.n_leaves)
    targets = tree.sums(space.targets(estimates[tree.leaf_nodes])).astype(float)
    counts = divide_counts(tree, targets, root_counts(space, targets[0], estimates[0]), node_offers(tree, leaf_offers))
    assert counts.min(initial=0) >= 0
    assert not counts[tree.leaf_nodes][~leaf_offers].any()
    assert np.array_equal(counts, tree.sums(counts[tree.leaf_nodes]))


@settings(deadline=None, max_examples=25)
@given(publications())
def test_a_published_table_of_independent_generators_is_a_fixed_point(
    case: tuple[IntervalTree, np.ndarray, tuple[DayConstraints, ...]],
) -> None:
    tree, estimates, day_constraints = case
    counts = publish_counts(tree, estimates, day_constraints)
    if GeneratorSpace.from_day_constraints(day_constraints).independent:
        assert np.array_equal(publish_counts(tree, counts.astype(float), day_constraints), counts)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 10**7))
def test_the_way_of_dividing_depends_on_settings_only(n_days: int) -> None:
    shared = GeneratorSpace.from_day_constraints(
        (DayConstraints(0, 1, np.zeros((0, 2)), np.zeros(0), np.array([[1, 1], [0, 1]])),)
    )
    apart = GeneratorSpace.from_day_constraints(
        (DayConstraints(0, 1, np.zeros((0, 2)), np.zeros(0), np.array([[1, 0], [0, 3]])),)
    )
    assert needs_coupling(shared, n_days) == (n_days <= 250_000)
    assert not needs_coupling(apart, n_days)
