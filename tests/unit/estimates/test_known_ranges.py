"""Errors of ranges as they are known on their last day, against dense least squares over the closed nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.arrays import FloatArray
from dplib.estimates.known_ranges import KnownRanges
from dplib.trees.growing import closing_nodes
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges


def dense(tree: IntervalTree, level_variance: FloatArray, lo: int, last: int) -> float:
    variance = level_variance[tree.level]
    nodes = np.flatnonzero((tree.hi <= last + 1) & np.isfinite(variance))
    days = np.arange(last + 1)
    inside = ((tree.lo[nodes, None] <= days) & (days < tree.hi[nodes, None])).astype(float)
    covariance = np.linalg.inv(inside.T @ (inside / variance[nodes, None]))
    asked = (days >= lo).astype(float)
    return float(asked @ covariance @ asked)


@given(st.integers(1, 40), st.lists(st.integers(2, 5), max_size=3), st.data())
def test_variances_are_those_of_dense_least_squares(n_days: int, branching: list[int], data: st.DataObject) -> None:
    edges = branching_edges(n_days, [*branching, max(2, -(-n_days // max(1, int(np.prod(branching)))))])
    tree = IntervalTree.from_level_edges(edges)
    some = st.floats(0.1, 10) | st.just(np.inf)
    levels = np.array([*(data.draw(some) for _ in range(tree.n_levels - 1)), data.draw(st.floats(0.1, 10))])
    last = data.draw(st.integers(0, n_days - 1))
    lo = data.draw(st.integers(0, last))
    found = KnownRanges(tree, np.array([lo]), np.array([last])).variance(levels)
    assert found[0] == pytest.approx(dense(tree, levels, lo, last), rel=1e-8)


def test_several_sets_of_variances_are_as_if_one_by_one() -> None:
    """To the last bit: levels that are stored follow from differences of these."""
    rng = np.random.default_rng(1)
    ranges = KnownRanges(
        IntervalTree.from_level_edges(branching_edges(40, [3, 5, 3])), np.arange(30), np.arange(10, 40)
    )
    levels = np.exp(rng.uniform(-2, 2, (5, ranges.tree.n_levels)))
    levels[1, 1] = levels[2, 0] = np.inf
    assert np.array_equal(ranges.variance(levels), [ranges.variance(each) for each in levels])


def test_nodes_close_on_their_last_day_and_the_largest_recorded_ones_cut_the_days() -> None:
    tree = IntervalTree.from_level_edges([[0, 6], [0, 3, 6], range(7)])
    measured = np.array([False, True, True])
    assert closing_nodes(tree, measured, 2).tolist() == [1, 5]
    assert closing_nodes(tree, measured, 3).tolist() == [6]
