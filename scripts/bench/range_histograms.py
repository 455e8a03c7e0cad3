"""Times of the range-count kernels, one line each; `scripts.accept.range_histograms` holds them against their targets.

    python scripts/bench/range_histograms.py [--levels 20]

Each time is the processor time of one core, the best of several runs after compilation. Published times for comparison
(n = 4096, the benchmark suite of Hay et al. 2016): HB 17 us a bin, H2 41 us a bin.
"""

import argparse
import os
import time
from collections.abc import Callable
from fractions import Fraction

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.trees.complete import kary_tree, mixed_radix_tree
from dplib.trees.strategies import blue, lue_dptree
from dplib.trees.structure_search import best_design
from tests.support.range_pipelines import estimate_range_counts

MECHANISM = NodeMechanism(bytes(32), "bench", "laplace", Fraction(1))
RUNS, SECONDS = 5, 2.0  # short runs are repeated longer: neighbours on the machine disturb them more


def best_time(run: Callable[[], object]) -> float:
    run()
    times: list[float] = []
    end = time.monotonic() + SECONDS
    while len(times) < RUNS or time.monotonic() < end:
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def least_squares_time(n_bins: int, radices: tuple[int, ...]) -> float:
    """Nanoseconds a bin of least squares on a mixed-radix tree."""
    rng = np.random.default_rng(0)
    tree = mixed_radix_tree(n_bins, radices)
    noisy, variance = rng.normal(size=(tree.n_nodes, 1)), rng.uniform(1, 9, (tree.n_nodes, 1))
    tree.child_count, tree.child_start  # noqa: B018  cached: part of the tree, not of the estimate
    return best_time(lambda: tree_blue_deep(tree, noisy, variance)) / n_bins * 1e9


def whole_time(n_bins: int, cached: bool = False) -> float:
    """Nanoseconds a bin of the whole default method: search, tree, budgets, exact noise, least squares.

    Args:
        n_bins: number of bins.
        cached: with a strategy that is there already, as for every histogram of a job but the first.
    """
    counts, strategy = _counts(n_bins), blue(n_bins)

    def run() -> object:
        if cached:
            return estimate_range_counts(strategy, counts, MECHANISM)
        best_design.cache_clear()
        return estimate_range_counts(blue(n_bins), counts, MECHANISM)

    return best_time(run) / n_bins * 1e9


def whole_lue_time(n_bins: int) -> float:
    """Nanoseconds a bin of LUE-DPTree with 16 children a node, whole."""
    counts = _counts(n_bins)
    run = lambda: estimate_range_counts(lue_dptree(kary_tree(n_bins, 16)), counts, MECHANISM)  # noqa: E731
    return best_time(run) / n_bins * 1e9


def _counts(n_bins: int) -> np.ndarray:
    return np.random.default_rng(0).poisson(20, n_bins)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", type=int, default=20, help="log2 of the number of bins")
    levels = parser.parse_args().levels
    n_bins = 1 << levels
    print(f"least squares on the binary tree: {least_squares_time(n_bins, (2,) * levels):.4g} ns a bin", flush=True)
    default = least_squares_time(n_bins, best_design(n_bins).radices)
    print(f"least squares on the default tree: {default:.4g} ns a bin", flush=True)
    print(f"whole default method, search included: {whole_time(n_bins):.4g} ns a bin", flush=True)
    print(f"whole LUE-DPTree, k=16: {whole_lue_time(n_bins):.4g} ns a bin")


if __name__ == "__main__":
    main()
