"""All p-cuts of a graph as a tree: the bundles of p-cuts are its nodes, the p-cuts its edges.

Two cuts *cross* when all four corners, side with side, hold a vertex; else they are *parallel*. A minimum cut that is
parallel to every other one is a *p-cut*, all others are *t-cuts*.

A *bundle* is what meets in one node of the tree: a p-cut and its neighbours on one of its sides. Each p-cut of a bundle
has an *outer side*, away from the bundle, and an *inner side*. A vertex belongs to the bundle when it lies on all inner
sides. A t-cut belongs to it when it splits no outer side. (Zhou's definition 3.1.7, "between every pair of
p-cuts of the bundle", holds for vertices; no t-cut at all meets it, so this reading takes its place.) A bundle with
``l`` p-cuts holds either no t-cut, or no vertex and exactly ``l (l - 3) / 2`` t-cuts, ``l`` at least 4. Where a t-cut
belongs to it, its *structure graph*, the graph with every outer side drawn together, is a ring of the outer sides
alone, each edge of half the minimum cut value: the ring which the cactus has in the bundle's place.

Here the p-cuts are sorted by size, with sides without vertex 0. They form a laminar family, so the bundle inside the
p-cut ``i`` consists of it and of the largest p-cuts within it; the last bundle is outside all of them.

Cost: of `is_parallel_cut`, the search of a t-cut ends at the first cut that crosses it, and there are at most
``2n - 3`` p-cuts; of the tree, linear in the sum of the p-cuts' sizes.

References: Dinitz, Karzanov, Lomonosov, "On the structure of the system of minimum edge cuts of a graph", 1976; Zhou,
"Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025, definitions 3.1.1
to 3.1.8, 3.1.10 and 3.1.11, theorems 3.1.3 (for p-cuts) and 3.1.7, lemma 3.1.5.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, IntArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.cactus.cactus_cuts import canonical_cuts
from dplib.graphs.edges import Graph, pack_sides
from dplib.validate import require


@dataclass(frozen=True, eq=False)
class CutTree:
    """The tree representation; node ``i`` is the bundle just inside p-cut ``i``, the last one that of vertex 0.

    Attributes:
        sides: the p-cuts, shape (n_cuts, n_vertices), smallest first.
        parent: the node on the other side of each p-cut, shape (n_cuts,).
        node_of: node of each vertex, shape (n_vertices,).
    """

    sides: BoolArray
    parent: IntArray
    node_of: IntArray

    @property
    def n_nodes(self) -> int:
        """Number of bundles, one more than p-cuts."""
        return len(self.sides) + 1

    def outer_sides(self, node: int) -> BoolArray:
        """Return the bundle as its outer sides, shape (n_cuts of the bundle, n_vertices).

        The p-cut towards vertex 0, which all nodes but the last have, comes last.
        """
        below = self.sides[self.parent == node]
        return below if node == len(self.sides) else np.vstack([below, ~self.sides[node : node + 1]])


def cut_tree(p_cuts: BoolArray) -> CutTree:
    """Return the tree of mutually parallel cuts, shape (n_cuts, n_vertices).

    Raises:
        ConfigError: two of the cuts cross.
    """
    sides = canonical_cuts(p_cuts)
    root = len(sides)
    parent = np.full(root, root)
    node_of = np.full(sides.shape[1], root)
    outermost = np.full(sides.shape[1], -1)  # the largest p-cut so far that holds each vertex
    for number, side in enumerate(sides):
        within = np.unique(outermost[side])
        within = within[within >= 0]
        held = np.isin(outermost, within) & (outermost >= 0)
        require(not (held & ~side).any(), "p_cuts", "be parallel", "two that cross")
        parent[within] = number
        node_of[side & (outermost < 0)] = number
        outermost[side] = number
    return CutTree(sides, parent, node_of)


def bundle_of(tree: CutTree, t_cut: BoolArray) -> tuple[int, IntArray]:
    """Return the node of the tree of all p-cuts whose bundle a t-cut (its side without vertex 0) belongs to.

    With it come the p-cuts below it whose outer sides make up the t-cut.

    Raises:
        ConfigError: the cut belongs to no bundle.
    """
    left = t_cut.copy()
    made_of: list[int] = []
    node = -1
    while left.any():
        # The largest p-cut within the t-cut around its first vertex: climb as long as nothing sticks out.
        top = int(tree.node_of[left.argmax()])
        inside = -1
        while top < len(tree.sides) and not (tree.sides[top] & ~t_cut).any():
            inside, top = top, int(tree.parent[top])
        require(inside >= 0 and node in (-1, top), "cuts", "be all minimum cuts of a graph", "others")
        node = top
        made_of.append(inside)
        left &= ~tree.sides[inside]
    return node, np.array(sorted(made_of), dtype=np.int64)


def bundle_graph(graph: Graph, outer_sides: BoolArray) -> IntArray:
    """Return the structure graph's weights as a symmetric matrix with zero diagonal.

    The outer sides of the bundle's p-cuts, disjoint, shape (n_cuts, n_vertices), come first, in their order, then the
    vertices on none, ascending.
    """
    n_sides = len(outer_sides)
    inside = ~outer_sides.any(axis=0)
    place = np.where(inside, n_sides + np.cumsum(inside) - 1, outer_sides.argmax(axis=0) if n_sides else 0)
    size = n_sides + int(inside.sum())
    weights = np.zeros((size, size), dtype=np.int64)
    np.add.at(weights, (place[graph.source], place[graph.target]), graph.weight)
    weights += weights.T
    np.fill_diagonal(weights, 0)
    return weights


def is_ring(weights: IntArray, min_cut_value: int) -> bool:
    """Return whether these weights, shape (n, n), are one ring of 3 vertices or more with edges of half the value."""
    n = len(weights)
    joined = weights > 0
    if n < 3 or (2 * weights[joined] != min_cut_value).any() or (joined.sum(axis=1) != 2).any():
        return False
    reached = np.zeros(n, dtype=np.bool_)
    reached[0] = True
    for _ in range(n):
        reached |= joined[reached].any(axis=0)
    return bool(reached.all())


def is_parallel_cut(cuts: npt.ArrayLike) -> BoolArray:
    """Return which cuts, shape (n_cuts, n_vertices), are parallel to all: the p-cuts of a graph's minimum cuts."""
    return _parallel_to_all(pack_sides(cuts))


@compiled
def _parallel_to_all(words: WordArray) -> BoolArray:
    """``words``: rows of bits without vertex 0; two of them cross iff they meet and neither holds the other."""
    n_cuts, n_words = words.shape
    parallel = np.ones(n_cuts, dtype=np.bool_)
    for one in range(n_cuts):
        for other in range(n_cuts):
            both = only = rest = False
            for word in range(n_words):
                a, b = words[one, word], words[other, word]
                both = both or (a & b) != 0
                only = only or (a & ~b) != 0
                rest = rest or (b & ~a) != 0
            if both and only and rest:
                parallel[one] = False
                break
    return parallel
