"""Figures 1 to 4 of the paper on multiple consistency constraints as tables (CSV) and pictures (PNG).

    python -m scripts.experiments.multiple_consistency_figures OUTPUT_FOLDER [--quick] [--page]

1: consistency deviation mse_s by round; 2: error err_s by round, beside the optimum; 3: seconds to solve, beside the
general solution; 4: seconds for up to a million days. Curves are means over noise keys; seconds are processor time.
err_s needs the true counts, which only an experiment has: the restaurant's days are generated. The paper reads figures
1 and 2 as convergence after 50 rounds; the table ``grand_total.csv`` shows why they are not: the grand total is still
far off, which means over all nodes hide. ``--quick`` takes fewer and smaller sizes. ``--page`` writes what was
measured, and which of the paper's claims hold of it, into `scripts/experiments/README.md`.
"""

import argparse
import csv
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

from dplib.arrays import FloatArray

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

from dplib.consistency.alternating import tree_projection
from dplib.consistency.choose import SOLVERS
from dplib.consistency.day_projection import project_days
from dplib.consistency.general import constraint_matrix
from dplib.consistency.problem import ConsistencyProblem, SolverOptions
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Package
from dplib.metrics.error import err_s
from dplib.progress import SILENT
from dplib.projection.alternating import Map, alternate
from dplib.projection.residual import mean_square_residual
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import regular_edges
from scripts.marked import with_marked

ITEMS = ("cola", "burger", "wings", "fries", "nuggets")
PACKAGES = (
    Package("package 1", {"cola": 2, "burger": 1, "wings": 1, "nuggets": 1}),
    Package("package 2", {"burger": 2, "wings": 2, "fries": 1}),
    Package("package 3", {"cola": 1, "burger": 1, "fries": 1, "nuggets": 1}),
)
TITLES = {
    "figure_1": "Figure 1: consistency deviation by round",
    "figure_2": "Figure 2: error of a node by round",
    "grand_total": "The grand total by round",
    "figure_3": "Figure 3: time by number of days, to the threshold",
    "figure_4": "Figure 4: time by number of days",
}
ROUNDS = 100
KEYS = 10
PSEUDO_INVERSE, ALGORITHM_1, FIFTY = "general, M+ by its singular values", "algorithm 1", "algorithm 1, 50 rounds"
ACCELERATED = "algorithm 1, accelerated"
PAGE = Path(__file__).with_name("README.md")
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


def trace(n_days: int, n_keys: int) -> dict[str, list[float]]:
    """mse_s, err_s and the distance of the grand total to the optimum after each round of algorithm 1; means."""
    runs = [_trace(n_days, key) for key in range(n_keys)]
    return {name: np.mean([run[name] for run in runs], axis=0).tolist() for name in runs[0]}


def _trace(n_days: int, key: int) -> dict[str, list[float]]:
    problem, true = restaurant(n_days, key)
    best = SOLVERS["commuting"](problem, None, SILENT).values
    found: dict[str, list[float]] = {"mse_s": [], "err_s": [], "grand total": []}

    def look(values: FloatArray) -> float:
        found["err_s"].append(err_s(values, true))
        found["grand total"].append(float(np.abs(values[0] - best[0]).max()))
        found["mse_s"].append(mean_square_residual(problem.tree, problem.day_constraints, values))
        return found["mse_s"][-1]

    alternate(algorithm_1(problem), problem.noisy, 0.0, ROUNDS, look, lambda *_: None)
    return found | {"optimum": [err_s(best, true)] * ROUNDS}


def algorithm_1(problem: ConsistencyProblem) -> list[Map]:
    """The two halves of a round: all trees, all days."""
    return [
        tree_projection(problem.tree, problem.variance),
        project_days(problem.day_constraints, problem.variance, problem.tree.leaf_nodes),
    ]


@dataclass(frozen=True)
class Timed:
    """One solver on one problem: processor seconds, rounds, and how far the grand total is from the optimum."""

    seconds: float
    rounds: int
    grand_total: float


def timed(name: str, n_days: int) -> Timed:
    """Time one solver.

    Args:
        name: of a solver, or one of `WAYS`.
        n_days: T.
    """
    problem, _ = restaurant(n_days)
    best = SOLVERS["commuting"](problem, None, SILENT).values
    started = time.process_time()
    values, rounds = _solved(name, problem)
    spent = time.process_time() - started
    return Timed(spent, rounds, float(np.abs(values[0] - best[0]).max()))


def _solved(name: str, problem: ConsistencyProblem) -> tuple[FloatArray, int]:
    if name == FIFTY:
        return alternate(algorithm_1(problem), problem.noisy, 0.0, 50).values, 50
    if name == PSEUDO_INVERSE:
        matrix, rhs = constraint_matrix(problem)
        values = problem.noisy.ravel()
        return (values + np.linalg.pinv(matrix) @ (rhs - matrix @ values)).reshape(problem.noisy.shape), 0
    options = SolverOptions(1e-6, 100_000, accelerated=name == ACCELERATED)
    solution = SOLVERS["alternating" if name in (ALGORITHM_1, ACCELERATED) else name](problem, options, SILENT)
    return solution.values, len(solution.rounds)


def write(folder: Path, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one table."""
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def draw(folder: Path, name: str, x: Sequence[int], lines: dict[str, list[float]], labels: tuple[str, str]) -> None:
    """Draw one figure on logarithmic axes where values span decades."""
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    drawn: dict[str, Any] = {}
    for label, values in lines.items():
        # An optimum has the colour of its curve.
        own = label.removeprefix("optimum, ")
        style = "--" if own != label else "-"
        (line,) = axes.plot(x[: len(values)], values, style, label=label, linewidth=1.4, color=drawn.get(own))
        drawn[own] = line.get_color()
    axes.set(xlabel=labels[0], ylabel=labels[1], title=TITLES[name])
    if name == "figure_1":  # The others span about a decade.
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.grid(alpha=0.25)
    figure.savefig(folder / f"{name}.png", dpi=140)
    plt.close(figure)


def by_round(folder: Path, sizes: Sequence[int], n_keys: int) -> list[str]:
    """Figures 1 and 2, and the grand total; what they say."""
    traces = {n_days: trace(n_days, n_keys) for n_days in sizes}
    rounds = list(range(1, ROUNDS + 1))
    for name, key in (("figure_1", "mse_s"), ("figure_2", "err_s"), ("grand_total", "grand total")):
        lines = {f"T = {n_days}": traces[n_days][key] for n_days in sizes}
        if key == "err_s":
            lines |= {f"optimum, T = {n_days}": traces[n_days]["optimum"] for n_days in sizes}
        write(folder, name, ["round", *lines], zip(rounds, *lines.values(), strict=True))
        shown = "grand total's distance from its optimum" if name == "grand_total" else key
        draw(folder, name, rounds, lines, ("round", f"{shown} (counts)"))
    head = ["T", "mse_s after 1 / 50 / 100 rounds", "err_s after 50", "optimum", "grand total off after 50 / 100"]
    rows = []
    for n_days, found in traces.items():
        mse, off = found["mse_s"], found["grand total"]
        shown = " / ".join(f"{mse[at - 1]:.2g}" for at in (1, 50, 100))
        gaps = " / ".join(f"{off[at - 1]:.3g}" for at in (50, 100))
        rows.append([f"{n_days:,}", shown, f"{found['err_s'][49]:.2f}", f"{found['optimum'][0]:.2f}", gaps])
    largest = traces[sizes[-1]]
    excess = largest["err_s"][49] / largest["optimum"][0] - 1
    claim = (
        f"Figures 1 and 2, means over {n_keys} noise keys. The paper: after about 50 rounds the deviation is near 0 "
        f"and the error that of the optimum. Found: at T = {sizes[-1]:,} the error of a node, over all nodes, is "
        f"{100 * excess:.2g} % above the optimum after 50 rounds, and the deviation {largest['mse_s'][49]:.2g}, while "
        f"the grand total is still {largest['grand total'][49]:.3g} counts off its optimum, and "
        f"{largest['grand total'][99]:.3g} after 100: means over all nodes hide the few at the top. **The claim holds "
        "of means, not of totals.**"
    )
    return [claim, *table(head, rows)]


def by_size(folder: Path, name: str, sizes: dict[str, Sequence[int]]) -> dict[str, dict[int, Timed]]:
    """Processor seconds by number of days."""
    found = {way: {n_days: timed(way, n_days) for n_days in chosen} for way, chosen in sizes.items()}
    days = sorted({n_days for chosen in sizes.values() for n_days in chosen})
    write(
        folder,
        name,
        ["days", *found],
        ([n, *(f"{values[n].seconds:.4g}" if n in values else "" for values in found.values())] for n in days),
    )
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for way, values in found.items():
        axes.plot(list(values), [each.seconds for each in values.values()], marker="o", markersize=3, label=way)
    axes.set(xlabel="days", ylabel="processor seconds", xscale="log", yscale="log", title=TITLES[name])
    axes.legend(fontsize=8, frameon=False)
    axes.grid(alpha=0.25)
    figure.savefig(folder / f"{name}.png", dpi=140)
    plt.close(figure)
    return found


def timed_rows(found: dict[str, dict[int, Timed]]) -> list[str]:
    """Seconds by days, rounds beside them."""
    days = sorted({n_days for values in found.values() for n_days in values})

    def shown(values: dict[int, Timed], n_days: int) -> str:
        each = values.get(n_days)
        if each is None:
            return "-"
        return f"{each.seconds:.3g}" + (f" ({each.rounds:,} rounds)" if each.rounds else "")

    rows = [[f"{n:,}", *(shown(values, n) for values in found.values())] for n in days]
    return table(["T", *found], rows)


def speed_claim(found: dict[str, dict[int, Timed]]) -> str:
    """What the paper says of figure 3, and what was found."""
    most = max(found["general"])
    general, plain, fast = found["general"][most], found[ALGORITHM_1][most], found[ACCELERATED][most]
    inverse = found[PSEUDO_INVERSE]
    largest = max(inverse)
    ratio, accelerated = general.seconds / plain.seconds, general.seconds / fast.seconds
    verdict = "holds" if ratio >= 400 else "does not hold"
    slower = inverse[largest].seconds / found["general"][largest].seconds
    return (
        f"Figure 3, processor seconds on one machine. The paper: at T = 1,024 the general solution takes 267 s and "
        f"algorithm 1 takes 0.667 s to a mean change below 1e-6, 400 times less. Found at T = {most:,}: the general "
        f"solution {general.seconds:.3g} s, algorithm 1 to that rule {plain.seconds:.3g} s and {plain.rounds:,} "
        f"rounds: {ratio:.3g} times. **400 {verdict}.** The general solution here solves its normal equations; by the "
        f"singular values of M it takes {slower:.3g} times as long at T = {largest:,}, and the rule of the mean change "
        f"stops {plain.grand_total:.2g} counts short of the grand total's optimum. With conjugate gradients on the "
        f"same projections it is {fast.rounds} rounds and {accelerated:.3g} times less than the general solution, "
        f"{fast.grand_total:.2g} counts from the optimum."
    )


def growth_claim(found: dict[str, dict[int, Timed]]) -> str:
    """What the paper says of figure 4, and what was found."""
    values = found[FIFTY]
    first, last = min(values), max(values)
    power = np.log(values[last].seconds / values[first].seconds) / np.log(last / first)
    off, fast = values[last].grand_total, found[ACCELERATED][last]
    verdict = "holds" if power < 1.2 else "does not hold"
    return (
        f"Figure 4. The paper: a million days are within reach and time grows nearly linearly. Found: 50 rounds of "
        f"algorithm 1 at T = {last:,} take {values[last].seconds:.3g} s, growing as T to the {power:.2f} from "
        f"T = {first:,}: **the claim of speed {verdict}**, but its grand total is then {off:.3g} counts off the "
        f"optimum, which {fast.rounds} accelerated rounds reach in {fast.seconds:.3g} s, and one pass (`commuting`) in "
        f"{found['commuting'][last].seconds:.2g} s."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return [
        "",
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
        *("| " + " | ".join(r) + " |" for r in rows),
        "",
    ]


def main() -> None:
    """Make all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller sizes")
    parser.add_argument("--page", action="store_true", help="write the page")
    arguments = parser.parse_args()
    folder, quick = arguments.folder, arguments.quick
    folder.mkdir(parents=True, exist_ok=True)
    paper = (32, 64) if quick else (32, 64, 128, 256, 512, 1024)
    text = by_round(folder, paper, 2 if quick else KEYS)
    ways = (ALGORITHM_1, ACCELERATED, "tree_smoother", "commuting")
    third = by_size(folder, "figure_3", {"general": paper, PSEUDO_INVERSE: paper[:4], **dict.fromkeys(ways, paper)})
    large = [2**power for power in range(8 if quick else 10, 11 if quick else 21, 2)]
    fourth = by_size(folder, "figure_4", dict.fromkeys((FIFTY, *ways[1:]), large))
    text += [speed_claim(third), *timed_rows(third), growth_claim(fourth), *timed_rows(fourth)]
    page = "\n".join(text)
    (folder / "page.md").write_text(page, encoding="utf-8")
    if arguments.page:
        PAGE.write_text(with_marked(PAGE.read_text(encoding="utf-8"), "multiple_consistency", page), encoding="utf-8")


if __name__ == "__main__":
    main()
