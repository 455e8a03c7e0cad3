"""Graphs whose number of minimum cuts changes much with one edge; for analyses and tests.

Each function returns the graph and the pair between which one unit of weight makes the change, and states the numbers.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
lemma 4.1.1, the construction after theorem 4.2.3 and that of section 4.3. The numbers of minimum cuts are corrected:
the lemma's leaves out the cut around its first vertex, the construction's the ring's cuts around one vertex each, and
the share of pairs in 4.3 is near 2/9 where unordered pairs are counted as such.
"""

from dataclasses import dataclass

import numpy as np

from dplib.graphs.edges import Graph, canonical
from dplib.validate import at_least, require


@dataclass(frozen=True, eq=False)
class SensitiveGraph:
    """A graph and where to add one unit of weight.

    Attributes:
        graph: before.
        u: one end of the new unit.
        v: the other end.
        n_min_cuts: before.
        n_min_cuts_after: after.
    """

    graph: Graph
    u: int
    v: int
    n_min_cuts: int
    n_min_cuts_after: int

    def after(self) -> Graph:
        """Return the graph with the new unit of weight."""
        graph = self.graph
        return canonical(
            graph.n_vertices,
            np.append(graph.source, self.u),
            np.append(graph.target, self.v),
            np.append(graph.weight, 1),
        )


def pendant_ring(n_vertices: int) -> SensitiveGraph:
    """Return lemma 4.1.1: one minimum cut before, ``C(n - 1, 2) + 1`` after; the minimum cut value rises from 1 to 2.

    A ring of ``n - 1`` vertices and one more that hangs from it; all weights 1, for one unit doubles the pendant edge
    only then. With three vertices the ring is a double edge.

    Args:
        n_vertices: at least 3.
    """
    n = at_least("n_vertices", n_vertices, 3)
    ring = np.arange(1, n)
    graph = canonical(n, np.append(ring, 0), np.append(np.roll(ring, -1), 1))
    return SensitiveGraph(graph, 0, 1, 1, (n - 1) * (n - 2) // 2 + 1)


def path_and_ring(n_vertices: int, ring_length: int | None = None, half: int = 1) -> SensitiveGraph:
    """Return the construction after theorem 4.2.3: a path that ends on a ring; the minimum cut value stays.

    With ring length ``l``: ``n - l + l (l - 1) / 2`` minimum cuts before, ``floor(l^2 / 4) + n - l`` fewer after; for
    ``l = n / 2`` that is ``n (n + 2) / 8`` before and ``floor(n^2 / 16) + n / 2`` fewer.

    Args:
        n_vertices: of both together, at least 5.
        ring_length: from 4 to ``n_vertices - 1``; half of the vertices by default.
        half: weight of a ring edge, half the minimum cut value; at least 1.
    """
    at_least("half", half, 1)
    n = n_vertices
    length = n // 2 if ring_length is None else ring_length
    require(4 <= length < n, "ring_length", "lie from 4 to n_vertices - 1", length)
    path, ring = np.arange(n - length), np.arange(n - length, n)
    source, target = np.concatenate([path, ring]), np.concatenate([path + 1, np.roll(ring, -1)])
    graph = canonical(n, source, target, np.repeat([2 * half, half], [len(path), length]))
    before = n - length + length * (length - 1) // 2
    return SensitiveGraph(graph, 0, n - length + length // 2, before, before - length * length // 4 - (n - length))


def heavy_ends(core: SensitiveGraph, n_each: int) -> SensitiveGraph:
    """Return the construction of section 4.3: crowds of vertices tied fast to the two ends of a sensitive pair.

    A new unit of weight between the crowds has the same effect as one between the ends. With crowds as large as the
    core that is about 2/9 of all pairs.

    Args:
        core: a graph and its sensitive pair.
        n_each: vertices tied to each end, at least 1.
    """
    at_least("n_each", n_each, 1)
    n = core.graph.n_vertices
    crowd = n + np.arange(2 * n_each)
    ends = np.repeat([core.u, core.v], n_each)
    heavy = np.full(2 * n_each, 2 * core.graph.total_weight)
    graph = canonical(
        n + 2 * n_each,
        np.append(core.graph.source, crowd),
        np.append(core.graph.target, ends),
        np.append(core.graph.weight, heavy),
    )
    return SensitiveGraph(graph, core.u, core.v, core.n_min_cuts, core.n_min_cuts_after)
