"""How a publication is tried before anything is spent: the method's questions are asked of no points.

Coordinates, bounds and budget stay; only the clusters are fewer, more than the picture numbers where the settings have
more, and the method is the same one.
"""

from pathlib import Path

import numpy as np

from dplib.clustering.source import Blocks
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.measure import NoRows, measure_points, measure_reports, measure_users
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.spark.points.point_rows import POINT_RULES
from dplib.workflow.job import Trial
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

CLUSTERS = 32
"""Clusters that are tried whole: more than a picture numbers (`dplib.page.centers_figure`, which loads what draws)."""


def thinned(design: Design, size: int) -> Design | None:
    """The design with about ``size`` clusters, `CLUSTERS` at least; None if these are found by another method."""
    clustering, k = design.config.clustering, max(CLUSTERS, size)
    if clustering.n_clusters <= k:
        return design
    few = design.config.model_copy(update={"clustering": clustering.model_copy(update={"n_clusters": k})})
    found = Design.of(few, design.coordinates, design.from_reports, design.rules)
    alike = (found.method, found.gaussian) == (design.method, design.gaussian)
    return found if alike else None


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Ask the method's questions of no points."""
    if design.from_reports:
        nobody = np.zeros((0, ReportReader(design.collection).width), dtype=np.int64)
        return measure_reports(design, (np.zeros(0, dtype=np.int64), nobody), keys, directory)
    if design.local:
        return measure_users(design, Blocks(), keys, directory)
    return measure_points(design, NoRows(), keys, directory)


TRIAL = Trial(thinned, measure_nothing, POINT_RULES)
"""How the job's publication is tried."""
