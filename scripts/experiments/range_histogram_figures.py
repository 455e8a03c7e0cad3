"""Figures 3.10 to 3.19 of the thesis as tables (CSV) and pictures (PNG): expected errors of range counts.

    python -m scripts.experiments.range_histogram_figures OUTPUT_FOLDER [--quick] [--page] [--histograms FOLDER]

The noise does not depend on the data, so the errors of these methods depend on the number of bins alone and are exact
here, where the thesis averaged runs: 2,010 and 48,130 bins (its Amazon and AOL sizes), 32,768 and 65,536 bins (Search
Logs and Nettrace). Figures 3.16 and 3.17 also show what runs on a generated histogram of that size met. The figures
3.13 to 3.15 are examples of trees: shares of the budget, two trees' errors, and noise that breaks sums beside its least
squares. ``--quick`` divides the sizes by 16. ``--page`` writes what was found, and which of the thesis' claims hold of
it, into `scripts/experiments/README.md`.

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
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from dplib.estimates.haar import haar_mean_error, haar_range_variances
from dplib.estimates.range_estimates import mean_range_variance
from dplib.estimates.range_publication import publish_range_counts
from dplib.estimates.tree_blue import downward, tree_gains, upward
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.mechanisms.partition import PartitionNoise
from dplib.trees.budgets import non_uniform_budget_distribution, unit_variance
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import FixedLengthRanges, UniformRanges, node_coverage_probabilities, raw_mean_error
from dplib.trees.interval_tree import IntervalTree
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
from scripts.experiments.range_claims import Table, claims
from scripts.marked import with_marked
from tests.support.range_pipelines import adaptive_histogram, estimate_range_counts

EPSILONS = (1.0, 0.1, 0.01)
N_RUNS = 20
VARIANCE = "mean variance"
BARS = {"figure_3_10": VARIANCE, "figure_3_13": "part of all ranges, or of the budget", "figure_3_14": VARIANCE}
BARS |= {"figure_3_15": "count", "figure_3_16": VARIANCE, "figure_3_17": VARIANCE}
"""Figures of bars, with what they show."""
TICKS = {"figure_3_14": ["1: binary", "2: mixed"], "figure_3_15": ["1: root", "2", "3", "4"]}
PLAIN = FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e6 else f"{value:.0e}")
PAGE = Path(__file__).with_name("README.md")


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
    table: Table = {"bins": [float(n) for n in sizes.values()]}
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


def figure_3_13() -> Table:
    """A root over three bins: how often all ranges use each node, and its share of the budget."""
    tree = kary_tree(3, 3)
    coverage = node_coverage_probabilities(tree, UniformRanges(3))
    return {
        "node": [float(node + 1) for node in range(tree.n_nodes)],
        "coverage": coverage.tolist(),
        "equal share": [0.5] * tree.n_nodes,
        "share by coverage": non_uniform_budget_distribution(tree, coverage).tolist(),
    }


def figure_3_14() -> Table:
    """Four bins: a binary tree, and a pair between two bins."""
    mixed = IntervalTree.from_parents([0, 0, 1, 3, 1, 2], [4, 1, 3, 4, 2, 3], [-1, 0, 0, 0, 2, 2])
    table: Table = {"tree (1: binary, 2: mixed)": [1.0, 2.0], "equal shares": [], "shares by coverage": []}
    for tree in (kary_tree(4, 2), mixed):
        coverage = node_coverage_probabilities(tree, UniformRanges(4))
        equal = np.full(tree.n_nodes, 1 / tree.n_levels)
        uneven = non_uniform_budget_distribution(tree, coverage)
        for name, shares in (("equal shares", equal), ("shares by coverage", uneven)):
            table[name].append(raw_mean_error(coverage, unit_variance(shares, "laplace")))
    return table


def figure_3_15() -> Table:
    """Noise breaks the sums of a tree; least squares mend them."""
    tree = kary_tree(3, 3)
    shares = non_uniform_budget_distribution(tree, node_coverage_probabilities(tree, UniformRanges(3)))
    true = np.asarray(tree.sums(np.array([[2.0], [3.0], [5.0]])), dtype=np.float64)
    noisy = true + np.random.default_rng(4).laplace(0, 1 / shares)[:, None]
    gains = tree_gains(tree, unit_variance(shares, "laplace")[:, None])
    values = {"true": true, "noisy": noisy, "least squares": downward(gains, upward(gains, noisy))}
    return {"node": [float(node + 1) for node in range(tree.n_nodes)]} | {
        n: v[:, 0].tolist() for n, v in values.items()
    }


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


def _bars(axes: Axes, name: str, table: Table) -> None:
    """Bars side by side; where errors fall with epsilon squared, times that, so that methods can be told apart."""
    (horizontal, at), *curves = table.items()
    power = 2 if horizontal == "epsilon" else 0
    width = 0.8 / len(curves)
    for place, (curve, values) in enumerate(curves):
        left = np.arange(len(at)) + width * (place - len(curves) / 2 + 0.5)
        drawn = axes.bar(left, np.array(values) * np.array(at) ** power, width, label=curve)
        if len(curves) * len(at) < 13:
            axes.bar_label(drawn, fmt="{:.4g}", fontsize=8)
    axes.set_xticks(np.arange(len(at)), TICKS.get(name) or [f"{each:,g}" for each in at])
    axes.set(xlabel=horizontal, ylabel="mean variance x epsilon^2" if power else BARS[name])
    axes.yaxis.set_major_formatter(PLAIN)


def write(folder: Path, name: str, title: str, table: Table) -> None:
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([f"{value:.6g}" for value in row] for row in zip(*table.values(), strict=True))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    horizontal, *curves = table
    if name in BARS:
        _bars(axes, name, table)
    else:
        for curve in curves:
            axes.plot(table[horizontal], table[curve], marker="o", markersize=3, label=curve)
        axes.set_xscale("log", base=2 if horizontal == "length" else 10)
        axes.set(yscale="log", xlabel=horizontal, ylabel="mean variance")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PLAIN)
            axis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", labelrotation=45 if len(table[horizontal]) > 12 else 0)
        axes.grid(alpha=0.25)
    axes.set_title(title)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.png", dpi=120)
    plt.close(figure)
    print(f"{name}: {title}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--histograms", type=Path)
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    part = 16 if arguments.quick else 1
    amazon, aol, search, trace = (n // part for n in (2010, 48_130, 32_768, 65_536))
    figures: dict[str, tuple[str, Callable[[], Table]]] = {
        "figure_3_10": ("Mean error, all ranges, epsilon 1", lambda: figure_3_10({"Amazon": amazon, "AOL": aol})),
        "figure_3_11": (f"AOL size ({aol} bins), epsilon 1", lambda: figure_3_11(aol)),
        "figure_3_12": (f"Amazon size ({amazon} bins), epsilon 1", lambda: figure_3_11(amazon)),
        "figure_3_13": ("Shares by coverage, three bins", figure_3_13),
        "figure_3_14": ("Two trees over four bins, all ranges", figure_3_14),
        "figure_3_15": ("Noisy sums and their least squares", figure_3_15),
        "figure_3_16": (f"Search Logs size ({search} bins), all ranges", lambda: figure_3_16(search)),
        "figure_3_17": (f"Nettrace size ({trace} bins), all ranges", lambda: figure_3_16(trace)),
        "figure_3_18": (f"Search Logs size ({search} bins), epsilon 1", lambda: figure_3_18(search)),
        "figure_3_19": (f"Nettrace size ({trace} bins), epsilon 1", lambda: figure_3_18(trace)),
    }
    tables = {name: made() for name, (_, made) in figures.items()}
    for name, (title, _) in figures.items():
        write(folder, name, title, tables[name])
    page = "\n\n".join(claims(tables))
    (folder / "page.md").write_text(page, encoding="utf-8")
    if arguments.page:
        PAGE.write_text(with_marked(PAGE.read_text(encoding="utf-8"), "range_histograms", page), encoding="utf-8")
    for path in sorted(arguments.histograms.glob("*.npy")) if arguments.histograms else ():
        counts = np.load(path)
        if counts.ndim == 1:
            name = path.name.split(".")[0]
            table = on_histogram(counts.astype(np.int64), 3 if arguments.quick else 20)
            write(folder, f"histogram_{name.lower()}", f"{name}: error of random ranges", table)


if __name__ == "__main__":
    main()
