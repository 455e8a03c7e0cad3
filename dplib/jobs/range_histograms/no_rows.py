"""What the job stores of an input without rows: a publication is tried with it before anything is spent."""

from pathlib import Path

import numpy as np

from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.measure import measure_on_driver
from dplib.jobs.range_histograms.tables import write_strategy
from dplib.workflow.job import Resources
from dplib.workflow.run_keys import RunKeys

TRIED_NODES = 1 << 18
"""Nodes of all histograms up to which a publication is tried before it is paid."""


def measure_nothing(job: Resources[Design], keys: RunKeys, directory: Path) -> bool:
    """Draw the noise of counts that are all 0."""
    design = job.design
    if design.strategy.tree.n_nodes * len(design.groups) > TRIED_NODES:
        return False
    write_strategy(directory, design.strategy)
    counts = np.zeros((len(design.groups), design.bins.n_bins), dtype=np.int64)
    measure_on_driver(design, counts, keys, directory)
    return True
