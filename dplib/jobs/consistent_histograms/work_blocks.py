"""Blocks that estimates are made in: those of the measurement, or smaller ones where the settings ask for them.

The blocks of a measurement name its noise and its files, so they follow from what was measured. How many days a task
works on is free to choose afterwards: a smaller block is a subtree of a stored one, and the numbers are the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dplib.arrays import FloatArray
from dplib.jobs.consistent_histograms.block_shapes import pack_counts
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.tables import Tables, block_nodes
from dplib.spark.engine.blocks import Block
from dplib.trees.block_plan import TOP, largest_subtrees


def in_work_blocks(design: Design) -> Design:
    """The design in blocks of at most `publish.solver.block_days` days, never larger than the measurement's."""
    days, tree = design.config.publish.solver.block_days, design.tree
    if days is None:
        return design
    widest = [int((tree.hi - tree.lo)[tree.level_slice(level)].max()) for level in range(tree.n_levels)]
    level = next((level for level, width in enumerate(widest) if width <= days), tree.n_levels - 1)
    if level <= design.blocks.cut_level:
        return design
    return replace(design, block_cells=largest_subtrees(tree)[level] * design.block_width)


@dataclass(frozen=True, eq=False)
class StoredBlocks:
    """A stored measurement, read in the blocks of the work.

    Attributes:
        tables: of the measurement, in its own blocks.
        work: the design in the blocks of the work.
    """

    tables: Tables
    work: Design

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """Number and noisy counts of each block of the work."""
        own, wanted = self.tables.design.blocks, self.work.blocks
        for block in range(own.n_blocks):
            noisy = self.tables.read_noisy_block(own.name(block))
            if own.cut_level == wanted.cut_level:
                yield block, {"noisy": pack_counts(noisy)}
                continue
            nodes = block_nodes(self.tables.design, own.name(block))
            for inside in np.flatnonzero(np.isin(wanted.day_bounds[:-1], np.arange(*own.days(block)))).tolist():
                place = np.searchsorted(nodes, wanted.block_tree(inside)[1])
                yield inside, {"noisy": pack_counts(noisy[place])}

    def top(self) -> FloatArray:
        """Noisy counts of the nodes above the blocks of the work, shape (n_top_nodes, n_series)."""
        own, n_top = self.tables.design.blocks, self.work.blocks.n_top_nodes
        found = np.zeros((n_top, len(self.work.series)))
        names = [TOP] if own.n_top_nodes else []
        if n_top > own.n_top_nodes:
            names += [own.name(block) for block in range(own.n_blocks)]
        for name in names:
            nodes = block_nodes(self.tables.design, name)
            above = nodes < n_top
            found[nodes[above]] = self.tables.read_noisy_block(name)[above]
        return found
