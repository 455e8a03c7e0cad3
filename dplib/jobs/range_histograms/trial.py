"""How a publication is tried before anything is spent: a few groups, bins that are joined, and no rows.

First and last edge or day stay, however extreme; bins between are joined. The strategy is chosen anew, by the same
method. The layout stays, whose blocks run in this process.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.range_histograms.config import WorkloadSettings
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.histogram_config import GroupTable
from dplib.jobs.range_histograms.measure import measure_on_driver
from dplib.jobs.range_histograms.publish import layout_of
from dplib.jobs.range_histograms.stream_run import measure_no_rows
from dplib.jobs.range_histograms.tables import write_strategy
from dplib.spark.rows.bins import BIN_RULES
from dplib.workflow.job import Trial
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

BINS = 64
"""Bins that are tried whole."""


def thinned(design: Design, size: int) -> Design:
    """The design on about ``size`` groups, and as many bins, `BINS` at least; of a stream with all of its days."""
    config, bins = design.config, design.bins
    stride = 1 if design.stream is not None else -(-bins.n_bins // max(BINS, size))
    if stride == 1 and (len(bins.groups) <= size or config.histogram.totals):
        return design
    starts = np.arange(0, bins.n_bins, stride)
    changes: dict[str, Any] = {"groups": _fewer_groups(design, size), "other": None}
    if bins.kind == "edges":
        changes["edges"] = [Fraction(edge) for edge in bins.edges[np.append(starts, bins.n_bins)].tolist()]
    elif bins.kind == "categories":
        changes["categories"] = [bins.categories[start] for start in starts]
    else:
        assert config.histogram.days is not None
        changes["days"] = config.histogram.days.model_copy(update={"days_per_bin": bins.days_per_bin * stride})
    fewer = {
        "histogram": config.histogram.model_copy(update=changes),
        "tree": config.tree.model_copy(update={"queries": _fewer_queries(config.tree.queries, starts, stride)}),
        "queries": None
        if config.queries is None
        else tuple(
            each.model_copy(update={"range": _fewer_queries(each.range, starts, stride)}) for each in config.queries
        ),
        "publish": config.publish.model_copy(update={"layout": layout_of(design)}),
    }
    measure = design.sums.columns.measure if design.sums else None
    return Design.of(config.model_copy(update=fewer), measure=measure, stream=design.stream)


def _fewer_groups(design: Design, size: int) -> list[str] | GroupTable | None:
    """The first groups; all where listed totals name them."""
    given, groups = design.config.histogram, design.bins.groups
    if isinstance(given.groups, GroupTable):
        assert given.groups.table is not None
        lines = given.groups.table.splitlines(keepends=True)
        return given.groups if given.totals else given.groups.model_copy(update={"table": "".join(lines[: size + 1])})
    return list(groups if given.totals else groups[:size]) if design.bins.grouped else None


def _fewer_queries(queries: str | WorkloadSettings, starts: IntArray, stride: int) -> str | WorkloadSettings:
    """The law on joined bins."""
    if isinstance(queries, str):
        return queries
    if queries.length is not None:
        return WorkloadSettings(length=-(-queries.length // stride))
    if queries.ranges is not None:
        return WorkloadSettings(ranges=sorted({(lo // stride, -(-hi // stride)) for lo, hi in queries.ranges})[:BINS])
    joined = [np.add.reduceat(np.array(weights), starts).tolist() for weights in (queries.starts, queries.ends)]
    return WorkloadSettings(starts=joined[0], ends=joined[1])


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of counts that are all 0."""
    if design.stream is not None:
        return measure_no_rows(design, keys, directory)
    write_strategy(directory, design)
    counts = np.zeros((len(design.bins.groups), design.bins.n_bins), dtype=np.int64)
    return measure_on_driver(design, counts, keys, directory)


TRIAL = Trial(thinned, measure_nothing, BIN_RULES)
"""How the job's publication is tried."""
