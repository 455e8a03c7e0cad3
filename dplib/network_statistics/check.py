"""What the numbers of a release must obey: every number once, published integers that a graph could have."""

from pathlib import Path

import numpy as np

from dplib.graphs.network_sensitivity import Statistic
from dplib.network_statistics.estimate import largest_value
from dplib.network_statistics.query import design_of
from dplib.network_statistics.tables import ESTIMATES, PUBLISHED, read_values
from dplib.release.manifest import Manifest
from dplib.release.verify import Check

TOLERANCE = 1e-6
"""Largest difference allowed in the sum of an estimated histogram, relative to the number of vertices."""


def check_tables(directory: Path, manifest: Manifest) -> list[Check]:
    """Check a release's tables against the public settings of its manifest."""
    design = design_of(manifest)
    n = design.n_vertices
    counts = read_values(directory / PUBLISHED, "count", design)
    estimates = read_values(directory / ESTIMATES, "estimate", design)
    checks = []
    for each in design.measurements:
        found, name = counts[each.statistic].astype(np.int64), f"published {each.statistic}"
        least = int(found.min())
        checks.append(Check(f"{name}: no negative number", least >= 0, f"smallest number below 0: {min(least, 0)}"))
        match each.statistic:
            case Statistic.DEGREE_HISTOGRAM:
                whole = int(found.sum()) == n
                checks.append(Check(f"{name}: sum is the number of vertices", whole, f"{n} vertices"))
                gap = abs(float(estimates[each.statistic].astype(np.float64).sum()) - n)
                checks.append(Check(f"estimated {each.statistic}: the same", gap <= TOLERANCE * n, f"gap {gap:.3g}"))
            case Statistic.CUMULATIVE_HISTOGRAM | Statistic.SORTED_DEGREES:
                most = n if each.statistic is Statistic.CUMULATIVE_HISTOGRAM else design.largest_degree
                ascending = bool((np.diff(found) >= 0).all()) and int(found[-1]) <= most
                checks.append(Check(f"{name}: ascending", ascending, f"up to {most}"))
            case _:
                most = largest_value(design, each.statistic)
                checks.append(Check(f"{name}: possible", int(found[0]) <= most, f"at most {most}"))
    return checks
