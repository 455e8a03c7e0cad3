"""A cactus: all minimum cuts of a connected graph in a structure no larger than the graph's vertex set.

Every edge of a cactus lies on at most one simple cycle. A map sends the graph's vertices to the cactus's nodes; a node
may hold none, one or many. The minimum cuts of the cactus (one edge outside the rings, or two edges of one ring) pull
back to exactly the minimum cuts of the graph. A tree edge weighs the minimum cut value, a ring edge half of it.

Here a cactus is held as what it is made of, tree edges and rings, so that no step has to search for cycles; a ring of
two nodes is a double edge.

Notation: ``n_vertices`` vertices of the graph, ``n_nodes`` nodes of the cactus.

References: Dinitz, Karzanov, Lomonosov, "On the structure of the system of minimum edge cuts of a graph", 1976; Zhou,
"Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025, definition 3.2.1
with the cut set read as the pull-back of every minimum cut of the cactus.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.arrays import IntArray
from dplib.validate import require


@dataclass(frozen=True, eq=False)
class Cactus:
    """A connected cactus with the vertices that its nodes hold; made and checked by `checked_cactus`.

    Attributes:
        n_nodes: number of nodes, at least 1.
        node_of: node of each vertex of the graph, shape (n_vertices,).
        tree_edges: the edges on no cycle, shape (n_tree_edges, 2).
        rings: the nodes of each cycle in their cyclic order, shape (length,) each, length at least 2.
    """

    n_nodes: int
    node_of: IntArray
    tree_edges: IntArray
    rings: tuple[IntArray, ...]

    @property
    def n_vertices(self) -> int:
        """Number of vertices of the graph."""
        return len(self.node_of)

    def equals(self, other: "Cactus") -> bool:
        """Return whether both have the same nodes, edges and rings in the same numbering and order."""
        return (
            self.n_nodes == other.n_nodes
            and len(self.rings) == len(other.rings)
            and np.array_equal(self.node_of, other.node_of)
            and np.array_equal(self.tree_edges, other.tree_edges)
            and all(map(np.array_equal, self.rings, other.rings))
        )

    def held(self) -> list[IntArray]:
        """Return the vertices that each node holds, ascending."""
        order = np.argsort(self.node_of, kind="stable")
        return np.split(order, np.searchsorted(self.node_of[order], np.arange(1, self.n_nodes)))


def checked_cactus(
    n_nodes: int, node_of: npt.ArrayLike, tree_edges: npt.ArrayLike, rings: Sequence[npt.ArrayLike]
) -> Cactus:
    """Return a cactus, checked.

    Args:
        n_nodes: number of nodes.
        node_of: node of each vertex, shape (n_vertices,), at least one vertex.
        tree_edges: shape (n_tree_edges, 2).
        rings: nodes of each cycle in cyclic order.

    Raises:
        ConfigError: it is no connected cactus; or one of its minimum cuts would have an empty side in the graph: a node
            without vertices that is a leaf, or that lies on one ring and touches nothing else.
    """
    made = Cactus(
        n_nodes,
        np.array(node_of, dtype=np.int64),
        np.array(tree_edges, dtype=np.int64).reshape(-1, 2),
        tuple(np.array(ring, dtype=np.int64) for ring in rings),
    )
    _check_shape(made)
    _check_sides(made)
    return made


def _check_shape(made: Cactus) -> None:
    """A connected graph whose blocks are the tree edges and rings: connected, and just enough of them to be so."""
    require(made.n_nodes >= 1, "n_nodes", "be at least 1", made.n_nodes)
    require(made.n_vertices >= 1, "node_of", "name the node of at least one vertex", 0)
    nodes = np.concatenate([made.node_of, made.tree_edges.ravel(), *made.rings])
    require(
        bool(((nodes >= 0) & (nodes < made.n_nodes)).all()), "cactus", f"have nodes 0 to {made.n_nodes - 1}", "another"
    )
    blocks: list[list[int]] = [*made.tree_edges.tolist(), *(ring.tolist() for ring in made.rings)]
    distinct = all(len(block) >= 2 and len(set(block)) == len(block) for block in blocks)
    require(distinct, "cactus", "have edges and rings of two or more different nodes", "one node twice")
    spanned = 1 + sum(len(block) - 1 for block in blocks)
    leader = list(range(made.n_nodes))
    joined = sum(_join(leader, block[0], other) for block in blocks for other in block[1:])
    require(joined == made.n_nodes - 1, "cactus", "be connected", "separate parts")
    require(spanned == made.n_nodes, "cactus", "have every edge on at most one simple cycle", "an edge on more")


def _join(leader: list[int], one: int, other: int) -> bool:
    """Join two classes of a union-find forest; whether they were apart."""
    roots = []
    for node in (one, other):
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        roots.append(node)
    leader[roots[0]] = roots[1]
    return roots[0] != roots[1]


def _check_sides(made: Cactus) -> None:
    """Every end of the tree of blocks must hold a vertex; then both sides of every minimum cut do."""
    n_blocks = np.bincount(np.concatenate([made.tree_edges.ravel(), *made.rings]), minlength=made.n_nodes)
    ends = (n_blocks == 1) & (np.bincount(made.node_of, minlength=made.n_nodes) == 0)
    require(not ends[made.tree_edges].any(), "cactus", "have a vertex in every leaf", "an empty leaf")
    rule = "have a vertex in every node that touches one ring only"
    require(not ends.any(), "cactus", rule, "an empty one")
