"""What the numbers of a release must obey: parents are sums of their children, published counts are not negative."""

from pathlib import Path

import numpy as np

from dplib.estimates.stream_state import StreamState
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.query import design_of
from dplib.jobs.range_histograms.stream_parts import state_of
from dplib.jobs.range_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.release.manifest import Manifest
from dplib.release.tables import read_table
from dplib.release.verify import Check, check_days

TOLERANCE = 1e-6
"""Largest difference allowed in the estimates, in counts (relative to the largest count where that is above 1)."""


def check_tables(directory: Path, manifest: Manifest) -> list[Check]:
    """Check a release's tables against the trees and the public totals of its manifest."""
    design = design_of(directory, manifest)
    tables, state = Tables(directory, design), state_of(design, manifest)
    if state is not None:
        return [check_days(directory, manifest), *_check_stream(tables, state)]
    tree, gap, least, scale, total_gap = design.strategy.tree, 0.0, 0, 1.0, 0
    complete = True
    for block in range(design.n_blocks):
        name = design.block_name(block)
        table = read_table(directory / PUBLISHED, ["group", "count"], blocks=[name])
        counts = table.column("count").to_numpy()
        least = min(least, int(counts.min()))
        sums = np.bincount(tables.group_numbers(table), counts, minlength=len(design.series))
        complete &= len(counts) == len(design.block_groups(block)) * design.bins.n_bins
        if design.total_is_public:
            groups = slice(int(design.group_bounds[block]), int(design.group_bounds[block + 1]))
            public = tables.read_noisy(block)[:, 0]
            gaps = np.abs(sums[groups] - public)[design.measured[groups]]
            total_gap = max(total_gap, int(gaps.max(initial=0)))
        if not design.adaptive:
            table = read_table(directory / ESTIMATES, ["group", "node", "estimate"], blocks=[name])
            values = tables.scatter(table, "estimate", block).T
            scale = max(scale, float(np.abs(values).max()))
            for inner, children, offsets in tree.levels_up:
                found = np.abs(values[inner] - np.add.reduceat(values[children], offsets, axis=0))
                gap = max(gap, float(found.max(initial=0.0)))
    checks = [
        Check("estimates: parents are the sums of their children", gap <= TOLERANCE * scale, f"largest gap {gap:.3g}"),
        Check("published: every bin of every group once", complete, f"{design.bins.n_bins} bins a group"),
        Check("published: no negative count", least >= 0, f"smallest count below 0: {least}"),
    ]
    if design.sums is not None:
        checks += _totals(tables, scale)
    if design.total_is_public:
        checks.append(Check("published: public totals are kept", total_gap == 0, f"largest gap {total_gap}"))
    return checks


def _check_stream(tables: Tables, state: StreamState[Design]) -> list[Check]:
    """The same of every part of a stream's version."""
    design, gap = tables.design, 0.0
    estimates = tables.values(ESTIMATES, "node", "estimate")
    scale = max(1.0, float(np.abs(estimates).max()))
    for part in (part for top in state.tops.tolist() for part in state.parts(top)):
        values = estimates[:, part.nodes].T
        for inner, children, offsets in part.design.strategy.tree.levels_up:
            found = np.abs(values[inner] - np.add.reduceat(values[children], offsets, axis=0))
            gap = max(gap, float(found.max(initial=0.0)))
    rows = read_table(tables.directory / PUBLISHED, ["group", "bin", "count"])
    bins, least = rows.column("bin").to_numpy(), int(rows.column("count").to_numpy().min())
    times = np.bincount(bins, minlength=design.bins.n_bins)
    complete = np.array_equal(times, state.days * len(design.series))
    return [
        Check("estimates: parents are the sums of their children", gap <= TOLERANCE * scale, f"largest gap {gap:.3g}"),
        Check("published: every measured day of every group once", complete, f"{int(state.days.sum())} days a group"),
        Check("published: no negative count", least >= 0, f"smallest count below 0: {min(least, 0)}"),
        *(_totals(tables, scale) if design.sums is not None else ()),
    ]


def _totals(tables: Tables, scale: float) -> list[Check]:
    """Every node and bin of a total is the sum of its groups'."""
    design, places = tables.design, {ESTIMATES: ("node", "estimate"), PUBLISHED: ("bin", "count")}
    assert design.sums is not None
    adds, found = design.sums.constraints.incidence[0], {}
    for name, (key, value) in places.items():
        values = tables.values(name, key, value)
        found[name] = float(np.abs(adds @ values[: adds.shape[1]] - values).max())
    return [
        Check(
            "estimates: totals are the sums of their groups",
            found[ESTIMATES] <= TOLERANCE * scale,
            f"largest gap {found[ESTIMATES]:.3g}",
        ),
        Check(
            "published: totals are the sums of their groups", found[PUBLISHED] == 0, f"largest gap {found[PUBLISHED]:g}"
        ),
    ]
