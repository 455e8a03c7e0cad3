"""Acceptance of groupings: a chain's sales from rows to release, and a thinned copy against dense least squares."""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dplib.config.load import check as checked
from dplib.config.selection import select
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import estimate
from scripts.accept.claims import Check, Result, at_most, load, unless_busy
from scripts.accept.runs import run_command, verifies, written
from tests.support.dense_histograms import DenseHistograms

GROUPINGS = [
    {"by": ["region", "category"], "measured": True}, {"by": ["category"], "measured": True},
    {"by": ["region"], "measured": True}, {"by": [], "measured": True}, ["store"], ["product"],
]  # fmt: skip
N_ROWS = 500_000


def settings(n_days: int, tree: dict[str, Any]) -> dict[str, Any]:
    """A chain of stores: items are products in stores, six groupings nest and cross."""
    last = pd.Timestamp("2023-01-01") + pd.Timedelta(days=n_days - 1)
    return {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "chain",
        "input": {
            "path": "rows.csv",
            "format": "csv",
            "options": {"header": "true"},
            "columns": {"day": "day", "item": ["store", "product"], "unit": "receipt"},
        },
        "privacy": {"unit": "receipt", "max_rows_per_unit": 4, "budget": {"rho": "0.5"}},
        "domain": {
            "items": {"file": "products.csv", "columns": ["store", "product"], "attributes": ["region", "category"]},
            "groupings": GROUPINGS,
            "first_day": "2023-01-01",
            "last_day": str(last.date()),
        },
        "tree": tree,
        "spark": {"master": "local[2]"},
    }


def write_products(folder: Path, stores: int, regions: int, products: int, categories: int, missing: int = 0) -> None:
    """The public table of a chain; ``missing`` combinations are not sold."""
    kept = [(store, product) for store in range(stores) for product in range(products)][missing:]
    lines = [f"store {s:02},product {p:03},region {s % regions},category {p % categories:02}" for s, p in kept]
    (folder / "products.csv").write_text("\n".join(["store,product,region,category", *lines, ""]), encoding="utf-8")


def write_rows(folder: Path, n_days: int, stores: int, products: int) -> None:
    """Rows of a year: what is bought follows a skewed law, about two rows a receipt."""
    generator = np.random.default_rng(15)
    day = np.sort(generator.integers(0, n_days, N_ROWS))
    pd.DataFrame(
        {
            "day": (pd.Timestamp("2023-01-01") + pd.to_timedelta(day, "D")).strftime("%Y-%m-%d"),
            "store": [f"store {s:02}" for s in generator.integers(0, stores, N_ROWS)],
            "product": [f"product {int(p):03}" for p in products * generator.random(N_ROWS) ** 3],
            "receipt": np.arange(N_ROWS) // 2,
        }
    ).to_csv(folder / "rows.csv", index=False)


def a_chain_from_rows_to_release() -> Iterator[Result]:
    """50 stores in 8 regions x 400 products in 20 categories x 365 days, six groupings, by the console script."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_products(folder, 50, 8, 400, 20)
        write_rows(folder, 365, 50, 400)
        config = written(folder, settings(365, {"levels": ["month", "day"]}))
        run_command("init", "--config", str(config), "--budget", "10", "--currency", "zcdp", "--yes")
        words = [str(Path(sys.executable).parent / "dplib"), "run", "consistent-histograms", "--config", str(config)]
        started = time.monotonic()
        done, peak = with_peak(words)
        took = time.monotonic() - started
        what = "20,000 items, six groupings, 365 days: rows to release"
        yield Result(
            what,
            "exit 0",
            f"exit {done.returncode} {done.stderr[-300:] if done.returncode else ''}",
            not done.returncode,
        )
        if done.returncode:
            return
        yield unless_busy(at_most(f"{what} ({load()})", took, 300, " s"))
        yield at_most(f"{what}, memory of all processes", peak / 2**30, 6, " GiB")
        release = Path(done.stdout.splitlines()[-1])
        yield verifies(release)
        yield at_most("its manifest", (release / "manifest.json").stat().st_size / 2**20, 4, " MiB")
        yield from asked(release)


def asked(release: Path) -> Iterator[Result]:
    """Questions to the release."""
    for words in (
        ("--where", "region=region 3", "--where", "category=category 07"),
        ("--where", "product=product 001", "--from", "2023-06-01", "--to", "2023-06-17"),
        ("--where", "region=region 3", "--where", "region=region 4", "--sum"),
    ):
        started = time.monotonic()
        done = run_command("query", str(release), "--json", *words)
        took = time.monotonic() - started
        yield Result(f"query {' '.join(words)}", "exit 0", f"exit {done.returncode}", done.returncode == 0)
        yield unless_busy(at_most(f"query {' '.join(words)} ({load()})", took, 30, " s"))


def with_peak(words: list[str]) -> tuple[subprocess.CompletedProcess[str], int]:
    """Run a command; also the most memory that it and all that it started held together, in bytes."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    most = 0

    def watch() -> None:
        nonlocal most
        while process.poll() is None:
            most = max(most, held_by(process.pid))
            time.sleep(0.5)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, errors = process.communicate()
    watcher.join()
    return subprocess.CompletedProcess(words, process.returncode, output, errors), most


def held_by(pid: int) -> int:
    """Memory of a process and its descendants, pages that they share counted once."""
    parent = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
    mine, found = {pid}, 0
    while mine:
        for each in mine:
            with suppress(OSError, IndexError):
                found += int(Path(f"/proc/{each}/smaps_rollup").read_text().split("Pss:")[1].split()[0]) * 1024
        mine = {process for process, its_parent in parent.items() if its_parent in mine}
    return found


def a_thinned_copy_against_dense_least_squares() -> Iterator[Result]:
    """The same groupings on few stores, products and days: estimates and stated errors of every node and of sums."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_products(folder, 5, 2, 6, 3, missing=2)
        design = Design.resolve(checked(ConsistentHistogramsConfig, settings(12, {"branching": [3, 4]})), folder)
    noisy = np.random.default_rng(7).normal(50, 30, design.variance.shape)
    oracle = DenseHistograms(design)
    found = estimate(design, noisy, design.config.publish.solver).values
    yield at_most(
        "estimates of the thinned copy against dense least squares", gap(found, oracle.estimates(noisy)), 1e-9
    )
    errors = Errors(design)
    yield at_most("their stated errors", gap(errors.node_std_error(), oracle.node_errors), 1e-9)
    ranges = [(lo, hi) for lo in range(12) for hi in range(lo + 1, 13)]
    worst = max(gap(errors.range_std_error(lo, hi), _each(oracle, lo, hi, len(design.series))) for lo, hi in ranges)
    yield at_most(f"errors of all {len(ranges)} ranges", worst, 1e-9)
    sums = [
        select(design.names, (), ("region=region 0", "category=category 01"), True),
        select(design.names, (), ("product=product 003",), False),
        select(
            design.names,
            ("store 00 / product 004", "store 03 / product 001"),
            ("region=region 0", "category=category 00"),
            True,
        ),
    ]
    worst = max(
        abs(errors.sum_std_error(lo, hi, each.series) - oracle.sum_error(lo, hi, each.series))
        for (each,) in sums
        for lo, hi in pairwise((0, 1, 5, 12))
    )
    yield at_most("errors of sums, covariances included", worst, 1e-9)


def packages_of_a_tables_items() -> Iterator[Result]:
    """Rows that are packages of several items: sensitivities by hand, estimates and errors by dense least squares."""
    own, rng = settings(12, {"branching": [3, 4]}), np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_products(folder, 5, 2, 6, 3, missing=2)
        table = pd.read_csv(folder / "products.csv", dtype=str)
        names = table["store"] + " / " + table["product"]
        held = np.zeros((9, len(table)), dtype=int)
        for each in held:
            each[rng.choice(len(table), 4, replace=False)] = rng.integers(1, 4, 4)
        packages = {f"meal {n}": {names[i]: int(each[i]) for i in np.flatnonzero(each)} for n, each in enumerate(held)}
        own["input"]["columns"] = {"day": "day", "package": "meal", "unit": "receipt"}
        own["constraints"] = [{"packages": packages}]
        design = Design.resolve(checked(ConsistentHistogramsConfig, own), folder)
    touched = [held, *(_by(table, held, each["by"]) for each in GROUPINGS if isinstance(each, dict))]
    known = max(sum(int((part[package] ** 2).sum()) for part in touched) for package in range(len(held)))
    found = design.constraints.row_l2_squared
    yield Result("packages: squared L2 norm of a row, by hand", f"{known}", f"{found}", found == known)
    noisy, oracle = np.random.default_rng(7).normal(50, 30, design.variance.shape), DenseHistograms(design)
    values = estimate(design, noisy, design.config.publish.solver).values
    yield at_most("packages: estimates against dense least squares", gap(values, oracle.estimates(noisy)), 1e-9)
    yield at_most("packages: stated errors", gap(Errors(design).node_std_error(), oracle.node_errors), 1e-9)


def _by(table: pd.DataFrame, held: np.ndarray, columns: list[str]) -> np.ndarray:
    """Pieces of each package by the values of some columns, shape (n_packages, n_totals)."""
    keys = table[columns].agg("/".join, axis=1) if columns else pd.Series("all", index=table.index)
    return np.stack([held[:, keys == key].sum(axis=1) for key in keys.unique()], axis=1)


def _each(oracle: DenseHistograms, lo: int, hi: int, n_series: int) -> np.ndarray:
    return np.array([oracle.sum_error(lo, hi, np.array([series])) for series in range(n_series)])


def gap(found: np.ndarray, known: np.ndarray) -> float:
    """Largest difference."""
    return float(np.abs(found - known).max())


CHECKS: tuple[Check, ...] = (
    a_thinned_copy_against_dense_least_squares,
    packages_of_a_tables_items,
    a_chain_from_rows_to_release,
)
