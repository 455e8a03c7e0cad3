"""How much one more edge changes the number of minimum cuts: NOT PRIVATE, an analysis of a graph that may be seen.

Nothing here may enter a release: the parameters and bounds depend on the graph itself. `MARKING` says so and goes with
every output.

Let one unit of weight be added between ``u`` and ``v``. If the minimum cut value stays, exactly the minimum cuts that
separate ``u`` and ``v`` are lost, and none is new. In the standard cactus these are the tree edges on the way between
their nodes and, for every ring on it, the t-cuts that separate where the way enters from where it leaves. The value
rises exactly if all minimum cuts separate them: the cactus is a path and they are at its ends.

All bounds hold for neighbours with the *same minimum cut value* only. Without that condition they are false; the
number of minimum cuts can then change by ``(n - 1)(n - 2) / 2``.

Notation: ``M`` and ``M'`` minimum cuts before and after, ``n`` vertices; alpha_g nodes of the standard cactus, alpha_p
most vertices in a node, alpha_c rings, alpha_r length of the longest ring (0 without rings), alpha_d most tree edges on
a simple path.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
equations 4.1 to 4.3, theorems 4.2.1 and 4.2.3, with the condition and the cases without rings that they leave out;
definition 4.3.1 with the absolute difference as the distance, which it leaves open.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.cactus.cactus import Cactus
from dplib.graphs.cactus.cactus_cuts import Walk, count_standard_cuts, walk
from dplib.graphs.cactus.cactus_standard_form import standard_form
from dplib.validate import at_least, require

MARKING = "NOT PRIVATE: an analysis of the graph itself, which must not be released"


@dataclass(frozen=True)
class CactusParameters:
    """Sizes of the standard cactus, of the graph itself and hence not private."""

    alpha_g: int
    alpha_p: int
    alpha_c: int
    alpha_r: int
    alpha_d: int


@dataclass(frozen=True)
class EdgeEffect:
    """What one more unit of weight between two vertices does.

    Attributes:
        value_rises: whether the minimum cut value grows by one.
        lost_cuts: minimum cuts of before that are none after: all of them where the value rises.
    """

    value_rises: bool
    lost_cuts: int


@dataclass(frozen=True)
class Analysis:
    """A graph's minimum cuts and how sensitive their number is. NOT PRIVATE.

    Attributes:
        n_vertices: of the graph.
        n_min_cuts: ``M``.
        parameters: of the standard cactus.
        lower_bounds: on ``M'`` for one more unit of weight that leaves the minimum cut value: by theorem 4.2.1, by
            theorem 4.2.3, and the sharper ``(M - n + 1) / 2``.
    """

    n_vertices: int
    n_min_cuts: int
    parameters: CactusParameters
    lower_bounds: dict[str, Fraction]


@dataclass(frozen=True)
class AverageSensitivity:
    """The average change of the number of minimum cuts over pairs of vertices. NOT PRIVATE.

    Attributes:
        mean: average of ``|M - M'|``; NaN where no pair leaves the minimum cut value.
        std_error: of ``mean`` if the pairs were drawn.
        n_pairs: pairs looked at that leave the minimum cut value.
        n_rising: pairs looked at that raise it, which are left out.
    """

    mean: float
    std_error: float
    n_pairs: int
    n_rising: int


def t_cuts_of_ring(length: int) -> int:
    """Return ``f``: the t-cuts that a ring of a length of at least 1 stands for."""
    at_least("length", length, 1)
    return length * (length - 3) // 2 if length >= 3 else 0


def lost_t_cuts(length: int, distance: int) -> int:
    """Return ``g``: the t-cuts of a ring that separate two of its nodes.

    Args:
        length: of the ring, at least 2.
        distance: of the two nodes along the ring, from 1 to ``length - 1``.
    """
    require(0 < distance < length, "distance", "lie from 1 to length - 1", distance)
    rest = length - distance
    kept = t_cuts_of_ring(distance) + t_cuts_of_ring(rest) + int(distance >= 3) + int(rest >= 3)
    return t_cuts_of_ring(length) - kept


def most_lost_t_cuts(length: int) -> int:
    """Return ``G = max(0, floor(l^2 / 4 - 2))``: the most t-cuts of a ring that separate any two nodes; l may be 0."""
    at_least("length", length, 0)
    return max(0, length * length // 4 - 2)


def cactus_parameters(cactus: Cactus) -> CactusParameters:
    """Return the sizes of a graph's standard cactus, from any valid one."""
    standard = standard_form(cactus)
    return CactusParameters(
        alpha_g=standard.n_nodes,
        alpha_p=int(np.bincount(standard.node_of).max()),
        alpha_c=len(standard.rings),
        alpha_r=max(map(len, standard.rings), default=0),
        alpha_d=_most_tree_edges(standard),
    )


class EdgeEffects:
    """The effects of many single edges on one graph.

    Args:
        cactus: any valid cactus of the graph, at least two vertices.
    """

    def __init__(self, cactus: Cactus) -> None:
        self._cactus = standard_form(cactus)
        self._walk: Walk = walk(self._cactus)
        self.n_min_cuts = count_standard_cuts(self._cactus)

    def between(self, u: int, v: int) -> EdgeEffect:
        """Return what one more unit of weight between vertices ``u`` and ``v`` does."""
        n = self._cactus.n_vertices
        require(u != v and min(u, v) >= 0 and max(u, v) < n, "u and v", f"be two vertices from 0 to {n - 1}", "others")
        lost = self._separating(int(self._cactus.node_of[u]), int(self._cactus.node_of[v]))
        return EdgeEffect(value_rises=lost == self.n_min_cuts, lost_cuts=lost)

    def _separating(self, one: int, other: int) -> int:
        """Minimum cuts that separate two nodes: climb from the deeper one until both meet, or hang from one block."""
        above, depth = self._walk.block_above, self._walk.depth
        lost = 0
        while one != other:
            if depth[one] < depth[other]:
                one, other = other, one
            block = self._walk.blocks[above[one]]
            end = other if depth[other] == depth[one] and above[other] == above[one] else block[0]
            lost += self._crossed(block, one, end)
            one = end
        return lost

    @staticmethod
    def _crossed(block: tuple[int, ...], one: int, other: int) -> int:
        if len(block) == 2:
            return 1
        return lost_t_cuts(len(block), abs(block.index(one) - block.index(other)))


def average_sensitivity(cactus: Cactus, pairs: IntArray) -> AverageSensitivity:
    """Return the average change over pairs of different vertices; every pair's is read off the cactus.

    Args:
        cactus: any valid cactus of the graph, at least two vertices.
        pairs: shape (n_pairs, 2): all there are, or some from `drawn_pairs`.
    """
    effects = EdgeEffects(cactus)
    # Only the nodes of the two vertices matter.
    nodes, count = np.unique(np.sort(cactus.node_of[pairs], axis=1), axis=0, return_counts=True)
    held = {int(node): int(vertex) for vertex, node in enumerate(cactus.node_of)}
    lost, weight, n_rising = [], [], 0
    for (one, other), times in zip(nodes.tolist(), count.tolist(), strict=True):
        effect = effects.between(held[one], held[other]) if one != other else EdgeEffect(False, 0)
        if effect.value_rises:
            n_rising += times
        else:
            lost.append(effect.lost_cuts)
            weight.append(times)
    total = sum(weight)
    if total == 0:
        return AverageSensitivity(math.nan, math.nan, 0, n_rising)
    mean = float(np.dot(lost, weight) / total)
    spread = float(np.dot((np.array(lost) - mean) ** 2, weight) / total)
    return AverageSensitivity(mean, math.sqrt(spread / total), total, n_rising)


def drawn_pairs(n_vertices: int, n_pairs: int, seed: int) -> IntArray:
    """Return pairs of different vertices, each as likely, drawn with replacement, shape (n_pairs, 2)."""
    rng = np.random.default_rng(seed)
    one = rng.integers(n_vertices, size=n_pairs)
    return np.column_stack([one, (one + rng.integers(1, n_vertices, size=n_pairs)) % n_vertices])


def analyse(cactus: Cactus) -> Analysis:
    """Return a graph's parameters and bounds, from any valid cactus of it. NOT PRIVATE."""
    parameters = cactus_parameters(cactus)
    n_cuts = count_standard_cuts(standard_form(cactus))
    n = cactus.n_vertices
    bounds = {
        "theorem 4.2.1": bound_by_parameters(n_cuts, parameters),
        "theorem 4.2.3": bound_by_count(n_cuts, n),
        "sharper": sharper_bound(n_cuts, n),
    }
    return Analysis(n, n_cuts, parameters, bounds)


def bound_by_parameters(n_min_cuts: int, parameters: CactusParameters) -> Fraction:
    """Return theorem 4.2.1: ``M - alpha_d - min(alpha_d, alpha_c, alpha_g / alpha_r) G(alpha_r)``, at most ``M'``.

    Without rings the second term is 0. For neighbours with the same minimum cut value only.
    """
    p = parameters
    rings = min(Fraction(p.alpha_d), Fraction(p.alpha_c), Fraction(p.alpha_g, p.alpha_r)) if p.alpha_r else Fraction(0)
    return n_min_cuts - p.alpha_d - rings * most_lost_t_cuts(p.alpha_r)


def bound_by_count(n_min_cuts: int, n_vertices: int) -> Fraction:
    """Return theorem 4.2.3: ``M / 2 - 1.5 n``, at most ``M'``. For neighbours with the same minimum cut value only."""
    return Fraction(n_min_cuts, 2) - Fraction(3 * n_vertices, 2)


def sharper_bound(n_min_cuts: int, n_vertices: int) -> Fraction:
    """Return ``(M - n + 1) / 2``, at most ``M'``. For neighbours with the same minimum cut value only.

    A ring of length ``l`` on the way loses at most ``floor(l^2 / 4) - 2`` of its ``l (l - 3) / 2`` t-cuts, and keeps
    ``l - 2`` p-cuts off the way that lead to ``l - 2`` vertices or more; any other node on the way holds a vertex or
    has a p-cut off the way. The sum over the way gives ``2 (M - M') <= M + n - 1``.
    """
    return Fraction(n_min_cuts - n_vertices + 1, 2)


def _most_tree_edges(standard: Cactus) -> int:
    """The longest path of the tree that is left when every ring becomes one node."""
    merged = np.arange(standard.n_nodes)
    for ring in standard.rings:
        merged[ring] = ring[0]
    beside: dict[int, list[int]] = {}
    for one, other in merged[standard.tree_edges].tolist():
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    if not beside:
        return 0
    far = next(iter(beside))
    for _ in range(2):
        distance = {far: 0}
        order = [far]
        for node in order:  # grows as nodes are met
            for near in beside[node]:
                if near not in distance:
                    distance[near] = distance[node] + 1
                    order.append(near)
        far = order[-1]
    return distance[far]
