"""The opt-in step for the data's owner: input rows with their nearest released center. NOT PRIVATE."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from dplib.clustering.sums import rounded
from dplib.config.point_input import PointInput
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.estimate import estimate_centers
from dplib.jobs.kmeans.query import design_of
from dplib.jobs.kmeans.tables import Tables
from dplib.progress import Progress
from dplib.release.manifest import load_manifest
from dplib.spark.engine.session import open_session
from dplib.spark.points.assign import assign_rows, write_assigned
from dplib.spark.points.point_rows import open_points
from dplib.spark.rows.input_files import require_input_here
from dplib.validate import require
from dplib.workflow.prepared import Prepared


def assign_to_centers(prepared: Prepared[Design], release: Path, to: Path, progress: Progress) -> None:
    """Write every input row with its nearest center of a release of the same coordinates and bounds into a new folder.

    Raises:
        ConfigError: if the release is of another space, or the folder cannot be made.
    """
    config, source = prepared.config, prepared.source(PointInput)
    rule = "be absent: reports hold no points"
    require(not prepared.design.from_reports, "input.columns.report", rule, source.columns.report)
    released = design_of(load_manifest(release))
    same = released.coordinates == prepared.design.coordinates and released.frame == prepared.design.frame
    require(same, "RELEASE", "have the coordinates and bounds of the configuration", release)
    require(not to.exists(), "--to", "be a new folder", to)
    tables = Tables(release, released)
    centers, _ = tables.read_centers()
    frame = estimate_centers(released, tables.read_records()).frame
    units = rounded((frame.scaled(centers) - np.array(frame.space.center)) / frame.space.unit)
    require_input_here(source, prepared.base, config.spark)
    with ExitStack() as stack:
        with progress.stage("starting Spark"):
            spark = stack.enter_context(open_session(f"dplib assign {config.job}", config.spark))
        with progress.stage("assigning rows"):
            rows = open_points(spark, source, prepared.base)
            write_assigned(assign_rows(rows, frame, units, released.coordinates), to)
