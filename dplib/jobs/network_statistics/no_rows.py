"""What the job stores of an input without rows: a publication is tried with it before anything is spent."""

from pathlib import Path

import numpy as np

from dplib.config.network_releases import ReportInput
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measure import measure_edges
from dplib.jobs.network_statistics.measurements import WHOLE
from dplib.jobs.network_statistics.reports import store_reports
from dplib.spark.graphs.reports import Reports
from dplib.workflow.job import Resources
from dplib.workflow.run_keys import RunKeys

TRIED_VERTICES, TRIED_WHOLE_VERTICES = 1 << 16, 1 << 11
"""Vertices up to which a publication is tried before it is paid; with a graph whose every pair gets noise."""


def measure_nothing(job: Resources[Design], keys: RunKeys, directory: Path) -> bool:
    """Draw the noise of a graph without edges, or store that nobody reported."""
    design, nobody = job.design, np.zeros(0, dtype=np.int64)
    whole = any(each.statistic in WHOLE for each in design.measurements)
    if design.n_vertices > (TRIED_WHOLE_VERTICES if whole else TRIED_VERTICES):
        return False
    if isinstance(design.config.input, ReportInput):
        columns = design.config.input.columns
        reports = Reports(nobody, None if columns.degree is None else nobody, None if columns.bits is None else [])
        store_reports(design, reports, keys, directory)
    else:
        measure_edges(design, nobody, nobody, keys, directory)
    return True
