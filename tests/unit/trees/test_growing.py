"""Pieces of what is measured of a tree with holes, against dense least squares over all measured nodes."""

import numpy as np
import pytest
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
    for lo in range(n_days):
        for hi in range(lo + 1, n_days + 1):
            asked = np.zeros(n_days)
            asked[lo:hi] = 1
            runs = state.runs(lo, hi)
            assert bool(runs) == np.allclose(asked @ known, asked, atol=1e-8)
            made = np.zeros(n_days)
            for run in runs:
                piece_edges = state.pieces[run.root].edges
                made[piece_edges[run.first] : piece_edges[run.end]] += run.sign
            if runs:
                assert made.tolist() == asked.tolist()
                found = sum(own[run.root][run.first : run.end, run.first : run.end].sum() for run in runs)
                assert found == pytest.approx(asked @ covariance @ asked, rel=1e-6)


def test_a_node_waits_for_its_day_where_the_constraints_of_its_days_differ() -> None:
    tree = IntervalTree.from_level_edges([[0, 6], [0, 3, 6], range(7)])
    days, measured = np.array([1, 0, 1, 1, 0, 1], dtype=bool), np.array([False, True, True])
    alike = np.array([False, True, False, *[True] * 6])
    state = GrowingTree(tree, measured, days, False, alike)
    assert list(state.pieces) == [1, 3, 5, 6, 8]
    assert state.outermost.tolist() == [1, 6, 8]
    assert [(run.root, run.sign) for run in state.runs(1, 2)] == [(1, 1), (3, -1), (5, -1)]
    assert (state.runs(4, 5), state.unknown_days(0, 6).tolist()) == ([], [4])
