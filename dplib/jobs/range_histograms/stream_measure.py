"""The private part of a stream's day: exact counts of the nodes that close on it, and their noise, drawn once.

Privacy statement: `dplib.workflow.stream_noise`, with the sensitivities of `dplib.jobs.range_histograms.design`: a row
that counts adds to one node of each level, a unit has at most ``m`` of them in all runs, and the shares of the levels
add up to at most 1.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.range_histograms.design import STATISTIC, Design
from dplib.jobs.range_histograms.stream_parts import level_weights
from dplib.jobs.range_histograms.tables import Tables
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.noise import Noise
from dplib.trees.growing import closing_nodes, node_sums
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from dplib.workflow.stream_noise import draw_nodes


def closing(design: Design, day: int) -> tuple[IntArray, int]:
    """The nodes that are measured on a day, and the first day whose rows they need."""
    tree = design.strategy.tree
    nodes = closing_nodes(tree, np.isfinite(level_weights(design)), day)
    return nodes, int(tree.lo[nodes].min())


def measure_closing(design: Design, day: int, counts: IntArray, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of the nodes that close on a day and store it.

    Args:
        design: of the stream.
        day: number of the day.
        counts: exact counts by group and day, from the first day that `closing` names to this one.
        keys: the stream's sub-keys.
        directory: staging directory; gets ``measurement/``.
    """
    nodes, first = closing(design, day)
    values = node_sums(design.strategy.tree, nodes, design.with_totals(counts)[design.measured].T, first)

    def draw(node: int, own: IntArray, key: bytes, name: str) -> IntArray:
        return _noisy_node(design, node, own, key, name)

    noisy, recorded = draw_nodes(nodes, values, keys, draw)
    Tables(directory, design).write_days(nodes, noisy)
    return recorded


def _noisy_node(design: Design, node: int, values: IntArray, key: bytes, name: str) -> IntArray:
    """The noisy counts of one node in the measured histograms, shape (n_measured,), one column after the other."""
    share, found = int(design.strategy.shares[node]), np.zeros_like(values)
    column_of = design.column_of[design.measured]
    for column in np.unique(column_of).tolist():
        mine = np.flatnonzero(column_of == column)
        parameter = design.noise_parameter(share, column)
        noise = Noise(design.config.privacy.mechanism, parameter, Fraction(design.sensitivity_of(column)))
        label = f"{STATISTIC}: column {column}"
        found[mine] = measure_levels([np.ascontiguousarray(values[mine])], [noise], key, label, name)[0]
    return found
