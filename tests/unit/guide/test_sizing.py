"""The cost model recovers what runs were made of, and the page's tables are those of the stored runs."""

import numpy as np

from dplib.guide import read_page
from scripts.sizing.__main__ import stored
from scripts.sizing.measure import KINDS, Run
from scripts.sizing.model import fit
from scripts.sizing.page import rewrite
from scripts.sizing.workloads import Workload


def _run(workload: Workload) -> Run:
    executors = 10 + 4e-6 * workload.rows + 2e-6 * workload.cells + 0.05 * workload.tasks
    cpu = {"driver": 3 + 1e-5 * workload.cells, "java": executors / 2, "workers": executors / 2}
    memory = dict.fromkeys(KINDS, 10**8 + 32 * workload.cells)
    return Run(workload, 1.0, cpu, memory, 24 * workload.rows, 9, 0.1)


def test_the_fit_recovers_a_linear_cost() -> None:
    generator = np.random.default_rng(1)
    sizes = [(int(r), int(c), int(t)) for r, c, t in generator.integers(10, (10**7, 10**6, 100), (8, 3))]
    cost = fit([_run(Workload("range-histograms", rows, cells, 5, tasks)) for rows, cells, tasks in sizes])
    large = Workload("range-histograms", 10**9, 10**8, 5, 2000)
    assert cost.driver.error < 1e-9
    assert np.isclose(cost.memory.at(large), 10**8 + 32 * 10**8)
    assert np.isclose(cost.shuffle.at(large), 24 * 10**9)
    assert np.isclose(cost.seconds(large, 400), 3 + 1e-5 * 10**8 + 10 + (4000 + 200 + 100) / 400)


def test_the_page_shows_the_stored_runs() -> None:
    assert rewrite(read_page("sizing"), stored()) == read_page("sizing")
