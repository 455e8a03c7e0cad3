"""Trees over days that grow: which nodes close on a day, and which of them are estimated together.

A node *closes* on its last day: from then on it can be measured. What was measured falls into pieces that share no
measurement (`GrowingTree`), so what is estimated in one of them is independent of the others.

Cost: O(n_nodes), a few array operations a level; a question looks at every piece.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.trees.interval_tree import IntervalTree


def closing_nodes(tree: IntervalTree, measured: BoolArray, day: int) -> IntArray:
    """The measured nodes whose last day is ``day``, from the top down.

    Args:
        tree: over the days.
        measured: whether a level is, shape (n_levels,).
        day: a day of it.
    """
    return np.flatnonzero((tree.hi == day + 1) & measured[tree.level]).astype(np.int64)


def node_sums(tree: IntervalTree, nodes: IntArray, leaves: IntArray, first: int) -> IntArray:
    """Sums over some nodes, shape (n_nodes, ...).

    Args:
        tree: over the days.
        nodes: their numbers.
        leaves: values of days, from the day ``first`` on, shape (n, ...).
        first: a day.
    """
    return np.stack([leaves[tree.lo[node] - first : tree.hi[node] - first].sum(axis=0) for node in nodes])


@dataclass(frozen=True, eq=False)
class Piece:
    """Nodes that are estimated together, from the top down to *cells*: days, and nodes with a hole below.

    Attributes:
        nodes: their numbers in the whole tree, the root first, shape (n,).
        tree: of these nodes; its bins are the cells.
        edges: first day of each cell and one past the last, shape (n_cells + 1,).
    """

    nodes: IntArray
    tree: IntervalTree
    edges: IntArray

    @classmethod
    def of(cls, tree: IntervalTree, nodes: IntArray) -> "Piece":
        """From the numbers of its nodes, increasing."""
        level = tree.level[nodes] - tree.level[nodes[0]]
        above = np.searchsorted(nodes, tree.parent[nodes[1:]])
        is_cell = np.bincount(above, minlength=len(nodes)) == 0
        edges = np.append(np.sort(tree.lo[nodes[is_cell]]), tree.hi[nodes[0]])
        lo, hi = (np.searchsorted(edges, each[nodes]).astype(np.int64) for each in (tree.lo, tree.hi))
        starts = np.append(0, np.cumsum(np.bincount(level))).astype(np.int64)
        return cls(nodes, IntervalTree(lo, hi, np.append(-1, above).astype(np.int64), starts), edges)


@dataclass(frozen=True)
class Run:
    """Cells of one piece that an answer adds, or takes away.

    Attributes:
        root: of the piece.
        first: first cell.
        end: one past the last.
        sign: 1 or -1.
    """

    root: int
    first: int
    end: int
    sign: int


@dataclass(frozen=True, eq=False)
class GrowingTree:
    """What of a tree is measured.

    The *tops* are the nodes of the coarsest measured level: a number is *final* once all days of its top are measured,
    or none is measured any more.

    *Holes.* A day that is not measured may have any count, so its siblings learn nothing from a node above it. Least
    squares over all measured nodes therefore fall into *pieces* that share no measurement: a measured node with such a
    hole below is a cell of the piece above it, and the largest measured nodes below it that have all of their days, or
    are cells again, are roots of their own. The sum of the missing days of a cell is the cell without its other days;
    nothing else is known of them.

    This needs that whatever is left of a cell obeys the constraints that its missing days have: it does where all days
    of the node have the same homogeneous ones. Another node waits for its days.

    Attributes:
        tree: over the days.
        measured_levels: whether a level is measured, shape (n_levels,).
        days: whether a day was measured, shape (n_days,).
        is_closed: whether no day is measured any more.
        alike: whether all days of a node have the same homogeneous constraints, shape (n_nodes,).
    """

    tree: IntervalTree
    measured_levels: BoolArray
    days: BoolArray
    is_closed: bool
    alike: BoolArray

    @cached_property
    def _recorded(self) -> BoolArray:
        """Whether a node was measured, which it was with its last day, shape (n_nodes,)."""
        return np.asarray(self.days[self.tree.hi - 1] & self.measured_levels[self.tree.level])

    @cached_property
    def _open(self) -> BoolArray:
        """Whether a node has a missing day and no measurement that says its sum, shape (n_nodes,)."""
        found = np.zeros(self.tree.n_nodes, dtype=bool)
        found[self.tree.leaf_nodes] = ~self.days
        for inner, children, offsets in self.tree.levels_up:
            says = self._recorded[inner] & self.alike[inner]
            found[inner] = np.logical_or.reduceat(found[children], offsets) & ~says
        return found

    @cached_property
    def _holed(self) -> BoolArray:
        """Whether a node is measured and some of its children are not known, shape (n_nodes,)."""
        above = self.tree.parent[1:][self._open[1:]]
        return np.asarray((np.bincount(above, minlength=self.tree.n_nodes) > 0) & ~self._open)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """Root of each node's piece, and the nearest node above with a hole; -1 for none; shape (n_nodes,) each."""
        tree, known = self.tree, self._recorded & ~self._open
        numbers = np.arange(tree.n_nodes)
        root, cell = np.where(known, numbers, -1), np.full(tree.n_nodes, -1)
        for level in range(1, tree.n_levels):
            here = tree.level_slice(level)
            above = tree.parent[here]
            cut = self._holed[above]
            cell[here] = np.where(cut, above, cell[above])
            root[here] = np.where(cut | (root[above] < 0), root[here], root[above])
        return root.astype(np.int64), cell.astype(np.int64)

    @cached_property
    def _holders(self) -> IntArray:
        """The cell of each missing day, -1 for one of none, shape (n_days,); -2 for measured days."""
        return np.where(self.days, -2, self._places[1][self.tree.leaf_nodes])

    @cached_property
    def pieces(self) -> dict[int, Piece]:
        """The pieces by their roots, in the order of their days, a cell before what is below it."""
        root = self._places[0]
        order = np.argsort(root, kind="stable")[np.count_nonzero(root < 0) :]
        roots, first = np.unique(root[order], return_index=True)
        found = dict(zip(roots.tolist(), np.split(order, first[1:]), strict=True)) if len(roots) else {}
        by_day = roots[np.lexsort((roots, self.tree.lo[roots]))]
        return {each: Piece.of(self.tree, found[each]) for each in by_day.tolist()}

    @cached_property
    def outermost(self) -> IntArray:
        """Roots of the pieces that lie in no cell: all that is known, each day once."""
        return np.array([root for root in self.pieces if self._places[1][root] < 0], dtype=np.int64)

    @property
    def tops(self) -> IntArray:
        """The nodes of the coarsest measured level."""
        tree = self.tree
        return np.arange(tree.n_nodes)[tree.level_slice(int(np.argmax(self.measured_levels)))]

    def is_final(self, top: int) -> bool:
        """Whether the numbers of a top change no more."""
        return self.is_closed or bool(self.days[self.tree.lo[top] : self.tree.hi[top]].all())

    @cached_property
    def final_days(self) -> BoolArray:
        """Whether the numbers of a day change no more, shape (n_days,)."""
        found = np.zeros(len(self.days), dtype=bool)
        for top in self.tops.tolist():
            found[self.tree.lo[top] : self.tree.hi[top]] = self.is_final(top)
        return found

    def nodes_below(self, top: int) -> list[int]:
        """Roots of the pieces of a top's days, in their order; none where no day of it is measured."""
        tree = self.tree
        return [root for root in self.pieces if tree.lo[top] <= tree.lo[root] and tree.hi[root] <= tree.hi[top]]

    def unknown_days(self, lo: int, hi: int) -> IntArray:
        """The missing days for which the sum over ``lo <= t < hi`` is not known: those of a cell count together."""
        missing = np.flatnonzero(~self.days)
        holder, inside = self._holders[missing], (missing >= lo) & (missing < hi)
        return missing[inside & ((holder < 0) | np.isin(holder, holder[~inside]))].astype(np.int64)

    def runs(self, lo: int, hi: int) -> list[Run]:
        """What makes up the sum over the days ``lo <= t < hi``, one run a piece; none where it is not known."""
        if len(self.unknown_days(lo, hi)):
            return []
        tree, found, waiting = self.tree, [], [(-1, lo, hi, 1)]
        while waiting:
            cell, first, end, sign = waiting.pop()
            for root in self._roots_in.get(cell, ()):
                if tree.lo[root] < end and tree.hi[root] > first:
                    ends = max(first, int(tree.lo[root])), min(end, int(tree.hi[root]))
                    run, rest = self._run(root, *ends, sign)
                    found += [run] if run.first < run.end else []
                    waiting += rest
        return sorted(found, key=lambda run: (int(tree.lo[run.root]), run.root))

    @cached_property
    def _roots_in(self) -> dict[int, list[int]]:
        """Roots of the pieces below each cell, -1 for those in none."""
        found: dict[int, list[int]] = {}
        for root in self.pieces:
            found.setdefault(int(self._places[1][root]), []).append(root)
        return found

    def _run(self, root: int, lo: int, hi: int, sign: int) -> tuple[Run, set[tuple[int, int, int, int]]]:
        """The run of a piece, and what it leaves below its cells: the cell, days and the sign."""
        piece = self.pieces[root]
        cells, edges = piece.nodes[piece.tree.leaf_nodes], piece.edges
        first, end = int(np.searchsorted(edges, lo)), int(np.searchsorted(edges, hi, side="right")) - 1
        cut = {first - 1} if edges[first] > lo else set()
        cut |= {end} if edges[end] < hi else set()
        rest: set[tuple[int, int, int, int]] = set()
        begin, stop = first, end
        for number in cut:
            cell, start, after = int(cells[number]), int(edges[number]), int(edges[number + 1])
            if (self._holders[max(start, lo) : min(after, hi)] == cell).any():
                # All of its missing days are asked for: the cell without its other days that are not.
                begin, stop = min(begin, number), max(stop, number + 1)
                rest |= {(cell, start, lo, -sign)} if start < lo else set()
                rest |= {(cell, hi, after, -sign)} if hi < after else set()
            else:
                rest.add((cell, max(start, lo), min(after, hi), sign))
        return Run(root, begin, stop, sign), rest

    def newest_days(self) -> tuple[int, int]:
        """The newest measured days without a gap between them: the first, and one past the last."""
        last = int(np.flatnonzero(self.days)[-1])
        return last + 1 - int(np.argmin(np.append(self.days[last::-1], False))), last + 1
