"""Laws of day trees of any shape."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.estimates.range_variance import RangeVariance
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges, default_branching


@st.composite
def radix_trees(draw: st.DrawFn) -> IntervalTree:
    radices = draw(st.lists(st.integers(2, 6), min_size=0, max_size=4))
    n_days = draw(st.integers(1, int(np.prod(radices, initial=1))))
    return IntervalTree.from_level_edges(branching_edges(n_days, radices))


@st.composite
def random_trees(draw: st.DrawFn) -> IntervalTree:
    """Splits single bins off or halves at random, level by level, so that leaves lie at different depths."""
    n = draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lo, hi, parent, level = [0], [n], [-1], [0]
    while level:
        following = []
        for node in level:
            width = hi[node] - lo[node]
            if width > 1:
                inner = np.arange(lo[node] + 1, hi[node])
                n_cuts = int(rng.integers(1, width))
                points = [lo[node], *sorted(rng.choice(inner, n_cuts, replace=False).tolist()), hi[node]]
                for start, end in pairwise(points):
                    following.append(len(lo))
                    lo.append(start)
                    hi.append(end)
                    parent.append(node)
        level = following
    return IntervalTree.from_parents(lo, hi, parent)


@settings(deadline=None, max_examples=25)
@given(st.one_of(radix_trees(), random_trees()), st.integers(0, 2**32 - 1))
def test_sums_covers_and_subtrees_agree(tree: IntervalTree, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 9, tree.n_leaves)
    sums = tree.sums(values)
    assert all(sums[x] == values[tree.lo[x] : tree.hi[x]].sum() for x in range(tree.n_nodes))
    lo, hi = sorted(rng.integers(0, tree.n_leaves + 1, 2))
    nodes = tree.cover(lo, hi)
    assert sums[nodes].sum() == values[lo:hi].sum()
    assert (tree.hi[nodes] - tree.lo[nodes]).sum() == hi - lo
    node = int(rng.integers(tree.n_nodes))
    below, numbers = tree.subtree(node)
    assert np.array_equal(below.sums(values[tree.lo[node] : tree.hi[node]]), sums[numbers])
    assert np.array_equal(tree.level[numbers] - tree.level[node], below.level)


@settings(deadline=None, max_examples=25)
@given(radix_trees(), st.floats(0.1, 10))
def test_range_error_scales_with_the_noise_and_falls_with_a_better_level(tree: IntervalTree, factor: float) -> None:
    variances = np.linspace(1, 2, tree.n_levels)[tree.level]
    error = RangeVariance(tree, variances).mean()
    assert np.isclose(RangeVariance(tree, factor * variances).mean(), factor * error)
    better = variances.copy()
    better[tree.level_slice(tree.n_levels // 2)] /= 2
    assert RangeVariance(tree, better).mean() < error * (1 + 1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 400), st.sampled_from(["laplace", "gaussian"]), st.booleans())
def test_default_radices_hold_all_days(n_days: int, noise: str, root: bool) -> None:
    tree = IntervalTree.from_level_edges(branching_edges(n_days, default_branching(n_days, noise, root)))  # type: ignore[arg-type]
    assert tree.n_leaves == n_days
