"""What the job stores of an input without rows: a publication is tried with it before anything is spent."""

from pathlib import Path

import numpy as np

from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.tables import write_tree
from dplib.workflow.job import Resources
from dplib.workflow.run_keys import RunKeys

TRIED_CELLS = 1 << 19
"""Cells up to which a publication is tried before it is paid."""


def measure_nothing(job: Resources[Design], keys: RunKeys, directory: Path) -> bool:
    """Draw the noise of counts that are all 0."""
    design = job.design
    if design.tree.n_nodes * len(design.series) > TRIED_CELLS:
        return False
    write_tree(directory, design)
    domain = row_domain(design)
    measure_on_driver(design, np.zeros((domain.n_days, domain.n_row_types), dtype=np.int64), keys, directory)
    return True
