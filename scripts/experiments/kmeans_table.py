"""Table of all central clustering methods x data x epsilon: loss as a ratio to that of k-means without privacy.

    python -m scripts.experiments.kmeans_table --points FOLDER     # half an hour; goes on where it stopped
    python -m scripts.experiments.kmeans_table --render            # only writes the guide's tables again

Results go to ``kmeans_table.json`` beside this file after every number, and from there into the guide's page between
two markers. The ratio is the loss on the points over that of scikit-learn's KMeans with 10 seedings. Each number is the
median over noise keys (`keys_for`: fewer where a method is slow on many points). Methods that need a delta get 1e-6.
``one center`` is the ratio of the mean of all points: a method above it is worth nothing there. Data: generated
mixtures in the unit ball, and from ``--points`` the sets s1.txt and birch1.data.gz.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.clustering.choose import FEW_DIMENSIONS, METHODS, plan_method, run_plan
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.errors import ConfigError
from dplib.privacy.budget import ApproxDP
from scripts.experiments.kmeans_page import run_and_render
from tests.support.clustering import keyed, loss, mixture

Results = dict[str, Any]

STORED = Path(__file__).with_suffix(".json")
EPSILONS = ("0.1", "0.5", "1", "2")
DELTA = Fraction(1, 10**6)
N_KEYS = 5
LARGE = 20_000
SLOW = {"privgene", "local_search", "kvariates"}
"""Methods that get one noise key on more than `LARGE` points."""
MAX_WORK = {"privgene": 2e6}
"""Points times centers times dimensions up to which a method is run here; beyond, one run takes minutes to hours."""


@dataclass(frozen=True)
class Data:
    """Points, the public space they are clipped to, and the number of clusters."""

    name: str
    points: FloatArray
    space: Space
    k: int


def data_sets(folder: Path) -> Iterator[Data]:
    """The sets, small ones first."""
    square = Space.box([0.0, 0.0], [1e6, 1e6])
    yield Data("S1: d=2, k=15, n=5,000", np.loadtxt(folder / "s1.txt", delimiter=",", skiprows=1), square, 15)
    for d, k in ((2, 8), (20, 8), (20, 64), (100, 8)):
        yield Data(f"mixture: d={d}, k={k}, n=100,000", mixture(100_000, d, k, 11), Space.ball([0.0] * d, 1.0), k)
    yield Data("birch1: d=2, k=100, n=100,000", np.loadtxt(folder / "birch1.data.gz"), square, 100)


def reference_loss(data: Data) -> float:
    """Loss of scikit-learn's k-means without privacy."""
    # Imported here: the guide's tests read this module's stored results and fit nothing.
    from sklearn.cluster import KMeans

    return float(KMeans(data.k, n_init=10, random_state=0).fit(data.points).inertia_)


def keys_for(method: str, points: FloatArray) -> int:
    """Noise keys of a method on some points; the grid has a million cells in 20 dimensions."""
    slow = method in SLOW or (method == "grid" and points.shape[1] > FEW_DIMENSIONS)
    return 1 if slow and len(points) > LARGE else N_KEYS


def method_on(data: Data, method: str, epsilon: str) -> Callable[[int], Clustering] | None:
    """A method by number of the noise key; None where it does not go with the dimension."""
    problem = Problem(data.space, data.k)
    try:
        plan = plan_method(problem, ApproxDP(Fraction(epsilon), DELTA), method)
    except ConfigError:
        return None
    source = Blocks(data.space.to_units(data.points))
    return lambda key: run_plan(source, keyed(key), problem, plan)


def measure(results: Results, data: Data) -> None:
    """Fill in what is missing of a set, storing after every number."""
    known = results["data"].setdefault(data.name, {"ratios": {}})
    reference = lru_cache(lambda: reference_loss(data))
    for method, epsilon in product(("auto", *METHODS), EPSILONS):
        name = f"{method} {epsilon}"
        if name in known["ratios"]:
            continue
        known.setdefault("one center", round(loss(data.points, data.points.mean(axis=0)[np.newaxis]) / reference(), 3))
        run = method_on(data, method, epsilon)
        if run is None or data.points.size * data.k > MAX_WORK.get(method, np.inf):
            known["ratios"][name] = None
        else:
            found = [run(key) for key in range(keys_for(method, data.points))]
            ratios = [loss(data.points, data.space.to_data(each.centers)) / reference() for each in found]
            ran = "/".join(sorted({each.method for each in found}))
            known["ratios"][name] = {"median": round(statistics.median(ratios), 4), "keys": len(ratios), "ran": ran}
        print(data.name, name, known["ratios"][name], file=sys.stderr, flush=True)
        store(results)


def store(results: Results) -> None:
    """Write the results; a run that is stopped leaves a whole file."""
    part = STORED.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    part.replace(STORED)


def render(results: Results) -> str:
    """The guide's tables, one for each set, in Markdown."""
    lines = []
    for name, known in results["data"].items():
        lines += ["", f"**{name}**; one center alone: {known['one center']:.3g}", ""]
        lines += [
            f"| method | {' | '.join(f'epsilon {each}' for each in EPSILONS)} |",
            f"|---|{'---:|' * len(EPSILONS)}",
        ]
        for method in ("auto", *METHODS):
            cells = [known["ratios"].get(f"{method} {epsilon}") for epsilon in EPSILONS]
            if any(cells):
                lines.append(f"| `{method}` | {' | '.join(_cell(each) for each in cells)} |")
    return "\n".join(lines[1:]) + "\n"


def _cell(found: Results | None) -> str:
    if found is None:
        return "–"
    value = found["median"]
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def fill(results: Results, points: Path | None) -> None:
    """Measure what is missing."""
    for name, value in (("delta", str(DELTA)), ("reference", f"scikit-learn {version('scikit-learn')}"), ("data", {})):
        results.setdefault(name, value)
    if points is not None:
        for data in data_sets(points):
            measure(results, data)


if __name__ == "__main__":
    run_and_render(__doc__, "kmeans_table", STORED, fill, render)
