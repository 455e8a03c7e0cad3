"""Laws of published tables, for any tree, menus and estimates."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.consistency.integers.coupled_division import needs_coupling
from dplib.consistency.integers.generator_space import GeneratorSpace
from dplib.consistency.integers.integer_tables import divide_counts, node_offers, publish_counts, root_counts
from dplib.constraints.menu import Menu
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges


@st.composite
def publications(draw: st.DrawFn) -> tuple[IntervalTree, np.ndarray, tuple[Menu, ...]]:
    """A tree, estimates of every size and sign, and one to three menus."""
    n_days = draw(st.integers(1, 24))
    radices = draw(st.sampled_from([[2] * 5, [3, 3, 3], [24], [5, 5], [2, 12], [4, 2, 3]]))
    n_series, n_packages = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    packages = rng.integers(0, 3, (n_series, n_packages))
    cuts = sorted({0, n_days, *rng.integers(0, n_days + 1, draw(st.integers(0, 2))).tolist()})
    menus = tuple(
        Menu(first, end, np.zeros((0, n_series)), np.zeros(0), packages[:, rng.random(n_packages) < 0.7])
        for first, end in pairwise(cuts)
    )
    tree = IntervalTree.from_level_edges(branching_edges(n_days, radices))
    spread = draw(st.sampled_from([0.0, 0.3, 5.0, 1e6]))
    return tree, rng.normal(draw(st.sampled_from([-5.0, 0.0, 3.0])), spread, (tree.n_nodes, n_series)), menus


@settings(deadline=None, max_examples=60)
@given(publications())
def test_tables_are_non_negative_integers_that_add_up_and_fit_the_menus(
    case: tuple[IntervalTree, np.ndarray, tuple[Menu, ...]],
) -> None:
    tree, estimates, menus = case
    counts = publish_counts(tree, estimates, menus)
    days = counts[tree.leaf_nodes]
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert np.array_equal(counts, tree.sums(days))
    for menu in menus:
        assert menu.generators is not None
        part = days[menu.first : menu.end]
        if menu.generators.any():
            used = np.linalg.lstsq(menu.generators.astype(float), part.T.astype(float), rcond=None)[0]
            assert np.allclose(menu.generators @ used, part.T, atol=1e-6 * (1 + part.max()))
        else:
            assert not part.any()


@settings(deadline=None, max_examples=60)
@given(publications())
def test_a_generator_stays_where_it_is_offered(case: tuple[IntervalTree, np.ndarray, tuple[Menu, ...]]) -> None:
    tree, estimates, menus = case
    space = GeneratorSpace.from_menus(menus)
    leaf_offers = space.offered(0, tree.n_leaves)
    targets = tree.sums(space.targets(estimates[tree.leaf_nodes])).astype(float)
    counts = divide_counts(tree, targets, root_counts(space, targets[0], estimates[0]), node_offers(tree, leaf_offers))
    assert counts.min(initial=0) >= 0
    assert not counts[tree.leaf_nodes][~leaf_offers].any()
    assert np.array_equal(counts, tree.sums(counts[tree.leaf_nodes]))


@settings(deadline=None, max_examples=60)
@given(publications())
def test_a_published_table_of_independent_generators_is_a_fixed_point(
    case: tuple[IntervalTree, np.ndarray, tuple[Menu, ...]],
) -> None:
    tree, estimates, menus = case
    counts = publish_counts(tree, estimates, menus)
    if GeneratorSpace.from_menus(menus).independent:
        assert np.array_equal(publish_counts(tree, counts.astype(float), menus), counts)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 10**7))
def test_the_way_of_dividing_depends_on_settings_only(n_days: int) -> None:
    shared = GeneratorSpace.from_menus((Menu(0, 1, np.zeros((0, 2)), np.zeros(0), np.array([[1, 1], [0, 1]])),))
    apart = GeneratorSpace.from_menus((Menu(0, 1, np.zeros((0, 2)), np.zeros(0), np.array([[1, 0], [0, 3]])),))
    assert needs_coupling(shared, n_days) == (n_days <= 250_000)
    assert not needs_coupling(apart, n_days)
