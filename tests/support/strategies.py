"""Hypothesis strategies shared by the tests: trees, day constraints and consistency problems of any shape."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from dplib.consistency.problem import ConsistencyProblem
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Package
from dplib.trees.interval_tree import IntervalTree
from tests.support.tree_oracles import random_tree

PAPER_ITEMS = ("cola", "burger", "wings", "fries", "nuggets")
PAPER_PACKAGES = np.array([[2, 1, 1, 0, 1], [0, 2, 2, 1, 0], [1, 1, 0, 1, 1]])
PAPER_B = np.array([[1, -5, 3, 4, 0], [-1, -1, 1, 0, 2]])


def named_packages(
    matrix: npt.ArrayLike, items: Sequence[str], first: int = 0, end: int | None = None
) -> list[Package]:
    """Packages ``p0, p1, ...`` with the rows of a matrix as contents."""
    rows = np.asarray(matrix).tolist()
    contents = [{item: count for item, count in zip(items, row, strict=True) if count} for row in rows]
    return [Package(f"p{number}", held, first, end) for number, held in enumerate(contents)]


def paper_day_constraints(n_days: int) -> tuple[DayConstraints, ...]:
    """The constraints of the paper's restaurant."""
    packages = named_packages(PAPER_PACKAGES, PAPER_ITEMS)
    return resolve(PAPER_ITEMS, n_days, packages, rows_are_packages=True).day_constraints


def regular_tree(branching: int, n_levels: int) -> IntervalTree:
    """A complete tree."""
    n_days = branching ** (n_levels - 1)
    return IntervalTree.from_level_edges([np.arange(0, n_days + 1, n_days // branching**k) for k in range(n_levels)])


def paper_problem(n_days: int, seed: int = 0, scale: float = 55.0) -> ConsistencyProblem:
    """The paper's example on a binary tree with equal variances."""
    tree = regular_tree(2, int(np.log2(n_days)) + 1)
    rng = np.random.default_rng(seed)
    sold = rng.poisson(20, (n_days, 3)) @ PAPER_PACKAGES
    noisy = tree.sums(sold) + rng.laplace(scale=scale, size=(tree.n_nodes, 5))
    return ConsistencyProblem(tree, noisy, np.broadcast_to(2 * scale**2, noisy.shape), paper_day_constraints(n_days))


def random_day_constraints(
    rng: np.random.Generator, n_days: int, n_series: int, rhs: bool = False
) -> tuple[DayConstraints, ...]:
    """One to four consecutive day constraints with random integer constraints that leave a free direction."""
    n_day_constraints = min(n_days, int(rng.integers(1, 5)))
    cuts = (
        sorted(rng.choice(np.arange(1, n_days), n_day_constraints - 1, replace=False).tolist())
        if n_day_constraints > 1
        else []
    )
    day_constraints = []
    for first, end in zip([0, *cuts], [*cuts, n_days], strict=True):
        n_rows = int(rng.integers(0, n_series))
        matrix = rng.integers(-3, 4, (n_rows, n_series)).astype(float)
        while np.linalg.matrix_rank(matrix) < n_rows:
            matrix = rng.integers(-3, 4, (n_rows, n_series)).astype(float)
        day_constraints.append(DayConstraints(first, end, matrix, rng.integers(-5, 6, n_rows) * float(rhs)))
    return tuple(day_constraints)


def random_problem(
    rng: np.random.Generator, most_days: int = 12, most_series: int = 4, unmeasured: float = 0.0, rhs: bool = False
) -> ConsistencyProblem:
    """A problem with a random tree, random day constraints and variances that spread over two orders of magnitude."""
    n_days, n_series = int(rng.integers(1, most_days + 1)), int(rng.integers(1, most_series + 1))
    tree = random_tree(rng, n_days)
    variance = np.exp(rng.normal(0, 1.2, (tree.n_nodes, n_series)))
    variance[rng.random(variance.shape) < unmeasured] = np.inf
    noisy = rng.normal(0, 10, variance.shape)
    return ConsistencyProblem(tree, noisy, variance, random_day_constraints(rng, n_days, n_series, rhs))


def problems(unmeasured: float = 0.0, rhs: bool = True) -> st.SearchStrategy[ConsistencyProblem]:
    """Small consistency problems."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: random_problem(np.random.default_rng(seed), unmeasured=unmeasured, rhs=rhs))
