"""The numbers of the guide's page on sizing, made from the file of runs, and its picture."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from scripts.marked import with_marked
from scripts.sizing.measure import Run
from scripts.sizing.model import Cost, fit
from scripts.sizing.workloads import Workload

EXECUTORS, CORES = 100, 4
LARGE = (
    Workload("consistent-histograms", 10**9, 10**8, 36_500, 2000),
    Workload("consistent-histograms", 10**9, 10**8, 7_300, 2000),
    Workload("consistent-histograms", 10**9, 10**8, 36_500, 2000, rounds=50),
    Workload("range-histograms", 10**9, 10**8, 10**5, 2000),
    Workload("kmeans", 10**9, 10**10, 10, 2000),
    Workload("network-statistics", 10**8, 10**7, 10**7, 2000),
    Workload("minimum-cuts", 10**8, 10**7, 10**7, 2000),
)
"""What the page predicts."""
FAR = 100.0
"""Million rows that the picture goes to."""


BUSY = 5
"""Load of the machine from which seconds on the wall say nothing."""


def rewrite(text: str, runs: Sequence[Run]) -> str:
    """The page with its tables made anew."""
    costs = {kind: fit([run for run in runs if run.workload.kind == kind]) for kind in _kinds(runs)}
    for name, table in (("measured", _measured(runs)), ("model", _model(costs)), ("predicted", _predicted(costs))):
        text = with_marked(text, name, table)
    return text


def draw(runs: Sequence[Run], path: Path) -> None:
    """Peak memory by rows, and on to 100 million; Java's is its heap's limit and not drawn."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, 2)
    titles = {"driver": "the driver's Python", "workers": "Python workers"}
    for axes, (process, title) in zip(panels, titles.items(), strict=True):
        for kind in _kinds(runs):
            points = sorted((run.workload.rows / 1e6, run.memory[process] / 2**30) for run in _by_rows(runs, kind))
            rows, memory = zip(*points, strict=True)
            (line,) = axes.plot(rows, memory, "o-", markersize=4, label=kind)
            slope = (memory[-1] - memory[-2]) / (rows[-1] - rows[-2])
            end = memory[-1] + slope * (FAR - rows[-1])
            axes.plot([rows[-1], FAR], [memory[-1], end], ":", color=line.get_color())
        axes.set(title=f"peak memory of {title}, GiB", xlabel="million rows (dotted: extrapolated)", ylim=(0, None))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    # The same runs give the same file.
    with rc_context({"svg.hashsalt": "sizing"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _kinds(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(run.workload.kind for run in runs))


def _by_rows(runs: Sequence[Run], kind: str) -> list[Run]:
    """The runs of a kind that differ from its first one in the rows only (and with them the points of kmeans)."""

    def apart_from_rows(workload: Workload) -> Workload:
        return replace(workload, rows=0, cells=0 if workload.job == "kmeans" else workload.cells)

    first = next(run.workload for run in runs if run.workload.kind == kind)
    return [run for run in runs if apart_from_rows(run.workload) == apart_from_rows(first)]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(columns), ["---"] * len(columns), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _measured(runs: Sequence[Run]) -> str:
    columns = [
        "job", "rows", "cells", "joined", "rounds", "tasks", "seconds", "CPU s driver / Java / workers", "GiB",
        "shuffle MiB",
    ]  # fmt: skip
    return _table(
        columns,
        (
            [
                run.workload.job,
                f"{run.workload.rows:,}",
                f"{run.workload.cells:,}",
                f"{run.workload.joined:,}" if run.workload.joined else "-",
                str(run.workload.rounds or "-"),
                str(run.workload.tasks),
                f"{run.seconds:.0f}" if run.load < BUSY else "-",
                " / ".join(f"{run.cpu[kind]:.0f}" for kind in ("driver", "java", "workers")),
                " / ".join(f"{run.memory[kind] / 2**30:.2f}" for kind in ("driver", "java", "workers")),
                f"{run.shuffle / 2**20:,.0f}",
            ]
            for run in runs
        ),
    )


def _model(costs: dict[str, Cost]) -> str:
    columns = [
        "job", "fixed s", "driver: s per 1e6 cells", "driver: s per 1,000 joined, cubed",
        "executors: s per 1e6 rows", "in Java: s per 1e6 rows", "in Python: s per 1e6 rows",
        "executors: s per 1e6 cells", "executors: s per 1e6 cells and round", "s a task", "driver: bytes a cell",
        "driver: bytes a pair joined", "shuffle: bytes a row", "largest error",
    ]  # fmt: skip
    return _table(columns, ([kind, *_coefficients(cost)] for kind, cost in costs.items()))


def _coefficients(cost: Cost) -> list[str]:
    driver, executors = cost.driver.coefficients, cost.executors.coefficients
    return [
        f"{driver['fixed'] + executors['fixed']:.1f}",
        f"{driver['cells'] * 1e6:.2g}",
        f"{driver['joined'] * 1e9:.2g}",
        *(f"{line.coefficients['rows'] * 1e6:.2g}" for line in (cost.executors, cost.java, cost.workers)),
        f"{executors['cells'] * 1e6:.2g}",
        f"{executors['rounds'] * 1e6:.2g}",
        f"{executors['tasks']:.2g}",
        f"{cost.memory.coefficients['cells']:.0f}",
        f"{cost.memory.coefficients['pairs']:.0f}",
        f"{cost.shuffle.coefficients['rows']:.0f}",
        f"{max(line.error for line in (cost.driver, cost.executors)):.0%}",
    ]


def _predicted(costs: dict[str, Cost]) -> str:
    columns = [
        "job", "rows", "cells", "joined", "rounds", "minutes", "of it the driver's", "driver's memory, GiB",
        "shuffle, GiB",
    ]  # fmt: skip
    rows = []
    for large in (large for large in LARGE if large.kind in costs):
        cost = costs[large.kind]
        rows.append(
            [
                large.job,
                f"{large.rows:.0e}",
                f"{large.cells:.0e}",
                f"{large.joined:,}" if large.joined else "-",
                str(large.rounds or "-"),
                f"{cost.seconds(large, EXECUTORS * CORES) / 60:.0f}",
                f"{cost.driver.at(large) / 60:.0f}",
                f"{cost.memory.at(large) / 2**30:.1f}",
                f"{cost.shuffle.at(large) / 2**30:,.0f}",
            ]
        )
    return _table(columns, rows)
