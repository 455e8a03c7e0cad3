"""Acceptance of private k-means: the job, losses in both models, and speed."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dplib.clustering.choose import METHODS, plan_method, run_plan
from dplib.clustering.local.tree import LocalTree, best_depth
from dplib.clustering.problem import Problem
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.jobs.kmeans.check import check_tables
from dplib.jobs.kmeans.config import LOCAL_METHODS
from dplib.mechanisms.clustering_noise import KeyedNoise
from dplib.mechanisms.local.choose_oracle import choose_oracle, rare_variance
from dplib.privacy.budget import ApproxDP, PureDP
from dplib.randomness.user_streams import UserStreams, number_users
from dplib.release.manifest import load_manifest
from scripts.accept.claims import Check, Result, at_most, load, unless_busy
from scripts.accept.main_job import release_of, run_command
from scripts.experiments.kmeans_rules import HELD_OUT, of_auto, uneven
from scripts.experiments.kmeans_table import Data, loss, mixture, reference_loss

ROOT = Path(__file__).resolve().parents[2]
DELTA = Fraction(1, 10**6)
N_KEYS = 5
SQUARE = Space.box([0.0, 0.0], [1e6, 1e6])


def ratio_of(data: Data, epsilon: str, method: str = "auto", pure: bool = False) -> float:
    """Median over noise keys of the loss over that of k-means without privacy."""
    reference = reference_loss(data)
    problem = Problem(data.space, data.k)
    budget = PureDP(Fraction(epsilon)) if pure else ApproxDP(Fraction(epsilon), DELTA)
    plan, source = plan_method(problem, budget, method), Blocks(data.space.to_units(data.points))
    found = [run_plan(source, KeyedNoise(key.to_bytes(32, "big")), problem, plan) for key in range(N_KEYS)]
    return statistics.median(loss(data.points, data.space.to_data(each.centers)) / reference for each in found)


def mixture_losses() -> Iterator[Result]:
    """Loss ratios on generated mixtures, median of 5 keys, delta 1e-6."""
    ball = {d: Space.ball([0.0] * d, 1.0) for d in (20, 100)}
    twenty = Data("mixture d=20", mixture(100_000, 20, 8, 11), ball[20], 8)
    for epsilon, most, google in (("0.1", 1.3, 3.43), ("0.5", 1.03, 1.86), ("1", 1.01, 1.41)):
        claim = f"mixture d=20, k=8, n=1e5, epsilon {epsilon}: loss ratio (Google's library: {google})"
        yield at_most(claim, ratio_of(twenty, epsilon), most)
    hundred = Data("mixture d=100", mixture(100_000, 100, 8, 11), ball[100], 8)
    for epsilon, most in (("0.5", 1.06), ("1", 1.02)):
        yield at_most(f"mixture d=100, k=8, n=1e5, epsilon {epsilon}: loss ratio", ratio_of(hundred, epsilon), most)


def point_set_losses() -> Iterator[Result]:
    """Loss ratios on the shared point sets."""
    shared = os.environ.get("DPLIB_SHARED")
    folder = Path(shared or "", "data", "points")
    if not shared or not folder.is_dir():
        yield Result("S1 and birch1: loss ratios", "the shared data", "DPLIB_SHARED is not set", None)
        return
    s1 = Data("S1", np.loadtxt(folder / "s1.txt", delimiter=",", skiprows=1), SQUARE, 15)
    for epsilon, most in (("0.5", 1.10), ("1", 1.05)):
        yield at_most(f"S1 (n=5,000, k=15), epsilon {epsilon}: loss ratio", ratio_of(s1, epsilon, pure=True), most)
    birch1 = Data("birch1", np.loadtxt(folder / "birch1.data.gz"), SQUARE, 100)
    yield at_most("birch1 (n=1e5, k=100), epsilon 0.5: loss ratio", ratio_of(birch1, "0.5", pure=True), 1.2)


def local_loss() -> Iterator[Result]:
    """The local tree with a million users at epsilon 1."""
    data = Data("local", mixture(1_000_000, 2, 8, 11), Space.ball([0.0] * 2, 1.0), 8)
    sample = Data("sample", data.points[:100_000], data.space, 8)
    epsilon = Fraction(1)
    oracle = partial(choose_oracle, epsilon=epsilon)
    depth = best_depth(2, len(data.points), float(rare_variance(oracle(1 << 12))))
    tree, points = LocalTree(data.space, depth, oracle), data.space.to_units(data.points)
    names, reference = number_users(np.arange(len(points))), reference_loss(sample)
    ratios = []
    for key in range(N_KEYS):
        streams = UserStreams(key.to_bytes(32, "big"), names, "accept")
        found = tree.cluster(tree.aggregate(tree.encode(streams, points)), Problem(data.space, 8))
        ratios.append(loss(sample.points, data.space.to_data(found.centers)) / reference)
    claim = "local model, d=2, k=8, n=1e6, epsilon 1: loss ratio, median of 5 keys"
    yield at_most(claim, statistics.median(ratios), 1.15)


def methods() -> Iterator[Result]:
    """Every algorithm of the survey by name."""
    central = {"lloyd", "kvariates", "local_search", "max_cover", "sample_aggregate", "privgene"}
    central |= {"tree_coreset", "grid", "quadtree"}
    local = {"ldp_tree", "ldp_hash_rounds", "noisy_coordinates"}
    for model, wanted, found in (("central", central, METHODS), ("local", local, LOCAL_METHODS)):
        yield Result(
            f"{model} methods by name", ", ".join(sorted(wanted)), ", ".join(sorted(found)), wanted == {*found}
        )


def held_out() -> Iterator[Result]:
    """The choice of auto on sets that decided no rule."""
    for n, d, k, fill in HELD_OUT:
        if n <= 20_000:
            data = uneven(n, d, k, 331 + d + k, fill)
            found = of_auto(data, ApproxDP(Fraction(1), DELTA))
            claim = f"auto on held-out {data.name}, epsilon 1: loss over the least of five methods ({found['best']})"
            yield at_most(claim, found["ratio"], 1.1)


def job() -> Iterator[Result]:
    """The configuration that runs as it stands, its checks and answers, and the error cases."""
    subprocess.run([sys.executable, "-m", "scripts.make_data", "flights", "data"], check=True, cwd=ROOT)
    with tempfile.TemporaryDirectory() as name:
        release, _ = release_of(ROOT / "conf" / "kmeans.yaml", "flights", Path(name), "1")
        for check in check_tables(release, load_manifest(release)):
            yield Result(f"flights, {check.name}", "holds", check.detail, check.ok)
        answer = run_command("query", str(release), "--from", "480,120", "--json")
        stated = answer.returncode == 0 and len(json.loads(answer.stdout)) == 1
        yield Result("dplib query RELEASE --from 480,120", "the nearest center", f"exit {answer.returncode}", stated)


def kernel_speed() -> Iterator[Result]:
    """A million points of 20 dimensions in the numpy kernels."""
    space = Space.ball([0.0] * 20, 1.0)
    points = space.to_units(mixture(1_000_000, 20, 8, 11))
    problem = Problem(space, 8)
    plan, source = plan_method(problem, ApproxDP(Fraction(1), DELTA)), Blocks(points)
    run_plan(Blocks(points[:1000]), KeyedNoise(bytes(32)), problem, plan)  # compiled functions are loaded
    times = []
    for key in range(3):
        started = time.process_time()
        run_plan(source, KeyedNoise(key.to_bytes(32, "big")), problem, plan)
        times.append(time.process_time() - started)
    claim = f"1e6 points x 20 dimensions, k=8, kernels, CPU, median of 3 ({load()}; Google's library: 5.4 s)"
    yield at_most(claim, statistics.median(times), 4, " s")


def whole_speed() -> Iterator[Result]:
    """The same through the whole job on Spark local[2], from Parquet to a release."""
    with tempfile.TemporaryDirectory() as name:
        config = million_points(Path(name))
        made = run_command("init", "--config", str(config), "--budget", "9", "--currency", "zcdp", "--yes")
        assert made.returncode == 0, made.stderr
        times = []
        for _ in range(3):
            started = time.monotonic()
            done = run_command("run", "kmeans", "--config", str(config), "--again")
            times.append(time.monotonic() - started)
            assert done.returncode == 0, done.stderr
    claim = f"1e6 points x 20 dimensions end to end on Spark local[2], start of Spark included, best of 3 ({load()})"
    yield unless_busy(at_most(claim, min(times), 30, " s"))


def million_points(folder: Path) -> Path:
    """Write a million generated points and a configuration for them; returns its path."""
    rows = mixture(1_000_000, 20, 8, 11)
    pq.write_table(
        pa.table({f"x{axis}": rows[:, axis] for axis in range(20)}), folder / "points.parquet", row_group_size=1 << 17
    )
    settings = {
        "config_version": 1,
        "job": "kmeans",
        "dataset": "million",
        "input": {
            "path": "points.parquet",
            "format": "parquet",
            "columns": {"coordinates": [f"x{axis}" for axis in range(20)]},
        },
        "privacy": {"unit": "event", "budget": {"epsilon": 1, "delta": "1e-6"}},
        "clustering": {"radius": 1, "n_clusters": 8},
        "publish": {"output": {"path": "releases"}},
        "spark": {"master": "local[2]"},
    }
    (folder / "kmeans.yaml").write_text(json.dumps(settings), encoding="utf-8")
    return folder / "kmeans.yaml"


CHECKS: tuple[Check, ...] = (
    methods,
    mixture_losses,
    point_set_losses,
    local_loss,
    held_out,
    job,
    kernel_speed,
    whole_speed,
)
