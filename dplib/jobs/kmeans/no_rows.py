"""What the job stores of an input without rows: a publication is tried with it before anything is spent."""

from pathlib import Path

import numpy as np

from dplib.clustering.source import NoPoints
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.measure import NoRows, measure_points, measure_reports, measure_users
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.workflow.job import Resources
from dplib.workflow.run_keys import RunKeys


def measure_nothing(job: Resources[Design], keys: RunKeys, directory: Path) -> bool:
    """Ask the method's questions of no points; every method answers them at a cost that its settings bound."""
    design = job.design
    if design.from_reports:
        nobody = np.zeros((0, ReportReader(design.collection).width), dtype=np.int64)
        measure_reports(design, (np.zeros(0, dtype=np.int64), nobody), keys, directory)
    elif design.local:
        measure_users(design, NoPoints(), keys, directory)
    else:
        measure_points(design, NoRows(), keys, directory)
    return True
