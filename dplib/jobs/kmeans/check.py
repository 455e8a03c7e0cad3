"""What the numbers of a release must obey: exactly k centers, inside the bounds, those of the stored measurement."""

from pathlib import Path

import numpy as np

from dplib.jobs.kmeans.estimate import estimate_centers
from dplib.jobs.kmeans.query import design_of
from dplib.jobs.kmeans.tables import Tables
from dplib.release.manifest import Manifest
from dplib.release.verify import Check

TOLERANCE = 1e-6
"""Largest distance allowed between centers and those made again, in radii: the last bits depend on the machine."""


def check_tables(directory: Path, manifest: Manifest) -> list[Check]:
    """Check a release's tables against the public settings of its manifest and its own measurement."""
    design = design_of(manifest)
    tables = Tables(directory, design)
    again = estimate_centers(design, tables.read_records())
    frame, k = again.frame, design.problem.n_clusters
    centers, _ = tables.read_centers()
    weights, _ = tables.read_weights()
    radius = float(np.sqrt(frame.space.norm_squared)) * frame.space.unit
    scaled = frame.scaled(centers)
    units = (scaled - np.array(frame.space.center)) / frame.space.unit
    beyond = float(np.abs(frame.space.clip(units) - units).max()) * frame.space.unit / radius
    same = again.centers.shape == centers.shape
    gap = float(np.abs(frame.scaled(again.centers) - scaled).max()) / radius if same else float("inf")
    return [
        Check("centers: as many as the settings say", len(centers) == len(weights) == k, f"{k} centers"),
        Check("centers: inside the bounds", beyond <= TOLERANCE, f"farthest outside {beyond:.3g} radii"),
        Check(
            "weights: none below 0",
            not (weights < 0).any(),
            f"smallest below 0: {min(0.0, float(np.nanmin(np.append(weights, 0)))):.3g}",
        ),
        Check("centers: those of the stored measurement", gap <= TOLERANCE, f"largest gap {gap:.3g} radii"),
    ]
