"""Where the nodes of a tree stand on paper: straight edges, nothing on top of anything, nothing left to chance.

The tree is laid out from its centre. What hangs from a node, seen from there, fills a wedge. The wedges around a node
stand side by side in their order, with even gaps and apart from the way back to the centre; edges grow until they have
room. Wedges are narrower than a half plane, so that what lies in them stays in them: no lines cross. At last the
drawing is turned to be as low as it can be.

Cost: quadratic in the nodes, cubic for the turn; meant for up to some hundred nodes.

References: Di Battista, Eades, Tamassia, Tollis, "Graph Drawing", 1999, section 3.1 (radial drawings of trees by
wedges).
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dplib.arrays import ComplexArray, FloatArray, IntArray

_WIDEST_FAN = 1.7 * np.pi  # of the branches around a node that is not the centre
_WIDEST_WEDGE = 0.98 * np.pi
_GROWTH = 1.04
_LEVEL = 0.35  # that much height is a level edge worth for each unit of its length


class _Branch(NamedTuple):
    """A node with all that hangs from it: places as complex numbers, the node at 0 and its way back to the left."""

    nodes: list[int]
    at: ComplexArray
    before: list[int]  # place in the list of what each node hangs from; of the first, itself

    def nearest(self, far: float, radius: FloatArray) -> float:
        """How near its edges and its nodes' rooms come to a point as far back from the first node."""
        start, end = self.at + far, self.at[self.before] + far
        along = end - start
        part = np.clip((-start * along.conj()).real / np.maximum(np.abs(along) ** 2, 1e-12), 0, 1)
        return float(min(np.abs(start + part * along).min(), (np.abs(start) - radius[self.nodes]).min()))


def tree_layout(
    neighbors: Sequence[Sequence[int]], lengths: Mapping[tuple[int, int], float], room: FloatArray
) -> FloatArray:
    """Return positions, shape (n_nodes, 2), centred.

    Args:
        neighbors: of each node, in their anticlockwise order around it.
        lengths: the least length of the edge from a node to a neighbour, for both directions.
        room: radius that each node keeps to itself, shape (n_nodes,).
    """
    radius = np.asarray(room, dtype=np.float64)
    order, parent = _outwards(neighbors, _centre(neighbors))
    branches: dict[int, _Branch] = {}
    for node in reversed(order):
        around = list(neighbors[node])
        if parent[node] >= 0:  # from the way back on
            at = around.index(parent[node])
            around = around[at + 1 :] + around[:at]
        hanging = [branches.pop(near) for near in around]
        fan = 2 * np.pi if parent[node] < 0 else min(_WIDEST_FAN, 2 * np.pi * len(around) / (len(around) + 1))
        branches[node] = _joined(node, hanging, np.array([lengths[node, near] for near in around]), radius, fan)
    whole = branches[order[0]]
    places = np.empty(len(order), dtype=np.complex128)
    places[whole.nodes] = whole.at
    edges = [(one, other) for one, around in enumerate(neighbors) for other in around if one < other]
    return _lowest(places - places.mean(), radius, np.array(edges, dtype=np.int64).reshape(-1, 2))


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


def _centre(neighbors: Sequence[Sequence[int]]) -> int:
    """The node around which the largest branch is smallest."""
    order, parent = _outwards(neighbors, 0)
    size, largest = [1] * len(order), [0] * len(order)
    for node in reversed(order[1:]):
        size[parent[node]] += size[node]
        largest[parent[node]] = max(largest[parent[node]], size[node])
    return min(range(len(order)), key=lambda node: max(largest[node], len(order) - size[node]))


def _joined(node: int, hanging: Sequence[_Branch], length: FloatArray, radius: FloatArray, fan: float) -> _Branch:
    """A node with its branches around it, its edges as short as they can be."""
    while True:
        wedges = np.array([_wedge(branch, far, radius) for branch, far in zip(hanging, length, strict=True)])
        low, high = wedges.reshape(-1, 2).T
        if len(hanging) == 1:  # goes straight on
            low, high = -np.maximum(-low, high), np.maximum(-low, high)
        span = high - low
        near = np.array([branch.nearest(far, radius) for branch, far in zip(hanging, length, strict=True)])
        grows = (span > min(fan, _WIDEST_WEDGE)) | (near < radius[node])
        if span.sum() > fan:
            grows |= span >= 0.97 * span.max()
        if not grows.any():
            break
        length = np.where(grows, _GROWTH * length, length)
    gap = (fan - span.sum()) / max(len(span), 1)
    turn = -fan / 2 + gap / 2 + np.cumsum(span + gap) - gap - high
    nodes, at, before = [node], [np.zeros(1, dtype=np.complex128)], [0]
    for branch, far, angle in zip(hanging, length, turn, strict=True):
        before += [0, *(len(nodes) + place for place in branch.before[1:])]
        nodes += branch.nodes
        at.append((branch.at + far) * np.exp(1j * angle))
    return _Branch(nodes, np.concatenate(at), before)


def _wedge(branch: _Branch, far: float, radius: FloatArray) -> tuple[float, float]:
    """The angles that a branch fills when its first node stands straight ahead."""
    seen = branch.at + far
    half = np.arcsin(np.minimum(1, radius[branch.nodes] / np.maximum(np.abs(seen), 1e-12)))
    return float((np.angle(seen) - half).min()), float((np.angle(seen) + half).max())


def _lowest(places: ComplexArray, radius: FloatArray, edges: IntArray) -> FloatArray:
    """Turned so that the height is little and level edges are many. Node 0 is at the left."""
    pairs = np.array(list(itertools.combinations(range(len(places)), 2)), dtype=np.int64).reshape(-1, 2)
    ends = np.vstack([edges, pairs])  # where the height is least, two outer nodes lie level
    angles = np.append(np.angle(places[ends[:, 1]] - places[ends[:, 0]]), 0) % np.pi
    across = (places * np.exp(-1j * angles)[:, None]).imag
    height = (across + radius).max(axis=1) - (across - radius).min(axis=1)
    length = np.abs(places[edges[:, 1]] - places[edges[:, 0]])
    level = np.abs(across[:, edges[:, 1]] - across[:, edges[:, 0]]) < 1e-6 * length
    turned = places * np.exp(-1j * angles[np.round(height - _LEVEL * (level @ length), 6).argmin()])
    turned = -turned if turned[0].real > 1e-9 else turned
    return np.column_stack([turned.real, turned.imag])
