"""Acceptance of reading: processor time of the first answers in Python, errors of sums, the notebook after the demo.

The release is that of `make demo`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import cast

import numpy as np

import dplib
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.query import design_of
from scripts.accept.claims import Check, Result, at_most
from tests.support.dense_histograms import DenseHistograms

ROOT = Path(__file__).resolve().parents[2]
RUNS = 3
TIMED = """
import resource, sys
def used():
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime
begin = used()
import dplib
loaded = used()
dplib.open_release(sys.argv[1]).query()
print(loaded - begin, used() - loaded)
"""
NOTEBOOK = """
import json, sys
space = {}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), space)
"""


def _demo() -> Path | None:
    """The release of `make demo`."""
    return next((path.parent for path in sorted(ROOT.glob("releases/nycflights13-*/manifest.json"))), None)


def python_times() -> Iterator[Result]:
    """Processor time, the least of several processes; the first keeps the modules' code as an installation does."""
    release = _demo()
    if release is None:
        yield Result("open_release(...).query(...)", "<= 1 s", "no release (make demo)", None)
        return
    with TemporaryDirectory() as kept:
        told = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command = [sys.executable, "-c", TIMED, str(release)]
        made = [
            subprocess.run(
                command, env=told | {"PYTHONPYCACHEPREFIX": kept}, capture_output=True, text=True, check=True
            )
            for _ in range(RUNS + 1)
        ]
    times = np.array([[float(number) for number in each.stdout.split()] for each in made]).min(axis=0)
    yield at_most("processor time of import dplib", float(times[0]), 0.3, " s")
    yield at_most("processor time of open_release(...).query(...), all it loads with it", float(times[1]), 1.0, " s")


def sum_errors() -> Iterator[Result]:
    """Errors of every week and month of a carrier's items, and of their sums, beside dense least squares."""
    folder = _demo()
    if folder is None:
        yield Result("errors of sums beside dense least squares", "equal", "no release (make demo)", None)
        return
    release = dplib.open_release(folder)
    design = design_of(release.manifest)
    names = [name for name in design.series if name.endswith(" UA")]
    own = np.array([design.series_number[name] for name in names])
    incidence = design.constraints.incidence[0][own]
    part = SimpleNamespace(
        tree=design.tree,
        table=None,
        rows_are_packages=False,
        constraints=SimpleNamespace(incidence=[incidence[:, np.unique(incidence.nonzero()[1])]]),
        variance=design.variance[:, own],
        noise_variance=design.noise_variance,
        columns=SimpleNamespace(of=design.columns.of[own]),
    )
    dense = DenseHistograms(cast(Design, part))
    worst, n = 0.0, 0
    for by in ("week", "month"):
        for items in (*([name] for name in names), names[:2]):
            found = release.query(items, start="2013-02-05", by=by, sum=True)
            for first, last, error in zip(found["first_day"], found["last_day"], found["std_error"], strict=True):
                days = design.day(first.date()), design.day(last.date()) + 1
                truth = dense.sum_error(*days, np.array([names.index(name) for name in items]))
                worst, n = max(worst, abs(error / truth - 1)), n + 1
    yield at_most(f"errors of {n} sums over weeks and months of items and totals, off dense least squares", worst, 1e-9)


def notebook_runs() -> Iterator[Result]:
    """The notebook beside the demo's release."""
    if _demo() is None:
        yield Result("the notebook runs after the README's two commands", "no error", "no release (make demo)", None)
        return
    told = os.environ | {"MPLBACKEND": "agg"}
    command = [sys.executable, "-c", NOTEBOOK, str(ROOT / "notebooks" / "reading.ipynb")]
    made = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    said = made.stderr.strip().splitlines()[-1:] or ["no error"]
    yield Result("the notebook runs after the README's two commands", "no error", said[0], made.returncode == 0)


CHECKS: tuple[Check, ...] = (python_times, sum_errors, notebook_runs)
