"""Where the nodes of a tree stand on paper: straight edges of given lengths, no crossings, room shared out evenly.

First every leaf gets the same angle around a root. Then, node by node, the branches around a node are turned so that
the gaps between them are equal. The neighbours of every node keep their cyclic order. A few roots are tried and the
smallest drawing without overlaps is taken. Where all overlap, the edges between branches are made longer: with equal
angles that ends every overlap. Last the drawing is turned to lie along the horizontal. Nothing is random: a tree has
one layout.

Cost: quadratic in the nodes for every round.

References: Felsenstein, "Inferring Phylogenies", 2004, chapter 34 (equal angles, equal daylight).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ROUNDS = 8
_ROOTS = 4
_STRETCHES = 7
_STRETCH = 1.2


def tree_layout(
    neighbors: Sequence[Sequence[int]], lengths: Mapping[tuple[int, int], float], room: npt.ArrayLike
) -> FloatArray:
    """Return positions, shape (n_nodes, 2), centred.

    Args:
        neighbors: of each node, in their order around it.
        lengths: of the edge from a node to a neighbour, for both directions; the least they will have.
        room: radius around each node that others and their edges keep free, shape (n_nodes,).
    """
    radius = np.asarray(room, dtype=np.float64)
    busy = sorted(range(len(neighbors)), key=lambda node: (-len(neighbors[node]), node))[:_ROOTS]
    branches = [[_branch(neighbors, node, near) for near in around] for node, around in enumerate(neighbors)]
    stretched = dict(lengths)
    for _ in range(_STRETCHES):
        tried = [layout for root in busy for layout in _layouts(neighbors, branches, stretched, radius, root)]
        free = [layout for layout in tried if not _too_close(layout, neighbors, radius)]
        if free:
            return min(free, key=_size)
        for one, other in lengths:
            if min(len(neighbors[one]), len(neighbors[other])) > 1:
                stretched[one, other] *= _STRETCH
    return min(tried[1::2], key=_size)  # of equal angles: no lines cross at least


def _layouts(
    neighbors: Sequence[Sequence[int]],
    branches: Sequence[Sequence[IntArray]],
    lengths: Mapping[tuple[int, int], float],
    radius: FloatArray,
    root: int,
) -> tuple[FloatArray, FloatArray]:
    """The layouts with equal gaps and with equal angles."""
    order, parent = _outwards(neighbors, root)
    even = _equal_angles(neighbors, lengths, order, parent)
    positions = even.copy()
    for _ in range(_ROUNDS):
        for node in order:
            if len(neighbors[node]) > 1:
                _share_daylight(positions, node, branches[node], radius)
    return _turned(positions), _turned(even)


def _size(positions: FloatArray) -> float:
    """How much paper a drawing takes; width counts most, for the page limits it."""
    width, height = positions.max(axis=0) - positions.min(axis=0)
    return float(width + 0.5 * height)


def _turned(positions: FloatArray) -> FloatArray:
    """Centred, with the longest axis along the horizontal; a turn, no mirror: the order around a node stays."""
    x, y = (positions - positions.mean(axis=0)).T
    skew, stretch = 2 * float(x @ y), float(x @ x - y @ y)
    angle = np.arctan2(skew, stretch) / 2 if np.hypot(skew, stretch) > 1e-6 * float(x @ x + y @ y) else 0.0
    turned = np.column_stack([x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)])
    return -turned if (turned[:, 0] ** 3).sum() > 1e-9 else turned


def _too_close(positions: FloatArray, neighbors: Sequence[Sequence[int]], radius: FloatArray) -> bool:
    """Whether a node's room meets another node's or an edge that is not its own, or two edges cross."""
    edges = np.array([(one, other) for one, near in enumerate(neighbors) for other in near if one < other])
    if len(edges) == 0:
        return False
    apart = np.hypot(*(positions[:, None] - positions).transpose(2, 0, 1)) - radius[:, None] - radius
    np.fill_diagonal(apart, np.inf)
    start, along = positions[edges[:, 0]], positions[edges[:, 1]] - positions[edges[:, 0]]
    offset = positions[:, None] - start
    part = np.clip((offset * along).sum(axis=2) / (along**2).sum(axis=1), 0, 1)
    beside = np.hypot(*(offset - part[:, :, None] * along).transpose(2, 0, 1)) - radius[:, None]
    beside[edges[:, 0], np.arange(len(edges))] = beside[edges[:, 1], np.arange(len(edges))] = np.inf
    # Two edges cross if the ends of each are on different sides of the other.
    turn = along[:, 0] * offset[:, :, 1] - along[:, 1] * offset[:, :, 0]
    split = turn[edges[:, 0]] * turn[edges[:, 1]] < -1e-9
    return bool((apart < 0).any() or (beside < 0).any() or (split & split.T).any())


def _outwards(neighbors: Sequence[Sequence[int]], root: int) -> tuple[list[int], list[int]]:
    """Nodes from the root outwards and the node before each, -1 for none."""
    parent = [-1] * len(neighbors)
    order = [root]
    for node in order:  # grows as nodes are met
        for near in neighbors[node]:
            if near != parent[node]:
                parent[near] = node
                order.append(near)
    return order, parent


def _equal_angles(
    neighbors: Sequence[Sequence[int]],
    lengths: Mapping[tuple[int, int], float],
    order: Sequence[int],
    parent: Sequence[int],
) -> FloatArray:
    leaves = [0] * len(neighbors)
    for node in reversed(order):
        leaves[node] = leaves[node] or 1
        if parent[node] >= 0:
            leaves[parent[node]] += leaves[node]
    positions = np.zeros((len(neighbors), 2))
    start, width = [0.0] * len(neighbors), [2 * np.pi / leaves[0]] * len(neighbors)
    for node in order:
        at = neighbors[node].index(parent[node]) + 1 if parent[node] >= 0 else 0
        angle = start[node]
        for near in [*neighbors[node][at:], *neighbors[node][:at]]:
            if near == parent[node]:
                continue
            start[near] = angle
            middle = angle + leaves[near] * width[node] / 2
            positions[near] = positions[node] + lengths[node, near] * np.array([np.cos(middle), np.sin(middle)])
            angle += leaves[near] * width[node]
    return positions


def _share_daylight(positions: FloatArray, node: int, branches: Sequence[IntArray], radius: FloatArray) -> None:
    """Turn the branches around a node until the gaps between them are equal; not where they have no room at all."""
    heading, low, high = [], [], []
    for branch in branches:
        offset = positions[branch] - positions[node]
        middle = np.arctan2(offset[0, 1], offset[0, 0])
        turn = (np.arctan2(offset[:, 1], offset[:, 0]) - middle + np.pi) % (2 * np.pi) - np.pi
        room = np.arcsin(np.minimum(1, radius[branch] / np.maximum(np.hypot(*offset.T), 1e-9)))
        heading.append(middle)
        low.append(float((turn - room).min()))
        high.append(float((turn + room).max()))
    gap = (2 * np.pi - sum(high) + sum(low)) / len(branches)
    if gap <= 0:
        return
    angle = heading[0] + low[0]
    for at, branch in enumerate(branches):
        turn = angle - low[at] - heading[at]
        angle += high[at] - low[at] + gap
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        positions[branch] = (positions[branch] - positions[node]) @ rotation.T + positions[node]


def _branch(neighbors: Sequence[Sequence[int]], node: int, first: int) -> IntArray:
    """The nodes beyond ``first``, seen from ``node``; ``first`` leads."""
    branch, before = [first], {first: node}
    for at in branch:  # grows as nodes are met
        for near in neighbors[at]:
            if near != before[at]:
                before[near] = at
                branch.append(near)
    return np.array(branch)
