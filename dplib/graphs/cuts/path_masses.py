"""Sums of e^(-r w) over the cuts that cross a tree in one or two edges, bounded from above and split edge by edge.

For one edge of the tree, the *row* holds the cuts that cross it and one more edge, or it alone. All rows follow from
each other: let X be a set of vertices. The cut between X and the subtree F below an edge (their symmetric difference)
weighs ``w(X) + w(F) - 2 w(edges that leave both)``, and an edge (u, v) that leaves X leaves F just where F's edge lies
on the way from u to v in the tree. So when a vertex joins or leaves X, each of its edges adds to a few ranges of
positions (`dplib.graphs.cuts.heavy_paths`). X grows along each heavy path from the subtree at its end to the one at its
head; all subtrees together take ``O(n log n)`` moves.

A binary tree over the positions holds, for its part of them, the least value ``low`` and a *mass*, at least ``sum e^(-r
(value - low))`` in units of 2^-bits. Adding to all values of a part leaves its mass as it is. Two parts whose least
values are ``gap`` apart join as ``mass + ceil(other mass decay(gap))`` with a table of upper bounds ``decay(gap) >=
e^(-r gap)``. In an open row every value is that of a cut, so none is below the minimum; beyond the table's reach the
decay is 0, since such a value is more than the reach above that. All numbers are integers, all roundings up.
`PackedCuts` tells the exact chance with which a walk down the binary tree arrives at a cut, so that the draw can be
corrected to its law exactly (`dplib.mechanisms.cuts.cut_draws`); the bounds need not be sharp for that.

Cost: O(log^2 n) an edge and move at worst, hence O(m log^3 n) a tree; O(m log n) where the tree is a path, as in a ring
of a number of vertices so large that its n^2 / 2 minimum cuts could not be counted one by one.

References: Karger, "Minimum cuts in near-linear time", J. ACM 47 (2000), section 5 (ranges of least values in place of
rows); Gawrychowski, Mozes, Weimann, "Minimum cut in O(m log^2 n) time", ICALP 2020, section 4 (edges on the way).
"""

from typing import NamedTuple

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.compiled import compiled
from dplib.graphs.cuts.heavy_paths import HeavyPaths

# This many values take the time of one level of one range; measured.
_VALUES_A_RANGE = 10
_UNUSED = 2**61  # above every value, and far enough from where 64 bits end


class Decay(NamedTuple):
    """Upper bounds of ``e^(-r gap)``.

    Attributes:
        table: of ``e^(-r j 2^shift)`` in units of 2^-bits, for j from 0 on; it reaches to the largest gap of interest.
        shift: see ``table``.
        bits: at most 28, and few enough that n^2 masses of 1 stay below 2^62.
    """

    table: IntArray
    shift: int
    bits: int


class Masses(NamedTuple):
    """A binary tree over positions; node 1 is its top, node i has the parts 2 i and 2 i + 1.

    Attributes:
        low: least value of each node's part, ``tag`` included, that of nodes above not, shape (2 n_leaves,).
        mass: see the module, same shape.
        tag: what was added to the whole part, same shape.
        inside: which positions X holds, shape (n,).
    """

    low: IntArray
    mass: IntArray
    tag: IntArray
    inside: BoolArray


def new_masses(paths: HeavyPaths, decay: Decay) -> Masses:
    """Return the binary tree for the empty set X."""
    n = len(paths.end)
    n_leaves = 1 << max(n - 1, 1).bit_length()
    low = np.full(2 * n_leaves, _UNUSED, dtype=np.int64)
    low[n_leaves + 1 : n_leaves + n] = paths.single[1:]  # the root has no edge
    masses = Masses(low, np.full(2 * n_leaves, 1 << decay.bits, np.int64), np.zeros_like(low), np.zeros(n, np.bool_))
    _join_all(masses, decay)
    return masses


@compiled
def _join_all(masses: Masses, decay: Decay) -> None:
    for node in range(len(masses.low) // 2 - 1, 0, -1):
        _join(masses, decay, node)


@compiled
def decayed(mass: int, gap: int, decay: Decay) -> int:
    """An upper bound of ``mass e^(-r gap)``, 0 beyond the reach."""
    place = gap >> decay.shift
    if place >= len(decay.table):
        return 0
    factor = decay.table[place]
    # In two parts, since the product of 46 and 28 bits would not fit.
    rest = (1 << decay.bits) - 1
    return int((mass >> decay.bits) * factor + (((mass & rest) * factor + rest) >> decay.bits))


@compiled
def _join(masses: Masses, decay: Decay, node: int) -> None:
    one, other = 2 * node, 2 * node + 1
    gap = masses.low[other] - masses.low[one]
    if gap >= 0:
        masses.low[node] = masses.low[one] + masses.tag[node]
        masses.mass[node] = masses.mass[one] + decayed(masses.mass[other], gap, decay)
    else:
        masses.low[node] = masses.low[other] + masses.tag[node]
        masses.mass[node] = masses.mass[other] + decayed(masses.mass[one], -gap, decay)


@compiled
def _add(masses: Masses, decay: Decay, start: int, stop: int, value: int) -> None:
    """Add to the values at positions from ``start`` to before ``stop``."""
    n_leaves = len(masses.low) >> 1
    one, other = start + n_leaves, stop + n_leaves
    left, right = one >> 1, (other - 1) >> 1
    while one < other:
        if one & 1:
            masses.low[one] += value
            masses.tag[one] += value
            one += 1
        if other & 1:
            other -= 1
            masses.low[other] += value
            masses.tag[other] += value
        one >>= 1
        other >>= 1
    while left > 0:
        _join(masses, decay, left)
        if right != left:
            _join(masses, decay, right)
        left >>= 1
        right >>= 1


@compiled
def _move(paths: HeavyPaths, masses: Masses, decay: Decay, position: int) -> None:
    """Let a position join X, or leave it."""
    masses.inside[position] ^= True
    for arc in range(paths.first[position], paths.first[position + 1]):
        one, other = position, paths.neighbor[arc]
        leaves = masses.inside[one] != masses.inside[other]
        value = -2 * paths.heavy[arc] if leaves else 2 * paths.heavy[arc]
        while paths.head[one] != paths.head[other]:
            if paths.head[one] < paths.head[other]:
                one, other = other, one
            _add(masses, decay, paths.head[one], one + 1, value)
            one = paths.above[paths.head[one]]
        if one != other:
            _add(masses, decay, min(one, other) + 1, max(one, other) + 1, value)


@compiled
def grow(paths: HeavyPaths, masses: Masses, decay: Decay, inner: int, outer: int) -> None:
    """Let X grow from the subtree at ``inner`` to the one at ``outer`` on the same path; from nothing where -1."""
    if inner < 0:
        for position in range(outer, paths.end[outer]):
            _move(paths, masses, decay, position)
        return
    for position in range(outer, inner):
        _move(paths, masses, decay, position)
    for position in range(paths.end[inner], paths.end[outer]):
        _move(paths, masses, decay, position)


@compiled
def clear(paths: HeavyPaths, masses: Masses, decay: Decay, outer: int) -> None:
    """Empty X, which is the subtree at ``outer``."""
    for position in range(outer, paths.end[outer]):
        _move(paths, masses, decay, position)


@compiled
def open_row(paths: HeavyPaths, masses: Masses, decay: Decay, position: int) -> None:
    """Put the cut around the subtree at ``position``, which is X, where its empty difference with X stood."""
    _add(masses, decay, position, position + 1, paths.single[position])


@compiled
def close_row(paths: HeavyPaths, masses: Masses, decay: Decay, position: int) -> None:
    """Undo `open_row`."""
    _add(masses, decay, position, position + 1, -paths.single[position])


@compiled
def row_masses(paths: HeavyPaths, masses: Masses, decay: Decay, least: int) -> tuple[IntArray, IntArray]:
    """Upper bounds of the sum of ``e^(-r (w - least))`` over each row, 0 at the root, and each row's least value.

    Args:
        paths: of the tree.
        masses: for the empty set; of no use afterwards.
        decay: reaches from ``least`` to the largest weight of interest.
        least: at most every value.
    """
    n = len(paths.end)
    found, lows = np.zeros(n, dtype=np.int64), np.full(n, _UNUSED, dtype=np.int64)
    for head in range(n - 1, -1, -1):
        if paths.head[head] != head:
            continue
        position = head
        while paths.end[position] > position + 1:
            position += 1
        inner = -1
        while position >= max(head, 1):
            grow(paths, masses, decay, inner, position)
            open_row(paths, masses, decay, position)
            lows[position] = masses.low[1] + paths.single[position]
            found[position] = decayed(masses.mass[1], lows[position] - least, decay)
            close_row(paths, masses, decay, position)
            inner = position
            position -= 1
        if inner >= 0 and head > 0:
            clear(paths, masses, decay, inner)
    return found, lows


def least_pair(paths: HeavyPaths) -> tuple[int, int, int]:
    """Return the least value of a cut at one or two edges, and the positions below them (the same one for one)."""
    decay = Decay(np.ones(1, dtype=np.int64), 62, 0)  # no masses are asked for
    _, lows = row_masses(paths, new_masses(paths, decay), decay, 0)
    position = int(np.argmin(lows))
    masses = new_masses(paths, decay)
    grow(paths, masses, decay, -1, position)
    open_row(paths, masses, decay, position)
    node, n_leaves = 1, len(masses.low) // 2
    while node < n_leaves:
        node = 2 * node if masses.low[2 * node] <= masses.low[2 * node + 1] else 2 * node + 1
    return int(lows[position]), position, node - n_leaves


def rows_are_cheaper(paths: HeavyPaths) -> bool:
    """Whether going through all values, row by row, takes less time than moving ranges: in dense graphs."""
    n = len(paths.end)
    arcs = paths.first[paths.end] - paths.first[:-1]  # of each subtree, which its row goes through
    moves = 2 * int(arcs[paths.head == np.arange(n)].sum())
    return n * n + int(arcs.sum()) < _VALUES_A_RANGE * moves * n.bit_length()
