"""From the section `constraints` of a configuration to constraints of each day.

Packages and equations are refused that need not be true of the rows that are counted, whatever those are.
"""

import datetime as dt
from collections.abc import Sequence
from functools import partial

from dplib.arrays import IntArray
from dplib.config.names import BLANKS
from dplib.constraints.groupings import Groupings
from dplib.constraints.resolve import resolve
from dplib.constraints.resolved import ResolvedConstraints
from dplib.constraints.specs import Equation, Package, Total
from dplib.jobs.consistent_histograms.config import Constraint, HistogramsRelease
from dplib.validate import require


def resolve_declared(
    config: HistogramsRelease,
    items: tuple[str, ...],
    groupings: Groupings | None,
    item_days: IntArray | None,
    rows_are_packages: bool,
    quantity: str | None,
) -> ResolvedConstraints:
    """Resolve packages, totals and equations as a configuration declares them, and the groupings of its items' table.

    Args:
        config: the settings of the release.
        items: names of the items.
        groupings: totals of the items' table.
        item_days: days of the items (`dplib.constraints.resolve.resolve`).
        rows_are_packages: whether a row is a package.
        quantity: the column of quantities, None where each row counts once or nobody reads rows.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    packages: list[Package] = []
    totals: list[Total] = []
    equations: list[Equation] = []
    replace_one = config.privacy.neighbors == "replace_one"
    for number, constraint in enumerate(config.constraints):
        setting = f"constraints.{number}"
        first, end = _validity(config, constraint, setting)
        packages.extend(
            Package(name, {item: n for item, n in contents.items() if n}, first, end, f"{setting}.packages.{name}")
            for name, contents in (constraint.packages or {}).items()
        )
        totals.extend(
            Total(name, tuple(members), constraint.measured, first, end, f"{setting}.totals.{name}", number)
            for name, members in (constraint.totals or {}).items()
        )
        equations.extend(
            Equation(each.coefficients, each.value, replace_one, first, end, f"{setting}.equations.{name}")
            for name, each in (constraint.equations or {}).items()
        )
    other = config.domain.other
    if rows_are_packages and isinstance(other, str):
        packages.append(Package(other, {other: 1}, 0, config.domain.n_days, "domain.other"))
    require(bool(packages) or not rows_are_packages, "constraints", "declare packages where rows are packages", "none")
    _check_packages(packages, rows_are_packages)
    _check_equations(equations, config.privacy.unit, quantity)
    day_name = partial(_day_name, config.domain.first_day)
    specs = (packages, totals, equations)
    return resolve(items, config.domain.n_days, *specs, rows_are_packages, day_name, groupings, item_days)


def _day_name(first: dt.date, day: int) -> str:
    return (first + dt.timedelta(days=day)).isoformat()


def _check_packages(packages: Sequence[Package], rows_are_packages: bool) -> None:
    """Refuse packages that need not be true of the rows that are counted, whatever those are."""
    for package in packages:
        rule = (
            "be left out unless input.columns.package says that rows are packages, since caps on item lines would "
            "make its equations false"
        )
        require(rows_are_packages, package.setting, rule, "rows that are item lines")
        plain = bool(package.name) and package.name == package.name.strip(BLANKS)
        require(plain, package.setting, "have a name without blanks at its ends", repr(package.name))


def _check_equations(equations: Sequence[Equation], unit: str, quantity: str | None) -> None:
    """Refuse equations that need not be true of the rows that are counted, whatever those are."""
    for equation in equations:
        rule = (
            "stand only where every row counts whole (privacy.unit: event, no input.columns.quantity), since caps "
            "would make it false"
        )
        shown = f"the unit {unit}" if unit != "event" else f"quantities in {quantity}"
        require(unit == "event" and quantity is None, equation.setting, rule, shown)


def _validity(config: HistogramsRelease, constraint: Constraint, name: str) -> tuple[int, int]:
    domain = config.domain
    first = max(constraint.first or domain.first_day, domain.first_day)
    last = min(constraint.last or domain.last_day, domain.last_day)
    require(
        first <= last,
        name,
        "hold on at least one day of the domain",
        f"{constraint.first or domain.first_day} to {constraint.last or domain.last_day}",
    )
    return (first - domain.first_day).days, (last - domain.first_day).days + 1
