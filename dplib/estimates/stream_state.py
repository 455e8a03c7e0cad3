"""What of a stream is measured, and its parts: each a release of its own.

A *part* is the release of a piece of what is measured (`dplib.trees.growing`): of a largest node's days, where nodes
with a hole below stand like days. Parts share no measurement, so the estimates of one are those of a release of its
cells with the same noise, and a sum over several of them has the sum of their variances.
"""

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.errors import ConfigError
from dplib.trees.growing import GrowingTree, Piece
from dplib.trees.interval_tree import IntervalTree

AnyDesign = TypeVar("AnyDesign")


@dataclass(frozen=True, eq=False)
class StreamPart(Generic[AnyDesign]):
    """One part.

    Attributes:
        design: of the part's cells alone.
        nodes: number of each of its nodes in the stream's tree.
        edges: first day of each cell in the stream's horizon and one past the last, shape (n_cells + 1,).
    """

    design: AnyDesign
    nodes: IntArray
    edges: IntArray

    @property
    def lo(self) -> int:
        """First day."""
        return int(self.edges[0])

    @property
    def hi(self) -> int:
        """One past the last day."""
        return int(self.edges[-1])

    @property
    def has_holes(self) -> bool:
        """Whether a cell is more than a day."""
        return self.hi - self.lo > len(self.edges) - 1

    @property
    def day_cells(self) -> IntArray:
        """The cells that are days."""
        return np.flatnonzero(np.diff(self.edges) == 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class StreamState(GrowingTree, Generic[AnyDesign]):
    """What of a stream is measured.

    Attributes:
        design: of the whole horizon.
        first_day: of the horizon.
        restrict: the design of one part alone, with the noise of the stream, from the whole design and the piece.
    """

    design: AnyDesign
    first_day: dt.date
    restrict: Callable[[AnyDesign, Piece], AnyDesign]

    @classmethod
    def of(
        cls,
        design: AnyDesign,
        tree: IntervalTree,
        measured_levels: BoolArray,
        first_day: dt.date,
        dates: Iterable[str],
        is_closed: bool,
        alike: BoolArray,
        restrict: Callable[[AnyDesign, Piece], AnyDesign],
    ) -> Self:
        """From the dates that were measured, ISO 8601."""
        days = np.zeros(tree.n_leaves, dtype=bool)
        days[[(dt.date.fromisoformat(date) - first_day).days for date in dates]] = True
        return cls(tree, measured_levels, days, is_closed, alike, design, first_day, restrict)

    def date(self, day: int) -> dt.date:
        """The date of a day of the horizon."""
        return self.first_day + dt.timedelta(days=day)

    @property
    def dates(self) -> list[dt.date]:
        """The measured days."""
        return [self.date(day) for day in np.flatnonzero(self.days).tolist()]

    def dates_of(self, part: StreamPart[AnyDesign]) -> list[dt.date]:
        """The measured days of a part."""
        return [self.date(part.lo + day) for day in np.flatnonzero(self.days[part.lo : part.hi]).tolist()]

    def parts(self, top: int) -> list[StreamPart[AnyDesign]]:
        """The parts of a top's days, in their order; none where no day of it is measured."""
        return [self.part(root) for root in self.nodes_below(top)]

    def part(self, root: int) -> StreamPart[AnyDesign]:
        """The part of a piece."""
        piece = self.pieces[root]
        return StreamPart(self.restrict(self.design, piece), piece.nodes, piece.edges)

    def cover(self, lo: int, hi: int) -> IntArray:
        """The fewest nodes of the parts whose sum, without those of `taken_away`, is that of the days ``lo <= t < hi``.

        Raises:
            ConfigError: if a day of these is not measured and nothing says what it had.
        """
        unknown = self.unknown_days(lo, hi)
        if len(unknown):
            day = self.date(int(unknown[0]))
            raise ConfigError("--from and --to", "be days that the stream has measured", f"{day}, which it has not")
        return self._nodes(lo, hi, 1)

    def taken_away(self, lo: int, hi: int) -> IntArray:
        """The nodes that are subtracted: the other days of a node with a hole below, for its missing days."""
        return self._nodes(lo, hi, -1)

    def _nodes(self, lo: int, hi: int, sign: int) -> IntArray:
        found = [np.zeros(0, dtype=np.int64)]
        for run in self.runs(lo, hi):
            if run.sign == sign:
                piece = self.pieces[run.root]
                found.append(piece.nodes[piece.tree.cover(run.first, run.end)])
        return np.concatenate(found)
