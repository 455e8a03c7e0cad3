"""Non-negative integer tables that satisfy the tree and every day's constraints exactly.

The tables are built in generator counts ``u`` (packages bought, items sold) from the root down and mapped to series
at the end, so both kinds of constraint hold by construction: node counts are sums of their children's, and every
day's counts are a non-negative integer sum of its constraints' generators. At each node the parent's integers are
divided among its children: the real division nearest to the estimates (a projection on a simplex), then controlled
rounding. Clipping or rounding the days themselves would push every sum up; here each sum is fixed before its parts, so
range answers keep the accuracy of the estimates: also on a flat tree, whose days are divided in runs first (one
division among 1,500 days made ranges up to 4 times worse, those of a total that 60 items share 26 times).

Always feasible: a generator's count is above 0 only in nodes with a day that offers it. That holds at the root, and
where it holds at a parent some child offers the generator too, so its simplex has a vertex; rounding leaves zeros.

Nothing travels upwards, so the pass can be cut: `divide_counts` on the tree above a cut gives each block its root's
integers, and `divide_counts` on the block continues from them; the result is that of the whole tree.

Cost: O(n_nodes * n_generators) for trees of fixed branching; a multiple of it where generators that share a series are
divided together (`coupled_division`).

References:
    Abowd et al., "The 2020 Census disclosure avoidance system TopDown algorithm", Harvard Data Science Review,
    special issue 2, 2022, sections 6-7 (estimate, then integers from the top; here with per-day constraints).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.integers.coupled_division import Coupling, needs_coupling
from dplib.consistency.integers.generator_space import GeneratorSpace
from dplib.constraints.day_constraints import DayConstraints, SparseInt
from dplib.projection.rounding import round_to_totals
from dplib.projection.simplex import project_simplex
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.narrowed import narrowed

MAX_CHILDREN = 64
"""More children of one node than these (a year of days, say) are divided in runs."""
RUNS = 16
"""Runs of a node's children, and of a run, at most."""

MAX_TOTAL = 2.0**62
"""Counts of the whole range beyond are published as this: no number of rows ends a run."""


@dataclass(frozen=True)
class Start:
    """Where the division of a tree's integers starts.

    Attributes:
        level: whose nodes are fixed first, each for itself; those above are their sums.
        first_day: day of the day constraints that is the tree's first.
    """

    level: int = 0
    first_day: int = 0


WHOLE = Start()
"""At the root of a tree over all days."""


def publish_counts(
    tree: IntervalTree,
    estimates: FloatArray,
    day_constraints: Sequence[DayConstraints],
    weights: FloatArray | None = None,
    node_weights: FloatArray | None = None,
    start: Start = WHOLE,
    space: GeneratorSpace | None = None,
) -> IntArray:
    """The published table of a tree whose day constraints all have generators.

    Args:
        tree: the tree over days.
        estimates: consistent estimates, shape (n_nodes, n_series).
        day_constraints: consecutive day constraints that cover all days, sorted.
        weights: weight of each series (one over its variance), shape (n_series,); equal where absent.
        node_weights: weight of each node among its siblings (one over its variance), shape (n_nodes,).
        start: the tree's days among those of the day constraints, and where the division starts.
        space: their generators with these weights, where they are known; worked out if absent.

    Returns:
        Integers of at least 0, shape (n_nodes, n_series): every inner node is the sum of its children and every
        day's counts are a sum of its constraints' generators.

    Raises:
        SolverError: if some have no generators.
    """
    space = GeneratorSpace.from_day_constraints(day_constraints, weights) if space is None else space
    leaf_targets = space.targets(estimates[tree.leaf_nodes], start.first_day)
    targets = tree.sums(leaf_targets).astype(np.float64)
    offered = node_offers(tree, space.offered(start.first_day, tree.n_leaves))
    n_days = day_constraints[-1].end - day_constraints[0].first
    coupling = Coupling.of(space, estimates, weights) if needs_coupling(space, n_days) else None
    counts = np.empty(targets.shape, dtype=np.int64)
    for top in range(tree.n_nodes)[tree.level_slice(start.level)]:
        own, nodes = (tree, np.arange(tree.n_nodes)) if top == 0 else tree.subtree(top)
        offers = None if offered is None else offered[nodes]
        root = root_counts(space, targets[top], estimates[top], weights, None if offers is None else offers[0])
        counts[nodes] = divide_counts(
            own,
            targets[nodes],
            root,
            offers,
            None if node_weights is None else node_weights[nodes],
            None if coupling is None else coupling.over(estimates[nodes]),
        )
    if start.level:
        above = int(tree.level_start[start.level])
        counts[:above] = tree.sums(counts[tree.leaf_nodes])[:above]
    return space.series_counts(counts)


def node_offers(tree: IntervalTree, leaf_offers: BoolArray) -> BoolArray | None:
    """Which generators some day of each node offers, shape (n_nodes, n_generators); None for all on all days.

    Args:
        tree: a tree whose bins are days or blocks.
        leaf_offers: what each bin offers, shape (n_leaves, n_generators).
    """
    if leaf_offers.all():
        return None
    return tree.sums(leaf_offers.astype(np.int64)).astype(np.bool_)


def divide_counts(
    tree: IntervalTree,
    targets: FloatArray,
    root: IntArray,
    offered: BoolArray | None = None,
    node_weights: FloatArray | None = None,
    coupling: Coupling | None = None,
) -> IntArray:
    """Divide the root's integers down a tree: a whole tree, the top above a cut, or one block.

    Args:
        tree: bins are days or blocks.
        targets: real generator counts of each node, shape (n_nodes, n_generators).
        root: integers of at least 0, shape (n_generators,), 0 where the root offers nothing.
        offered: from `node_offers`.
        node_weights: weight of each node among its siblings, shape (n_nodes,); equal where absent. A coupling
            starts from the weighted division and weighs siblings equally.
        coupling: where generators are divided together (`needs_coupling`), over the same nodes.

    Returns:
        Integers of at least 0, shape (n_nodes, n_generators); every inner node is the sum of its children.
    """
    narrow = narrowed(tree, MAX_CHILDREN, RUNS)
    if narrow is not None:
        return _divide_narrowed(tree, *narrow, targets, root, offered, node_weights, coupling)
    return _divide(tree, targets, root, offered, node_weights, coupling)


def _divide(
    tree: IntervalTree,
    targets: FloatArray,
    root: IntArray,
    offered: BoolArray | None = None,
    node_weights: FloatArray | None = None,
    coupling: Coupling | None = None,
) -> IntArray:
    """`divide_counts` on the tree as it is."""
    counts = np.empty(targets.shape, dtype=np.int64)
    counts[0] = root
    for level in range(tree.n_levels - 1):
        nodes = np.arange(tree.level_start[level], tree.level_start[level + 1])
        inner = nodes[tree.child_count[nodes] > 0]
        children = tree.level_slice(level + 1)
        offsets = tree.child_start[inner] - children.start
        allowed = None if offered is None else offered[children]
        weights = (
            None if node_weights is None else np.broadcast_to(node_weights[children, None], targets[children].shape)
        )
        divided = project_simplex(targets[children], offsets, counts[inner], weights, allowed)
        if coupling is not None:
            divided = coupling.refine(divided, children, offsets, counts[inner], allowed)
        counts[children] = round_to_totals(divided, offsets, counts[inner])
    return counts


def _divide_narrowed(
    tree: IntervalTree,
    narrow: IntervalTree,
    place: IntArray,
    targets: FloatArray,
    root: IntArray,
    offered: BoolArray | None,
    node_weights: FloatArray | None,
    coupling: Coupling | None,
) -> IntArray:
    """`divide_counts` on a narrowed tree: runs of nodes have sums of their targets, estimates and variances."""
    leaves = tree.leaf_nodes
    offers = None if offered is None else narrow.sums(offered[leaves].astype(np.int64)).astype(np.bool_)
    weights = None
    if node_weights is not None:
        weights = 1 / narrow.sums(1 / node_weights[leaves, None])[:, 0].astype(np.float64)
        weights[place] = node_weights

    def summed(values: FloatArray) -> FloatArray:
        found = narrow.sums(values[leaves]).astype(np.float64)
        found[place] = values
        return found

    together = None if coupling is None else coupling.over(summed(coupling.estimates))
    return _divide(narrow, summed(targets), root, offers, weights, together)[place]


def root_counts(
    space: GeneratorSpace,
    target: FloatArray,
    estimate: FloatArray,
    weights: FloatArray | None = None,
    offered: BoolArray | None = None,
) -> IntArray:
    """The root's non-negative integer generator counts, shape (n_generators,).

    With many generators of small counts, replacing each negative one by 0 would push their sum up by a large
    multiple of its error. So sums come first here as well: the sum of all generators, then the sums that are series
    of their own and nest (measured totals), each fixed before its parts.

    Args:
        space: the generators.
        target: real generator counts of the whole range, shape (n_generators,).
        estimate: the root's estimates, shape (n_series,); used where generators are dependent.
        weights: weight of each series, shape (n_series,).
        offered: which generators some day of the root offers, shape (n_generators,); None for all.
    """
    root = np.zeros(space.n_generators, dtype=np.int64)
    own = np.arange(space.n_generators) if offered is None else np.flatnonzero(offered)
    if not len(own):
        return root
    matrix, target = space.matrix[:, own], target[own]
    if not space.independent:
        target = _nearest_in_cone(matrix.toarray().astype(np.float64), estimate, weights)
    tree, order = _generator_tree(matrix)
    nested = tree.sums(target[order, None]).astype(np.float64)
    total = np.rint(np.clip(nested[:1, 0], 0.0, MAX_TOTAL)).astype(np.int64)
    root[own[order]] = _divide(tree, nested, total)[tree.leaf_nodes, 0]
    return root


def _nearest_in_cone(matrix: FloatArray, estimate: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Non-negative least squares; a slight pull to 0 spreads the counts over generators that could replace another."""
    root = np.ones(len(matrix)) if weights is None else np.sqrt(weights)
    pull = 1e-4 * float(np.linalg.norm(root[:, None] * matrix, 2))
    stacked = np.vstack([root[:, None] * matrix, pull * np.eye(matrix.shape[1])])
    wanted = np.concatenate([root * estimate, np.zeros(matrix.shape[1])])
    try:
        solution: FloatArray = scipy.optimize.nnls(stacked, wanted)[0]
    except RuntimeError:
        # It gives up after a number of steps, which the rows decide: least squares without the bound, then cut at 0.
        solution = np.maximum(np.linalg.lstsq(stacked, wanted, rcond=None)[0], 0.0)
    return solution


def _generator_tree(matrix: SparseInt) -> tuple[IntervalTree, IntArray]:
    """A tree over the generators whose nodes are series that are plain sums of them, and the generators' order.

    Series are taken from the widest on, each if it nests with those taken before. Cost: the non-zeros of the matrix.
    """
    n_generators = matrix.shape[1]
    plain = np.flatnonzero(np.maximum.reduceat(np.append(matrix.data, 0), matrix.indptr[:-1]) <= 1)
    columns = matrix.indices.astype(np.int64)
    entries = (columns[matrix.indptr[row] : matrix.indptr[row + 1]] for row in plain)
    rows = {row.tobytes(): row for row in entries if 1 < len(row) < n_generators}
    # Of equal widths in the order of the rows as vectors.
    wide = sorted(rows.values(), key=lambda row: (-len(row), (-row).tolist()))
    innermost = np.full(n_generators, -1)
    depths: list[int] = []
    taken: list[IntArray] = []
    holders: list[list[int]] = [[] for _ in range(n_generators)]
    for row in wide:
        outer = int(innermost[row[0]])
        if (innermost[row] == outer).all():
            innermost[row] = len(taken)
            depths.append(1 + (depths[outer] if outer >= 0 else 0))
            for generator in row.tolist():
                holders[generator].append(len(taken))
            taken.append(row)
    # Members of a set stand together if sets are compared from the widest on.
    last = [len(taken)]
    order = np.array(sorted(range(n_generators), key=lambda each: holders[each] + last), dtype=np.int64)
    place = np.empty(n_generators, dtype=np.int64)
    place[order] = np.arange(n_generators)
    cuts = [{0, n_generators}]
    for depth in range(1, max(depths, default=0) + 1):
        starts = set(cuts[-1])
        for row, own in zip(taken, depths, strict=True):
            if own == depth:
                starts |= {int(place[row].min()), int(place[row].max()) + 1}
        cuts.append(starts)
    cuts.append(set(range(n_generators + 1)))
    distinct = [cuts[0]] + [lower for upper, lower in pairwise(cuts) if lower != upper]
    return IntervalTree.from_level_edges([sorted(level) for level in distinct]), order
