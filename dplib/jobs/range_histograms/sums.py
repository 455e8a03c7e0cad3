"""Groups that add up: their totals, which of these are measured, and with which share of the budget.

Totals come from groupings of a public table or are listed; a histogram of a total is the sum of those of its groups.
The groups and each kind of totals are a *column* of histograms: with ``measure`` each has a share of the budget of its
own, else all measured histograms share one.

*Guarantee*, with the shares ``s_x`` of a path, m, D and D2 of `dplib.jobs.range_histograms.design`. A row of group j
adds ``A_hj`` to histogram h at every node on its bin's path. A column c gets the share ``s_c`` of the budget, with
noise for ``D r_c`` (``D2 q_c``), r_c the largest L1 norm of a group's entries in the column and q_c their largest
squared L2 norm: 1 and 1 for the groups and for each grouping, more where listed totals overlap.

* Laplace: the ratio of one row at one node and column is at most ``r_c / b = s_x s_c epsilon / m``; over the path and
  all columns ``epsilon / m``, over the unit's rows epsilon.
* Gaussian: the n_x rows of the unit that meet in node x change a column by a vector of squared norm at most ``n_x^2
  q_c`` (the triangle inequality), so ``sum_c sum_x n_x^2 q_c s_x s_c rho / (m^2 q_c)``, which with ``sum_c s_c = 1``
  is the sum of one column: at most rho.

Replacing a unit doubles both, as with one column: all entries of A are at least 0. Each column is an event of its own,
whose epsilons (rhos) are exact parts of the budget. Without ``measure`` all measured histograms are one column, r and q
the norms over them.

Notation: ``A`` has the number of times that a row of a group counts in a histogram, shape (n_histograms, n_groups).
"""

from dataclasses import dataclass

import numpy as np

from dplib.config.item_groupings import resolve_groupings
from dplib.config.item_table import TableItems
from dplib.config.measure import Measure
from dplib.config.selection import NamedSeries
from dplib.consistency.columns import Columns, columns_of, series_norms, unshared
from dplib.constraints.groupings import Groupings
from dplib.constraints.resolve import resolve
from dplib.constraints.resolved import ResolvedConstraints
from dplib.constraints.specs import Total
from dplib.jobs.range_histograms.config import RangesRelease
from dplib.jobs.range_histograms.histogram_config import GroupTable
from dplib.kept import Kept
from dplib.privacy.noise import Law
from dplib.validate import require, require_known

GROUPS = "groups"
"""What the groups are called among the kinds of histograms."""
MAX_KEPT_SERIES = 1_000
"""Groups and totals up to which what links them is kept for the next time that their settings are asked for."""


@dataclass(frozen=True, eq=False)
class GroupSums:
    """The totals of a release.

    Attributes:
        groupings: those of the groups' table; None without any.
        constraints: what links the histograms of a bin: the groups, then the totals.
        columns: which of them share their noise, and the shares of the budget.
        names: what the groups and each kind of totals are called, by the constraints' `series_grouping`.
        norms: largest L1 and squared L2 norm of what a row adds to one node, by column: columns of ``A``.
    """

    groupings: Groupings | None
    constraints: ResolvedConstraints
    columns: Columns
    names: tuple[str, ...]
    norms: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, config: RangesRelease, groups: tuple[str, ...], n_bins: int) -> "GroupSums | None":
        """Resolve the settings; None where no totals are declared.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        given, measure = config.histogram, config.measure
        if not given.add_up:
            return None
        # As text: the order of names, which equal settings may differ in, is that of totals.
        shares = measure.model_dump_json() if isinstance(measure, Measure) else measure
        asked = (given.model_dump_json(), shares, config.privacy.mechanism, groups, n_bins)
        known = _KEPT.find(asked)
        if known is not None:
            return known
        found = cls._of(config, groups, n_bins)
        return _KEPT.keep(asked, found) if len(found.constraints.series) <= MAX_KEPT_SERIES else found

    @classmethod
    def _of(cls, config: RangesRelease, groups: tuple[str, ...], n_bins: int) -> "GroupSums":
        given = config.histogram
        table = table_of(config)
        groupings = resolve_groupings(given.groupings or (), table, "histogram") if table is not None else None
        totals = [
            Total(name, tuple(own), bool(each.measured), setting=f"histogram.totals.{place}.totals.{name}", block=place)
            for place, each in enumerate(given.totals or ())
            for name, own in each.totals.items()
        ]
        constraints = resolve(groups, n_bins, totals=totals, groupings=groupings)
        names = [GROUPS, *(each.name or f"totals.{place}" for place, each in enumerate(given.totals or ()))]
        names += [f"by {each.label}" if each.by else each.label for each in given.groupings or ()]
        require(len(set(names)) == len(names), "histogram.totals", "have a name of their own each", "one twice")
        columns = unshared(constraints)
        if config.measure is not None:
            called, law = tuple(names), config.privacy.mechanism
            columns, constraints = columns_of(constraints, called, called, config.measure, law)
        norms: tuple[tuple[int, int], ...] = ((constraints.row_l1, constraints.row_l2_squared),)
        if columns.names:
            norms = tuple(series_norms(constraints, columns.of == column) for column in range(columns.n_columns))
        return cls(groupings, constraints, columns, tuple(names), norms)


_KEPT: Kept[tuple[str, str | None, Law, tuple[str, ...], int], GroupSums] = Kept(16)


def table_of(config: RangesRelease) -> TableItems | None:
    """The table of the groups; None where they are listed."""
    groups = config.histogram.groups
    return groups.listed if isinstance(groups, GroupTable) else None


def named_histograms(config: RangesRelease, groups: tuple[str, ...], sums: GroupSums | None) -> NamedSeries:
    """What the histograms are called, and which groups each adds up."""
    table = table_of(config)
    if sums is None:
        alone = np.zeros(len(groups), dtype=np.int64)
        return NamedSeries(groups, len(groups), (), alone, table, option="--group", word="a group")
    members = {name: own for each in config.histogram.totals or () for name, own in each.totals.items()}
    declared = [each.by for each in config.histogram.groupings or ()]
    own = (sums.names, sums.constraints.series_grouping)
    series = sums.constraints.series
    return NamedSeries(
        series, len(groups), *own, table, sums.groupings, declared, members, "--group", "a group or total"
    )


def target_names(config: RangesRelease, sums: GroupSums | None) -> list[str]:
    """What the target of each question is of, by its name; the groups where there is none.

    Raises:
        ConfigError: if a target names neither that nor a place in the configuration.
    """
    names, given, found = (GROUPS,) if sums is None else sums.names, config.histogram, []
    places = ["items", *(f"histogram.totals.{place}" for place in range(len(given.totals or ())))]
    places += [f"histogram.groupings.{place}" for place in range(len(given.groupings or ()))]
    known = dict(zip(places, names, strict=True)) | {name: name for name in names}
    for place, each in enumerate(config.questions):
        of = GROUPS if each.target is None else each.target.of
        require_known(f"queries.{place}.target.of", of, known, f"be one of {', '.join(names)}")
        found.append(known[of])
    return found
