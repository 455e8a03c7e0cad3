"""What the numbers of a release must obey: parents are sums of their children, and every day's constraints hold."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.arrays import BoolArray, FloatArray
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import independent
from dplib.jobs.consistent_histograms.query import design_of, state_of
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables, block_names
from dplib.projection.residual import largest_residual
from dplib.release.manifest import Manifest
from dplib.release.tables import read_table
from dplib.release.verify import Check, check_days

TOLERANCE = 1e-6
"""Largest difference allowed in the estimates, in counts (relative to the largest count where that is above 1)."""


def check_tables(directory: Path, manifest: Manifest) -> list[Check]:
    """Check a release's tables against the tree and the constraints of its manifest."""
    design = design_of(manifest)
    state = state_of(design, manifest)
    if state is not None:
        return [check_days(directory, manifest), *_check_stream(directory, state)]
    names = block_names(design)
    tables = Tables(directory, design)
    table = read_table(directory / ESTIMATES, ["item", "node", "estimate"], blocks=names)
    estimates = tables.scatter(table, "estimate")
    scale = max(1.0, float(np.abs(estimates).max()))
    everything = np.ones(len(design.series), dtype=bool)
    converged = bool(manifest.solver["converged"])
    gap = violation(design, estimates, everything)
    checks = [
        Check(
            "estimates: sums and constraints",
            gap <= TOLERANCE * scale or not converged,
            f"largest difference {gap:.3g}",
        )
    ]
    if not converged:
        accepted = bool(manifest.solver.get("accepted", False))
        said = "ended before it" + (", as the settings accept: no errors are stated" if accepted else "")
        checks.append(Check("estimates: rounds reached their threshold", accepted, said))
    if (directory / PUBLISHED).is_dir():
        table = read_table(directory / PUBLISHED, ["item", "node", "count"], blocks=names)
        counts = tables.scatter(table, "count")
        written = set(table.column("item").combine_chunks().dictionary.to_pylist())
        kept = np.array([name in written for name in design.series])
        gap, least = violation(design, counts, kept), float(counts.min())
        whole = pa.types.is_integer(table.schema.field("count").type)
        allowed = 0.0 if whole else TOLERANCE * scale
        checks.append(Check("published: sums and constraints", gap <= allowed, f"largest difference {gap:g}"))
        checks.append(Check("published: no negative count", least >= 0, f"smallest count {least:g}"))
    return checks


def _check_stream(directory: Path, state: StreamState[Design]) -> list[Check]:
    """The same of every part of a stream's version."""
    checks = []
    for table, column in ((ESTIMATES, "estimate"), (PUBLISHED, "count")):
        if not (directory / table).is_dir():
            continue
        rows = read_table(directory / table, ["item", "node", column])
        values = Tables(directory, state.design).scatter(rows, column)
        written = set(rows.column("item").combine_chunks().dictionary.to_pylist())
        kept = np.array([name in written for name in state.design.series])
        parts = [part for top in state.tops.tolist() for part in state.parts(top)]
        gap = max(violation(part.design, values[part.nodes], kept) for part in parts)
        exact = pa.types.is_integer(rows.schema.field(column).type)
        allowed = 0.0 if exact else TOLERANCE * max(1.0, float(np.abs(values).max()))
        checks.append(Check(f"{table}: sums and constraints", gap <= allowed, f"largest difference {gap:.3g}"))
        if table == PUBLISHED:
            least = float(values.min())
            checks.append(Check("published: no negative count", least >= 0, f"smallest count {least:g}"))
    return checks


def violation(design: Design, values: FloatArray, kept: BoolArray) -> float:
    """Largest absolute difference in any equation of the kept series, in counts."""
    found = [
        largest_residual(design.tree, day_constraints, values[:, group])
        for group, day_constraints in independent(design)
        if kept[group].all()
    ]
    return max(found, default=0.0)
