"""Packages of a configuration: on which days each is on sale, what its versions are called, what they imply."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dplib.arrays import IntArray
from dplib.constraints import checks
from dplib.constraints.day_constraints import SparseFloat, SparseInt
from dplib.constraints.exact import float_rows, null_space
from dplib.constraints.invariants import row_entries
from dplib.constraints.specs import Package


def while_items_exist(
    packages: Sequence[Package], items: Sequence[str], item_days: IntArray, day_name: Callable[[int], str]
) -> tuple[list[Package], list[str]]:
    """The packages on the days on which all of their items exist, and a sentence for each that loses days.

    Items and days are public, and so is this rule: rows that name a package on other days are dropped.
    """
    days, found, notes = dict(zip(items, item_days.tolist(), strict=True)), [], []
    for package in packages:
        own = [days[item] for item in package.contents]
        first = max(package.first, *(each[0] for each in own))
        end = min(package.end or 0, *(each[1] for each in own))
        checks.check_items_meet(package.setting, first, end)
        if (first, end) != (package.first, package.end):
            span = f"{day_name(first)} to {day_name(end - 1)}"
            notes.append(f"Package {package.name} is on sale {span}, the days on which all of its items exist.")
        found.append(replace(package, first=first, end=end))
    return found, notes


def generator_names(packages: Sequence[Package]) -> dict[int, str]:
    """A name for each package such that equal names mean equal contents."""
    versions: dict[str, list[dict[str, int]]] = {}
    labels: dict[int, str] = {}
    for number, package in enumerate(packages):
        known = versions.setdefault(package.name, [])
        contents = dict(package.contents)
        if contents not in known:
            known.append(contents)
        version = known.index(contents)
        labels[number] = package.name if version == 0 else f"{package.name} ({version + 1})"
    return labels


def implied(generators: SparseInt) -> SparseFloat:
    """The equations that all sums of generators satisfy, by elimination."""
    transposed = generators.T.tocsr()
    rows = [dict(zip(*row_entries(transposed, j), strict=True)) for j in range(transposed.shape[0])]
    return float_rows(null_space(rows, generators.shape[0]), generators.shape[0])
