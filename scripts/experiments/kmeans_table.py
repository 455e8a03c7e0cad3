"""Table of all central clustering methods x data x epsilon (CSV): loss as a ratio to k-means without privacy.

    python -m scripts.experiments.kmeans_table OUTPUT_FILE [--points FOLDER] [--quick]

The ratio is the loss on the points over that of k-means without privacy with 10 seedings: scikit-learn's where it is
installed, else the project's own (the column ``reference`` says which). Each number is the median of 5 noise keys (3
with ``--quick``). Methods that need a delta get 1e-6. ``one_center`` is the ratio of the mean of all points: a method
above it is worth nothing there. Data: generated mixtures in the unit ball (d = 2 and 20, k = 8, and d = 100), and from
``--points`` the sets s1.txt and birch1.data.gz.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dplib.clustering.choose import METHODS, plan_method, run_plan
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.errors import ConfigError
from dplib.mechanisms.clustering_noise import KeyedNoise
from dplib.privacy.budget import ApproxDP

FloatArray = npt.NDArray[np.float64]

EPSILONS = ("0.1", "0.5", "1", "2")
DELTA = Fraction(1, 10**6)
SLOW = {"privgene": 20_000, "local_search": 120_000}
"""Most points a method is run on here."""


@dataclass(frozen=True)
class Data:
    """Points, the public space they are clipped to, and the number of clusters."""

    name: str
    points: FloatArray
    space: Space
    k: int


def mixture(n: int, d: int, k: int, seed: int) -> FloatArray:
    """Normal clusters around k places in a ball of radius 0.875, clipped to the unit ball."""
    generator = np.random.default_rng(seed)
    places = generator.normal(size=(k, d))
    places *= 0.875 * generator.random((k, 1)) ** (1 / d) / np.linalg.norm(places, axis=1, keepdims=True)
    points = places[generator.integers(k, size=n)] + generator.normal(size=(n, d)) / (8 * np.sqrt(d))
    return np.asarray(points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0))


def data_sets(folder: Path | None, quick: bool) -> Iterator[Data]:
    n = 20_000 if quick else 100_000
    yield Data("mixture d=2 k=8", mixture(n, 2, 8, 11), Space.ball([0.0] * 2, 1.0), 8)
    yield Data("mixture d=20 k=8", mixture(n, 20, 8, 11), Space.ball([0.0] * 20, 1.0), 8)
    if not quick:
        yield Data("mixture d=20 k=64", mixture(n, 20, 64, 11), Space.ball([0.0] * 20, 1.0), 64)
        yield Data("mixture d=100 k=8", mixture(n, 100, 8, 11), Space.ball([0.0] * 100, 1.0), 8)
    if folder is not None:
        square = Space.box([0.0, 0.0], [1e6, 1e6])
        yield Data("S1", np.loadtxt(folder / "s1.txt", delimiter=",", skiprows=1), square, 15)
        if not quick:
            yield Data("birch1", np.loadtxt(folder / "birch1.data.gz"), square, 100)


def loss(points: FloatArray, centers: FloatArray) -> float:
    """Sum of squared distances to the nearest center."""
    total = 0.0
    for start in range(0, len(points), 20_000):
        part = points[start : start + 20_000]
        away = (centers**2).sum(axis=1) - 2 * part @ centers.T
        total += float((part**2).sum() + away.min(axis=1).sum())
    return total


def reference_loss(data: Data) -> tuple[float, str]:
    """Loss of k-means without privacy, and whose."""
    try:
        KMeans = import_module("sklearn.cluster").KMeans
    except ImportError:
        start = data.points[: data.k]
        fit = weighted_kmeans(data.points, np.ones(len(data.points)), start, 0, n_init=10)
        return loss(data.points, fit.centers), "own"
    return float(KMeans(data.k, n_init=10, random_state=0).fit(data.points).inertia_), "scikit-learn"


def rows(data: Data, n_keys: int) -> Iterator[dict[str, str | float]]:
    reference, whose = reference_loss(data)
    source, problem = Blocks(data.space.to_units(data.points)), Problem(data.space, data.k)
    alone = loss(data.points, data.points.mean(axis=0, keepdims=True)) / reference
    for method in ("auto", *METHODS):
        for epsilon in EPSILONS:
            try:
                plan = plan_method(problem, ApproxDP(Fraction(epsilon), DELTA), method)
            except ConfigError:
                continue  # not for this dimension
            if len(data.points) > SLOW.get(method, len(data.points)):
                continue
            ratios, started, ran = [], time.process_time(), ""
            for key in range(n_keys):
                found = run_plan(source, KeyedNoise(key.to_bytes(32, "big")), problem, plan)
                ratios.append(loss(data.points, data.space.to_data(found.centers)) / reference)
                ran = found.method
            yield {
                "data": data.name,
                "method": method,
                "ran": ran,
                "epsilon": epsilon,
                "ratio": round(float(np.median(ratios)), 4),
                "worst": round(max(ratios), 4),
                "one_center": round(alone, 1),
                "cpu_seconds": round((time.process_time() - started) / n_keys, 3),
                "reference": whose,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--points", type=Path)
    parser.add_argument("--quick", action="store_true")
    settings = parser.parse_args()
    with settings.output.open("w", newline="") as file:
        writer: csv.DictWriter[str] | None = None
        for data in data_sets(settings.points, settings.quick):
            for row in rows(data, 3 if settings.quick else 5):
                if writer is None:
                    writer = csv.DictWriter(file, list(row))
                    writer.writeheader()
                writer.writerow(row)
                file.flush()


if __name__ == "__main__":
    main()
