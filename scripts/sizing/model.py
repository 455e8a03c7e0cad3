"""What a run costs as a function of its size: non-negative least squares on the measured runs of one kind.

    processor seconds of the driver          fixed + b cells (+ a rows, where a job collects edges) + d joined^3
    processor seconds of executors           fixed + a rows + b cells + c tasks + e rounds x cells; also of Java and of
                                             the Python workers apart
    memory of the driver's Python            fixed + b cells (+ a rows, where a job collects edges) + d joined^2
    shuffle bytes                            a rows + b cells

*joined* is the number of series that the main job's constraints join. A kind is a job, or the main job in blocks, whose
rounds run on the executors.

Errors are weighted relative to the measured value, so that small runs count as much as large ones. On E executors of C
cores a run takes about

    driver's seconds + executors' fixed seconds + (what grows with rows, cells and tasks) / (E C)

which leaves out waiting for the cluster manager, for slow tasks and for storage. The fit is a straight line through
runs of at most 20 million rows: at a thousand million it is an extrapolation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from scripts.sizing.measure import Run
from scripts.sizing.workloads import Workload

TERMS: dict[str, Callable[[Workload], float]] = {
    "fixed": lambda workload: 1.0,
    "rows": lambda workload: workload.rows,
    "cells": lambda workload: workload.cells,
    "tasks": lambda workload: workload.tasks,
    "rounds": lambda workload: workload.rounds * workload.cells,
    "pairs": lambda workload: workload.joined**2,
    "joined": lambda workload: workload.joined**3,
}
COLLECTS_EDGES = frozenset({"network-statistics", "minimum-cuts"})
"""Jobs whose driver holds the graph."""


@dataclass(frozen=True)
class Line:
    """A non-negative linear function of the size.

    Attributes:
        coefficients: by term.
        error: largest relative error on the runs it was fitted to.
    """

    coefficients: dict[str, float]
    error: float

    def at(self, workload: Workload, without: frozenset[str] = frozenset()) -> float:
        """Its value, with some terms left out."""
        return sum(value * TERMS[term](workload) for term, value in self.coefficients.items() if term not in without)


@dataclass(frozen=True)
class Cost:
    """The model of one kind."""

    driver: Line
    executors: Line
    java: Line
    workers: Line
    memory: Line
    shuffle: Line

    def seconds(self, workload: Workload, slots: int) -> float:
        """On a cluster with this many cores for executors."""
        grows = self.executors.at(workload, frozenset({"fixed"}))
        return self.driver.at(workload) + self.executors.coefficients["fixed"] + grows / slots


def fit(runs: Sequence[Run]) -> Cost:
    """The model of one kind from its runs."""
    own = ("fixed", "rows", "cells") if runs[0].workload.job in COLLECTS_EDGES else ("fixed", "cells")
    work = ("fixed", "rows", "cells", "tasks", "rounds")
    return Cost(
        driver=_line(runs, lambda run: run.cpu["driver"], (*own, "joined")),
        executors=_line(runs, lambda run: run.cpu["java"] + run.cpu["workers"], work),
        java=_line(runs, lambda run: run.cpu["java"], work),
        workers=_line(runs, lambda run: run.cpu["workers"], work),
        memory=_line(runs, lambda run: run.memory["driver"], (*own, "pairs")),
        shuffle=_line(runs, lambda run: run.shuffle, ("rows", "cells")),
    )


def _line(runs: Sequence[Run], measured: Callable[[Run], float], terms: Sequence[str]) -> Line:
    wanted = np.array([measured(run) for run in runs], dtype=float)
    weight = 1 / np.maximum(wanted, 1e-3)
    sizes = np.array([[TERMS[term](run.workload) for term in terms] for run in runs])
    # A term that no run has costs nothing.
    scale = np.maximum(sizes.max(axis=0), 1)
    found, _ = nnls(sizes / scale * weight[:, np.newaxis], wanted * weight)
    error = np.abs(sizes / scale @ found * weight - wanted * weight).max()
    return Line(dict(zip(terms, (found / scale).tolist(), strict=True)), float(error))
