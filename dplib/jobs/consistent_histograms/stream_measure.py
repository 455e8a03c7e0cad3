"""The private part of a stream's day: exact counts of the nodes that close on it, and their noise, drawn once.

Privacy statement: `dplib.workflow.stream_noise`, with the sensitivities of `dplib.jobs.consistent_histograms.design`.
"""

from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.measure import STATISTIC
from dplib.jobs.consistent_histograms.rows import SeriesCounts
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.mechanisms.tree_counts import measure_levels
from dplib.release.stream_tops import NODES
from dplib.trees.growing import closing_nodes, node_sums
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from dplib.workflow.stream_noise import draw_nodes


def closing(design: Design, day: int) -> tuple[IntArray, int]:
    """The nodes that are measured on a day, and the first day whose rows they need."""
    nodes = closing_nodes(design.tree, np.isfinite(design.level_variance), day)
    return nodes, int(design.tree.lo[nodes].min())


def measure_closing(design: Design, day: int, counts: IntArray, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of the nodes that close on a day and store it.

    Args:
        design: of the stream.
        day: number of the day.
        counts: exact counts by day and row kind, from the first day that `closing` names to this one.
        keys: the stream's sub-keys.
        directory: staging directory; gets ``measurement/``.
    """
    nodes, first = closing(design, day)
    values = node_sums(design.tree, nodes, SeriesCounts(design).of(counts, first), first)

    def draw(node: int, own: IntArray, key: bytes, name: str) -> IntArray:
        return np.asarray(_noisy_node(design, node, own[None], key, name)[0])

    noisy, recorded = draw_nodes(nodes, values, keys, draw)
    tables = Tables(directory, design)
    tables.write_tree()
    tables.write_noisy(NODES, nodes, noisy)
    return recorded


def _noisy_node(design: Design, node: int, values: IntArray, key: bytes, name: str) -> IntArray:
    """The noisy counts of one node, shape (1, n_measured_series), one column after the other."""
    columns, found = design.columns, np.zeros_like(values)
    own = columns.of[list(design.measured_series)]
    for column, event in enumerate(design.noise_of(int(design.tree.level[node]))):
        mine = np.flatnonzero(own == column)
        statistic = f"{STATISTIC}: {columns.names[column]}" if columns.names else STATISTIC
        noise = None if event is None else event.noise
        found[:, mine] = measure_levels([np.ascontiguousarray(values[:, mine])], [noise], key, statistic, name)[0]
    return found
