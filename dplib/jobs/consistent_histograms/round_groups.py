"""The groups of constraints of a split on some nodes: what rounds need wherever nodes are held together.

Blocks, the tree above them and the paper's ranges of nodes all hold consecutive nodes with all series of a group.
Constraints of days and of nodes are projected on there, each day's by the form that costs least (`series_projection`:
by equations, without a matrix of series by series, where they are many), worked out once for each of the day
constraints. Memory is bounded by the nodes at hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.alternating import besides_sums, measured_split
from dplib.consistency.problem import SplitPart
from dplib.consistency.series_projection import SeriesProjection, series_projection
from dplib.consistency.unmeasured import measured_part, without_unmeasured
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.jobs.consistent_histograms.block_shapes import days_by_constraints, miniature
from dplib.jobs.consistent_histograms.block_solvers import SeriesGroup
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.split import split_of


class Nodes(NamedTuple):
    """Consecutive nodes: first day of each and one past its last, and its level."""

    lo: IntArray
    hi: IntArray
    level: IntArray


@dataclass(frozen=True, eq=False)
class RowMap:
    """``x -> P x + offset`` on chosen rows, one projection after the other."""

    parts: tuple[tuple[IntArray, SeriesProjection, FloatArray], ...]

    def __call__(self, values: FloatArray) -> FloatArray:
        """A copy of the values with the chosen rows projected."""
        moved = values.copy() if self.parts else values
        for rows, projection, offset in self.parts:
            moved[rows] = projection(values[rows]) + offset
        return moved


@dataclass(frozen=True, eq=False)
class RoundGroup:
    """The measured series of one group.

    Attributes:
        group: the whole group.
        series: numbers of its measured series.
        day_constraints: constraints on the measured series alone.
        variance: of each level, shape (n_levels, measured series), ``inf`` where not measured.
        by_trees: whether the split sums days by whole trees, not each sum by itself.
        others: the other groups of the split.
    """

    group: SeriesGroup
    series: IntArray
    day_constraints: tuple[DayConstraints, ...]
    variance: FloatArray
    by_trees: bool
    others: tuple[SplitPart, ...]
    _known: dict[tuple[int, int, int], SeriesProjection] = field(default_factory=dict)

    @classmethod
    def of(cls, design: Design, group: SeriesGroup) -> "RoundGroup":
        """Take the unmeasured series out.

        Raises:
            SolverError: if one of them does not follow from measured ones, days are not measured, or the split does not
                take the settings.
        """
        known = measured_part(miniature(group.day_constraints, group.variance)).is_measured
        series = group.series[known]
        variance = group.level_variance[:, known]
        if not np.isfinite(variance[-1]).all():
            raise SolverError("solver", "be another than alternating where days are not measured")
        by_trees, others = besides_sums(measured_split(split_of(design, group.series), known))
        return cls(group, series, without_unmeasured(group.day_constraints, known), variance, by_trees, others)

    @property
    def tree_variance(self) -> FloatArray:
        """The variances for passes of the tree: one column where all series have the same."""
        shared = self.variance[:, :1]
        return shared if bool((self.variance == shared).all()) else self.variance

    def weight(self, level: IntArray) -> FloatArray:
        """Inverse variances of nodes on some levels, 0 where not measured."""
        own = self.variance[level]
        return np.where(np.isfinite(own), 1.0 / own, 0.0)

    def maps(self, nodes: Nodes) -> list[RowMap]:
        """The projections on the other groups of the split, on some nodes."""
        return [RowMap(tuple(self._parts(place, nodes))) for place in range(len(self.others))]

    def _parts(self, place: int, nodes: Nodes) -> list[tuple[IntArray, SeriesProjection, FloatArray]]:
        chosen, last = self.others[place], len(self.variance) - 1
        constraints = chosen.day_constraints or self.day_constraints
        if chosen.kind == "nodes":
            return self._node_parts(place, nodes, constraints)
        found = []
        for number, daily in enumerate(constraints):
            rows = np.flatnonzero((nodes.level == last) & (nodes.lo >= daily.first) & (nodes.lo < daily.end))
            if len(rows) and daily.n_constraints:
                projection = self._projection(place, number, daily, last)
                found.append((rows, projection, projection.origin()))
        return found

    def _node_parts(
        self, place: int, nodes: Nodes, constraints: Sequence[DayConstraints]
    ) -> list[tuple[IntArray, SeriesProjection, FloatArray]]:
        """Constraints at every measured node, each node's right-hand side the sum of its days'."""
        found = []
        for level in np.unique(nodes.level).tolist() if constraints[0].n_constraints else ():
            if np.isfinite(self.variance[level]).all():
                rows = np.flatnonzero(nodes.level == level)
                own = [self._projection(place, n, daily, level) for n, daily in enumerate(constraints)]
                days = days_by_constraints(constraints, nodes.lo[rows], nodes.hi[rows])
                found.append((rows, own[0], days @ np.array([each.origin() for each in own])))
        return found

    def _projection(self, place: int, number: int, daily: DayConstraints, level: int) -> SeriesProjection:
        key = place, number, level
        if key not in self._known:
            self._known[key] = series_projection(daily, self.variance[level])
        return self._known[key]
