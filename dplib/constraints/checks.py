"""Precise checks of constraint settings; each raises one `ConfigError` that names the setting.

Nothing here looks at data: what is refused depends on the configuration alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from dplib.constraints.specs import Equation, Package, Total
from dplib.validate import require, require_known

PACKAGES = "constraints.packages"
TOTALS = "constraints.totals"
EQUATIONS = "constraints.equations"
MAX_OF_ITEM = 1_000_000
"""Pieces of one item in a package at most."""
MAX_COEFFICIENT = 10**9
"""Numerator and denominator of an equation's coefficient at most, in magnitude."""
MAX_VALUE = 10**15
"""The same of its right-hand side."""


def check_items(items: Sequence[str]) -> None:
    """Items must be at least one, each named once."""
    require(len(items) > 0, "domain.items", "name at least one item", "none")
    repeated = sorted(item for item, times in Counter(items).items() if times > 1)
    require(not repeated, "domain.items", "name each item once", repeated[0] if repeated else "")


def check_range(setting: str, first: int, end: int, n_days: int) -> None:
    """A range must be a non-empty part of the declared days."""
    require(0 <= first < end <= n_days, setting, f"hold a range of days within 0..{n_days - 1}", f"{first}..{end - 1}")


def check_items_meet(setting: str, first: int, end: int) -> None:
    """A package needs a day on which all of its items exist."""
    require(first < end, setting, "hold items that all exist on some day on which it is on sale", "none such day")


def check_no_overlap(ranges: Iterable[tuple[str, int, int, str]]) -> None:
    """A name may come again only for other days.

    Args:
        ranges: (name, first, end, setting).
    """
    last_end: dict[str, int] = {}
    for name, first, end, setting in sorted(ranges):
        require(first >= last_end.get(name, 0), setting, "be the only one of its name on each day", f"{name} twice")
        last_end[name] = end


def check_packages(packages: Sequence[Package], items: Sequence[str], rows_are_packages: bool) -> None:
    """Packages need package rows, known items and positive whole multiplicities."""
    if not rows_are_packages:
        # Constraints of packages are false of item lines whose orders a cap may cut (privacy.md 12).
        rule = "be left out unless every input row is a package (input.columns.package)"
        for package in packages:
            require(False, package.setting, rule, "a package")
        return
    require(len(packages) > 0, PACKAGES, "name at least one package where rows are packages", "none")
    known = set(items)
    for package in packages:
        setting = package.setting
        require(len(package.contents) > 0, setting, "hold at least one item", "none")
        for item, count in package.contents.items():
            require_known(setting, item, known, "hold items of domain.items only")
            whole = isinstance(count, int) and not isinstance(count, bool) and count > 0
            require(whole, f"{setting}.{item}", "be a whole number above 0", count)
            require(count <= MAX_OF_ITEM, f"{setting}.{item}", f"be at most {MAX_OF_ITEM}", count)


def check_totals(totals: Sequence[Total], items: Sequence[str]) -> None:
    """Totals need names of their own, known members and one answer to `measured`."""
    named = set(items)
    known = named | {total.name for total in totals}
    measured: dict[str, bool] = {}
    for total in totals:
        setting = total.setting
        require(total.name not in named, setting, "differ from the names of items", total.name)
        require(len(total.members) > 0, setting, "have at least one member", "none")
        for member in total.members:
            require_known(setting, member, known, "have items or totals as members")
        same = measured.setdefault(total.name, total.measured) == total.measured
        require(same, f"{setting}.measured", "be the same on all days", "both true and false")


def check_other_names(totals: Sequence[Total], grouped: Iterable[str]) -> None:
    """Declared totals need other names than the totals of groupings."""
    known = set(grouped)
    for total in totals:
        require(total.name not in known, total.setting, "differ from the totals of domain.groupings", total.name)


def expand_total(name: str, valid: Mapping[str, Total], items: Mapping[str, int]) -> list[int]:
    """Items of a total on days when the totals of ``valid`` hold.

    Args:
        name: the total.
        valid: totals by name; a member that is a total outside its days counts nothing.
        items: item -> number.

    Returns:
        Item numbers, sorted.

    Raises:
        ConfigError: if totals contain each other in a circle or an item would be counted twice.
    """
    found: list[int] = []

    setting = valid[name].setting

    def visit(current: str, path: tuple[str, ...]) -> None:
        require(current not in path, setting, "not contain itself", " > ".join((*path, current)))
        for member in valid[current].members:
            if member in items:
                found.append(items[member])
            elif member in valid:
                visit(member, (*path, current))

    visit(name, ())
    repeated = len(found) != len(set(found))
    require(not repeated, setting, "count each item once", "an item that comes in twice")
    return sorted(found)


def check_equations(equations: Sequence[Equation], series: Iterable[str]) -> None:
    """Equations need known names and a coefficient that is not zero."""
    known = set(series)
    for equation in equations:
        setting = equation.setting
        for name in equation.coefficients:
            require_known(setting, name, known, "speak of items or totals only")
        for name, coefficient in equation.coefficients.items():
            _require_short(f"{setting}.coefficients.{name}", Fraction(coefficient), MAX_COEFFICIENT)
        _require_short(f"{setting}.value", Fraction(equation.value), MAX_VALUE)
        nonzero = any(equation.coefficients.values())
        require(nonzero, setting, "have a coefficient that is not 0", dict(equation.coefficients))


def _require_short(setting: str, number: Fraction, most: int) -> None:
    short = abs(number.numerator) <= most and number.denominator <= most
    rule = f"be a fraction of whole numbers up to {most}"
    shown = max(abs(number.numerator), number.denominator) < 10**40
    require(short, setting, rule, number if shown else "a longer one")


def check_holds_of_rows(equation: Equation, violated_by: str | None) -> None:
    """An equation that some row type violates must be a declared public invariant.

    Args:
        equation: the equation.
        violated_by: name of a row type that does not satisfy it by itself, None if there is none.
    """
    rule = "hold of every row, or be a public invariant, which needs privacy.neighbors: replace_one"
    good = equation.invariant or violated_by is None
    require(good, equation.setting, rule, f"an equation that a row of {violated_by} breaks")


def check_consistent(setting: str, contradictory: bool) -> None:
    """An equation must not contradict the packages, totals and earlier equations."""
    rule = "agree with the packages, the totals and the other equations"
    require(not contradictory, setting, rule, "a contradiction")
