"""Acceptance of range-count histograms on interval trees."""

import csv
import os
import statistics
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from dplib.estimates.haar import haar_mean_error
from dplib.estimates.range_estimates import mean_range_variance
from dplib.estimates.range_variance import RangeVariance
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.mechanisms.partition import PartitionNoise
from dplib.trees.complete import kary_tree
from dplib.trees.strategies import (
    blue,
    boost,
    boost_un,
    dwork,
    lue_dptree,
    regular,
    struct_construct_strategy,
)
from dplib.trees.structure_search import best_design
from scripts.accept.claims import Check, Result, at_least, at_most, load, unless_busy
from scripts.accept.runs import as_it_stands, needs_shared, run_command, script, shared, verifies
from scripts.bench.range_histograms import least_squares_time, whole_time
from scripts.experiments.range_histogram_figures import all_ranges_error
from tests.support.range_pipelines import adaptive_histogram

HB_NS, H2_NS = 16_866.0, 41_289.0
"""Published times of the benchmark suite's HB and H2 at 4,096 bins, ns a bin (quoted, not run)."""


def mean_errors() -> Iterator[Result]:
    """Mean error over all ranges of the default method, of the tree that would be released."""
    for n_bins, most in ((256, 79), (1024, 155), (4096, 261), (16_384, 414)):
        error = best_design(n_bins).mean_error
        yield at_most(f"mean error over all ranges, n = {n_bins:,}, epsilon 1", error, most)
        strategy = blue(n_bins)
        released = RangeVariance(strategy.tree, strategy.unit_variances).mean()
        yield at_most(f"the same with exact shares, over the design's, n = {n_bins:,}", released / error - 1, 1e-6)
    error = best_design(4096, "gaussian", 2).mean_error
    yield at_most("mean error over all ranges, n = 4,096, rho 0.5, k = 2", error, 26.0)


def stability() -> Iterator[Result]:
    """Least squares at 2^20 bins with budgets that differ by 1e3: optimal and consistent."""
    tree, generator = kary_tree(1 << 20, 2), np.random.default_rng(0)
    weights = 10.0 ** generator.uniform(0, 3, tree.n_nodes)
    noisy = generator.integers(0, 20_000_000, tree.n_nodes).astype(np.float64)
    values = tree_blue_deep(tree, noisy[:, None], (1 / weights)[:, None])[:, 0]
    sums = np.zeros(tree.n_nodes)
    np.add.at(sums, tree.parent[1:], values[1:])
    inner = tree.child_count > 0
    gap = float(np.abs(values - sums)[inner].max() / np.abs(values).max())
    yield at_most("n = 2^20, budgets that differ by 1e3: parents are sums (relative)", gap, 1e-9)
    # The gradient of the weighted squares by each bin: the weighted residuals on its path sum to 0 at the optimum.
    residual, size = weights * (values - noisy), weights * np.abs(noisy)
    for node_values in (residual, size):
        for level in range(1, tree.n_levels):
            here = tree.level_slice(level)
            node_values[here] += node_values[tree.parent[here]]
    leaves = tree.leaf_nodes
    yield at_most(
        "the same: normal equations hold (relative)", float(np.abs(residual[leaves] / size[leaves]).max()), 1e-9
    )


def figures() -> Iterator[Result]:
    """Figures 3.10 to 3.19 from the script, and what they must show."""
    with tempfile.TemporaryDirectory() as name:
        known = ("--histograms", str(shared("histograms"))) if os.environ.get("DPLIB_SHARED") else ()
        script("scripts.experiments.range_histogram_figures", name, *known)
        found = sorted(path.stem for path in Path(name).glob("figure*.png"))
        wanted = [f"figure_3_{number}" for number in (10, 11, 12, 16, 17, 18, 19)]
        claim = "figures 3.10 to 3.12 and 3.16 to 3.19 (all that show errors) are drawn"
        yield Result(claim, "7 figures", f"{len(found)} figures", found == wanted)
        yield from figure_3_10(Path(name) / "figure_3_10.csv")
        yield from runs_meet_errors(Path(name))
        if known:
            yield at_least("the shared histograms are drawn too", len(list(Path(name).glob("histogram_*.png"))), 1)


def figure_3_10(path: Path) -> Iterator[Result]:
    with path.open(encoding="utf-8") as file:
        rows = {float(row["n"]): row for row in csv.DictReader(file)}
    for n_bins, sc, binary in ((2010, 810.1, 2587.5), (48_130, 2221.8, 7883.2)):
        for name, value in (("SC", sc), ("regular 2-range tree", binary)):
            gap = abs(float(rows[n_bins][name]) / value - 1)
            yield at_most(f"figure 3.10, n = {n_bins:,}, {name}: distance to the known value (relative)", gap, 1e-4)


def runs_meet_errors(folder: Path) -> Iterator[Result]:
    for figure, n_bins in (("figure_3_16", 32_768), ("figure_3_17", 65_536)):
        with (folder / f"{figure}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for name in ("LUE-DPTree", "blue (default)"):
            met = next(column for column in rows[0] if column.startswith(f"{name}, "))
            ratio = float(np.mean([float(row[met]) / float(row[name]) for row in rows]))
            claim = f"generated histogram of {n_bins:,} bins, {met} at 3 epsilons: met over exact error"
            yield Result(claim, "0.85 to 1.15", f"{ratio:.3f}", 0.85 <= ratio <= 1.15)


def orders() -> Iterator[Result]:
    """The order of the methods that the thesis reports, from exact errors."""
    for n_bins in (32_768, 65_536):
        tree = kary_tree(n_bins, 2)
        named = {
            "blue": mean_range_variance(blue(n_bins)),
            "LUE-DPTree": mean_range_variance(lue_dptree(tree, digits=40)),
            "Boost-UN": mean_range_variance(boost_un(n_bins)),
            "Privelet": haar_mean_error(n_bins),
            "Boost": mean_range_variance(boost(n_bins)),
            "SC": mean_range_variance(struct_construct_strategy(n_bins)),
            "regular": mean_range_variance(regular(n_bins)),
            "Dwork": mean_range_variance(dwork(n_bins)),
        }
        ordered = list(named.values()) == sorted(named.values())
        shown = " < ".join(f"{name} {value:.0f}" for name, value in named.items())
        yield Result(f"order of the methods, n = {n_bins:,}", "each below the next", shown, ordered)


@needs_shared
def sparse_data() -> Iterator[Result]:
    """The data-adaptive method against the tree where the data are sparse."""
    counts = np.load(shared("histograms", "MEDCOST.n4096.npy")).astype(np.int64)
    strategy, epsilon = blue(4096), Fraction(1, 10)
    noise = NodeMechanism(bytes(32), "t", "laplace", epsilon).variances(strategy.shares)
    tree = mean_range_variance(strategy, variances=noise)
    errors = []
    for number in range(10):
        key = np.random.default_rng(number).bytes(32)

        def measure(budget: Fraction, key: bytes = key) -> NodeMechanism:
            return NodeMechanism(key, "buckets", "laplace", budget)

        found = adaptive_histogram(counts, epsilon, PartitionNoise(key, "choice"), measure)
        errors.append(all_ranges_error(found, counts))
    claim = "MEDCOST, epsilon 0.1: error of the adaptive method over the tree's, all ranges, 10 keys"
    yield at_most(claim, float(np.mean(errors)) / tree, 0.5)


def speed() -> Iterator[Result]:
    """Times on one core."""
    n_bins = 1 << 20
    times = sorted(least_squares_time(n_bins, (2,) * 20) for _ in range(5))
    yield at_most(f"least squares, n = 2^20, binary tree, a bin, median of 5 ({load()})", times[2], 40, " ns")
    whole = sorted(whole_time(n_bins) for _ in range(5))[2]
    yield at_most(f"whole default method, n = 2^20, a bin, median of 5 ({load()})", whole, 400, " ns")
    yield at_least("the same, times below the published HB (16.9 us a bin at n = 4,096)", HB_NS / whole, 40)
    small = sorted(whole_time(4096, cached=True) for _ in range(5))[2]
    yield at_least("a histogram of 4,096 bins in a job, times below the published HB", HB_NS / small, 40)
    yield at_least("the same, times below the published H2 (41.3 us a bin)", H2_NS / small, 40)


def thousand_groups() -> Iterator[Result]:
    """1,000 groups x 4,096 bins through the whole job on Spark local[2]."""
    runs = [[*map(float, script("scripts.bench.thousand_groups").split()[-2:])] for _ in range(3)]
    claim = f"1,000 groups x 4,096 bins on Spark local[2], rows to release, median of 3 ({load()})"
    yield unless_busy(at_most(claim, statistics.median(seconds for seconds, _ in runs), 60, " s"))
    yield at_most("the same, peak memory with Spark's JVM", max(memory for _, memory in runs), 6, " GiB")


def job() -> Iterator[Result]:
    """The configuration that runs as it stands, and an answer."""
    with tempfile.TemporaryDirectory() as name:
        release = as_it_stands("air_times.yaml", "flights", Path(name))
        yield verifies(release)
        answer = run_command("query", str(release), "--group", "JFK", "--from", "60", "--to", "120")
        stated = answer.returncode == 0 and "JFK" in answer.stdout
        claim = "dplib query RELEASE --group JFK --from 60 --to 120"
        yield Result(claim, "an answer", f"exit {answer.returncode}", stated)


CHECKS: tuple[Check, ...] = (
    mean_errors, stability, figures, orders, sparse_data, speed, thousand_groups, job,
)  # fmt: skip
