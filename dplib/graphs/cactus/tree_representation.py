"""All p-cuts of a graph as a tree: the bundles of p-cuts are its nodes, the p-cuts its edges.

A *bundle* is what meets in one node of the tree: a p-cut and its neighbours on one of its sides. Each p-cut of a bundle
has an *outer side*, away from the bundle, and an *inner side*. A vertex belongs to the bundle when it lies on all inner
sides. A t-cut belongs to it when it splits no outer side. (Zhou's definition 3.1.7, "between every pair of
p-cuts of the bundle", holds for vertices; no t-cut at all meets it, so this reading takes its place.) A bundle with
``l`` p-cuts holds either no t-cut, or no vertex and exactly ``l (l - 3) / 2`` t-cuts, ``l`` at least 4.

Here the p-cuts are sorted by size, with sides without vertex 0. They form a laminar family, so the bundle inside the
p-cut ``i`` consists of it and of the largest p-cuts within it; the last bundle is outside all of them.

Cost: linear in the sum of the p-cuts' sizes.

References: Dinitz, Karzanov, Lomonosov 1976; Zhou, "Finding approximate minimum cut in differential
privacy" (thesis, in Chinese), Jilin University 2025, definitions 3.1.4 to 3.1.8, theorem 3.1.3 (for
p-cuts) and lemma 3.1.5.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cactus.cut_structure import canonical_cuts
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
    """Return the tree of mutually parallel cuts.

    Args:
        p_cuts: shape (n_cuts, n_vertices).

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


def belongs(t_cut: BoolArray, outer_sides: BoolArray) -> bool:
    """Return whether a t-cut belongs to a bundle: it splits none of its two or more outer sides.

    Args:
        t_cut: shape (n_vertices,).
        outer_sides: shape (n_cuts of the bundle, n_vertices).
    """
    met = (outer_sides & t_cut).any(axis=1)
    missed = (outer_sides & ~t_cut).any(axis=1)
    return len(outer_sides) >= 2 and not (met & missed).any()


def bundle_of(tree: CutTree, t_cut: BoolArray) -> tuple[int, IntArray]:
    """Return the node whose bundle a t-cut belongs to, and the p-cuts below it whose outer sides make up the t-cut.

    Args:
        tree: of all p-cuts.
        t_cut: shape (n_vertices,), the side without vertex 0.

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
