"""What all libraries get: rows, graphs, points and problems of projection, in files."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Total
from dplib.trees.interval_tree import IntervalTree
from scripts.bench.counted_rows import write_rows
from scripts.peers.environments import FOLDER
from tests.support.clustering import mixture
from tests.support.cut_graphs import ring_with_chords
from tests.support.strategies import regular_tree

N_ROWS = 1_000_000
N_CLUSTERS, EPSILON = 8, "1"
SIZES = ((1_000, 10_000), (10_000, 50_000), (100_000, 500_000))
GRAPHS = {f"{n:,} / {m:,}": (n, m) for n, m in SIZES}
DIMENSIONS = (2, 10)
INPUTS = FOLDER / "inputs"


@cache
def tree_and_constraints() -> tuple[IntervalTree, DayConstraints]:
    """A binary tree over 256 days, 40 items with their measured total."""
    items = [f"i{number}" for number in range(40)]
    tree = regular_tree(2, 9)
    return tree, resolve(items, tree.n_leaves, totals=[Total("all", tuple(items), True)]).day_constraints[0]


def make_inputs() -> None:
    """Write what is not there yet."""
    INPUTS.mkdir(parents=True, exist_ok=True)
    rows = INPUTS / "rows.csv"
    if not rows.exists():
        write_rows(rows.with_suffix(".part"), N_ROWS)
        rows.with_suffix(".part").replace(rows)
    for name, (n, m) in GRAPHS.items():
        graph = ring_with_chords(n, m, 10)
        np.savez(graph_file(name), n=n, source=graph.source, target=graph.target, weight=graph.weight)
    for dimension in DIMENSIONS:
        np.savez(points_file(dimension), points=mixture(100_000, dimension, N_CLUSTERS, 11))
    rng = np.random.default_rng(0)
    totals = rng.uniform(50, 150, 1_000)
    np.savez(INPUTS / "simplex.npz", kind="simplex", values=rng.normal(2, 5, (1_000, 50)), totals=totals)
    np.savez(INPUTS / "least squares.npz", **_least_squares(rng))


def graph_file(name: str) -> Path:
    """Of a graph by its name."""
    return INPUTS / f"graph-{'-'.join(name.replace(',', '').split(' / '))}.npz"


def points_file(dimension: int) -> Path:
    """Of points by their dimension."""
    return INPUTS / f"points-{dimension}.npz"


def _least_squares(rng: np.random.Generator) -> dict[str, Any]:
    """Counts of a tree's nodes, noise added, and the equations: children sum to their parents, items to their total."""
    tree, daily = tree_and_constraints()
    shape = (tree.n_nodes, daily.n_series)
    cell = np.arange(shape[0] * shape[1]).reshape(shape)
    child = np.arange(1, tree.n_nodes)
    inner = np.unique(tree.parent[1:])
    at = np.searchsorted(inner, tree.parent[1:])
    equation = np.arange(len(inner) * shape[1]).reshape(len(inner), -1)
    matrix = daily.matrix.tocoo()
    days = tree.leaf_nodes
    n_sums = equation.size
    rows = [equation.ravel(), equation[at].ravel(), (n_sums + np.arange(len(days))[:, None] * daily.n_constraints
            + matrix.row).ravel()]  # fmt: skip
    columns = [cell[inner].ravel(), cell[child].ravel(), cell[days][:, matrix.col].ravel()]
    data = [np.ones(n_sums), -np.ones(len(child) * shape[1]), np.tile(matrix.data, len(days))]
    return {
        "kind": "least squares",
        "values": rng.normal(20, 10, shape).ravel(),
        "weights": np.full(shape[0] * shape[1], 0.5),
        "rows": np.concatenate(rows),
        "columns": np.concatenate(columns),
        "data": np.concatenate(data),
    }
