"""Pieces of what is measured of a tree with holes, against dense least squares over all measured nodes."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.arrays import BoolArray, FloatArray
from dplib.trees.growing import GrowingTree
from dplib.trees.interval_tree import IntervalTree


def least_squares(tree: IntervalTree, variance: FloatArray, measured: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Covariance of the bins and what is determined."""
    nodes, bins = np.flatnonzero(measured), np.arange(tree.n_leaves)
    inside = ((tree.lo[nodes, None] <= bins) & (bins < tree.hi[nodes, None])).astype(float)
    information = inside.T @ (inside / variance[nodes, None])
    return np.linalg.pinv(information, rcond=1e-11, hermitian=True), np.linalg.pinv(inside) @ inside


@settings(max_examples=15)  # each compares all ranges of a tree of its own, some hundreds
@given(st.data())
def test_every_range_has_the_variance_of_all_measured_nodes(data: st.DataObject) -> None:
    widths = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    edges = [list(range(int(np.prod(widths)) * 2 + 1))]
    for width in widths:
        edges.append(sorted({*edges[-1][::width], edges[-1][-1]}))
    tree = IntervalTree.from_level_edges([[0, edges[0][-1]], *edges[::-1]])
    n_days, some = tree.n_leaves, st.floats(0.1, 10)
    levels = np.array([*(data.draw(some | st.just(np.inf)) for _ in range(tree.n_levels - 1)), data.draw(some)])
    days = np.array(data.draw(st.lists(st.sampled_from([True, True, False]), min_size=n_days, max_size=n_days)))
    state = GrowingTree(tree, np.isfinite(levels), days, False, np.ones(tree.n_nodes, dtype=bool))
    variance = levels[tree.level]
    covariance, known = least_squares(tree, variance, days[tree.hi - 1] & np.isfinite(variance))
    own = {
        root: least_squares(piece.tree, variance[piece.nodes], np.isfinite(variance[piece.nodes]))[0]
        for root, piece in state.pieces.items()
    }
    ranges = list(combinations(range(n_days + 1), 2))
    asked = np.array([[lo <= day < hi for day in range(n_days)] for lo, hi in ranges], dtype=float)
    determined = np.isclose(asked @ known, asked, rtol=0, atol=1e-8).all(axis=1)
    expected = ((asked @ covariance) * asked).sum(axis=1)
    made, found, runs = np.zeros_like(asked), np.zeros(len(ranges)), [state.runs(lo, hi) for lo, hi in ranges]
    assert [bool(each) for each in runs] == determined.tolist()
    for row, each in enumerate(runs):
        for run in each:
            piece_edges = state.pieces[run.root].edges
            made[row, piece_edges[run.first] : piece_edges[run.end]] += run.sign
            found[row] += own[run.root][run.first : run.end, run.first : run.end].sum()
    assert made[determined].tolist() == asked[determined].tolist()
    np.testing.assert_allclose(found[determined], expected[determined], rtol=1e-6)


def test_a_node_waits_for_its_day_where_the_constraints_of_its_days_differ() -> None:
    tree = IntervalTree.from_level_edges([[0, 6], [0, 3, 6], range(7)])
    days, measured = np.array([1, 0, 1, 1, 0, 1], dtype=bool), np.array([False, True, True])
    alike = np.array([False, True, False, *[True] * 6])
    state = GrowingTree(tree, measured, days, False, alike)
    assert list(state.pieces) == [1, 3, 5, 6, 8]
    assert state.outermost.tolist() == [1, 6, 8]
    assert [(run.root, run.sign) for run in state.runs(1, 2)] == [(1, 1), (3, -1), (5, -1)]
    assert (state.runs(4, 5), state.unknown_days(0, 6).tolist()) == ([], [4])
