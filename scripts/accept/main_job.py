"""Acceptance of the main job: consistent histograms from rows to release."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from dplib.canonical import settings_hash
from dplib.config.load import check as checked
from dplib.config.load import read_yaml
from dplib.consistency.answer_variance import AnswerVariance
from dplib.consistency.choose import SOLVERS
from dplib.consistency.problem import ConsistencyProblem, SolverOptions
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Package
from dplib.jobs.consistent_histograms.check import check_tables
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig, Solver
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import Errors, estimate
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.rows import SeriesCounts, row_kinds
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.metrics.error import interval_coverage, range_sums
from dplib.progress import SILENT
from dplib.release.manifest import load_manifest
from dplib.release.tables import read_table
from dplib.secret.secret import Secret
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import regular_edges
from dplib.workflow.run_keys import RunKeys
from scripts.accept.claims import Check, Result, at_least, at_most, load, unless_busy
from scripts.bench import noise
from tests.support.oracles import dense_day_covariance, dense_estimate

ROOT = Path(__file__).resolve().parents[2]
ITEMS = ("cola", "burger", "wings", "fries", "nuggets")
PACKAGES = (
    Package("package 1", {"cola": 2, "burger": 1, "wings": 1, "nuggets": 1}),
    Package("package 2", {"burger": 2, "wings": 2, "fries": 1}),
    Package("package 3", {"cola": 1, "burger": 1, "fries": 1, "nuggets": 1}),
)
SIZES = (32, 64, 128, 256, 512, 1024)
SCALE = 55.0
"""Noise scale of the paper's example: 5 items a package times 11 levels at epsilon 1."""


def paper_problem(n_days: int, seed: int = 0) -> ConsistencyProblem:
    """The paper's restaurant on a binary tree with Laplace noise of scale 55 on every node."""
    generator = np.random.default_rng(seed)
    tree = IntervalTree.from_level_edges(regular_edges(n_days, 2))
    day_constraints = resolve(ITEMS, n_days, PACKAGES, rows_are_packages=True).day_constraints
    days = generator.poisson(8, (n_days, 3)) @ day_constraints[0].generators.T
    true = np.asarray(tree.sums(days), dtype=np.float64)
    noisy = true + generator.laplace(0, SCALE, true.shape)
    return ConsistencyProblem(tree, noisy, np.full(true.shape, 2 * SCALE**2), day_constraints)


def paper_solvers() -> Iterator[Result]:
    """Every exact solver against dense least squares."""
    gaps: dict[str, float] = {}
    for n_days in SIZES:
        problem = paper_problem(n_days)
        best = dense_estimate(problem)
        scale = np.abs(best).max()
        for name in ("commuting", "tree_smoother", "krylov", *(("general",) if n_days <= 128 else ())):
            options = SolverOptions(tol=1e-12, max_rounds=200, krylov=name == "krylov")
            solution = SOLVERS["alternating" if name == "krylov" else name](problem, options, SILENT)
            gaps[name] = max(gaps.get(name, 0.0), float(np.abs(solution.values - best).max() / scale))
    for name, gap in gaps.items():
        sizes = "T = 32 to 128" if name == "general" else "T = 32 to 1024"
        yield at_most(f"{name} equals the dense optimum, {sizes} (relative)", gap, 1e-9)


def paper_alternation() -> Iterator[Result]:
    """The paper's own alternation reaches the optimum at its documented rate."""
    n_days = 32
    problem = paper_problem(n_days)
    best = SOLVERS["commuting"](problem, None, SILENT).values
    gaps = []
    for n_rounds in (200, 201, 400, 2000):
        values = SOLVERS["alternating"](problem, SolverOptions(tol=1e-15, max_rounds=n_rounds), SILENT).values
        gaps.append(float(np.abs(values[0] - best[0]).max()))
    rate, expected = gaps[1] / gaps[0], 1 - 1 / (2 * n_days - 1)
    yield at_most(
        "alternation: rate of the grand total, distance to 1 - 1/(2T-1) at T = 32", abs(rate - expected), 1e-6
    )
    yield at_most("alternation reaches the optimum, T = 32, 2,000 rounds (counts)", gaps[3], 1e-9)
    resolved = resolve(ITEMS, n_days, PACKAGES, rows_are_packages=True)
    largest = max(sum(package.contents.values()) for package in PACKAGES)
    same = resolved.row_l1 == largest
    yield Result("sensitivity a level is the largest package", str(largest), str(resolved.row_l1), same)


def paper_errors() -> Iterator[Result]:
    """Standard errors of random ranges against dense covariances."""
    generator = np.random.default_rng(1)
    n_days = 64
    tree = IntervalTree.from_level_edges(regular_edges(n_days, 2))
    summer = Package("summer", {"cola": 1, "wings": 3}, first=20, end=45)
    day_constraints = resolve(ITEMS, n_days, (*PACKAGES, summer), rows_are_packages=True).day_constraints
    shape = (tree.n_nodes, len(ITEMS))
    cases = {
        "equal variances": (
            np.full(shape, 2 * SCALE**2),
            resolve(ITEMS, n_days, PACKAGES, rows_are_packages=True).day_constraints,
        ),
        "unequal variances, day constraints that change": (generator.uniform(10, 6000, shape), day_constraints),
    }
    for name, (variance, chosen) in cases.items():
        covariance = dense_day_covariance(ConsistencyProblem(tree, np.zeros(shape), variance, chosen))
        errors, gap = AnswerVariance(tree, variance, chosen), 0.0
        for _ in range(1000):
            lo, hi = np.sort(generator.choice(n_days + 1, 2, replace=False))
            inside = ((np.arange(n_days) >= lo) & (np.arange(n_days) < hi)).astype(float)
            rows = np.kron(inside, np.eye(len(ITEMS)))
            dense = np.sqrt(np.diagonal(rows @ covariance @ rows.T))
            found = np.sqrt(errors.variance(int(lo), int(hi)))
            gap = max(gap, float(np.abs(found / dense - 1).max()))
        yield at_most(f"standard errors of 1,000 random ranges equal the dense ones, {name} (relative)", gap, 1e-9)


def noise_speed() -> Iterator[Result]:
    """The samplers beside OpenDP's in the same run."""
    for row in noise.run(scales=(55,)):
        yield at_most(
            f"{row['sampler']} at scale 55, processor time a draw ({load()})", float(row["ours_ns"]), 300, " ns"
        )
        yield at_least(f"{row['sampler']} at scale 55, times faster than OpenDP", float(row["ratio"]), 15, "x")


def run_command(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """One command of the console script."""
    command = [str(Path(sys.executable).parent / "dplib"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def release_of(config: Path, name: str, folder: Path, budget: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run a configuration with ledger, secret and output in a folder of their own."""
    text = config.read_text(encoding="utf-8")
    copy = folder / config.name
    copy.write_text(text.replace("../data/", f"{ROOT}/data/").replace("../", ""), encoding="utf-8")
    made = run_command("init", "--config", str(copy), "--budget", budget, "--yes")
    if made.returncode:
        raise RuntimeError(f"{name}: dplib init ended with {made.returncode}: {made.stderr}")
    done = run_command("run", str(read_yaml(config)["job"]), "--config", str(copy))
    if done.returncode:
        raise RuntimeError(f"{name}: dplib run ended with {done.returncode}: {done.stderr}")
    return Path(done.stdout.splitlines()[-1]), done


def takeaway() -> Iterator[Result]:
    """The real takeaway orders, end to end, and the honesty of the errors."""
    if not os.environ.get("DPLIB_SHARED"):
        yield Result("takeaway orders", "the shared data", "DPLIB_SHARED is not set", None)
        return
    config_file = ROOT / "conf" / "takeaway.yaml"
    with tempfile.TemporaryDirectory() as name:
        release, _ = release_of(config_file, "takeaway", Path(name), "1")
        manifest = load_manifest(release)
        for check in check_tables(release, manifest):
            yield Result(f"takeaway, {check.name}", "1e-6, or exact", check.detail, check.ok)
    config = checked(ConsistentHistogramsConfig, read_yaml(config_file))
    design = Design.resolve(config, config_file.parent)
    items = np.array([len(design.items), config.domain.n_days])
    yield Result(
        "takeaway, size", "248 items, 1,433 days", f"{items[0]} items, {items[1]:,} days", items.tolist() == [248, 1433]
    )
    yield from honest_errors(design, takeaway_counts(design))


def takeaway_counts(design: Design) -> np.ndarray:
    """True bounded counts by day and item, by pandas: the first rows of an order stand for those that a hash keeps."""
    shared = Path(os.environ["DPLIB_SHARED"])
    orders = pd.read_csv(shared / "data/retail/restaurant-1-orders.csv")
    orders = orders.groupby("OrderNumber").head(design.config.privacy.rows_per_unit)
    moment = pd.to_datetime(orders["OrderDate"], format="%d/%m/%Y %H:%M")
    day = (moment.dt.normalize() - pd.Timestamp(design.config.domain.first_day)).dt.days
    item = orders["ItemName"].map({name: number for number, name in enumerate(design.items)})
    counts = np.zeros((design.tree.n_leaves, len(row_kinds(design))), dtype=np.int64)
    quantity = orders["Quantity"].clip(0, design.config.privacy.max_quantity)
    np.add.at(counts, (day.to_numpy(), item.to_numpy()), quantity.to_numpy())
    return counts


def honest_errors(design: Design, counts: np.ndarray, n_keys: int = 20, n_ranges: int = 10_000) -> Iterator[Result]:
    """Predicted errors against measured ones over random ranges and noise keys."""
    generator = np.random.default_rng(2)
    measured = np.flatnonzero(design.constraints.measured)
    true = SeriesCounts(design).of(counts).astype(np.float64)
    per_key = n_ranges // n_keys
    errors, coverages, squares = Errors(design), [], []
    for key_number in range(n_keys):
        entry = RunKey("accept", design.config.job, "", settings_hash(design.public()))
        run = Run(key_number, entry, Fraction(1), RunState.RESERVED)
        keys = RunKeys.derive(Secret(generator.bytes(32)), run)
        with tempfile.TemporaryDirectory() as name:
            measure_on_driver(design, counts, keys, Path(name))
            noisy = Tables(Path(name), design).read_measurement()
        leaves = estimate(design, noisy, Solver()).values[design.tree.leaf_nodes][:, measured]
        ends = np.sort(generator.integers(0, design.tree.n_leaves + 1, (per_key, 2)), axis=1)
        ends[:, 1] += ends[:, 0] == ends[:, 1]
        ends -= (ends[:, 1] > design.tree.n_leaves)[:, None]
        series = generator.integers(0, len(measured), per_key)
        pick = (np.arange(per_key), series)
        found = range_sums(leaves, ends[:, 0], ends[:, 1])[pick]
        right = range_sums(true, ends[:, 0], ends[:, 1])[pick]
        error = np.array([errors.range_std_error(int(lo), int(hi)) for lo, hi in ends])[:, measured][pick]
        coverages.append(interval_coverage(found, right, error))
        squares.append(float(np.mean(((found - right) / error) ** 2)))
    coverage, ratio = float(np.mean(coverages)), float(np.sqrt(np.mean(squares)))
    shown = f"{100 * coverage:.2f} %"
    claim = f"95 % intervals cover, {n_ranges:,} random ranges over {n_keys} noise keys"
    yield Result(claim, "93 to 97 %", shown, 0.93 <= coverage <= 0.97)
    yield Result(
        "measured over predicted error (root mean square)", "0.95 to 1.05", f"{ratio:.3f}", 0.95 <= ratio <= 1.05
    )


def million_days() -> Iterator[Result]:
    """From counts to published tables at a million days, time and memory."""
    seconds, peak = [], 0.0
    for attempt in range(4):
        done = subprocess.run(
            [sys.executable, "-m", "scripts.bench.million_days"], capture_output=True, text=True, check=True, cwd=ROOT
        )
        took, memory = map(float, done.stdout.split()[-2:])
        if attempt:  # the first one warms up
            seconds.append(took)
            peak = max(peak, memory)
    claim = f"a million days x 5 items, counts to published tables, median of 3 ({load()})"
    yield unless_busy(at_most(claim, statistics.median(seconds), 60, " s"))
    yield at_most("the same, peak memory with Spark's JVM", peak, 6, " GiB")


def sample() -> Iterator[Result]:
    """The sample that a fresh machine has, by the README's command, and its rerun."""
    done = subprocess.run(["make", "demo"], capture_output=True, text=True, check=False, cwd=ROOT)
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    whole = done.returncode == 0 and (Path(last) / "manifest.json").is_file()
    yield Result("make demo ends with a release directory", "a release", Path(last).name, whole)
    if whole:
        started = time.monotonic()
        again = subprocess.run(["make", "demo"], capture_output=True, text=True, check=False, cwd=ROOT)
        same = again.stdout.splitlines()[-1] == last and "starting Spark" not in again.stderr
        took = time.monotonic() - started
        yield Result("make demo again returns it without Spark", "the same release", f"{took:.1f} s", same)
        checked = run_command("verify", last, "--ledger", f"sqlite:///{ROOT}/ledger.db")
        yield Result("dplib verify passes on it", "exit 0", f"exit {checked.returncode}", checked.returncode == 0)


def restaurant() -> Iterator[Result]:
    """The paper's restaurant as a configuration that runs as it stands."""
    subprocess.run([sys.executable, "-m", "scripts.make_data", "restaurant", "data"], check=True, cwd=ROOT)
    with tempfile.TemporaryDirectory() as name:
        release, _ = release_of(ROOT / "conf" / "restaurant.yaml", "restaurant", Path(name), "1")
        manifest = load_manifest(release)
        for check in check_tables(release, manifest):
            yield Result(f"restaurant, {check.name}", "1e-6, or exact", check.detail, check.ok)
        keys = ["item", "node", "level", "first_day", "last_day"]
        wanted = {PUBLISHED: [*keys, "count"], ESTIMATES: [*keys, "estimate", "std_error"]}
        for table, columns in wanted.items():
            found = read_table(release / table).column_names
            yield Result(f"restaurant, columns of {table}", ", ".join(columns), ", ".join(found), found == columns)


CHECKS: tuple[Check, ...] = (
    sample,
    restaurant,
    paper_solvers,
    paper_alternation,
    paper_errors,
    noise_speed,
    takeaway,
    million_days,
)
