"""How time and memory of the main job grow with the number of items: a table (CSV) and a picture (PNG).

    python -m scripts.experiments.hierarchy_growth OUTPUT_FOLDER

Items in categories of a hundred, these in departments of ten categories, and a grand total, all measured. *Plan* is the
whole command ``dplib plan`` over three years of days; *solve* is what a process needs, once the settings are read, for
the estimates, all standard errors and the integer tables of 31 days. Processor seconds and resident megabytes.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from scripts.accept.hierarchies_scale import nested_settings, plan_cost

SIZES = (1_000, 10_000, 100_000)
SOLVE = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
from dplib.config.load import check
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import estimate, integer_tables
design = Design.resolve(check(ConsistentHistogramsConfig, json.load(sys.stdin)), Path())
noisy = np.random.default_rng(0).normal(20, 5, (design.tree.n_nodes, len(design.series)))
noisy[~np.isfinite(design.node_variance)] = 0
start = time.process_time()
values = estimate(design, noisy, design.config.publish.solver).values
Errors(design).node_std_error()
integer_tables(design, values)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
Table = dict[str, list[float]]


def measured(folder: Path) -> Table:
    """The table, also written to a folder."""
    table: Table = {"items": [], "plan_seconds": [], "plan_megabytes": [], "solve_seconds": [], "solve_megabytes": []}
    for size in SIZES:
        shape = size, size // 100, size // 1000
        seconds, memory = plan_cost(nested_settings(*shape))
        settings = json.dumps(nested_settings(*shape, last="2021-01-31"))
        done = subprocess.run([sys.executable, "-c", SOLVE], input=settings, capture_output=True, text=True, check=True)
        row = [float(size), seconds, memory / 2**20, *map(float, done.stdout.split())]
        for values, value in zip(table.values(), row, strict=True):
            values.append(value)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "hierarchy_growth.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    draw(table, folder / "hierarchy_growth.png")
    return table


def draw(table: Table, path: Path) -> None:
    """Both measures on logarithmic axes, beside a line of slope 1."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, unit, label in zip(axes, ("seconds", "megabytes"), ("processor seconds", "megabytes"), strict=True):
        for what in ("plan", "solve"):
            axis.loglog(table["items"], table[f"{what}_{unit}"], marker="o", label=what)
        last = table[f"solve_{unit}"][-1]
        axis.loglog(table["items"], [last * n / table["items"][-1] for n in table["items"]], "k:", label="slope 1")
        axis.set_xlabel("items")
        axis.set_ylabel(label)
        axis.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    print(measured(Path(sys.argv[1])))
