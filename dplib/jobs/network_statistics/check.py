"""What the numbers of a release must obey: every number once, published integers that a graph could have."""

from pathlib import Path

import numpy as np

from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.estimate import largest_value
from dplib.jobs.network_statistics.noisy_graph_tables import ADJACENCY, CHOICES, chosen_name, read_whole_graph
from dplib.jobs.network_statistics.query import design_of
from dplib.jobs.network_statistics.tables import ESTIMATES, PUBLISHED, Tables
from dplib.release.manifest import Manifest
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import read_table
from dplib.release.verify import Check

TOLERANCE = 1e-6
"""Largest difference allowed in the sum of an estimated histogram, relative to the number of vertices."""


def check_tables(directory: Path, manifest: Manifest) -> list[Check]:
    """Check a release's tables against the public settings of its manifest."""
    design = design_of(manifest)
    n = design.n_vertices
    tables = Tables(directory, design)
    counts, estimates = tables.read(PUBLISHED, "count"), tables.read(ESTIMATES, "estimate")
    checks = []
    for each in design.released:
        if each.size == 0:
            checks.append(_check_choice(tables, each.statistic))
            continue
        found, name = counts[each.statistic].astype(np.int64), f"published {each.statistic}"
        least = int(found.min())
        checks.append(Check(f"{name}: no negative number", least >= 0, f"smallest number below 0: {min(least, 0)}"))
        match each.statistic:
            case Statistic.DEGREE_HISTOGRAM:
                whole = int(found.sum()) == n
                checks.append(Check(f"{name}: sum is the number of vertices", whole, f"{n} vertices"))
                # Reports of all vertices sum up to n as least squares do.
                gap = abs(float(estimates[each.statistic].astype(np.float64).sum()) - n)
                checks.append(Check(f"estimated {each.statistic}: the same", gap <= TOLERANCE * n, f"gap {gap:.3g}"))
            case Statistic.CUMULATIVE_HISTOGRAM | Statistic.SORTED_DEGREES:
                most = n if each.statistic is Statistic.CUMULATIVE_HISTOGRAM else design.largest_degree
                ascending = bool((np.diff(found) >= 0).all()) and int(found[-1]) <= most
                checks.append(Check(f"{name}: ascending", ascending, f"up to {most}"))
            case Statistic.DEGREE_SEQUENCE:
                most = design.largest_degree
                checks.append(Check(f"{name}: possible", int(found.max()) <= most, f"at most {most}"))
            case Statistic.ADJACENCY:
                table = read_table(directory / PUBLISHED / ADJACENCY, ["pairs"], blocks=("blocks",))
                possible = bool((found <= table.column("pairs").to_numpy()).all())
                checks.append(Check(f"{name}: possible", possible, "no more edges than pairs"))
                edges = read_table(directory / PUBLISHED / ADJACENCY, ["source"], blocks=("edges",)).num_rows
                drawn = tables.read(MEASUREMENT, "noisy")[each.statistic]
                checks.append(Check("noisy graph: as it was drawn", edges == int(drawn[0]), f"{edges} pairs"))
            case _:
                most = largest_value(design, each.statistic)
                checks.append(Check(f"{name}: possible", int(found[0]) <= most, f"at most {most}"))
    return checks


def _check_choice(tables: Tables, statistic: Statistic) -> Check:
    """The chosen candidate is the drawn one, and a declared one."""
    rows = read_table(tables.directory / PUBLISHED / CHOICES, ["statistic", "candidate"], blocks=(CHOICES,)).to_pylist()
    chosen = [row["candidate"] for row in rows if row["statistic"] == statistic]
    place = read_whole_graph(tables).choices[statistic]
    ok = chosen == [chosen_name(tables.design, statistic, place)]
    return Check(f"published {statistic}: the candidate that was drawn", ok, f"{len(chosen)} chosen")
