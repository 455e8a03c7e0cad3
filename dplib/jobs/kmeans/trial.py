"""How a publication is tried before anything is spent: the method's questions are asked of no points.

Every method answers them at a cost that its settings bound, so the design is tried whole.
"""

from pathlib import Path

import numpy as np

from dplib.clustering.source import NoPoints
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.measure import NoRows, measure_points, measure_reports, measure_users
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.spark.points.point_rows import POINT_RULES
from dplib.workflow.job import Trial
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Ask the method's questions of no points."""
    if design.from_reports:
        nobody = np.zeros((0, ReportReader(design.collection).width), dtype=np.int64)
        return measure_reports(design, (np.zeros(0, dtype=np.int64), nobody), keys, directory)
    if design.local:
        return measure_users(design, NoPoints(), keys, directory)
    return measure_points(design, NoRows(), keys, directory)


TRIAL = Trial[Design](lambda design, *_: design, measure_nothing, POINT_RULES)
"""How the job's publication is tried."""
