"""The cactus in standard form from the list of all minimum cuts (ALG_gen).

First the tree of all p-cuts, then a ring in place of every node whose bundle holds t-cuts: the ring's nodes are empty
and take the bundle's p-cuts one each, neighbours where the union of their outer sides is a t-cut. The list must be
complete: in a bundle with ``l`` p-cuts that holds t-cuts there are exactly ``l (l - 3) / 2`` of them, and they are the
arcs of the ring. What is otherwise is refused, so the result's cut set always equals the list.

Only for lists of moderate length: a ring of ``n`` nodes has ``n (n - 1) / 2`` minimum cuts.
`dplib.graphs.cactus.cactus_search` makes the same cactus from the graph without listing any.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
algorithm 1 and theorem 3.1.7, with definition 3.1.7 repaired as in `dplib.graphs.cut_analysis.cut_tree`; Dinitz,
Karzanov, Lomonosov 1976.
"""

import numpy as np
import numpy.typing as npt

from dplib.graphs.cactus.cactus import Cactus, checked_cactus
from dplib.graphs.cactus.cactus_cuts import canonical_cuts
from dplib.graphs.cactus.cactus_standard_form import numbered
from dplib.graphs.cut_analysis.cut_tree import CutTree, bundle_of, cut_tree, is_parallel_cut
from dplib.validate import require

_NOT_ALL = ("cuts", "be all minimum cuts of a graph", "others")


def cactus_of_cuts(cuts: npt.ArrayLike) -> Cactus:
    """Return the cactus in standard form.

    Args:
        cuts: all minimum cuts of a connected graph, shape (n_cuts, n_vertices), True on one side; (0, 1) for the graph
            of one vertex.

    Raises:
        ConfigError: these are not all minimum cuts of any graph.
    """
    sides = canonical_cuts(cuts)
    require(len(sides) > 0 or sides.shape[1] == 1, *_NOT_ALL)
    parallel = is_parallel_cut(sides)
    tree = cut_tree(sides[parallel])
    arcs: dict[int, list[tuple[int, ...]]] = {}
    for t_cut in sides[~parallel]:
        node, made_of = bundle_of(tree, t_cut)
        arcs.setdefault(node, []).append(tuple(made_of.tolist()))
    return _with_rings(tree, {node: _ring(tree, node, held) for node, held in arcs.items()})


def _ring(tree: CutTree, node: int, arcs: list[tuple[int, ...]]) -> list[int]:
    """The p-cuts of a bundle in cyclic order; that towards vertex 0 is ``len(tree.sides)``."""
    require(not (tree.node_of == node).any(), *_NOT_ALL)
    up = [] if node == len(tree.sides) else [len(tree.sides)]
    members = [*np.flatnonzero(tree.parent == node).tolist(), *up]
    length = len(members)
    require(length >= 4 and len(arcs) == length * (length - 3) // 2, *_NOT_ALL)
    beside: dict[int, list[int]] = {member: [] for member in members}
    for arc in arcs:
        for pair in (arc, tuple(set(members) - set(arc))):
            if len(pair) == 2:
                beside[pair[0]].append(pair[1])
                beside[pair[1]].append(pair[0])
    require(all(len(near) == 2 for near in beside.values()), *_NOT_ALL)
    order = [members[0], beside[members[0]][0]]
    while len(order) < length:
        onward = [member for member in beside[order[-1]] if member != order[-2]]
        order.append(onward[0])
    require(len(set(order)) == length, *_NOT_ALL)
    # Arcs of members in a row, none twice: then their number says that all of them are here.
    place = {member: at for at, member in enumerate(order)}
    for arc in arcs:
        at = np.sort([place[member] for member in arc])
        breaks = int((np.diff(at) > 1).sum()) + int(at[-1] - at[0] != length - 1)
        require(breaks == 1 and 2 <= len(at) <= length - 2, *_NOT_ALL)
    return order


def _with_rings(tree: CutTree, orders: dict[int, list[int]]) -> Cactus:
    """The tree with a ring in place of every node that has one."""
    n_cuts = len(tree.sides)
    low_end, high_end = np.arange(n_cuts), tree.parent.copy()
    rings, n_nodes = [], tree.n_nodes
    for node, order in orders.items():
        places = n_nodes + np.arange(len(order))
        n_nodes += len(order)
        rings.append(places)
        for place, member in zip(places, order, strict=True):
            if member == n_cuts:
                low_end[node] = place
            else:
                high_end[member] = place
    edges = np.column_stack([low_end, high_end])
    kept = np.setdiff1d(np.arange(n_nodes), list(orders))
    found = [np.searchsorted(kept, ring) for ring in rings]
    made = checked_cactus(len(kept), np.searchsorted(kept, tree.node_of), np.searchsorted(kept, edges), found)
    return numbered(made)
