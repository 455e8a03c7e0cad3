"""Where the rules of ``auto`` come from, on point sets that nothing else uses.

    python -m scripts.experiments.kmeans_rules [--points FOLDER]    # minutes; goes on where it stopped
    python -m scripts.experiments.kmeans_rules --render             # only writes the guide's tables again

Four questions, each answered by ratios of losses at the same noise keys:

0. cells of the grid: loss over that of Su et al.'s grid (`SU_POINTS_A_CELL`, no cell dropped), by points a cell. On
   clusters whose sizes fall from 20 to 1, on clusters of one size, and on points spread evenly.
1. grid or quadtree: loss of the grid over that of the quadtree, by ``n epsilon / k``; also on the kinds of 0.
2. settings of the coreset: loss with one setting changed over that with the defaults.
3. the choice of ``auto``: its loss over the least of all methods that it may choose from and of `lloyd`. The sets of
   this question answer none of the others.

The sets are generated: clusters of uneven sizes and widths around places in a part of the unit ball, seeds 301 and up;
for the third question also s2.txt, s3.txt, mopsi-finland.arff and sklearn_digits.csv.gz of ``--points``. Results go to
``kmeans_rules.json`` beside this file, and from there into the guide's page between two markers.
"""

import json
import statistics
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from dplib.clustering.central.grid import SU_POINTS_A_CELL, grid
from dplib.clustering.central.quadtree import quadtree
from dplib.clustering.central.tree_coreset import CoresetSettings, tree_coreset
from dplib.clustering.choose import QUADTREE_FROM, plan_method, run_plan
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.errors import ConfigError
from dplib.mechanisms.clustering_noise import KeyedNoise
from dplib.privacy.budget import ApproxDP, Budget, PureDP
from dplib.privacy.calibration import rho_from_approx
from scripts.experiments.kmeans_page import run_and_render
from scripts.experiments.kmeans_table import DELTA, Data
from tests.support.clustering import keyed, loss

Results = dict[str, dict[str, Any]]

STORED = Path(__file__).with_suffix(".json")
SQUARE = Space.box([-1.0, -1.0], [1.0, 1.0])
N_KEYS = 3
POINTS_A_CELL = (10.0, 5.0, 4.0, 3.0, 2.5, 2.0)
FEW_POINTS = 16.0
BINS = (0.0, QUADTREE_FROM, FEW_POINTS, 64.0, 256.0, np.inf)
KINDS = {
    "in a third": "clusters of uneven sizes in a third of the bounds",
    "in a ball": "those in the whole",
    "20 to 1": "sizes 20 to 1",
    "one size": "one size",
    "even": "points spread evenly",
}
RIVALS = ("grid", "quadtree", "tree_coreset", "local_search", "lloyd")
CHANGES: dict[str, dict[str, Any]] = {
    "no Lloyd rounds": {"n_rounds": 0},
    "Lloyd rounds get 1/5": {"lloyd_share": Fraction(1, 5)},
    "Lloyd rounds get 3/5": {"lloyd_share": Fraction(3, 5)},
    "Lloyd rounds whatever the noise": {"reach": 1e9},
    "counts get 1/8": {"count_share": Fraction(1, 8)},
    "counts get 1/2": {"count_share": Fraction(1, 2)},
    "12 hyperplanes": {"n_bits": 12},
}


def uneven(n: int, d: int, k: int, seed: int, fill: float = 0.8) -> Data:
    """Clusters of sizes and widths that differ several times, around places in a part of the unit ball."""
    generator = np.random.default_rng(seed)
    places = generator.normal(size=(k, d))
    places *= fill * generator.random((k, 1)) ** (1 / d) / np.linalg.norm(places, axis=1, keepdims=True)
    groups = generator.choice(k, size=n, p=generator.dirichlet(np.full(k, 3.0)))
    widths = fill * np.exp(generator.uniform(-1, 0.5, k))[groups] / (8 * np.sqrt(d))
    points = places[groups] + generator.normal(size=(n, d)) * widths[:, np.newaxis]
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0)
    filled = "" if fill > 0.5 else ", in a third of the ball"
    return Data(f"uneven clusters: d={d}, k={k}, n={n:,}{filled}", points, Space.ball([0.0] * d, 1.0), k)


def losses(data: Data, run: Callable[[Blocks, KeyedNoise, Problem], Clustering]) -> list[float]:
    """Losses of a method by noise key."""
    source, problem = Blocks(data.space.to_units(data.points)), Problem(data.space, data.k)
    found = [run(source, keyed(key), problem) for key in range(N_KEYS)]
    return [loss(data.points, data.space.to_data(each.centers)) for each in found]


def of_sizes(n: int, sizes: list[float], width: float, fill: float, seed: int) -> Data:
    """Normal clusters of given sizes around places of a square, each with a width of its own."""
    generator = np.random.default_rng(seed)
    k, shares = len(sizes), np.array(sizes) / sum(sizes)
    places = generator.uniform(-fill, fill, (k, 2))
    widths = width * np.exp(generator.uniform(-0.3, 0.3, (k, 2)))
    groups = generator.choice(k, size=n, p=shares)
    points = np.clip(places[groups] + generator.normal(size=(n, 2)) * widths[groups], -1, 1)
    return Data(f"k={k}, n={n:,}, largest {max(sizes):g} times the least", points, SQUARE, k)


def cell_sets() -> Iterator[tuple[str, Data]]:
    """The sets of question 0 by their kind."""
    for seed, (n, k) in enumerate(((4000, 6), (5000, 10), (6000, 8), (8000, 12))):
        falling = [20.0 ** (1 - place / (k - 1)) for place in range(k)]
        yield "20 to 1", of_sizes(n, falling, 0.04, 0.8, 381 + seed)
        yield "20 to 1", of_sizes(n, [20.0] * (k // 2) + [1.0] * (k - k // 2), 0.03, 0.6, 391 + seed)
        yield "one size", of_sizes(n, [1.0] * (k + 5), 0.06, 0.9, 401 + seed)
        even = np.random.default_rng(411 + seed).uniform(-1, 1, (n, 2))
        yield "even", Data(f"even: k={k}, n={n:,}", even, SQUARE, k)


def cells() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Question 0."""
    for (kind, data), epsilon in product(cell_sets(), ("1/10", "1/2", "1")):

        def answer(kind: str = kind, data: Data = data, epsilon: Fraction = Fraction(epsilon)) -> dict[str, Any]:
            def mean(rules: int, points_a_cell: float) -> float:
                def run(source: Blocks, noise: KeyedNoise, problem: Problem) -> Clustering:
                    asked = replace(problem, format=rules)
                    return grid(source, noise, asked, epsilon, points_a_cell=points_a_cell)

                return statistics.mean(losses(data, run))

            before = mean(1, SU_POINTS_A_CELL)
            return {"kind": kind} | {f"{each:g}": mean(2, each) / before for each in POINTS_A_CELL}

        yield f"{kind}, {data.name}; epsilon {epsilon}", answer


def grids() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Question 1."""
    sizes = ((1_000, 4), (1_000, 15), (5_000, 15), (20_000, 8), (100_000, 8))
    sets = [("uneven", uneven(n, d, k, 301 + d, fill)) for d, (n, k), fill in product((1, 2, 3), sizes, (0.8, 0.3))]
    for seed, (n, k) in enumerate(sizes[:3]):
        falling = [20.0 ** (1 - place / (k - 1)) for place in range(k)]
        even = np.random.default_rng(431 + seed).uniform(-1, 1, (n, 2))
        sets += [
            ("20 to 1", of_sizes(n, falling, 0.04, 0.8, 421 + seed)),
            ("one size", of_sizes(n, [1.0] * k, 0.06, 0.9, 425 + seed)),
            ("even", Data(f"even: k={k}, n={n:,}", even, SQUARE, k)),
        ]
    for (kind, data), epsilon in product(sets, ("1/50", "1/10", "1/2")):

        def answer(kind: str = kind, data: Data = data, epsilon: Fraction = Fraction(epsilon)) -> dict[str, Any]:
            one = losses(data, lambda source, noise, problem: grid(source, noise, problem, epsilon))
            other = losses(data, lambda source, noise, problem: quadtree(source, noise, problem, epsilon))
            ratio = statistics.median(one) / statistics.median(other)
            return {"kind": kind, "signal": len(data.points) * float(epsilon) / data.k, "ratio": ratio}

        yield f"{data.name}; epsilon {epsilon}", answer


def coresets() -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    """Question 2."""
    sizes = [(5, 20_000, 5), (12, 5_000, 4), (12, 50_000, 10), (40, 50_000, 5), (40, 50_000, 20)]
    sizes += [(4, 5_000, 8), (6, 10_000, 4), (8, 10_000, 6), (12, 10_000, 6), (16, 20_000, 8), (30, 20_000, 4)]
    for d, n, k in sizes:
        data = uneven(n, d, k, 311 + d)

        def answer(data: Data = data) -> dict[str, float]:
            rho = rho_from_approx(Fraction(1), DELTA)
            base = statistics.median(of_settings(data, rho, {}))
            return {name: statistics.median(of_settings(data, rho, each)) / base for name, each in CHANGES.items()}

        yield data.name, answer


def of_settings(data: Data, rho: Fraction, change: dict[str, Any]) -> list[float]:
    """Losses of the coreset with some settings changed."""
    settings = replace(CoresetSettings(), **change)
    return losses(data, lambda source, noise, problem: tree_coreset(source, noise, problem, rho, settings))


def held_out(folder: Path | None) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Question 3."""
    sets = [uneven(n, d, k, 331 + d + k, fill) for n, d, k, fill in HELD_OUT]
    if folder is not None:
        sets += list(point_sets(folder))
    for data in sets:
        for name, budget in (("pure", PureDP(Fraction(1))), ("with a delta", ApproxDP(Fraction(1), DELTA))):
            if name == "with a delta" and data.space.dimension <= 3:
                continue  # auto takes the same
            yield f"{data.name}; epsilon 1 {name}", lambda data=data, budget=budget: of_auto(data, budget)  # type: ignore[misc]


HELD_OUT = (
    (5_000, 1, 4, 0.8), (20_000, 2, 6, 0.8), (20_000, 2, 30, 0.3), (50_000, 3, 10, 0.8), (20_000, 4, 6, 0.8),
    (20_000, 6, 6, 0.8), (50_000, 10, 10, 0.8), (50_000, 30, 5, 0.8),
)  # fmt: skip


def point_sets(folder: Path) -> Iterator[Data]:
    """Published sets that decided no rule."""
    square = Space.box([0.0, 0.0], [1e6, 1e6])
    for name in ("s2", "s3"):
        yield Data(
            f"{name.upper()}: d=2, k=15, n=5,000",
            np.loadtxt(folder / f"{name}.txt", delimiter=",", skiprows=1),
            square,
            15,
        )
    lines = (folder / "mopsi-finland.arff").read_text().split("@DATA")[1].split()
    places = np.array([line.split(",") for line in lines], dtype=np.float64)
    finland = Space.box([550_000.0, 150_000.0], [750_000.0, 350_000.0])
    yield Data(f"places in Finland: d=2, k=10, n={len(places):,}", places, finland, 10)
    digits = np.loadtxt(folder / "sklearn_digits.csv.gz", delimiter=",")[:, :64]
    yield Data(f"digits: d=64, k=10, n={len(digits):,}", digits, Space.box([0.0] * 64, [16.0] * 64), 10)


def of_auto(data: Data, budget: Budget) -> dict[str, Any]:
    """Loss of auto over the least of its rivals, which one that is, and what auto took."""
    found: dict[str, float] = {}
    problem = Problem(data.space, data.k)
    for method in RIVALS:
        try:
            plan = plan_method(problem, budget, method)
        except ConfigError:
            continue
        found[method] = statistics.median(losses(data, lambda s, noise, p, plan=plan: run_plan(s, noise, p, plan)))  # type: ignore[misc]
    plan, ran = plan_method(problem, budget), set()

    def auto(source: Blocks, noise: KeyedNoise, asked: Problem) -> Clustering:
        made = run_plan(source, noise, asked, plan)
        ran.add(made.method)
        return made

    ratio = statistics.median(losses(data, auto)) / min(found.values())
    return {"ratio": ratio, "took": "/".join(sorted(ran)), "best": min(found, key=lambda name: found[name])}


def answer_all(results: Results, folder: Path | None) -> None:
    """Fill in what is missing, storing after every answer."""
    questions = {"cells": cells(), "grids": grids(), "coresets": coresets(), "held_out": held_out(folder)}
    for question, cases in questions.items():
        known = results.setdefault(question, {})
        for name, answer in cases:
            if name not in known:
                known[name] = {k: round(v, 4) if isinstance(v, float) else v for k, v in answer().items()}
                STORED.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                print(question, name, known[name], flush=True)


def summary_of(label: str, ratios: list[float]) -> str:
    """A line of a table."""
    numbers = (float(np.median(ratios)), min(ratios), max(ratios))
    return f"| {label} | {len(ratios)} | {' | '.join(f'{each:.2f}' for each in numbers)} |"


def render(results: Results) -> str:
    """The guide's four tables in Markdown."""
    lines = [
        "| points a cell, loss of `grid` / with Su et al.'s rule | "
        + " | ".join(f"{each:g}" for each in POINTS_A_CELL)
        + " |",
        f"|---|{'---:|' * len(POINTS_A_CELL)}",
    ]
    for kind, epsilon in product(("20 to 1", "one size", "even"), ("1/10", "1/2", "1")):
        found = [
            each for name, each in results["cells"].items() if name.startswith(kind) and name.endswith(f" {epsilon}")
        ]
        means = [statistics.geometric_mean(each[f"{size:g}"] for each in found) for size in POINTS_A_CELL]
        lines.append(f"| {kind}; epsilon {epsilon} | {' | '.join(f'{each:.2f}' for each in means)} |")
    heads = "sets | median | least | largest |\n|---|---:|---:|---:|---:|"
    lines += ["", f"| loss of `grid` / `quadtree`, n epsilon / k | {heads}"]
    for low, high in pairwise(BINS):
        found = [each["ratio"] for each in results["grids"].values() if low <= each["signal"] < high]
        label = f"{low:g} to {high:g}" if np.isfinite(high) else f"above {low:g}"
        lines.append(summary_of(label, found))
    few = [each for each in results["grids"].values() if QUADTREE_FROM <= each["signal"] < FEW_POINTS]
    by_kind = [
        f"{statistics.median(each['ratio'] for each in few if each['kind'] == kind):.2f} for {label}"
        for kind, label in KINDS.items()
    ]
    better = sum(each["ratio"] > 1 for each in few)
    told = (
        f"With n epsilon / k from {QUADTREE_FROM:g} to {FEW_POINTS:g} the quadtree had less loss on {better} of "
        f"{len(few)} sets; the grid's loss over the quadtree's was in the median {', '.join(by_kind)}."
    )
    lines += ["", textwrap.fill(told, 120)]
    lines += ["", f"| loss of `tree_coreset` with one setting changed / default's | {heads}"]
    for change in CHANGES:
        found = [each[change] for each in results["coresets"].values()]
        lines.append(summary_of(change, found))
    lines += ["", "| held-out set | auto took | least loss | loss of auto / least |", "|---|---|---|---:|"]
    for name, each in results["held_out"].items():
        lines.append(f"| {name} | `{each['took']}` | `{each['best']}` | {each['ratio']:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_and_render(__doc__, "kmeans_rules", STORED, answer_all, render)
