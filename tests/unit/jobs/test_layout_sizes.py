"""Up to a stated size one process does a job's work, beyond it Spark does; the guide says where."""

from math import log2
from pathlib import Path
from types import ModuleType

import pytest

from dplib.guide import read_page
from dplib.jobs.consistent_histograms import estimate
from dplib.jobs.network_statistics import distributed
from dplib.jobs.range_histograms import design as range_design
from dplib.jobs.range_histograms import publish
from dplib.jobs.table import job_named

CONF = Path(__file__).resolve().parents[3] / "conf"
CASES = [
    ("consistent-histograms", "restaurant.yaml", estimate, "DRIVER_CELLS", "blocks"),
    ("range-histograms", "air_times.yaml", publish, "DRIVER_NODES", "blocks"),
    ("network-statistics", "network.yaml", distributed, "DRIVER_EDGES", "spark"),
]


def size_of(job: str, design: object) -> int:
    """Cells, nodes or expected edges of a configuration."""
    if job == "network-statistics":
        return distributed.expected_edges(design)  # type: ignore[arg-type]
    tree = design.tree if job == "consistent-histograms" else design.strategy.tree  # type: ignore[attr-defined]
    return int(tree.n_nodes) * len(design.series)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("job", "file", "module", "name", "beyond"), CASES)
def test_one_more_than_the_stated_size_goes_to_spark(
    job: str, file: str, module: ModuleType, name: str, beyond: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(range_design, "BLOCK_CELLS", 1)  # small configurations are one block otherwise
    design = job_named(job).prepare(CONF / file).design
    size = size_of(job, design)
    monkeypatch.setattr(module, name, size)
    assert module.layout_of(design) == "driver"
    monkeypatch.setattr(module, name, size - 1)
    assert module.layout_of(design) == beyond


@pytest.mark.parametrize(("job", "name"), [(case[0], getattr(case[2], case[3])) for case in CASES])
def test_the_guide_states_the_size(job: str, name: int) -> None:
    (bullet,) = [part for part in read_page("sizing").split("\n- **") if part.startswith(f"`{job}`**: ")]
    assert f"2^{log2(name):.0f}" in bullet
