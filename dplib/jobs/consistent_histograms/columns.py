"""The columns of a configuration (`dplib.consistency.columns`), and the noise of every level and column.

The proof that the events together keep to the budget: `dplib.jobs.consistent_histograms.design`.
"""

from collections.abc import Sequence

import numpy as np

from dplib.arrays import FloatArray
from dplib.config.sections import EventPrivacySettings
from dplib.consistency.columns import Columns, columns_of, series_norms, unshared
from dplib.constraints.resolved import ResolvedConstraints
from dplib.jobs.consistent_histograms.config import HistogramsRelease
from dplib.jobs.consistent_histograms.day_tree import MAX_DENOMINATOR, DayTree
from dplib.privacy.budget import ZCDP, PureDP, epsilon_or_rho
from dplib.privacy.calibration import split
from dplib.privacy.noise import Noise, NoiseEvent
from dplib.validate import integer_norms, require, require_known

BLOCK = "constraints."
MAX_OF_ROW = 1 << 23
"""Counts that one row adds to one level at most: 2^40 rows then fit 64 bits (`dplib.mechanisms.tree_counts`)."""


def choose_columns(config: HistogramsRelease, constraints: ResolvedConstraints) -> tuple[Columns, ResolvedConstraints]:
    """The columns that the section ``measure`` asks for, and the constraints with what is measured by it.

    Raises:
        ConfigError: if it has another number of shares than there are columns.
    """
    if config.measure is None:
        return unshared(constraints), constraints
    names = group_names(config, constraints)
    law = config.privacy.mechanism
    return columns_of(constraints, names, _places(config, constraints), config.measure, law)


def group_names(config: HistogramsRelease, constraints: ResolvedConstraints) -> tuple[str, ...]:
    """What readers call the items, each block of totals and each grouping, by the number of `series_grouping`.

    Raises:
        ConfigError: if two have one name.
    """
    names, totals = list(_places(config, constraints)), np.array(constraints.series)
    for column, place in enumerate(names):
        if place.startswith(BLOCK):
            given = config.constraints[int(place.removeprefix(BLOCK))].name
            names[column] = given or _made_of(totals[constraints.series_grouping == column].tolist())
            rule = "be a name that no item, no total and no other totals have"
            require(given not in (*names[:column], *constraints.series), f"{place}.name", rule, given)
    return tuple(names)


def _made_of(totals: Sequence[str]) -> str:
    many = f"{len(totals)} totals ({totals[0]}, ...)"
    return many if len(totals) > 2 else f"total{'s' * (len(totals) - 1)} {', '.join(totals)}"


def target_groups(config: HistogramsRelease, constraints: ResolvedConstraints) -> list[str]:
    """What the target of each query is of, by its name for readers; empty where there is none.

    Raises:
        ConfigError: if a target names neither that nor a place in the configuration.
    """
    names, groupings = group_names(config, constraints), config.domain.groupings or ()
    places = list(_places(config, constraints))[: len(names) - len(groupings)]
    places += [f"domain.groupings.{number}" for number in range(len(groupings))]
    known, found = dict(zip(places, names, strict=True)) | {name: name for name in names}, []
    for place, question in enumerate(config.questions):
        of = question.target.of if question.target else None
        rule = f"be one of {', '.join(names)}"
        if of is not None:
            require_known(f"queries.{place}.target.of", of, known, rule)
        found.append(known[of] if of else "")
    return found


def _places(config: HistogramsRelease, constraints: ResolvedConstraints) -> tuple[str, ...]:
    """The items, where each block of totals stands, and the groupings: these name streams of noise and stay."""
    grouping = dict(zip(constraints.series, constraints.series_grouping.tolist(), strict=True))
    names = {0: "items"}
    for place, each in enumerate(config.constraints):
        for name in each.totals or {}:
            names.setdefault(grouping[name], f"{BLOCK}{place}")
    n_columns = int(constraints.series_grouping.max(initial=0)) + 1
    given = config.domain.groupings or ()
    grouped = range(n_columns - len(given), n_columns)
    names |= {
        column: f"by {each.label}" if each.by else each.label for column, each in zip(grouped, given, strict=True)
    }
    return tuple(names[column] for column in range(n_columns))


def noise_of_columns(
    privacy: EventPrivacySettings, constraints: ResolvedConstraints, days: DayTree, columns: Columns
) -> tuple[NoiseEvent | None, ...]:
    """Split the budget over the measured levels and columns and calibrate the noise of each.

    Returns:
        The columns of each level from the root down.
    """
    budget = privacy.main_budget
    shares = [level * column for level in days.shares for column in columns.shares]
    measured = [place for place, share in enumerate(shares) if share > 0]
    widths, pure = days.tree.hi - days.tree.lo, isinstance(budget, PureDP)
    neighbors = 2 if privacy.neighbors == "replace_one" else 1
    _require_small_rows(privacy, constraints)
    rows = [(constraints.row_l1, constraints.row_l2_squared)]
    if columns.names:
        rows = [series_norms(constraints, columns.of == column) for column in range(columns.n_columns)]
    found: list[NoiseEvent | None] = [None] * len(shares)
    for place, part in zip(measured, split(epsilon_or_rho(budget), [shares[x] for x in measured]), strict=True):
        level, column = divmod(place, columns.n_columns)
        row_l1, row_square = rows[column]
        l1 = neighbors * privacy.rows_per_unit * privacy.max_quantity * row_l1
        width = int(widths[days.tree.level_slice(level)].max())
        meeting = min(privacy.rows_per_unit, privacy.rows_per_day * width)
        square = neighbors * privacy.rows_per_unit * meeting * privacy.max_quantity**2 * row_square
        norms = (l1, 0) if pure else integer_norms("sensitivity of a level", l1, square)
        # Exact by column, so that the cost is the whole budget whatever the shares are that queries ask for.
        most = None if columns.names else MAX_DENOMINATOR
        noise = Noise.within(PureDP(part) if pure else ZCDP(part), *norms, max_denominator=most)
        name = days.names[level]
        found[place] = noise.event(f"{name}, {columns.names[column]}" if columns.names else name)
    return tuple(found)


def continuous_factors(
    measurements: Sequence[NoiseEvent | None], shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Variances of continuous noise as a product of a level's and a column's factor, inf where not measured.

    Shares and sensitivities are such products; what sigma^2 is rounded up by is left out.

    Returns:
        Shapes (n_levels,) and (n_columns,); the first is that of the items, whose factor is 1.
    """
    cells = [
        np.inf if each is None else float(each.noise.parameter) ** each.noise.law.exponent * each.noise.law.exponent
        for each in measurements
    ]
    table = np.array(cells).reshape(shape)
    last = len(table) - 1
    return table[:, 0], table[last] / table[last, 0]


def _require_small_rows(privacy: EventPrivacySettings, constraints: ResolvedConstraints) -> None:
    """Refuse rows that count so much that fewer than 2^40 of them could leave 64 bits."""
    largest = constraints.row_l1
    rule = f"let no row add more than {MAX_OF_ROW} counts to a level, measured totals included"
    require(largest <= MAX_OF_ROW, "constraints", rule, largest)
    most = MAX_OF_ROW // max(largest, 1)
    rule = f"be at most {most}, since the largest row adds {largest} counts to a level, measured totals included"
    require(privacy.max_quantity <= most, "privacy.max_quantity", rule, privacy.max_quantity)
