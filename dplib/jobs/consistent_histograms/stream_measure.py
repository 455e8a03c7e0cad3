"""The private part of a stream's day: exact counts of the nodes that close on it, and their noise, drawn once.

Privacy statement. Neighbours are histories of the input: what each run reads may differ in one unit, and may depend on
all that was published before. Each node is measured once in the stream's life (`dplib.ledger.replay` takes each day
once), with the noise of the batch release of the same tree. A unit of one row version and day changes one node of each
level, by at most the sensitivity of `dplib.jobs.consistent_histograms.design`; the levels' events compose adaptively.

Noise. A node's key is that of the stream and of the keyed digest of the node's own counts: a retry over the same counts
repeats its noise, other counts never share it, and neither do two nodes, whose names the streams carry.

Reference: Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters: pay-as-you-go composition", NeurIPS 2016
(adaptive composition of a fixed list of budgets); Whitehouse, Ramdas, Rogers, Wu, "Fully-adaptive composition in
differential privacy", ICML 2023.
"""

from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.measure import STATISTIC
from dplib.jobs.consistent_histograms.rows import SeriesCounts
from dplib.jobs.consistent_histograms.stream_parts import StreamState
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.mechanisms.tree_counts import measure_levels
from dplib.release.digest import block_digest, combine_digests
from dplib.trees.growing import closing_nodes
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

NODES = "nodes"
"""Name of the file of a day's measurement."""


def closing(design: Design, day: int) -> tuple[IntArray, int]:
    """The nodes that are measured on a day, and the first day whose rows they need."""
    nodes = closing_nodes(design.tree, StreamState.of(design, ()).measured_levels, day)
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
    leaves, tree = SeriesCounts(design).of(counts, first), design.tree
    values = np.stack([leaves[tree.lo[node] - first : tree.hi[node] - first].sum(axis=0) for node in nodes])
    names = [f"node-{node:08d}" for node in nodes.tolist()]
    digests = [(name, block_digest(keys.digest, name, row)) for name, row in zip(names, values, strict=True)]
    noisy = np.concatenate(
        [
            _noisy_node(design, node, row[None], keys.measurement(digest), name)
            for node, row, (name, digest) in zip(nodes.tolist(), values, digests, strict=True)
        ]
    )
    tables = Tables(directory, design)
    tables.write_tree()
    tables.write_noisy(NODES, nodes, noisy)
    return keys.recorded(combine_digests(keys.digest, digests))


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
