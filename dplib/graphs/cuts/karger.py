"""Cuts by many independent random contractions, and how many are needed for a stated failure probability.

A cut of at most ``a`` times the minimum cut value survives the contraction from ``i`` to ``i - 1`` vertices with
probability at least ``1 - 2 a / i``, because the graph then weighs at least ``i / 2`` minimum cuts. Contract to
``r = max(2, ceil(2 a))`` vertices and look at all ``2^(r - 1) - 1`` cuts of these: the cut is found with probability at
least ``p = prod_{i = r + 1}^{n} (1 - 2 a / i)``. A trial shows at most ``2^(r - 1) - 1`` cuts, so there are at most
``N = (2^(r - 1) - 1) / p`` such cuts, and after ``t`` trials one is missing with probability at most ``N (1 - p)^t``.

Trials are numbered; any partition of the numbers into tasks gives the same union of cuts
(`dplib.graphs.cuts.cut_list`).
`dplib.graphs.cuts.near_minimum` finds the same cuts without failure probability and much faster beyond a hundred
vertices.

Cost: 15,000 to 40,000 trials a second for 100 vertices and 1,000 edges.

References: Karger, "Global min-cuts in RNC, and other ramifications of a simple min-cut algorithm", SODA 1993; Karger,
Stein, "A new approach to the minimum cut problem", J. ACM 43 (1996), section 8 (cuts near the minimum).
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, log, log1p

import numpy as np

from dplib.arrays import FloatArray, IntArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.cuts.contraction import alias_table, contract, stream_of
from dplib.graphs.cuts.cut_list import MAX_CUTS, CutList, enter, sorted_cuts, with_room
from dplib.graphs.edges import Graph, components, number_classes
from dplib.validate import at_least, between, require

MAX_CLASSES = 12  # 2,047 cuts a trial
MAX_TRIALS = 10_000_000
# Alias tables and clocks round probabilities by some 2^-50 a step; this is far more.
ROUNDING = 1e-9


@dataclass(frozen=True)
class TrialPlan:
    """How many trials find all cuts of at most ``ratio`` times the minimum cut value.

    Attributes:
        ratio: at least 1.
        n_left: vertices left at the end of a trial.
        success: a given such cut is found by one trial with at least this probability.
        n_trials: trials needed.
    """

    ratio: Fraction
    n_left: int
    success: float
    n_trials: int


def plan_trials(n_vertices: int, ratio: Fraction | int, failure: float) -> TrialPlan:
    """Return how many trials find every cut of at most ``ratio`` times the minimum cut value.

    Args:
        n_vertices: at least 2.
        ratio: from 1 to 6; exact, for a bound the bound over the minimum cut value.
        failure: the allowed probability that a cut is missing, strictly between 0 and 1.

    Raises:
        ConfigError: a number is out of range.
    """
    at_least("n_vertices", n_vertices, 2)
    between("failure", failure, 0, 1)
    exact = Fraction(ratio)
    require(1 <= exact <= MAX_CLASSES // 2, "ratio", f"lie from 1 to {MAX_CLASSES // 2}", exact)
    n_left = _n_left(n_vertices, exact)
    success = exp(_log_survival(n_vertices, n_left, exact)) * (1 - ROUNDING) if n_vertices > n_left else 1.0
    return planned(n_vertices, exact, n_left, success, failure)


def planned(n_vertices: int, ratio: Fraction, n_left: int, success: float, failure: float) -> TrialPlan:
    """Return the plan with the fewest trials after which a cut is missing with at most ``failure``."""
    few = _n_left(n_vertices, ratio)
    log_cuts = log(2 ** (few - 1) - 1) - _log_survival(n_vertices, few, ratio)
    n_trials = 1 if success == 1 else ceil((log_cuts - log(failure)) / -log1p(-success))
    return TrialPlan(ratio, n_left, success, n_trials)


def _n_left(n_vertices: int, ratio: Fraction) -> int:
    return min(max(2, ceil(2 * ratio)), n_vertices)


def _log_survival(n_vertices: int, n_left: int, ratio: Fraction) -> float:
    return sum(log1p(-float(2 * ratio) / size) for size in range(n_left + 1, n_vertices + 1))


def split_trials(n_trials: int, n_tasks: int) -> list[tuple[int, int]]:
    """Return the first trial and the number of trials of each task, as even as can be; no task is empty."""
    at_least("n_tasks", n_tasks, 1)
    ends = [n_trials * task // n_tasks for task in range(n_tasks + 1)]
    return [(first, end - first) for first, end in pairwise(ends) if end > first]


def contraction_cuts(
    graph: Graph, bound: int, n_left: int, seed: int, first_trial: int, n_trials: int, limit: int = MAX_CUTS
) -> CutList:
    """Run a range of trials and return the different cuts found.

    Args:
        graph: connected, at least two vertices.
        bound: list cuts of at most this value.
        n_left: vertices left at the end of a trial, from 2 to 12; all cuts between them are looked at.
        seed: from 0 to 2^64 - 1; with a trial's number, all that the trial depends on.
        first_trial: number of the first trial, at least 0.
        n_trials: how many, at least 0.
        limit: stop once there are more cuts than this, which then is one more; at least 1.

    Raises:
        ConfigError: the graph is not connected or has one vertex, or a number is out of range.
    """
    require(2 <= n_left <= MAX_CLASSES, "n_left", f"lie from 2 to {MAX_CLASSES}", n_left)
    require_trials(graph, seed, first_trial, n_trials, limit)
    table = alias_table(graph.weight)
    edges, left = (graph.source, graph.target, graph.weight), min(n_left, graph.n_vertices)
    found = _trials(graph.n_vertices, *edges, *table, bound, left, np.uint64(seed), first_trial, n_trials, limit)
    return sorted_cuts(np.arange(graph.n_vertices), *found)


def require_trials(graph: Graph, seed: int, first: int, count: int, limit: int) -> None:
    """Refuse what no trials can run on, and numbers out of range."""
    require(graph.n_vertices > 1, "graph", "have at least two vertices", graph.n_vertices)
    require(components(graph)[0] == 1, "graph", "be connected", "separate parts")
    require(0 <= seed < 2**64, "seed", "lie from 0 to 2^64 - 1", "another number")
    at_least("first", first, 0)
    at_least("count", count, 0)
    at_least("limit", limit, 1)


@compiled
def _trials(
    n: int,
    source: IntArray,
    target: IntArray,
    weight: IntArray,
    share: FloatArray,
    alias: IntArray,
    bound: int,
    n_left: int,
    seed: np.uint64,
    first_trial: int,
    n_trials: int,
    limit: int,
) -> tuple[WordArray, IntArray]:
    packed, values, table, n_cuts = no_cuts(n)
    leader = np.empty(n, dtype=np.int64)
    for trial in range(first_trial, first_trial + n_trials):
        contract(source, target, weight, share, alias, n_left, stream_of(seed, trial), leader)
        _, label = number_classes(leader)
        between = _weights_between(label, source, target, weight, n_left)
        packed, values, table, n_cuts = entered(between, label, bound, limit, packed, values, table, n_cuts)
        if n_cuts > limit:
            break
    return packed[:n_cuts].copy(), values[:n_cuts].copy()


@compiled
def no_cuts(n: int) -> tuple[WordArray, IntArray, IntArray, int]:
    """A list without cuts of ``n`` vertices, for `entered`: sides, values, table of rows, number of cuts."""
    packed, values = np.zeros((16, (n + 63) // 64), dtype=np.uint64), np.zeros(16, dtype=np.int64)
    return packed, values, np.full(64, -1, dtype=np.int64), 0


@compiled
def entered(
    between: IntArray,
    label: IntArray,
    bound: int,
    limit: int,
    packed: WordArray,
    values: IntArray,
    table: IntArray,
    n_cuts: int,
) -> tuple[WordArray, IntArray, IntArray, int]:
    """A list with all cuts of a few classes entered that weigh at most the bound; one more than the limit at most.

    Args:
        between: weights between classes, each pair once, shape (n_classes, n_classes).
        label: the class of each vertex; 0 for vertex 0.
        bound: of the values.
        limit: of the list.
        packed: from `no_cuts`, as ``values``, ``table`` and ``n_cuts``.
        values: of the cuts so far.
        table: of their rows.
        n_cuts: how many there are.
    """
    for chosen in range(1, 1 << (len(between) - 1)):
        value = _value_of(chosen, between)
        if value > bound:
            continue
        packed, values, table = with_room(packed, values, table, n_cuts)
        row = packed[n_cuts]
        row[:] = 0
        for vertex in range(len(label)):
            if (2 * chosen) >> label[vertex] & 1:
                row[vertex >> 6] |= np.uint64(1) << np.uint64(vertex & 63)
        values[n_cuts] = value
        n_cuts += enter(packed, n_cuts, table)
        if n_cuts > limit:
            break
    return packed, values, table, n_cuts


@compiled
def _weights_between(label: IntArray, source: IntArray, target: IntArray, weight: IntArray, n_left: int) -> IntArray:
    between = np.zeros((n_left, n_left), dtype=np.int64)
    for edge in range(len(source)):
        between[label[source[edge]], label[target[edge]]] += weight[edge]
    return between


@compiled
def _value_of(chosen: int, between: IntArray) -> int:
    """The weight between the classes ``1 + bit`` of ``chosen`` and the others."""
    side = 2 * chosen
    value = 0
    for one in range(len(between)):
        for other in range(len(between)):
            if ((side >> one) ^ (side >> other)) & 1:
                value += between[one, other]
    return value
