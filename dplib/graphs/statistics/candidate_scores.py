"""Scores of declared candidates for the exponential mechanism: splits into communities, and sets of seed vertices.

The candidates are public: a list that was made without this graph. The mechanism then chooses one by its score (its
losses are the scores with a minus sign). All scores are integers.

Splits. A candidate gives each vertex a group. score = denominator(gamma) (edges inside groups) - numerator(gamma)
(pairs inside groups), with a public resolution gamma: the constant Potts quality, which gamma = 0 turns into the plain
count of inside edges (that the split with one group always wins). One edge changes a score by at most the denominator,
a vertex's edges by D times that. Scores of a graph with one edge more are never smaller (monotone).

Seeds. score = number of vertices that are seeds or next to one. One edge changes it by at most 1 (monotone), a vertex's
edges by at most D. Influence spread is refused (`dplib.graphs.statistics.network_sensitivity`).

Cost: O(m + n) a candidate.

References:
    Traag, Van Dooren, Nesterov: Narrow scope for resolution-limit-free community detection. Physical Review E 84, 2011,
    equation 4 (constant Potts model).
    McSherry, Talwar: Mechanism design via differential privacy. FOCS 2007.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.validate import at_least, require


def split_scores(graph: SimpleGraph, candidates: Sequence[IntArray], resolution: Fraction = Fraction(0)) -> IntArray:
    """Score splits into communities, shape (n_candidates,).

    Args:
        graph: the graph.
        candidates: for each candidate the group of every vertex, from 0, shape (n,).
        resolution: gamma, the density above which two groups are worth merging.
    """
    at_least("resolution", resolution, Fraction(0))
    inside, pairs = [], []
    for groups in candidates:
        require(int(groups.min(initial=0)) >= 0, "groups of a split", "be numbered from 0", "a negative number")
        sizes = np.bincount(groups).astype(np.int64)
        pairs.append(int((sizes * (sizes - 1) // 2).sum()))
        inside.append(int(np.count_nonzero(groups[graph.source] == groups[graph.target])))
    above, below = resolution.numerator, resolution.denominator
    return np.array([below * e - above * p for e, p in zip(inside, pairs, strict=True)], dtype=np.int64)


def coverage_scores(graph: SimpleGraph, candidates: Sequence[Sequence[int]]) -> IntArray:
    """Score sets of seed vertices by the vertices they reach in at most one step, shape (n_candidates,)."""
    scores = []
    for seeds in candidates:
        require(all(0 <= seed < graph.n_vertices for seed in seeds), "seeds", "be declared vertices", list(seeds))
        is_seed = np.zeros(graph.n_vertices, dtype=np.bool_)
        is_seed[list(seeds)] = True
        reached = is_seed.copy()
        reached[graph.target[is_seed[graph.source]]] = True
        reached[graph.source[is_seed[graph.target]]] = True
        scores.append(int(np.count_nonzero(reached)))
    return np.array(scores, dtype=np.int64)
