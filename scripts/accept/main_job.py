"""Acceptance of the main job: consistent histograms from rows to release."""

import statistics
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
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.rows import SeriesCounts, row_kinds
from dplib.jobs.consistent_histograms.solver_config import Solver
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.metrics.error import range_sums
from dplib.privacy.noise_quantile import Z95
from dplib.secret.secret import Secret
from dplib.workflow.run_keys import RunKeys
from scripts.accept.claims import Check, Result, at_least, at_most, load, unless_busy
from scripts.accept.runs import ROOT, as_it_stands, needs_shared, run_command, script, shared, verifies
from scripts.bench import noise


def noise_speed() -> Iterator[Result]:
    """The samplers beside OpenDP's in the same run."""
    for row in noise.run(scales=(55,)):
        yield at_most(
            f"{row['sampler']} at scale 55, processor time a draw ({load()})", float(row["ours_ns"]), 300, " ns"
        )
        yield at_least(f"{row['sampler']} at scale 55, times faster than OpenDP", float(row["ratio"]), 15, "x")


@needs_shared
def takeaway() -> Iterator[Result]:
    """The real takeaway orders, end to end, and the honesty of the errors."""
    config_file = ROOT / "conf" / "takeaway.yaml"
    with tempfile.TemporaryDirectory() as name:
        yield verifies(as_it_stands(config_file.name, "", Path(name)))
    design = Design.resolve(checked(ConsistentHistogramsConfig, read_yaml(config_file)), config_file.parent)
    size = len(design.items), design.config.domain.n_days
    yield Result("takeaway, items and days", "(248, 1433)", f"{size}", size == (248, 1433))
    yield from honest_errors(design, takeaway_counts(design))


def takeaway_counts(design: Design) -> np.ndarray:
    """True bounded counts by day and item, by pandas: the first rows of an order stand for those that a hash keeps."""
    orders = pd.read_csv(shared("retail", "restaurant-1-orders.csv"))
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
        coverages.append(float((np.abs(found - right) <= Z95 * error).mean()))
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
    # The first one warms up.
    runs = [[*map(float, script("scripts.bench.million_days").split()[-2:])] for _ in range(4)][1:]
    claim = f"a million days x 5 items, counts to published tables, median of 3 ({load()})"
    yield unless_busy(at_most(claim, statistics.median(seconds for seconds, _ in runs), 60, " s"))
    yield at_most("the same, peak memory with Spark's JVM", max(memory for _, memory in runs), 6, " GiB")


def restaurant() -> Iterator[Result]:
    """The paper's restaurant and the README's flights as configurations that run as they stand; a rerun."""
    for config, sample in (("restaurant.yaml", "restaurant"), ("nycflights13.yaml", "flights")):
        with tempfile.TemporaryDirectory() as name:
            release = as_it_stands(config, sample, Path(name))
            yield verifies(release)
            started = time.monotonic()
            again = run_command("run", "consistent-histograms", "--config", str(Path(name, config)))
            took = f"{time.monotonic() - started:.1f} s"
            same = again.stdout.splitlines()[-1] == str(release) and "starting Spark" not in again.stderr
            yield Result(f"{config} again returns it without Spark", "the same release", took, same)


CHECKS: tuple[Check, ...] = (restaurant, noise_speed, takeaway, million_days)
