"""The parts of a stream: largest nodes whose days are all measured, each a release of its own.

Nodes with no such node above them share no measurement, so the estimates below one of them are those of a release of
its days with the same noise, and a sum over several of them has the sum of their variances. The *tops* are the nodes
of the coarsest measured level: a number is *final* once all days of its top are measured, or the stream is closed.

A node that was measured while one of its days was not waits for that day: until then its days stand alone.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.constraints.resolved import on_days
from dplib.jobs.consistent_histograms.design import Design
from dplib.trees.growing import largest_nodes


@dataclass(frozen=True, eq=False)
class StreamPart:
    """One part.

    Attributes:
        design: of the part's days alone.
        nodes: number of each of its nodes in the stream's tree.
        lo: first day in the stream's horizon.
        hi: one past the last.
    """

    design: Design
    nodes: IntArray
    lo: int
    hi: int


@dataclass(frozen=True, eq=False)
class StreamState:
    """What of a stream is measured.

    Attributes:
        design: of the whole horizon.
        days: whether a day was measured, shape (n_days,).
        is_closed: whether no day is measured any more.
    """

    design: Design
    days: BoolArray
    is_closed: bool = False

    @classmethod
    def of(cls, design: Design, dates: Iterable[str], is_closed: bool = False) -> "StreamState":
        """From the dates that were measured, ISO 8601."""
        days = np.zeros(design.config.domain.n_days, dtype=bool)
        days[[design.day(dt.date.fromisoformat(date)) for date in dates]] = True
        return cls(design, days, is_closed)

    @cached_property
    def measured_levels(self) -> BoolArray:
        """Whether a level is measured, shape (n_levels,)."""
        return np.isfinite(self.design.level_variance)

    @cached_property
    def _complete(self) -> BoolArray:
        """Whether a node is measured, and so are all of its days, shape (n_nodes,)."""
        tree, known = self.design.tree, np.append(0, np.cumsum(self.days))
        whole = known[tree.hi] - known[tree.lo] == tree.hi - tree.lo
        return np.asarray(whole & self.measured_levels[tree.level])

    @property
    def tops(self) -> IntArray:
        """The nodes of the coarsest measured level."""
        tree = self.design.tree
        return np.arange(tree.n_nodes)[tree.level_slice(int(np.argmax(self.measured_levels)))]

    def is_final(self, top: int) -> bool:
        """Whether the numbers of a top change no more."""
        return self.is_closed or bool(self._complete[top])

    def parts(self, top: int) -> list[StreamPart]:
        """The parts of a top's days, in their order; none where no day of it is measured."""
        tree = self.design.tree
        below = (tree.lo >= tree.lo[top]) & (tree.hi <= tree.hi[top])
        return [part_of(self.design, node) for node in largest_nodes(tree, self._complete & below).tolist()]

    def parts_of_range(self, lo: int, hi: int) -> list[StreamPart]:
        """The parts that hold the days ``lo <= t < hi``, in their order; empty where one of these is not measured."""
        if not self.days[lo:hi].all():
            return []
        tree = self.design.tree
        nodes = largest_nodes(tree, self._complete)
        return [part_of(self.design, node) for node in nodes[(tree.lo[nodes] < hi) & (tree.hi[nodes] > lo)].tolist()]


def part_of(design: Design, node: int) -> StreamPart:
    """The release of one node's days, with the noise of the stream."""
    tree, nodes = design.tree.subtree(node)
    lo, hi, level = int(design.tree.lo[node]), int(design.tree.hi[node]), int(design.tree.level[node])
    table = design.table
    if table is not None and table.days is not None:
        table = replace(table, days=np.clip(table.days - lo, 0, hi - lo))
    domain = design.config.domain.model_copy(update={"first_day": design.date(lo), "last_day": design.date(hi - 1)})
    own = replace(
        design,
        config=design.config.model_copy(update={"domain": domain}),
        table=table,
        constraints=on_days(design.constraints, lo, hi),
        days=replace(design.days, tree=tree, names=design.days.names[level:], shares=design.days.shares[level:]),
        measurements=design.measurements[level * design.columns.n_columns :],
    )
    return StreamPart(own, nodes, lo, hi)
