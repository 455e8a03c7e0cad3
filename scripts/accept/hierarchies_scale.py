"""Hierarchies at scale (issue 15): plans of many items, least squares and errors, growth."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from dplib.config.load import check
from dplib.consistency import choose
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import chosen_solvers, estimate, problem
from scripts.accept.claims import Check, Result, at_most, processor_seconds
from scripts.accept.runs import written
from tests.support.oracles import dense_day_covariance, dense_estimate, range_rows

Grouped = dict[str, list[str]]
GIB = 1 << 30


def nested_settings(n_items: int, n_categories: int, n_departments: int, last: str = "2023-12-31") -> dict[str, Any]:
    """Items in categories, these in departments, and a grand total, all measured, over days from 2021."""
    items = [f"item {number:06d}" for number in range(n_items)]
    categories = {f"category {c:04d}": items[c::n_categories] for c in range(n_categories)}
    names = list(categories)
    departments = {f"department {d:03d}": names[d::n_departments] for d in range(n_departments)}
    totals: list[Grouped] = [categories, departments, {"all": list(departments)}]
    return _settings(items, totals, ("2021-01-01", last))


def retail_settings(
    folder: Path, n_branches: int, n_regions: int, n_products: int, n_categories: int, last: str, dated: int = 0
) -> dict[str, Any]:
    """Branches in regions crossed with products in categories, six groupings; writes the public table of the leaves.

    Args:
        folder: gets the table.
        n_branches: branches.
        n_regions: regions.
        n_products: products.
        n_categories: categories.
        last: last day; the first one is that of 2023.
        dated: every leaf of this step starts or ends on a day of its own, in the middle of the days; 0 for none.
    """
    middle = np.datetime64("2023-01-01") + (np.datetime64(last) - np.datetime64("2023-01-01")) // 2
    lines = ["branch,product,region,category,from,to"]
    for number, (b, p) in enumerate(product(range(n_branches), range(n_products))):
        spell = dated and number % dated == 0
        days = ((f"{middle},", f",{middle}")[number // dated % 2]) if spell else ","
        lines.append(f"b{b:02d},p{p:03d},r{b % n_regions},c{p % n_categories:02d},{days}")
    (folder / "leaves.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    groupings = [["region"], ["category"], ["region", "category"], ["branch"], ["product"], []]
    table = {"file": "leaves.csv", "columns": ["branch", "product"], "attributes": ["region", "category"]}
    settings = _settings([], [], ("2023-01-01", last))
    settings["input"]["columns"]["item"] = ["branch", "product"]
    settings["domain"] |= {
        "items": table | {"first_day": "from", "last_day": "to"},
        "groupings": [{"by": each, "measured": True} for each in groupings],
    }
    return settings


def _settings(items: list[str], totals: list[Grouped], days: tuple[str, str]) -> dict[str, Any]:
    return {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "retail",
        "input": {
            "path": "rows.csv",
            "format": "csv",
            "options": {"header": "true"},
            "columns": {"day": "day", "item": "item", "unit": "unit"},
        },
        "privacy": {"unit": "customer", "max_rows_per_unit": 1, "budget": {"rho": "1/2"}},
        "domain": {"items": items, "first_day": days[0], "last_day": days[1]},
        "constraints": [{"totals": each, "measured": True} for each in totals],
        "tree": {"levels": ["year", "month", "day"]},
        "publish": {"output": {"path": "releases"}},
        "ledger": "sqlite:///ledger.db",
        "secret": "file:dplib.key",
        "spark": {"master": "local[2]"},
    }


def command_cost(words: list[str], folder: Path) -> tuple[float, float]:
    """Processor seconds of a command with all that it starts, and the largest memory of its processes together, bytes.

    Raises:
        RuntimeError: if the command fails, with what it said.
    """
    before = processor_seconds()
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    largest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            largest[0] = max(largest[0], _memory(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    said = process.communicate()[1]
    done.set()
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(words[:3])} ended with {process.returncode}: {said}")
    return processor_seconds() - before, float(largest[0])


def _memory(root: int) -> int:
    """Resident bytes of a process and of all below it."""
    parent, pages = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parent[int(file.parent.name)], pages[int(file.parent.name)] = int(fields[1]), int(fields[21])
    mine, total = {root}, 0
    while mine:
        total += sum(pages.get(each, 0) for each in mine)
        mine = {each for each, its_parent in parent.items() if its_parent in mine}
    return total * os.sysconf("SC_PAGE_SIZE")


def dplib(*words: str) -> list[str]:
    """A command of the console script."""
    return [str(Path(sys.executable).parent / "dplib"), *words]


def plan_cost(settings: dict[str, Any]) -> tuple[float, float]:
    """Processor seconds and bytes of ``dplib plan``."""
    with TemporaryDirectory() as name:
        config = written(Path(name), settings)
        return command_cost(dplib("plan", str(settings["job"]), "--config", str(config)), Path(name))


def plans_of_many_items() -> Iterator[Result]:
    """``dplib plan`` over three years of days."""
    seconds, memory = plan_cost(nested_settings(10_000, 100, 10))
    yield at_most("plan: 10,000 items, 100 categories, 10 departments, 3 years: CPU", seconds, 6, " s")
    yield at_most("the same: memory", memory / (1 << 20), 600, " MiB")
    seconds, memory = plan_cost(nested_settings(100_000, 1000, 20))
    yield at_most(f"plan: 100,000 items, 1,000 categories, 3 years ({memory / GIB:.2f} GiB): CPU", seconds, 30, " s")


def thinned_retail() -> Iterator[Result]:
    """Thinned copies against dense least squares with the same weights: by equations, by classes and matrix-free."""
    most = choose.MAX_CLASSES
    for dated, classes, what in ((0, most, "by equations"), (7, most, "leaves with days"), (7, 0, "matrix-free")):
        with TemporaryDirectory() as name, patch.object(choose, "MAX_CLASSES", classes):
            settings = retail_settings(Path(name), 5, 2, 8, 4, "2023-01-07", dated)
            design = Design.resolve(check(ConsistentHistogramsConfig, settings), Path(name))
            yield from _equals_dense(design, f"thinned retail, {what}")


def _equals_dense(design: Design, what: str) -> Iterator[Result]:
    generator = np.random.default_rng(1)
    noisy = generator.normal(30, 9, (design.tree.n_nodes, len(design.series))) * np.isfinite(design.variance)
    whole = problem(design, noisy)
    solver = design.config.publish.solver
    names = ", ".join(name for name, _ in chosen_solvers(design, solver))
    gap = float(np.abs(estimate(design, noisy, solver).values - dense_estimate(whole)).max())
    yield at_most(f"{what} ({names}): estimates off dense least squares", gap, 1e-9)
    covariance, errors, gaps = dense_day_covariance(whole), Errors(design), []
    n_series = len(design.series)
    for lo, hi in ((0, 7), (2, 3), (1, 6)):
        rows = range_rows(7, n_series, lo, hi)
        dense = rows @ covariance @ rows.T
        asked = np.arange(0, n_series, 4)
        gaps.append(np.abs(errors.std_errors(lo, hi, asked) ** 2 - np.diag(dense)[asked]).max())
        chosen = generator.choice(n_series, 5, replace=False)
        gaps.append(abs(errors.sum_std_error(lo, hi, chosen) ** 2 - dense[np.ix_(chosen, chosen)].sum()))
    yield at_most(f"the same: stated variances off the dense ones, {n_series} series and sums", max(gaps), 1e-9)


def dated_leaves() -> Iterator[Result]:
    """A year of 20,000 leaves of which a hundredth start or end in the middle: one plan, no matrix of series."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        config = written(folder, retail_settings(folder, 50, 8, 400, 20, "2023-12-31", dated=100))
        seconds, memory = command_cost(dplib("plan", "consistent-histograms", "--config", str(config)), folder)
        yield at_most("plan: retail with 200 leaves that have days of their own: CPU", seconds, 60, " s")
        yield at_most("the same: memory", memory / GIB, 6, " GiB")


def many_item_days() -> Iterator[Result]:
    """Three years of 10,000 leaves in 20 categories, of which a fifth start on days of their own."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        settings = retail_settings(folder, 50, 8, 200, 20, "2025-12-31", dated=5)
        settings["domain"]["groupings"] = [{"by": each, "measured": True} for each in (["category"], [])]
        lines = (folder / "leaves.csv").read_text(encoding="utf-8").splitlines()
        for number in range(1, len(lines), 5):
            day = np.datetime64("2023-01-02") + number * 7 % 1090
            lines[number] = ",".join([*lines[number].split(",")[:4], str(day), ""])
        (folder / "leaves.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        config = written(folder, settings)
        seconds, memory = command_cost(dplib("plan", "consistent-histograms", "--config", str(config)), folder)
        yield at_most("plan: 10,000 leaves, 2,000 with first days of their own: CPU", seconds, 60, " s")
        yield at_most("the same: memory", memory / GIB, 1.5, " GiB")


def growth() -> Iterator[Result]:
    """Time and memory from 10^3 to 10^5 items, by the script that draws the plot."""
    from scripts.experiments.hierarchy_growth import SIZES, measured

    with TemporaryDirectory() as name:
        table = measured(Path(name))
    for what in ("plan_seconds", "solve_seconds"):
        low, middle, high = table[what]
        # What does not depend on the items (starting, Spark's classes) cancels in differences.
        steps = (high - middle) / max(middle - low, 1e-9)
        most = 1.5 * (SIZES[2] - SIZES[1]) / (SIZES[1] - SIZES[0])
        shown = f"{low:.2f}, {middle:.2f}, {high:.2f}"
        yield at_most(f"growth of {what} from 10^4 to 10^5 over that from 10^3 to 10^4 ({shown})", steps, most)
    for what in ("plan_megabytes", "solve_megabytes"):
        low, middle, high = table[what]
        # Small problems fit into what starting takes, so the growth up to 10^4 may be nothing.
        most = 1.5 * SIZES[2] / SIZES[1]
        yield at_most(f"growth of {what} to 10^5 items ({low:.0f}, {middle:.0f}, {high:.0f})", high / middle, most)


CHECKS: list[Check] = [plans_of_many_items, thinned_retail, dated_leaves, many_item_days, growth]
