"""dplib's kernels at the peers' work, in a process of its own: ``python -m scripts.peers.own PART FILE [WORK]``."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.clustering.choose import Plan, plan_method, run_plan
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.consistency.choose import solve
from dplib.consistency.problem import ConsistencyProblem
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import canonical
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.triangles import count_triangles
from dplib.privacy.budget import PureDP
from dplib.projection.simplex import project_simplex
from scripts.peers.inputs import EPSILON, N_CLUSTERS, tree_and_constraints
from tests.support.clustering import keyed, loss


def graphs(arrays: Mapping[str, Any], work: str) -> None:
    """A minimum cut or all triangles."""
    n, source, target, weight = (arrays[name] for name in ("n", "source", "target", "weight"))
    graph = canonical(int(n), source, target, weight)
    simple = SimpleGraph(int(n), graph.source, graph.target)
    count = {"cut": lambda: int(minimum_cut(graph).value), "triangles": lambda: count_triangles(simple)}[work]
    for query in ("first", "second"):
        value, taken = timed(count)
        show({query: taken, "value": value})


def clusters(arrays: Mapping[str, Any], _: str) -> None:
    """Centers under pure differential privacy, with five noise keys."""
    points = arrays["points"]
    problem = Problem(Space.ball([0.0] * points.shape[1], 1.0), N_CLUSTERS)
    plan = plan_method(problem, PureDP(Fraction(EPSILON)), "auto")
    for key in range(5):
        # Rounding to steps is part of the work: it stands in for reading.
        found, taken = timed(partial(_clustering, points, problem, plan, key))
        show({"seconds": taken, "loss": loss(points, problem.space.to_data(found.centers))})


def _clustering(points: FloatArray, problem: Problem, plan: Plan, key: int) -> Clustering:
    return run_plan(Blocks(problem.space.to_units(points)), keyed(key), problem, plan)


def projections(arrays: Mapping[str, Any], _: str) -> None:
    """The nearest values with given sums, or least squares on a tree with a sum every day."""
    values, weights = arrays["values"], arrays.get("weights", np.ones(1))
    find = partial(_simplices if str(arrays["kind"]) == "simplex" else _least_squares, arrays)
    tree_and_constraints()
    for query in ("first", "second"):
        found, taken = timed(find)
        show({query: taken, "distance": float((weights * (found.ravel() - values.ravel()) ** 2).sum())})


def _simplices(arrays: Mapping[str, Any]) -> FloatArray:
    groups, size = arrays["values"].shape
    offsets = np.arange(0, groups * size, size)
    return project_simplex(arrays["values"].reshape(-1, 1), offsets, arrays["totals"].reshape(-1, 1))


def _least_squares(arrays: Mapping[str, Any]) -> FloatArray:
    tree, daily = tree_and_constraints()
    shape = (tree.n_nodes, daily.n_series)
    variance = 1 / arrays["weights"].reshape(shape)
    return solve(ConsistencyProblem(tree, arrays["values"].reshape(shape), variance, (daily,))).values


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns and its processor time."""
    started = time.process_time()
    return work(), time.process_time() - started


def show(numbers: Mapping[str, float]) -> None:
    """A line of JSON."""
    print(json.dumps(numbers), flush=True)


def main() -> None:
    """Do one part's work."""
    part, path, *work = sys.argv[1:]
    with np.load(Path(path)) as arrays:
        {"graphs": graphs, "clusters": clusters, "projections": projections}[part](dict(arrays), *work or [""])


if __name__ == "__main__":
    main()
