"""Acceptance of key selection: keys released beside PipelineDP's and OpenDP's, the optimum, ten million rows.

Every number of keys is at the same epsilon 1, delta 1e-6 and cap of keys a unit. Ours are released by the functions
that Spark's tasks run, a mean over secrets; a threshold's are the expectation over its noise of what the same cap
keeps. PipelineDP is asked itself, in the environment of `make bench-peers` or the one that DPLIB_PEERS names (its
Python). Without it its published formula is taken (the source of its library: google/differential-privacy,
partition_selection: half of delta for the noise, half for the threshold), and the table says so. OpenDP, which is
installed here, says its threshold's delta itself.
"""

import csv
import json
import math
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from scipy.optimize import brentq
from scipy.stats import norm

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.release_table import ONE, Selector
from dplib.mechanisms.renyi_selection import renyi_tables
from dplib.mechanisms.truncated_geometric import truncated_geometric
from dplib.privacy.calibration import rho_from_approx
from dplib.spark.rows.keys import decide, gather_keys, weigh_keys
from scripts.accept.claims import Check, Result, at_least, at_most, load, unless_busy
from scripts.accept.hierarchies_groupings import with_peak
from scripts.accept.runs import ROOT, needs_shared, run_command, shared, written

EPSILON, DELTA, K = Fraction(1), Fraction(1, 10**6), 10
ASKED = """
import json, sys
from pydp.algorithms.partition_selection import create_gaussian_partition_strategy
rule = create_gaussian_partition_strategy(1.0, 1e-6, 10)
print(json.dumps([rule.probability_of_keep(n) for n in range(1, 1000)]))
"""


def orders() -> pa.Table:
    """The takeaway's orders and what is on them."""
    with shared("retail", "restaurant-1-orders.csv").open(encoding="utf-8") as file:
        return _pairs((row["OrderNumber"], row["ItemName"]) for row in csv.DictReader(file))


def words() -> pa.Table:
    """Files of installed packages and the words in them."""
    files = sorted(Path(sysconfig.get_paths()["purelib"]).rglob("*.py"))
    texts = ((n, path.read_text(encoding="utf-8", errors="ignore").lower()) for n, path in enumerate(files))
    return _pairs((str(n), word) for n, text in texts for word in set(re.findall(r"[a-z]{3,}", text)))


def zipf() -> pa.Table:
    """200,000 units of ten keys in the mean, by Zipf's law."""
    random = np.random.default_rng(1)
    units = np.repeat(np.arange(200_000), random.geometric(0.1, 200_000))
    keys = np.minimum(random.zipf(1.1, len(units)), 10**9)
    return _pairs(zip(map(str, units), map(str, keys), strict=True))


def _pairs(rows: Iterable[tuple[str, str]]) -> pa.Table:
    units, keys = zip(*rows, strict=True)
    table = pa.table({"unit": pa.array(units).cast(pa.binary()), "key": pa.array(keys).cast(pa.binary())})
    return table.sort_by([("unit", "ascending"), ("key", "ascending")])


def selected(pairs: pa.Table, rounds: tuple[Selector, ...], max_keys: int, seed: int) -> int:
    """Keys that the job's own functions release."""
    key, gone = bytes([seed + 1]) * 32, list[bytes]()
    units = list(gather_keys(max_keys, key)(iter(pairs.combine_chunks().to_batches(1 << 20))))
    for number, rule in enumerate(rounds):
        weighed = pa.Table.from_batches(weigh_keys(pa.array(gone, pa.binary()), rule.weights)(iter(units)))
        summed = weighed.group_by("key").aggregate([("weight", "sum")]).rename_columns(["key", "weight"])
        for found in decide(rule, key, number)(iter(summed.combine_chunks().to_batches())):
            gone += found.column("key").to_pylist()
    return len(gone)


def counts(pairs: pa.Table, max_keys: int, seed: int) -> IntArray:
    """Units of each key where each unit keeps some of its keys, shape (n,)."""
    units = gather_keys(max_keys, bytes([seed + 1]) * 32)(iter(pairs.combine_chunks().to_batches(1 << 20)))
    kept = pa.Table.from_batches(weigh_keys(pa.array([], pa.binary()), (1,) * max_keys)(units))
    summed: IntArray = kept.group_by("key").aggregate([("weight", "sum")]).column("weight_sum").to_numpy()
    return summed


@lru_cache
def pipeline_dp() -> tuple[str, FloatArray]:
    """PipelineDP's Gaussian threshold: where it comes from, and the probability by units, shape (1000,)."""
    python = os.environ.get("DPLIB_PEERS") or str(ROOT / "build/peers/pipeline-dp/bin/python")
    if Path(python).exists():
        done = subprocess.run([python, "-c", ASKED], capture_output=True, text=True, check=True)
        return "PipelineDP itself", np.array([0.0, *json.loads(done.stdout)])

    def excess(sigma: float) -> float:
        half, tail = 1 / (2 * sigma), math.e * norm.cdf(-1 / (2 * sigma) - sigma)
        return float(norm.cdf(half - sigma) - tail) - float(DELTA) / 2

    sigma = brentq(excess, 0.1, 100) * math.sqrt(K)
    threshold = 1 + sigma * norm.isf(1 - (1 - float(DELTA) / 2) ** (1 / K))
    return "PipelineDP's formula", norm.sf((threshold - np.arange(1000)) / sigma)


@lru_cache
def open_dp() -> FloatArray:
    """OpenDP's Gaussian threshold at half of delta for each of noise and threshold, shape (1000,)."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i32"))
    space = domain, dp.l02inf_distance(dp.absolute_distance(T="i32"))
    scale, threshold = math.sqrt(K / (2 * float(rho_from_approx(EPSILON, DELTA / 2)))), 1
    distance = (K, math.isqrt(K) + 1, 1)

    def spent() -> float:
        rule: Any = dp.m.make_gaussian_threshold(*space, scale=scale, threshold=threshold)
        return float(rule.map(distance)[1])

    while spent() > DELTA / 2:
        threshold += 1
    passed: FloatArray = norm.sf((threshold - 0.5 - np.arange(1000)) / scale)
    return passed


def _expected(kept: list[IntArray], probabilities: FloatArray) -> float:
    return float(np.mean([np.append(probabilities, 1.0)[np.minimum(each, 1000)].sum() for each in kept]))


def _beside_peers(name: str, pairs: pa.Table, target: float, n_secrets: int = 3) -> Iterator[Result]:
    tables = renyi_tables(EPSILON, DELTA, K)[1]
    ours = float(np.mean([selected(pairs, tables, K, seed) for seed in range(n_secrets)]))
    kept = [counts(pairs, K, seed) for seed in range(n_secrets)]
    peer, law = pipeline_dp()
    theirs, others = _expected(kept, law), _expected(kept, open_dp())
    yield at_least(f"keys of {name}, k = {K}: {ours:.0f} to {theirs:.0f} of {peer}", ours / theirs, target)
    yield at_least(f"keys of {name}, k = {K}: {ours:.0f} to {others:.0f} of OpenDP", ours / others, target)


@needs_shared
def of_orders() -> Iterator[Result]:
    """Products of the takeaway."""
    yield from _beside_peers("takeaway orders", orders(), 1.25, n_secrets=16)


def of_words() -> Iterator[Result]:
    """Words of files."""
    yield from _beside_peers("words of package files", words(), 2.5)


def of_zipf() -> Iterator[Result]:
    """Keys by Zipf's law."""
    yield from _beside_peers("Zipf data", zipf(), 1.8)


def of_one_key() -> Iterator[Result]:
    """One key a unit: beside the optimum of real numbers."""
    table, best = truncated_geometric(EPSILON, DELTA, 1), [0.0]
    while best[-1] < 1:
        best.append(min(math.e * best[-1] + 1e-6, 1 - (1 - best[-1] - 1e-6) / math.e, 1.0))
    of_key = counts(zipf(), 1, 0)
    optimum = np.array(best)[np.minimum(of_key, len(best) - 1)].sum()
    ours = (table.odds / ONE)[np.minimum(of_key, len(table.odds) - 1)].sum()
    yield at_least("keys of Zipf data at k = 1, to the optimum", float(ours / optimum), 0.98)


def of_ten_million_rows() -> Iterator[Result]:
    """Ten million rows of a million keys, a run of the console script with two cores."""
    with tempfile.TemporaryDirectory() as name:
        folder, random = Path(name), np.random.default_rng(7)
        keys = np.append(np.arange(10**6), np.minimum(random.zipf(1.2, 9 * 10**6), 10**6) - 1)
        units = random.integers(0, 10**6, len(keys))
        rows = pa.table({"key": pa.array(keys).cast(pa.string()), "unit": pa.array(units).cast(pa.string())})
        pa_parquet.write_table(rows, folder / "rows.parquet")
        columns = {"key": "key", "unit": "unit"}
        config = written(
            folder,
            {
                "job": "key-selection",
                "dataset": "keys",
                "input": {"path": "rows.parquet", "format": "parquet", "columns": columns},
                "privacy": {"unit": "unit", "max_keys_per_unit": K, "budget": {"epsilon": 1, "delta": "1e-6"}},
                "spark": {"master": "local[2]"},
            },
        )
        opened = run_command("init", "--config", str(config), "--budget", "100", "--yes")
        started, program = time.monotonic(), str(Path(sys.executable).parent / "dplib")
        done, peak = with_peak([program, "run", "key-selection", "--config", str(config)])
        took = time.monotonic() - started
        yield Result("the run", "exit 0", f"exit {opened.returncode or done.returncode}", done.returncode == 0)
        yield unless_busy(at_most(f"10 million rows, 1 million keys, local[2] ({load()})", took, 180, " s"))
        yield at_most("their memory, of all processes", peak / 2**30, 4, " GiB")


CHECKS: tuple[Check, ...] = (of_orders, of_words, of_zipf, of_one_key, of_ten_million_rows)
