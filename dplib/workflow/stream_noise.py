"""The private part of a stream's day, whatever the job: a key for each node that closes, and its noise, drawn once.

Privacy statement. Neighbours are histories of the input: what each run reads may differ in one unit, and may depend on
all that was published before. Each node is measured once in the stream's life (`dplib.ledger.replay` takes each day
once), with the noise of the batch release of the same tree. What one unit changes at a level, over
all runs, is at most the sensitivity of the job's design; the levels compose adaptively. A unit of one row version and
day (`event`) is in one node of each level. Of a unit that spans days only rows count that were chosen once, for all
levels and runs (`dplib.mechanisms.chosen_rows`), so it changes as much in any history as in one batch.

Noise. A node's key is that of the stream and of the keyed digest of the node's own counts: a retry over the same counts
repeats its noise, other counts never share it, and neither do two nodes, whose names the streams of noise carry.

Reference: Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters: pay-as-you-go composition", NeurIPS 2016
(adaptive composition of a fixed list of budgets); Whitehouse, Ramdas, Rogers, Wu, "Fully-adaptive composition in
differential privacy", ICML 2023.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.release.digest import block_digest, combine_digests
from dplib.release.staging import MEASUREMENT
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

TRIED_DAYS = 3
"""Days that are measured before anything is spent, besides the horizon's last, on which most nodes close."""


def draw_nodes(
    nodes: IntArray, values: IntArray, keys: RunKeys, draw: Callable[[int, IntArray, bytes, str], IntArray]
) -> tuple[IntArray, MeasurementKeys]:
    """The noisy counts of nodes, shape (n_nodes, n_counts), and what the ledger is told.

    Args:
        nodes: their numbers.
        values: their exact counts, shape (n_nodes, n_counts).
        keys: the stream's sub-keys.
        draw: the noisy counts of a node, its counts, its noise key and its name, which its streams of noise carry.
    """
    names = [f"node-{node:08d}" for node in nodes.tolist()]
    digests = [(name, block_digest(keys.digest, name, row)) for name, row in zip(names, values, strict=True)]
    noisy = [
        draw(node, row, keys.measurement(digest), name)
        for node, row, (name, digest) in zip(nodes.tolist(), values, digests, strict=True)
    ]
    return np.stack(noisy), keys.recorded(combine_digests(keys.digest, digests))


def measure_few_days(
    names: list[str], measure: Callable[[int, Path], MeasurementKeys], directory: Path
) -> MeasurementKeys:
    """Measure a few days of a publication that is only tried.

    Args:
        names: dates of all days of the horizon.
        measure: stores what is measured on a day in a folder's ``measurement/``.
        directory: gets each one's in ``measurement/<date>``.
    """
    recorded, n_days = None, len(names)
    for day in sorted({*range(min(TRIED_DAYS, n_days)), n_days - 1}):
        staged = directory / f"day-{day}"
        recorded = measure(day, staged)
        (directory / MEASUREMENT).mkdir(exist_ok=True)
        (staged / MEASUREMENT).rename(directory / MEASUREMENT / names[day])
        staged.rmdir()
    assert recorded is not None
    return recorded
