"""All cuts up to a bound by a named method, or by the one that suits the graph.

| method | what it does | fails | for |
|---|---|---|---|
| ``auto`` | ``trees``, with what that falls back to | never | everything |
| ``trees`` | kernel, tree packing, 2-respecting cuts | never: it says where it is not certified | all sizes |
| ``exhaustive`` | all ``2^(n - 1) - 1`` cuts | never | at most 24 vertices |
| ``karger`` | independent contractions | with stated probability | at most about 100 vertices |
| ``karger-stein`` | recursive contractions | with stated probability | at most about 1,000 vertices |

The random methods need a connected graph with two vertices at least; for others, where nothing is left to chance, they
give the certified answer. Their trials can be shared out to tasks (`dplib.graphs.cuts.karger.split_trials`):
`listed_by` runs them in one place.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from dplib.graphs.cuts.cut_list import MOST_CUTS, CutList, limit_of
from dplib.graphs.cuts.exhaustive import listed_cuts
from dplib.graphs.cuts.karger import TrialPlan, contraction_cuts, plan_trials
from dplib.graphs.cuts.karger_stein import karger_stein_cuts, plan_runs
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import Graph, components
from dplib.validate import at_least, between, one_of

Method = Literal["auto", "trees", "exhaustive", "karger", "karger-stein"]

MOST_TRIALS = 10_000_000


@dataclass(frozen=True, eq=False)
class ListedCuts:
    """The cuts of value up to a bound, and how sure it is that none is missing.

    Attributes:
        cuts: different cuts of at most the bound.
        method: the method that found them.
        complete: whether all are listed: certainly for a ``failure`` of 0, else up to that probability.
        failure: bound on the probability that a cut is missing from a complete list.
        n_trials: random trials that were run; 0 for a deterministic method.
    """

    cuts: CutList
    method: Method
    complete: bool
    failure: float
    n_trials: int


def listed_by(
    graph: Graph,
    bound: int,
    method: Method = "auto",
    limit: int = MOST_CUTS,
    failure: float = 1e-9,
    seed: int = 0,
    most_trials: int = MOST_TRIALS,
) -> ListedCuts:
    """Return all cuts of value up to a bound.

    Args:
        graph: any.
        bound: at least 0; for ``karger`` at most 6 times the minimum cut value, for ``karger-stein`` 4 times.
        method: see the module.
        limit: the most cuts to list.
        failure: for random methods, the allowed probability that a cut is missing.
        seed: for random methods, from 0 to 2^64 - 1.
        most_trials: for random methods; where more are needed these are run and ``failure`` of the result says what
            they are worth.

    Raises:
        ConfigError: a setting is unknown or out of range, or the method cannot take a graph of this size.
    """
    one_of("method", method, get_args(Method))
    at_least("bound", bound, 0)
    at_least("limit", limit, 1)
    at_least("most_trials", most_trials, 1)
    between("failure", failure, 0, 1)
    if method == "exhaustive" and graph.n_vertices > 0:
        cuts = listed_cuts(graph, bound)
        return ListedCuts(_first(cuts, limit), method, len(cuts) <= limit, 0.0, 0)
    if method in ("karger", "karger-stein") and graph.n_vertices > 1 and components(graph)[0] == 1:
        return _by_chance(graph, bound, method, limit, failure, seed, most_trials)
    found = near_minimum_cuts(graph, bound, limit)
    return ListedCuts(found.cuts, "trees", found.complete, 0.0, 0)


def _by_chance(
    graph: Graph, bound: int, method: Method, limit: int, failure: float, seed: int, most_trials: int
) -> ListedCuts:
    least, limit = minimum_cut(graph).value, limit_of(graph.n_vertices, limit)
    if bound < least:
        none = np.zeros((0, -(-graph.n_vertices // 64)), dtype=np.uint64)
        return ListedCuts(CutList(np.arange(graph.n_vertices), none, np.zeros(0, np.int64)), method, True, 0.0, 0)
    ratio = Fraction(bound, least)
    plan: TrialPlan
    if method == "karger":
        plan = plan_trials(graph.n_vertices, ratio, failure)
        n_trials = min(plan.n_trials, most_trials)
        cuts = contraction_cuts(graph, bound, plan.n_left, seed, 0, n_trials, limit)
    else:
        plan = plan_runs(graph.n_vertices, ratio, failure)
        n_trials = min(plan.n_trials, most_trials)
        cuts = karger_stein_cuts(graph, bound, ratio, seed, 0, n_trials, limit)
    return ListedCuts(_first(cuts, limit), method, len(cuts) <= limit, plan.failure_after(n_trials), n_trials)


def _first(cuts: CutList, limit: int) -> CutList:
    return CutList(cuts.label, cuts.packed[:limit], cuts.values[:limit])
