"""Figures 3.10 to 3.19 of the thesis as tables (CSV) and pictures (PNG): expected errors of range counts.

    python scripts/experiments/range_histogram_figures.py OUTPUT_FOLDER [--quick] [--histograms FOLDER]

The noise does not depend on the data, so the errors of these methods depend on the number of bins alone and are exact
here, where the thesis averaged runs: 2,010 and 48,130 bins (its Amazon and AOL sizes), 32,768 and 65,536 bins (Search
Logs and Nettrace). Figures 3.16 and 3.17 also show what runs on a generated histogram of that size met. The figures
3.13 to 3.15 are examples of trees, not of errors; their numbers are in the tests. ``--quick`` divides the sizes by 16.

``--histograms`` names a folder of histograms (one-dimensional ``*.npy`` files of counts). What depends on the data is
measured on them: the default tree, its published integers and the adaptive method, root mean square errors of ranges.
"""

import argparse
import csv
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from dplib.estimates.haar import haar_mean_error, haar_range_variances
from dplib.estimates.range_estimates import mean_range_variance
from dplib.estimates.range_publication import publish_range_counts
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.mechanisms.partition import PartitionNoise
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import FixedLengthRanges
from dplib.trees.strategies import (
    TreeStrategy,
    blue,
    boost,
    boost_un,
    dwork,
    lue_dptree,
    regular,
    struct_construct_strategy,
)
from tests.support.range_pipelines import adaptive_histogram, estimate_range_counts

EPSILONS = (1.0, 0.1, 0.01)
N_RUNS = 20
Table = dict[str, list[float]]


def lengths(n_bins: int) -> list[int]:
    return [1 << i for i in range(n_bins.bit_length()) if 1 << i <= n_bins]


def by_length(strategy: TreeStrategy, at: Sequence[int]) -> list[float]:
    return [mean_range_variance(strategy, FixedLengthRanges(strategy.tree.n_leaves, length)) for length in at]


def haar_by_length(n_bins: int, at: Sequence[int]) -> list[float]:
    starts = {length: np.arange(n_bins - length + 1) for length in at}
    return [float(haar_range_variances(n_bins, s, s + length).mean()) for length, s in starts.items()]


def second_part(n_bins: int) -> dict[str, TreeStrategy]:
    binary = kary_tree(n_bins, 2)
    return {
        "LUE-DPTree": lue_dptree(binary, digits=40),
        "Boost-UN": boost_un(n_bins),
        "Boost": boost(n_bins),
        "LUE-DPTree k=16": lue_dptree(kary_tree(n_bins, 16), digits=40),
        "blue (default)": blue(n_bins),
    }


def figure_3_10(sizes: Mapping[str, int]) -> Table:
    table: Table = {"n": [float(n) for n in sizes.values()]}
    methods: dict[str, Callable[[int], TreeStrategy]] = {
        "SC": struct_construct_strategy,
        "regular 2-range tree": regular,
    }
    for name, build in methods.items():
        table[name] = [mean_range_variance(build(n)) for n in sizes.values()]
    return table


def figure_3_11(n_bins: int) -> Table:
    at = lengths(n_bins)
    methods = {"SC": struct_construct_strategy, "regular 2-range tree": regular, "Dwork": dwork}
    return {"length": [float(w) for w in at]} | {name: by_length(build(n_bins), at) for name, build in methods.items()}


def figure_3_16(n_bins: int) -> Table:
    errors = {name: mean_range_variance(strategy) for name, strategy in second_part(n_bins).items()}
    errors["Privelet"] = haar_mean_error(n_bins)
    scaled = {name: [error / epsilon**2 for epsilon in EPSILONS] for name, error in errors.items()}
    # As they would be released: shares of few digits, so that noise is drawn in few groups.
    released = {"LUE-DPTree": lue_dptree(kary_tree(n_bins, 2)), "blue (default)": blue(n_bins)}
    met = {
        f"{name}, {N_RUNS} runs": [met_error(strategy, epsilon) for epsilon in EPSILONS]
        for name, strategy in released.items()
    }
    return {"epsilon": list(EPSILONS)} | scaled | met


def met_error(strategy: TreeStrategy, epsilon: float) -> float:
    """Mean square error of all ranges that runs on a generated histogram met."""
    n_bins = strategy.tree.n_leaves
    counts = np.random.default_rng(1).zipf(1.6, n_bins).clip(max=100_000).astype(np.int64)
    errors = []
    for run in range(N_RUNS):
        mechanism = NodeMechanism(np.random.default_rng(run).bytes(32), "run", "laplace", Fraction(str(epsilon)))
        bins = estimate_range_counts(strategy, counts, mechanism)[strategy.tree.leaf_nodes]
        errors.append(all_ranges_error(bins, counts))
    return float(np.mean(errors))


def all_ranges_error(bins: np.ndarray, counts: np.ndarray) -> float:
    """Mean square error of all ranges: that of the differences of all pairs of cuts."""
    cuts = np.concatenate([[0.0], np.cumsum(bins - counts)])
    return float((len(cuts) * (cuts**2).sum() - cuts.sum() ** 2) / (len(cuts) * (len(cuts) - 1) / 2))


def figure_3_18(n_bins: int) -> Table:
    at = lengths(n_bins)
    table: Table = {"length": [float(w) for w in at]}
    table |= {name: by_length(strategy, at) for name, strategy in second_part(n_bins).items()}
    return table | {"Privelet": haar_by_length(n_bins, at)}


def on_histogram(counts: np.ndarray, n_runs: int) -> Table:
    """Root mean square error of 2,000 random ranges by epsilon, over some noise keys."""
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, len(counts) + 1, (2000, 2)), axis=1)
    ends[:, 1] = np.maximum(ends[:, 1], np.minimum(ends[:, 0] + 1, len(counts)))
    strategy = blue(len(counts))
    squares: dict[str, list[float]] = {"blue": [], "published integers": [], "adaptive": []}
    for epsilon in map(Fraction, ("1", "0.1", "0.01")):
        found: dict[str, list[float]] = {name: [] for name in squares}
        for _ in range(n_runs):
            key = rng.bytes(32)
            mechanism = NodeMechanism(key, "tree", "laplace", epsilon)
            nodes = estimate_range_counts(strategy, counts, mechanism)
            integers = publish_range_counts(strategy.tree, nodes, mechanism.variances(strategy.shares))
            adaptive = adaptive_histogram(
                counts, epsilon, PartitionNoise(key, "x"), partial(NodeMechanism, key, "buckets", "laplace")
            )
            leaves = strategy.tree.leaf_nodes
            values = {"blue": nodes[leaves], "published integers": integers[leaves], "adaptive": adaptive}
            for name, bins in values.items():
                gaps = np.concatenate([[0.0], np.cumsum(bins - counts)])
                found[name].append(float(np.mean((gaps[ends[:, 1]] - gaps[ends[:, 0]]) ** 2)))
        for name, errors in found.items():
            squares[name].append(float(np.sqrt(np.mean(errors))))
    return {"epsilon": list(EPSILONS)} | squares


def write(folder: Path, name: str, title: str, table: Table) -> None:
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([f"{value:.6g}" for value in row] for row in zip(*table.values(), strict=True))
    figure, axes = plt.subplots(figsize=(7, 4.5))
    horizontal, *curves = table
    for curve in curves:
        axes.plot(table[horizontal], table[curve], marker="o", markersize=3, label=curve)
    axes.set(xscale="log", yscale="log", xlabel=horizontal, ylabel="mean variance", title=title)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.png", dpi=120)
    plt.close(figure)
    print(f"{name}: {title}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--histograms", type=Path)
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    part = 16 if arguments.quick else 1
    amazon, aol, search, trace = (n // part for n in (2010, 48_130, 32_768, 65_536))
    write(folder, "figure_3_10", "Mean error, all ranges, epsilon 1", figure_3_10({"Amazon": amazon, "AOL": aol}))
    write(folder, "figure_3_11", f"AOL size ({aol} bins), epsilon 1", figure_3_11(aol))
    write(folder, "figure_3_12", f"Amazon size ({amazon} bins), epsilon 1", figure_3_11(amazon))
    write(folder, "figure_3_16", f"Search Logs size ({search} bins), all ranges", figure_3_16(search))
    write(folder, "figure_3_17", f"Nettrace size ({trace} bins), all ranges", figure_3_16(trace))
    write(folder, "figure_3_18", f"Search Logs size ({search} bins), epsilon 1", figure_3_18(search))
    write(folder, "figure_3_19", f"Nettrace size ({trace} bins), epsilon 1", figure_3_18(trace))
    for path in sorted(arguments.histograms.glob("*.npy")) if arguments.histograms else ():
        counts = np.load(path)
        if counts.ndim == 1:
            name = path.name.split(".")[0]
            table = on_histogram(counts.astype(np.int64), 3 if arguments.quick else 20)
            write(folder, f"histogram_{name.lower()}", f"{name}: error of random ranges", table)


if __name__ == "__main__":
    main()
