"""Where the nodes of a tree stand on paper: straight edges of given lengths, no crossings, room shared out evenly.

First every leaf gets the same angle around the root. Then, node by node, the branches around a node are turned so that
the gaps between them are equal. The neighbours of every node keep their cyclic order. Last the drawing is turned to lie
along the horizontal. Nothing is random: a tree has one layout.

Cost: quadratic in the nodes for every round.

References: Felsenstein, "Inferring Phylogenies", 2004, chapter 34 (equal angles, equal daylight).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_ROUNDS = 12
_NODE_RADIUS = 0.3  # of the room that a node takes, in edge lengths


def tree_layout(neighbors: Sequence[Sequence[int]], lengths: Mapping[tuple[int, int], float]) -> FloatArray:
    """Return positions, shape (n_nodes, 2), centred.

    Args:
        neighbors: of each node, in their order around it.
        lengths: of the edge from a node to a neighbour, for both directions.
    """
    order, parent = _outwards(neighbors)
    positions = _equal_angles(neighbors, lengths, order, parent)
    for _ in range(_ROUNDS):
        for node in order:
            if len(neighbors[node]) > 1:
                _share_daylight(positions, neighbors, node)
    positions -= positions.mean(axis=0)
    axes = np.linalg.eigh(positions.T @ positions)[1][:, ::-1].T
    axes[1] *= np.sign(np.linalg.det(axes))  # a turn, no mirror: the order around a node stays
    positions = positions @ axes.T
    heavy = positions[:, 0] ** 3
    return np.asarray(-positions if heavy.sum() > 1e-9 else positions)


def _outwards(neighbors: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Nodes from the busiest one outwards and the node before each, -1 for none."""
    parent = [-1] * len(neighbors)
    order = [int(np.argmax([len(near) for near in neighbors]))]
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


def _share_daylight(positions: FloatArray, neighbors: Sequence[Sequence[int]], node: int) -> None:
    """Turn the branches around a node until the gaps between them are equal."""
    branches = [_branch(neighbors, node, near) for near in neighbors[node]]
    heading, low, high = [], [], []
    for branch in branches:
        offset = positions[branch] - positions[node]
        middle = np.arctan2(offset[0, 1], offset[0, 0])
        turn = (np.arctan2(offset[:, 1], offset[:, 0]) - middle + np.pi) % (2 * np.pi) - np.pi
        room = np.arcsin(np.minimum(1, _NODE_RADIUS / np.maximum(np.hypot(*offset.T), _NODE_RADIUS)))
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


def _branch(neighbors: Sequence[Sequence[int]], node: int, first: int) -> list[int]:
    """The nodes beyond ``first``, seen from ``node``; ``first`` leads."""
    branch, before = [first], {first: node}
    for at in branch:  # grows as nodes are met
        for near in neighbors[at]:
            if near != before[at]:
                before[near] = at
                branch.append(near)
    return branch
