"""``python -m scripts.sizing measure [PART]`` runs and stores; ``python -m scripts.sizing page`` writes the page.

`measure` takes some 20 minutes on two cores and wants them quiet; PART measures the runs whose name holds it again.
"""

import json
import sys
from pathlib import Path

from dplib import guide
from scripts.sizing.measure import Run, measure
from scripts.sizing.page import draw, rewrite
from scripts.sizing.workloads import Workload

RUNS = Path(__file__).with_name("runs.json")
PAGE = Path(guide.__file__).with_name("sizing.md")
PICTURE = PAGE.with_name("sizing.svg")
WORKLOADS = (
    Workload("consistent-histograms", 500_000, 73_000, 3_650),
    Workload("consistent-histograms", 4_000_000, 73_000, 3_650),
    Workload("consistent-histograms", 20_000_000, 73_000, 3_650),
    Workload("consistent-histograms", 500_000, 7_300_000, 3_650),
    Workload("consistent-histograms", 500_000, 1_460_000, 365),
    Workload("consistent-histograms", 500_000, 73_000, 3_650, tasks=64),
    Workload("consistent-histograms", 500_000, 730_000, 3_650, rounds=2),
    Workload("consistent-histograms", 4_000_000, 730_000, 3_650, rounds=2),
    Workload("consistent-histograms", 500_000, 3_650_000, 3_650, rounds=2),
    Workload("consistent-histograms", 500_000, 730_000, 3_650, rounds=20),
    Workload("range-histograms", 500_000, 102_400, 100),
    Workload("range-histograms", 20_000_000, 102_400, 100),
    Workload("range-histograms", 500_000, 4_096_000, 1_000),
    Workload("range-histograms", 500_000, 102_400, 100, tasks=64),
    Workload("network-statistics", 500_000, 100_000, 100_000),
    Workload("network-statistics", 5_000_000, 100_000, 100_000),
    Workload("network-statistics", 500_000, 1_000_000, 1_000_000),
    Workload("network-statistics", 500_000, 100_000, 100_000, tasks=64),
    Workload("minimum-cuts", 500_000, 100_000, 100_000),
    Workload("minimum-cuts", 5_000_000, 100_000, 100_000),
    Workload("minimum-cuts", 500_000, 1_000_000, 1_000_000),
    Workload("minimum-cuts", 500_000, 100_000, 100_000, tasks=64),
    Workload("kmeans", 500_000, 5_000_000, 10),
    Workload("kmeans", 20_000_000, 200_000_000, 10),
    Workload("kmeans", 500_000, 20_000_000, 40),
    Workload("kmeans", 500_000, 5_000_000, 10, tasks=64),
)


def stored() -> list[Run]:
    """The runs of the file, in the order of `WORKLOADS`; runs of other workloads are left out."""
    runs = [Run.from_json(run) for run in json.loads(RUNS.read_text(encoding="utf-8"))] if RUNS.exists() else []
    return sorted((run for run in runs if run.workload in WORKLOADS), key=lambda run: WORKLOADS.index(run.workload))


def measure_all(part: str) -> None:
    """Run the workloads whose name holds ``part``, and store after each."""
    runs = {run.workload: run for run in stored()}
    for workload in WORKLOADS:
        if part in workload.name:
            runs[workload] = measure(workload)
            print(f"{workload.name}: {runs[workload].seconds:.0f} s", flush=True)
            text = json.dumps([runs[known].to_json() for known in WORKLOADS if known in runs], indent=1)
            RUNS.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Run the command."""
    match sys.argv[1:]:
        case ["measure", *part]:
            measure_all(" ".join(part))
        case ["page"]:
            PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), stored()), encoding="utf-8")
            draw(stored(), PICTURE)
        case _:
            sys.exit("usage: python -m scripts.sizing measure [PART] | page")


if __name__ == "__main__":
    main()
