"""Figures 1 to 4 of the paper on multiple consistency constraints as tables (CSV) and pictures (PNG).

    python -m scripts.experiments.multiple_consistency_figures OUTPUT_FOLDER [--quick]

1: consistency deviation mse_s by round; 2: error err_s by round, beside the optimum; 3: seconds to solve, beside the
general solution; 4: seconds for up to a million days. err_s needs the true counts, which only an experiment has: the
restaurant's days are generated. The paper reads figures 1 and 2 as convergence after 50 rounds; the table
``grand_total.csv`` shows why they are not: the grand total is still far off, which means over all nodes hide.
``--quick`` takes fewer and smaller sizes.
"""

import argparse
import csv
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import matplotlib

from dplib.arrays import FloatArray

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from dplib.consistency.alternating import tree_projection
from dplib.consistency.choose import SOLVERS
from dplib.consistency.day_projection import project_days
from dplib.consistency.problem import ConsistencyProblem, SolverOptions
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Package
from dplib.metrics.consistency import mse_s
from dplib.metrics.error import err_s
from dplib.progress import SILENT
from dplib.projection.alternating import alternate
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import regular_edges

ITEMS = ("cola", "burger", "wings", "fries", "nuggets")
PACKAGES = (
    Package("package 1", {"cola": 2, "burger": 1, "wings": 1, "nuggets": 1}),
    Package("package 2", {"burger": 2, "wings": 2, "fries": 1}),
    Package("package 3", {"cola": 1, "burger": 1, "fries": 1, "nuggets": 1}),
)
ROUNDS = 100
MAX_PACKAGE = 5
EPSILON = 1.0


def restaurant(n_days: int, seed: int = 0) -> tuple[ConsistencyProblem, FloatArray]:
    """A noisy restaurant on a binary tree, and its true node counts."""
    generator = np.random.default_rng(seed)
    tree = IntervalTree.from_level_edges(regular_edges(n_days, 2))
    day_constraints = resolve(ITEMS, n_days, PACKAGES, rows_are_packages=True).day_constraints
    generators = day_constraints[0].generators
    assert generators is not None
    days = np.asarray(generator.poisson(8, (n_days, 3)) @ generators.T)
    true = np.asarray(tree.sums(days), dtype=np.float64)
    scale = MAX_PACKAGE * tree.n_levels / EPSILON
    noisy = true + generator.laplace(0, scale, true.shape)
    return ConsistencyProblem(tree, noisy, np.full(true.shape, 2 * scale**2), day_constraints), true


def trace(n_days: int) -> dict[str, list[float]]:
    """mse_s, err_s and the distance of the grand total to the optimum after each round of algorithm 1."""
    problem, true = restaurant(n_days)
    best = SOLVERS["commuting"](problem, None, SILENT).values
    found: dict[str, list[float]] = {"mse_s": [], "err_s": [], "grand total": []}

    def look(values: FloatArray) -> float:
        found["err_s"].append(err_s(values, true))
        found["grand total"].append(float(np.abs(values[0] - best[0]).max()))
        found["mse_s"].append(mse_s(problem.tree, problem.day_constraints, values))
        return found["mse_s"][-1]

    maps: list[Callable[[FloatArray], FloatArray]] = [
        tree_projection(problem.tree, problem.variance),
        project_days(problem.day_constraints, problem.variance, problem.tree.leaf_nodes),
    ]
    alternate(maps, problem.noisy, 0.0, ROUNDS, look, lambda *_: None)
    found["optimum"] = [err_s(best, true)] * ROUNDS
    return found


def seconds(name: str, n_days: int) -> float:
    """Seconds of one solver."""
    problem, _ = restaurant(n_days)
    options = SolverOptions(1e-6, 10_000, accelerated=name == "accelerated")
    started = time.perf_counter()
    SOLVERS["alternating" if name == "accelerated" else name](problem, options, SILENT)
    return time.perf_counter() - started


def write(folder: Path, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one table."""
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def draw(folder: Path, name: str, x: Sequence[int], lines: dict[str, list[float]], labels: tuple[str, str]) -> None:
    """Draw one figure on logarithmic axes where values span decades."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for label, values in lines.items():
        style = "--" if label.startswith("optimum") else "-"
        axes.plot(x[: len(values)], values, style, label=label, linewidth=1.4)
    axes.set(xlabel=labels[0], ylabel=labels[1], yscale="log")
    axes.legend(fontsize=8, frameon=False)
    axes.grid(alpha=0.25)
    figure.savefig(folder / f"{name}.png", dpi=140)
    plt.close(figure)


def by_round(folder: Path, sizes: Sequence[int]) -> None:
    """Figures 1 and 2, and the grand total."""
    traces = {n_days: trace(n_days) for n_days in sizes}
    rounds = list(range(1, ROUNDS + 1))
    for name, key in (("figure_1", "mse_s"), ("figure_2", "err_s"), ("grand_total", "grand total")):
        lines = {f"T = {n_days}": traces[n_days][key] for n_days in sizes}
        if key == "err_s":
            lines |= {f"optimum, T = {n_days}": traces[n_days]["optimum"] for n_days in sizes}
        write(folder, name, ["round", *lines], zip(rounds, *lines.values(), strict=True))
        draw(folder, name, rounds, lines, ("round", f"{key} (counts)"))


def by_size(folder: Path, name: str, sizes: dict[str, Sequence[int]]) -> None:
    """Figures 3 and 4: seconds by number of days."""
    days = sorted({n_days for chosen in sizes.values() for n_days in chosen})
    found = {solver: [seconds(solver, n_days) for n_days in chosen] for solver, chosen in sizes.items()}
    rows = [[n, *(values[days.index(n)] if n in sizes[s] else "" for s, values in found.items())] for n in days]
    write(folder, name, ["days", *found], rows)
    draw(folder, name, days, found, ("days", "seconds"))


def main() -> None:
    """Make all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller sizes")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    by_round(arguments.folder, (32, 64) if arguments.quick else (32, 64, 128, 256, 512, 1024))
    small = (32, 64) if arguments.quick else (32, 64, 128, 256)
    middle = small if arguments.quick else (*small, 512, 1024)
    iterative = {"alternating": small, "accelerated": middle, "tree_smoother": middle, "commuting": middle}
    by_size(arguments.folder, "figure_3", {"general": small[:3], **iterative})
    top = 10 if arguments.quick else 20
    large = [2**power for power in range(10, top + 1, 2)]
    by_size(arguments.folder, "figure_4", {"accelerated": large, "tree_smoother": large, "commuting": large})


if __name__ == "__main__":
    main()
