"""Acceptance of sizing: memory stays bounded as rows grow, the cost model predicts runs it has not seen."""

from collections.abc import Iterator

from scripts.accept.claims import Check, Result, at_most
from scripts.sizing.__main__ import WORKLOADS, stored
from scripts.sizing.measure import measure
from scripts.sizing.model import fit
from scripts.sizing.page import LARGE
from scripts.sizing.workloads import Workload

FEW, MANY = 1_000_000, 20_000_000
UNSEEN = (
    Workload("consistent-histograms", 2_000_000, 1_460_000, 3_650),
    Workload("consistent-histograms", 1_000_000, 1_460_000, 3_650, rounds=8),
    Workload("range-histograms", 3_000_000, 1_024_000, 500),
)
"""Runs that the model was not fitted to."""


def memory_by_rows() -> Iterator[Result]:
    """Twenty times the rows."""
    few, many = (measure(Workload("consistent-histograms", rows, 73_000, 3_650)) for rows in (FEW, MANY))
    for kind in ("driver", "workers"):
        growth = many.memory[kind] / few.memory[kind]
        yield at_most(f"peak memory of {kind}, {MANY:,} rows over {FEW:,}", growth, 1.25)
    yield at_most("peak memory of Java at 20 million rows, heap of 2 GiB", many.memory["java"] / 2**30, 2.75, " GiB")
    yield at_most("all processes at 20 million rows", sum(many.memory.values()) / 2**30, 4, " GiB")


def cost_model() -> Iterator[Result]:
    """The model against runs it has not seen, and what the page is made of."""
    runs = stored()
    missing = [workload.name for workload in WORKLOADS if workload not in {run.workload for run in runs}]
    yield Result("every workload of the model was measured", "0 missing", f"{len(missing)} missing", not missing)
    if missing:
        return
    yield Result(
        "every job has a prediction",
        "5 jobs",
        f"{len({large.job for large in LARGE})} jobs",
        {large.job for large in LARGE} == {run.workload.job for run in runs},
    )
    for workload in UNSEEN:
        cost = fit([run for run in runs if run.workload.kind == workload.kind])
        spent = sum(measure(workload).cpu.values())
        predicted = cost.driver.at(workload) + cost.executors.at(workload)
        yield at_most(f"{workload.kind}: predicted off measured processor time", abs(predicted / spent - 1), 0.4)


CHECKS: list[Check] = [memory_by_rows, cost_model]
