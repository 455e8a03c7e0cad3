"""What of a stream is measured, and its parts: each a release of its own.

A *part* is a largest node whose days are all measured (`dplib.trees.growing`). Parts share no measurement, so the
estimates of one are those of a release of its days with the same noise, and a sum over several of them has the sum of
their variances.
"""

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.errors import ConfigError
from dplib.trees.growing import GrowingTree
from dplib.trees.interval_tree import IntervalTree

AnyDesign = TypeVar("AnyDesign")


@dataclass(frozen=True, eq=False)
class StreamPart(Generic[AnyDesign]):
    """One part.

    Attributes:
        design: of the part's days alone.
        nodes: number of each of its nodes in the stream's tree.
        lo: first day in the stream's horizon.
        hi: one past the last.
    """

    design: AnyDesign
    nodes: IntArray
    lo: int
    hi: int


@dataclass(frozen=True, eq=False)
class StreamState(GrowingTree, Generic[AnyDesign]):
    """What of a stream is measured.

    Attributes:
        design: of the whole horizon.
        first_day: of the horizon.
        restrict: the design of one node's days alone, with the noise of the stream, from the whole design, the node and
            the tree below it.
    """

    design: AnyDesign
    first_day: dt.date
    restrict: Callable[[AnyDesign, int, IntervalTree], AnyDesign]

    @classmethod
    def of(
        cls,
        design: AnyDesign,
        tree: IntervalTree,
        measured_levels: BoolArray,
        first_day: dt.date,
        dates: Iterable[str],
        is_closed: bool,
        restrict: Callable[[AnyDesign, int, IntervalTree], AnyDesign],
    ) -> Self:
        """From the dates that were measured, ISO 8601."""
        days = np.zeros(tree.n_leaves, dtype=bool)
        days[[(dt.date.fromisoformat(date) - first_day).days for date in dates]] = True
        return cls(tree, measured_levels, days, is_closed, design, first_day, restrict)

    def date(self, day: int) -> dt.date:
        """The date of a day of the horizon."""
        return self.first_day + dt.timedelta(days=day)

    @property
    def dates(self) -> list[dt.date]:
        """The measured days."""
        return [self.date(day) for day in np.flatnonzero(self.days).tolist()]

    def parts(self, top: int) -> list[StreamPart[AnyDesign]]:
        """The parts of a top's days, in their order; none where no day of it is measured."""
        return [self._part(node) for node in self.nodes_below(top).tolist()]

    def parts_of_range(self, lo: int, hi: int) -> list[StreamPart[AnyDesign]]:
        """The parts that hold the days ``lo <= t < hi``, in their order; none where one of these is not measured."""
        return [self._part(node) for node in self.nodes_of_range(lo, hi).tolist()]

    def cover(self, lo: int, hi: int) -> IntArray:
        """The fewest nodes of the parts that make up the days ``lo <= t < hi``.

        Raises:
            ConfigError: if a day of these is not measured.
        """
        missing = np.flatnonzero(~self.days[lo:hi])
        if len(missing):
            day = self.date(lo + int(missing[0]))
            raise ConfigError("--from and --to", "be days that the stream has measured", f"{day}, which it has not")
        found = []
        for node in self.nodes_of_range(lo, hi).tolist():
            tree, nodes = self.tree.subtree(node)
            first = int(self.tree.lo[node])
            found.append(nodes[tree.cover(max(lo - first, 0), min(hi - first, tree.n_leaves))])
        return np.concatenate(found)

    def _part(self, node: int) -> StreamPart[AnyDesign]:
        tree, nodes = self.tree.subtree(node)
        own = self.restrict(self.design, node, tree)
        return StreamPart(own, nodes, int(self.tree.lo[node]), int(self.tree.hi[node]))
