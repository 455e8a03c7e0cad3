"""Exact output laws of the mechanisms on cuts, over all cuts of small graphs, and families of neighbouring graphs."""

from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@cache
def all_sides(n_vertices: int) -> BoolArray:
    """Every cut once, by its side without vertex 0, shape (2^(n - 1) - 1, n)."""
    numbers = np.arange(1, 2 ** (n_vertices - 1))
    return np.concatenate(
        [np.zeros((len(numbers), 1), dtype=bool), (numbers[:, None] >> np.arange(n_vertices - 1) & 1) == 1], axis=1
    )


def all_cuts(n_vertices: int, pair_weights: IntArray) -> IntArray:
    """Weights of all cuts, shape (..., n_cuts), from weights of all pairs in lexicographic order, (..., n_pairs)."""
    sides = all_sides(n_vertices)
    crossing = np.array([sides[:, u] ^ sides[:, v] for u, v in combinations(range(n_vertices), 2)], dtype=np.int64)
    return np.asarray(pair_weights) @ crossing


def graphs(n_vertices: int, weights: range) -> IntArray:
    """Every graph with these pair weights, shape (n_graphs, n_pairs)."""
    return np.array(list(product(weights, repeat=comb(n_vertices, 2))), dtype=np.int64)


def neighbours(n_vertices: int, pair_weights: IntArray, step: int = 1) -> tuple[int, IntArray, IntArray]:
    """All cuts of every given graph and of the graph with one pair heavier by ``step``.

    Returns:
        How many neighbouring pairs there are, and the two arrays of cut weights, one row for each class of pairs that
        equal each other up to the order of the cuts; no mechanism here depends on that order.
    """
    n_pairs = pair_weights.shape[1]
    before = np.repeat(all_cuts(n_vertices, pair_weights), n_pairs, axis=0)
    moved = (pair_weights[:, None, :] + step * np.eye(n_pairs, dtype=np.int64)).reshape(-1, n_pairs)
    after = all_cuts(n_vertices, moved)
    codes = np.unique(np.sort(2 * before + (after > before), axis=1), axis=0)
    return len(before), codes // 2, codes // 2 + step * (codes % 2)


@cache
def small_family() -> tuple[int, list[tuple[int, IntArray, IntArray]]]:
    """More than 100,000 neighbouring pairs of graphs with 3 to 6 vertices, as (n, cuts before, cuts after)."""
    random = np.random.default_rng(4).integers(0, 3, (200, 15))
    parts = [(3, graphs(3, range(7))), (4, graphs(4, range(5))), (5, graphs(5, range(2))), (6, random)]
    found = [(n, *neighbours(n, weights)) for n, weights in parts]
    return sum(part[1] for part in found), [(n, before, after) for n, _, before, after in found]


def softmin(cuts: IntArray, rate: float) -> FloatArray:
    """The exponential mechanism's law, shape of ``cuts``."""
    weights = np.exp(-rate * (cuts - cuts.min(axis=-1, keepdims=True)))
    return weights / weights.sum(axis=-1, keepdims=True)


def peel_two(cuts: IntArray, rate: float) -> FloatArray:
    """The law of two draws without replacement, shape (..., n_cuts (n_cuts - 1))."""
    weights = np.exp(-rate * (cuts - cuts.min(axis=-1, keepdims=True)))
    first, second = np.array([(i, j) for i in range(cuts.shape[-1]) for j in range(cuts.shape[-1]) if i != j]).T
    total = weights.sum(axis=-1, keepdims=True)
    # The others are summed apart: total - weight would cancel.
    others = np.stack([np.delete(weights, i, axis=-1).sum(axis=-1) for i in range(cuts.shape[-1])], axis=-1)
    return weights[..., first] / total * weights[..., second] / others[..., first]


def oneshot_two(cuts: IntArray, scale: float, nodes: int = 24) -> FloatArray:
    """The law of the set of the two smallest under continuous Laplace noise, shape (..., C(n_cuts, 2)).

    P(S) is the integral over the larger of the two noisy losses; Gauss-Legendre between the kinks (which lie at the
    losses) and on tails of 40 scales; checked by the sum of the law.
    """
    span = int(cuts.max() - cuts.min())
    low = int(cuts.min())
    ends = np.concatenate([low - scale * np.geomspace(40, 0.05, 12), low + np.arange(span + 1.0)])
    ends = np.concatenate([ends, low + span + scale * np.geomspace(0.05, 40, 12)])
    x, w = np.polynomial.legendre.leggauss(nodes)
    x = ((ends[1:] - ends[:-1])[:, None] / 2 * x + (ends[1:] + ends[:-1])[:, None] / 2).ravel()
    w = ((ends[1:] - ends[:-1])[:, None] / 2 * w).ravel()
    z = (x - cuts[..., None]) / scale
    density = np.exp(-np.abs(z)) / (2 * scale)
    below = np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)
    above = np.where(z < 0, 1 - np.exp(np.minimum(z, 0)) / 2, np.exp(-np.maximum(z, 0)) / 2)
    all_above = np.prod(above, axis=-2)
    pairs = combinations(range(cuts.shape[-1]), 2)
    return np.stack(
        [
            (density[..., i, :] * below[..., j, :] + density[..., j, :] * below[..., i, :])
            * all_above
            / (above[..., i, :] * above[..., j, :])
            @ w
            for i, j in pairs
        ],
        axis=-1,
    )


def divergence(p: FloatArray, q: FloatArray, epsilon: float) -> float:
    """The largest hockey-stick divergence at epsilon over rows, in either direction."""
    factor = np.exp(epsilon)
    return float(
        max(np.maximum(p - factor * q, 0).sum(axis=-1).max(), np.maximum(q - factor * p, 0).sum(axis=-1).max())
    )


def largest_loss(p: FloatArray, q: FloatArray) -> float:
    """The largest privacy loss over rows, outcomes and directions: the smallest pure epsilon."""
    return float(np.abs(np.log(p) - np.log(q)).max())


def minimum_and_number(cuts: IntArray) -> tuple[IntArray, IntArray]:
    """Value and number of the minimum cuts of each row."""
    value = cuts.min(axis=-1)
    return value, (cuts == value[..., None]).sum(axis=-1)
