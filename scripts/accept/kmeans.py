"""Acceptance of private k-means: the job, losses in both models, and speed."""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dplib.clustering.choose import plan_method, run_plan
from dplib.clustering.local.tree import LocalTree, best_depth
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.mechanisms.local.choose_oracle import choose_oracle, rare_variance
from dplib.privacy.budget import ApproxDP, PureDP
from dplib.randomness.user_streams import UserStreams, number_users
from scripts.accept.claims import Check, Result, at_most, load, unless_busy
from scripts.accept.runs import as_it_stands, needs_shared, release_of, run_command, shared, verifies, written
from scripts.experiments.kmeans_rules import HELD_OUT, of_auto, uneven
from scripts.experiments.kmeans_table import Data, reference_loss
from tests.support.clustering import keyed, loss, mixture

N_KEYS = 5
SQUARE = Space.box([0.0, 0.0], [1e6, 1e6])


def approx(epsilon: str) -> ApproxDP:
    """With a delta of 1e-6."""
    return ApproxDP(Fraction(epsilon), Fraction(1, 10**6))


def ratio_of(data: Data, budget: PureDP | ApproxDP) -> float:
    """Median over noise keys of auto's loss over that of k-means without privacy."""
    reference, problem = reference_loss(data), Problem(data.space, data.k)
    plan, source = plan_method(problem, budget, "auto"), Blocks(data.space.to_units(data.points))
    found = [run_plan(source, keyed(key), problem, plan) for key in range(N_KEYS)]
    return statistics.median(loss(data.points, data.space.to_data(each.centers)) / reference for each in found)


def mixture_losses() -> Iterator[Result]:
    """Loss ratios on generated mixtures, median of 5 keys, delta 1e-6."""
    twenty = Data("mixture d=20", mixture(100_000, 20, 8, 11), Space.ball([0.0] * 20, 1.0), 8)
    for epsilon, most, google in (("0.1", 1.3, 3.43), ("0.5", 1.03, 1.86), ("1", 1.01, 1.41)):
        claim = f"mixture d=20, k=8, n=1e5, epsilon {epsilon}: loss ratio (Google's library: {google})"
        yield at_most(claim, ratio_of(twenty, approx(epsilon)), most)
    hundred = Data("mixture d=100", mixture(100_000, 100, 8, 11), Space.ball([0.0] * 100, 1.0), 8)
    for epsilon, most in (("0.5", 1.06), ("1", 1.02)):
        claim = f"mixture d=100, k=8, n=1e5, epsilon {epsilon}: loss ratio"
        yield at_most(claim, ratio_of(hundred, approx(epsilon)), most)


@needs_shared
def point_set_losses() -> Iterator[Result]:
    """Loss ratio on a shared set of many clusters (`scripts.accept.faults` measures the smaller ones)."""
    birch1 = Data("birch1", np.loadtxt(shared("points", "birch1.data.gz")), SQUARE, 100)
    claim = "birch1 (n=1e5, k=100), epsilon 0.5: loss ratio"
    yield at_most(claim, ratio_of(birch1, PureDP(Fraction(1, 2))), 1.2)


def local_loss() -> Iterator[Result]:
    """The local tree with a million users at epsilon 1."""
    data = Data("local", mixture(1_000_000, 2, 8, 11), Space.ball([0.0] * 2, 1.0), 8)
    sample = Data("sample", data.points[:100_000], data.space, 8)
    oracle = partial(choose_oracle, epsilon=Fraction(1))
    depth = best_depth(2, len(data.points), float(rare_variance(oracle(1 << 12))))
    tree, points = LocalTree(Problem(data.space, 8), depth, oracle), data.space.to_units(data.points)
    names, reference = number_users(np.arange(len(points))), reference_loss(sample)
    ratios = []
    for key in range(N_KEYS):
        streams = UserStreams(key.to_bytes(32, "big"), names, "accept")
        found = tree.cluster([tree.aggregate(tree.encode(streams, points))])
        ratios.append(loss(sample.points, data.space.to_data(found.centers)) / reference)
    claim = "local model, d=2, k=8, n=1e6, epsilon 1: loss ratio, median of 5 keys"
    yield at_most(claim, statistics.median(ratios), 1.15)


def held_out() -> Iterator[Result]:
    """The choice of auto on sets that decided no rule."""
    for n, d, k, fill in HELD_OUT:
        if n <= 20_000:
            data = uneven(n, d, k, 331 + d + k, fill)
            found = of_auto(data, approx("1"))
            claim = f"auto on held-out {data.name}, epsilon 1: loss over the least of five methods ({found['best']})"
            yield at_most(claim, found["ratio"], 1.1)


def job() -> Iterator[Result]:
    """The configuration that runs as it stands, and an answer."""
    with tempfile.TemporaryDirectory() as name:
        release = as_it_stands("kmeans.yaml", "flights", Path(name))
        yield verifies(release)
        answer = run_command("query", str(release), "--from", "480,120", "--json")
        stated = answer.returncode == 0 and len(json.loads(answer.stdout)) == 1
        yield Result("dplib query RELEASE --from 480,120", "the nearest center", f"exit {answer.returncode}", stated)


def kernel_speed() -> Iterator[Result]:
    """A million points of 20 dimensions in the numpy kernels."""
    space = Space.ball([0.0] * 20, 1.0)
    points, problem = space.to_units(mixture(1_000_000, 20, 8, 11)), Problem(space, 8)
    plan, source = plan_method(problem, approx("1")), Blocks(points)
    run_plan(Blocks(points[:1000]), keyed(0), problem, plan)  # compiled functions are loaded
    times = []
    for key in range(3):
        started = time.process_time()
        run_plan(source, keyed(key), problem, plan)
        times.append(time.process_time() - started)
    claim = f"1e6 points x 20 dimensions, k=8, kernels, CPU, median of 3 ({load()}; Google's library: 5.4 s)"
    yield at_most(claim, statistics.median(times), 4, " s")


def whole_speed() -> Iterator[Result]:
    """The same through the whole job on Spark local[2], from Parquet to a release."""
    with tempfile.TemporaryDirectory() as name:
        config, times = million_points(Path(name)), []
        for number in range(3):
            started = time.monotonic()
            if number:
                assert run_command("run", "kmeans", "--config", str(config), "--again").returncode == 0
            else:
                release_of(config, "--budget", "9", "--currency", "zcdp")
            times.append(time.monotonic() - started)
    claim = f"1e6 points x 20 dimensions end to end on Spark local[2], start of Spark included, best of 3 ({load()})"
    yield unless_busy(at_most(claim, min(times), 30, " s"))


def million_points(folder: Path) -> Path:
    """Write a million generated points and a configuration for them; returns its path."""
    names = [f"x{axis}" for axis in range(20)]
    rows = pa.table(dict(zip(names, mixture(1_000_000, 20, 8, 11).T, strict=True)))
    pq.write_table(rows, folder / "points.parquet", row_group_size=1 << 17)
    return written(
        folder,
        {
            "job": "kmeans",
            "dataset": "million",
            "input": {"path": "points.parquet", "format": "parquet", "columns": {"coordinates": names}},
            "privacy": {"unit": "event", "budget": {"epsilon": 1, "delta": "1e-6"}},
            "clustering": {"radius": 1, "n_clusters": 8},
            "spark": {"master": "local[2]"},
        },
    )


CHECKS: tuple[Check, ...] = (
    mixture_losses, point_set_losses, local_loss, held_out, job, kernel_speed, whole_speed,
)  # fmt: skip
