"""Exact output laws of the mechanisms on cuts, over all cuts of small graphs, and families of neighbouring graphs."""

from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray


@cache
def all_sides(n_vertices: int) -> BoolArray:
    """Every cut once, by its side without vertex 0, shape (2^(n - 1) - 1, n)."""
    numbers = np.arange(1, 2 ** (n_vertices - 1))
    return np.concatenate(
        [np.zeros((len(numbers), 1), dtype=bool), (numbers[:, None] >> np.arange(n_vertices - 1) & 1) == 1], axis=1
    )


def all_cuts(n_vertices: int, pair_weights: IntArray) -> IntArray:
    """Weights of all cuts, shape (..., n_cuts), from weights of all pairs in lexicographic order, (..., n_pairs)."""
    return np.asarray(np.asarray(pair_weights) @ _crossing(n_vertices))


@cache
def _crossing(n_vertices: int) -> IntArray:
    """Which pairs each cut separates, shape (n_pairs, n_cuts)."""
    sides = all_sides(n_vertices)
    return np.array([sides[:, u] ^ sides[:, v] for u, v in combinations(range(n_vertices), 2)], dtype=np.int64)


def graphs(n_vertices: int, weights: range) -> IntArray:
    """Every graph with these pair weights, shape (n_graphs, n_pairs)."""
    return np.array(list(product(weights, repeat=comb(n_vertices, 2))), dtype=np.int64)


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


def oneshot_two(cuts: IntArray, scale: float, nodes: int = 12) -> FloatArray:
    """The law of the set of the two smallest under continuous Laplace noise, shape (n_rows, C(n_cuts, 2)).

    P({i, j}) is the integral over the larger of the two noisy losses, say that of i, of ``f_i F_j`` times the product
    of ``1 - F`` over the others. Gauss-Legendre between the kinks (which lie at the losses) and on tails of 40 scales;
    checked by the sum of the law. The functions of one loss come from a table; the sums over nodes are matrix products.
    """
    above_least = cuts - cuts.min(axis=1, keepdims=True)
    span = int(above_least.max())
    ends = np.concatenate([-scale * np.geomspace(40, 0.05, 12), np.arange(span + 1.0)])
    ends = np.concatenate([ends, span + scale * np.geomspace(0.05, 40, 12)])
    x, w = np.polynomial.legendre.leggauss(nodes)
    x = ((ends[1:] - ends[:-1])[:, None] / 2 * x + (ends[1:] + ends[:-1])[:, None] / 2).ravel()
    w = ((ends[1:] - ends[:-1])[:, None] / 2 * w).ravel()
    z = (x - np.arange(span + 1.0)[:, None]) / scale
    half = np.exp(-np.abs(z)) / 2
    survival = np.where(z < 0, 1 - half, half)
    hazard, odds = half / scale / survival, np.where(z < 0, half, 1 - half) / survival
    every = np.exp(np.log(survival)[above_least].sum(axis=1)) * w
    half_law = (hazard[above_least] * every[:, None, :]) @ odds[above_least].transpose(0, 2, 1)
    first, second = np.triu_indices(cuts.shape[1], 1)
    return np.asarray(half_law[:, first, second] + half_law[:, second, first])


def minimum_and_number(cuts: IntArray) -> tuple[IntArray, IntArray]:
    """Value and number of the minimum cuts of each row."""
    value = cuts.min(axis=-1)
    return value, (cuts == value[..., None]).sum(axis=-1)
