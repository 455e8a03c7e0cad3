"""Faults in k-means: each reproduction measured again.

Simulated reports share no noise between data that differ in a row; stated errors hold as often as they say; the grid's
loss on the shared point sets and on clusters of very unequal size; settings whose numbers overflow are refused.
"""

import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from dplib.clustering.choose import plan_method, run_plan
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.jobs.kmeans.measure import measure_users
from dplib.jobs.kmeans.tables import read_records
from dplib.privacy.budget import PureDP
from dplib.randomness.user_streams import number_users
from scripts.accept.claims import Check, Result, at_least, at_most
from scripts.accept.main_job import run_command
from scripts.experiments.kmeans_rules import of_sizes
from scripts.experiments.kmeans_table import Data, loss, reference_loss
from tests.support.clustering import METHODS, keyed, mixture
from tests.support.clustering_coverage import cases as point_sets
from tests.support.clustering_coverage import coverage
from tests.support.kmeans import LOCAL, design_of, keys_of, local_settings_of

N_KEYS = 5
MILLION = Space.box([0.0, 0.0], [1e6, 1e6])
TWO, TWELVE = 2, 12
LAPLACE, GAUSSIAN = (Fraction(1, 2), Fraction(2)), (Fraction(1, 50), Fraction(3, 10))


def shared_noise() -> Iterator[Result]:
    """One user's row is changed between an attempt and its retry."""
    for method in LOCAL:
        design = design_of(local_settings_of(method, k=3))
        points = design.frame.to_units(mixture(300, 2, 4, 1))
        changed = points.copy()
        changed[17] = -changed[17]
        names = number_users(np.arange(300)).view("<i4").astype(np.int64)
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for number, given in enumerate((points, points, changed)):
                users, place = Blocks(np.concatenate([names, given], axis=1)), Path(folder, str(number))
                measure_users(design, users, keys_of(design), place)
                found.append(read_records(place))
        same = sum(np.array_equal(one[1], other[1]) for one, other in zip(found[0], found[2], strict=True))
        again = all(np.array_equal(one[1], other[1]) for one, other in zip(found[0], found[1], strict=True))
        claim = f"{method}, one of 300 rows changed before a retry: answers that are equal to the first attempt's"
        yield at_most(f"{claim}, of {len(found[0])}", same, 0)
        yield Result(f"{method}, the same rows: the same answers", "all", "all" if again else "others", again)


def ratio_of(data: Data, epsilon: str, method: str = "auto") -> float:
    """Median over noise keys of the loss over scikit-learn's."""
    reference, problem = reference_loss(data), Problem(data.space, data.k)
    plan, source = plan_method(problem, PureDP(Fraction(epsilon)), method), Blocks(data.space.to_units(data.points))
    found = [run_plan(source, keyed(key), problem, plan) for key in range(N_KEYS)]
    return statistics.median(loss(data.points, data.space.to_data(each.centers)) / reference for each in found)


def losses() -> Iterator[Result]:
    """The losses of the issue, on the shared point sets."""
    folder = Path(os.environ.get("DPLIB_SHARED", ""), "data", "points")
    if not (folder / "s1.txt").is_file():
        yield Result("S1 and S2: loss ratios", "the shared data", "DPLIB_SHARED is not set", None)
        return
    for name, targets in (("s1", {"0.1": 1.33, "0.5": 1.02, "1": 1.01}), ("s2", {"0.5": 1.02, "1": 1.01})):
        data = Data(name, np.loadtxt(folder / f"{name}.txt", delimiter=",", skiprows=1), MILLION, 15)
        for epsilon, most in targets.items():
            claim = f"{name.upper()} (n=5,000, k=15), auto, epsilon {epsilon}: loss over scikit-learn's"
            yield at_most(claim, ratio_of(data, epsilon), most)


def unequal_losses() -> Iterator[Result]:
    """Clusters whose sizes are 20 to 1, on sets that decided no constant, and points spread evenly."""
    sets = [
        of_sizes(5000, [20.0 ** (1 - place / 9) for place in range(10)], 0.04, 0.8, 901),
        of_sizes(6500, [20.0] * 3 + [1.0] * 5, 0.03, 0.7, 902),
        of_sizes(4000, [20.0, 20.0, 1.0, 1.0, 1.0], 0.05, 0.8, 903),
    ]
    for epsilon, most in (("0.5", 1.3), ("1", 1.26)):
        found = [ratio_of(data, epsilon) for data in sets]
        claim = f"three sets of clusters of sizes 20 to 1, auto, epsilon {epsilon}: mean loss over scikit-learn's"
        yield at_most(claim, statistics.mean(found), most)
    even = Data("even", np.random.default_rng(904).uniform(-1, 1, (5000, 2)), Space.box([-1, -1], [1, 1]), 10)
    for epsilon in ("0.1", "0.5", "1"):
        yield at_most(f"points spread evenly, auto, epsilon {epsilon}: loss", ratio_of(even, epsilon), 1.08)


def covered() -> Iterator[Result]:
    """How often stated intervals of 95 % hold, over unequal, even and tight sets, two budgets and five keys or more."""
    cases = [(method, TWO, LAPLACE) for method in ("grid", "quadtree", "lloyd_laplace", "local_search")]
    cases += [(method, TWO, GAUSSIAN) for method in ("lloyd_gaussian", "max_cover", "tree_coreset")]
    cases += [("lloyd_laplace", TWELVE, LAPLACE), ("tree_coreset", TWELVE, GAUSSIAN)]
    for method, dimension, budgets in cases:
        # The coreset states a loss where all counts are far above their noise: in few runs of few coordinates.
        n_keys = 20 if (method, dimension) == ("tree_coreset", TWO) else 5
        for name, (held, of) in coverage(method, point_sets(dimension), budgets, n_keys).items():
            if of < 20:
                continue
            share, room = held / of, 1.5 * (0.05 * 0.95 / of) ** 0.5
            ok = 0.92 - room <= share and (share <= 0.99 + room or name == "loss")
            claim = f"{method}, {'2' if dimension == TWO else '5 and 12'} coordinates: intervals of {name} that hold"
            yield Result(f"{claim}, of {of:,}", "0.92 to 0.99", f"{share:.3f}", ok)


def unmeasured() -> Iterator[Result]:
    """What was never measured, and a cluster in one cell."""
    square = Space.box([-1.0, -1.0], [1.0, 1.0])
    points = square.to_units(mixture(500, 2, 3, 1))
    for method in ("kvariates", "privgene"):
        found = METHODS[method](Blocks(points), keyed(1), Problem(square, 3), Fraction(1))
        zeros = int((found.weights == 0).sum())
        yield at_most(f"{method}: weights that are published as 0 and were never measured", zeros, 0)
    tight = square.to_units(np.repeat([[0.13, 0.27], [-0.7, 0.4]], 2000, axis=0))
    found = METHODS["grid"](Blocks(tight), keyed(1), Problem(square, 2), Fraction(1))
    least = float(found.deviations.min()) * square.unit
    yield at_least("grid, clusters of one place each: least stated error", least, 0.001)


def wide_bounds() -> Iterator[Result]:
    """Bounds of +-1e300: refused before anything is spent."""
    case = Path(os.environ.get("DPLIB_SHARED", ""), "cases", "inputs", "kmeans_wide_bounds")
    if not case.is_dir():
        yield Result("bounds of +-1e300", "the shared case", "DPLIB_SHARED is not set", None)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in case.iterdir():
            shutil.copyfile(file, folder / file.name)
        config = next(folder.glob("*.y*ml"))
        for command in ("plan", "run"):
            done = run_command(command, "kmeans", "--config", str(config))
            last = (done.stderr.strip().splitlines() or [""])[-1]
            ok = done.returncode == 2 and "clustering.bounds" in done.stderr
            yield Result(
                f"bounds of +-1e300, {command}", "exit 2 naming clustering.bounds", f"{done.returncode}: {last}", ok
            )


def marked() -> Iterator[Result]:
    """Centers that noise alone may have made are marked."""
    text = Path("dplib/clustering/local/hash_rounds.py").read_text(encoding="utf-8")
    cited = "Chaturvedi, Jones, Nguyen: Locally private k-means clustering with constant" in text
    yield Result("the citation of the rounds' paper", "authors and title of one paper", json.dumps(cited), cited)


CHECKS: tuple[Check, ...] = (
    shared_noise,
    losses,
    unequal_losses,
    covered,
    unmeasured,
    wide_bounds,
    marked,
)
