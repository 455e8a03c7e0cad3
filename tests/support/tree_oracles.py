"""Answers about interval trees by enumeration and dense algebra, and the stored reference trees."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.tree_blue import downward, tree_gains, upward
from dplib.trees.interval_tree import IntervalTree

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "interval_trees.json").read_text())[
    "cases"
]
CASE_NAMES = [case["name"] for case in CASES]


def case_tree(case: dict[str, Any]) -> IntervalTree:
    """The tree of a stored case; the file counts bins from 1 and includes their ends."""
    return IntervalTree.from_parents(np.array(case["lo"]) - 1, case["hi"], case["parent"])


def random_tree(rng: np.random.Generator, n_bins: int, most_children: int = 4) -> IntervalTree:
    """A tree of random shape, by cutting intervals at random places, breadth first."""
    lo, hi, parent = [0], [n_bins], [-1]
    node = 0
    while node < len(lo):
        size = hi[node] - lo[node]
        if size > 1:
            n_cuts = min(int(rng.integers(1, most_children)), size - 1)
            cuts = lo[node] + 1 + rng.choice(size - 1, n_cuts, replace=False)
            edges = [lo[node], *sorted(int(cut) for cut in cuts), hi[node]]
            lo += edges[:-1]
            hi += edges[1:]
            parent += [node] * (n_cuts + 1)
        node += 1
    return IntervalTree.from_parents(lo, hi, parent)


def caterpillar(n_bins: int) -> IntervalTree:
    """The deepest binary tree: every inner node splits off its last bin."""
    depth = np.arange(1, n_bins, dtype=np.int64)
    lo, hi, parent = (np.zeros(2 * n_bins - 1, dtype=np.int64) for _ in range(3))
    hi[0], parent[0] = n_bins, -1
    # Level d holds the bins before n - d and the bin n - d; they are the nodes 2 d - 1 and 2 d.
    hi[1::2], lo[2::2], hi[2::2] = n_bins - depth, n_bins - depth, n_bins - depth + 1
    parent[1::2] = parent[2::2] = np.maximum(2 * depth - 3, 0)
    level_start = np.concatenate([[0, 1], 2 * depth + 1]).astype(np.int64)
    return IntervalTree(lo=lo, hi=hi, parent=parent, level_start=level_start)


def tree_blue(tree: IntervalTree, noisy: FloatArray, variance: FloatArray) -> FloatArray:
    """Both passes of `dplib.estimates.tree_blue` at once; arguments as for `tree_blue_deep`."""
    gains = tree_gains(tree, variance)
    return downward(gains, upward(gains, np.where(np.isfinite(variance), noisy, 0.0)))


def block_roots(tree: IntervalTree, level: int) -> IntArray:
    """Inner nodes of a cut level: the roots of its blocks."""
    nodes = np.arange(tree.level_start[level], tree.level_start[level + 1])
    return nodes[tree.child_count[nodes] > 0].astype(np.int64)


def membership(tree: IntervalTree) -> FloatArray:
    """Which bins each node covers, shape (n_nodes, n_leaves)."""
    bins = np.arange(tree.n_leaves)
    return ((tree.lo[:, None] <= bins) & (bins < tree.hi[:, None])).astype(float)


def all_ranges(n_bins: int) -> tuple[IntArray, IntArray]:
    """Every non-empty range ``[lo, hi)``."""
    lo, last = np.triu_indices(n_bins)
    return lo.astype(np.int64), last.astype(np.int64) + 1


def dense_blue(tree: IntervalTree, noisy: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted least squares on the bins, mapped to the nodes."""
    nodes, root = membership(tree), np.sqrt(weights)
    bins = np.linalg.lstsq(nodes * root[:, None], noisy * root, rcond=None)[0]
    return np.asarray(nodes @ bins)


def dense_range_variances(tree: IntervalTree, variance: FloatArray) -> FloatArray:
    """Variance of every range (in the order of `all_ranges`) from the inverse of the normal equations."""
    nodes = membership(tree)
    covariance = np.linalg.inv(nodes.T @ (nodes / variance[:, None]))
    lo, hi = all_ranges(tree.n_leaves)
    bins = np.arange(tree.n_leaves)
    queries = ((lo[:, None] <= bins) & (bins < hi[:, None])).astype(float)
    return np.asarray(np.einsum("qi,ij,qj->q", queries, covariance, queries))


def covers(tree: IntervalTree, lo: IntArray, hi: IntArray) -> FloatArray:
    """Which nodes the smallest cover of each query uses, shape (n_queries, n_nodes)."""
    used = np.zeros((len(lo), tree.n_nodes))
    for row, first, end in zip(used, lo.tolist(), hi.tolist(), strict=True):
        row[tree.cover(first, end)] = 1.0
    return used
