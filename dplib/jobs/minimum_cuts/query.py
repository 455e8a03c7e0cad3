"""Answers from a release: its numbers, the cuts of a vertex, the weight around a set of vertices; reads nothing else.

A name that is a statistic of the release asks for it: a number, or the cuts of a release. Other names are vertices. One
vertex asks on which side it is in every cut; several ask for the weight between them and the rest in the synthetic
graph, and which cuts keep them together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.arrays import BoolArray
from dplib.errors import ConfigError
from dplib.jobs.minimum_cuts.config import NAME
from dplib.jobs.minimum_cuts.cut_margin import cut_margin, number_margin
from dplib.jobs.minimum_cuts.design import SYNTHETIC, Design
from dplib.jobs.minimum_cuts.estimate import FoundCuts, Number
from dplib.jobs.minimum_cuts.synthetic import side_pairs, side_values
from dplib.jobs.minimum_cuts.tables import ESTIMATES, Tables
from dplib.release.answers import table_of
from dplib.release.manifest import Manifest, public_design
from dplib.release.question import Question
from dplib.release.tables import read_table
from dplib.validate import did_you_mean, require

MAX_ANSWERS = 1_000
"""Cuts of one release that an answer lists."""


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        statistic: the number, or the release that the cut is of.
        cut: its number; None where the answer is no cut of a list.
        side_size: vertices on the side without the first vertex, or in the asked set; None for a number.
        where: what was asked of vertices: ``side``, ``other side``, ``apart``; empty otherwise.
        estimate: noisy value; None where it was not measured.
        std_error: its standard error; None where it is not known, 0 of a choice.
        low: lower end of the 95 % interval; None where there is none. For listed cuts of the synthetic graph the
            intervals hold for all its cuts at once.
        high: upper end.
    """

    statistic: str
    cut: int | None
    side_size: int | None
    where: str
    estimate: float | None
    std_error: float | None
    low: float | None
    high: float | None


def design_of(manifest: Manifest) -> Design:
    """The design of a release; `ConfigError` if it is of another job."""
    return Design.from_public(public_design(manifest, NAME))


def ask(directory: Path, manifest: Manifest, asked: Question) -> list[Answer]:
    """Numbers, cuts, or what is around vertices.

    Raises:
        ConfigError: as of `query_release`, or if something is asked for that the job has not.
    """
    asked.require_only(NAME, "names")
    return query_release(directory, manifest, asked.names)


def query_release(directory: Path, manifest: Manifest, names: Sequence[str]) -> list[Answer]:
    """Answer for statistics or for vertices by number or name; with all numbers where none is named.

    Raises:
        ConfigError: if a name is none of the release or a range is given.
    """
    design = design_of(manifest)
    tables = Tables(directory, design)
    numbers, cuts = read_numbers(directory), read_cuts(tables)
    if not names:
        return [_number(design, each) for each in numbers]
    known = {each.statistic for each in numbers} | set(cuts)
    if set(names) <= known:
        found = [_number(design, each) for each in numbers if each.statistic in names]
        return found + [each for name in names if name in cuts for each in _cuts(design, name, cuts[name], None)]
    side = _side(tables, names, known)
    return _around(tables, side) + [each for name in cuts for each in _cuts(design, name, cuts[name], side)]


def tidy(directory: Path, manifest: Manifest) -> pa.Table:
    """Every number, and the cuts of every release of the mechanism."""
    cuts = read_cuts(Tables(directory, design_of(manifest)))
    names = [*(each.statistic for each in read_numbers(directory)), *cuts]
    return table_of(query_release(directory, manifest, names))


def read_numbers(directory: Path) -> list[Number]:
    """The single numbers of a release; none where it has only cuts."""
    folder = directory / ESTIMATES / "numbers"
    if not folder.is_dir():
        return []
    rows = read_table(folder, ["statistic", "estimate", "std_error"]).to_pylist()
    return [
        Number(row["statistic"], row["estimate"], np.nan if row["std_error"] is None else row["std_error"])
        for row in rows
    ]


def read_cuts(tables: Tables) -> dict[str, FoundCuts]:
    """The cuts of a release, by the release that gave them."""
    folder = tables.directory / ESTIMATES
    if not (folder / "cuts").is_dir():
        return {}
    sides = tables.read_sides(folder / "members", "cut")
    table = read_table(folder / "cuts", ["statistic", "cut", "noisy_value", "std_error"])
    statistic = np.array(table.column("statistic").to_pylist(), dtype=object)
    value, error = (table.column(name).to_numpy() for name in ("noisy_value", "std_error"))
    return {
        name: FoundCuts(sides[name], value[statistic == name], error[statistic == name])
        for name in dict.fromkeys(statistic.tolist())
    }


def _side(tables: Tables, names: Sequence[str], known: set[str]) -> BoolArray:
    """The set of the named vertices."""
    vertices, places = tables.design.vertices, _places(tables.directory)
    side = np.zeros(tables.design.n_vertices, dtype=np.bool_)
    for name in names:
        place = places.get(name) if places is not None else vertices.place_of_number(name)
        if place is None:
            rule = f"be a statistic of the release ({', '.join(sorted(known))}) or a declared vertex"
            raise ConfigError("--item", rule, name + did_you_mean(name, [*known, *(places or ())]))
        side[place] = True
    require(not side.all(), "--item", "leave a vertex on the other side", "all of them")
    return side


def _places(directory: Path) -> dict[str, int] | None:
    folder = directory / ESTIMATES / "vertices"
    if not folder.is_dir():
        return None
    rows = read_table(folder, ["vertex", "name"]).to_pylist()
    return {str(row["name"]): int(row["vertex"]) for row in rows}


def _around(tables: Tables, side: BoolArray) -> list[Answer]:
    """The weight between a set and the rest in the synthetic graph; nothing without one."""
    design = tables.design
    if not design.asks(SYNTHETIC):
        return []
    noisy = tables.read_measurement().noisy[SYNTHETIC]
    value = float(side_values(design.n_vertices, noisy, side[None])[0])
    pairs = int(side_pairs(side[None])[0])
    error, half = float(np.sqrt(pairs * design.variance_of(SYNTHETIC))), number_margin(design, SYNTHETIC, pairs)
    return [_answer("weight around the set", None, int(side.sum()), "", value, error, half)]


def _cuts(design: Design, name: str, cuts: FoundCuts, side: BoolArray | None) -> list[Answer]:
    """The cuts of a release. Those of the synthetic graph were picked by value: their intervals hold for all cuts."""
    found = []
    for cut in range(min(len(cuts.sides), MAX_ANSWERS)):
        where = "" if side is None else _where(cuts.sides[cut, side])
        size, value, error = int(cuts.side_size[cut]), float(cuts.value[cut]), float(cuts.std_error[cut])
        half = cut_margin(design, name, size) if error > 0 else None
        found.append(_answer(name, cut, size, where, value, error, half))
    return found


def _where(inside: BoolArray) -> str:
    if inside.all():
        return "side"
    return "apart" if inside.any() else "other side"


def _number(design: Design, each: Number) -> Answer:
    half = number_margin(design, each.statistic) if each.std_error > 0 else None
    return _answer(each.statistic, None, None, "", each.estimate, each.std_error, half)


def _answer(
    statistic: str, cut: int | None, side_size: int | None, where: str, value: float, error: float, half: float | None
) -> Answer:
    if np.isnan(error):
        estimate = None if np.isnan(value) else value
        return Answer(statistic, cut, side_size, where, estimate, None, None, None)
    if half is None:  # a choice of the mechanism, no estimate of anything
        return Answer(statistic, cut, side_size, where, value, error, None, None)
    return Answer(statistic, cut, side_size, where, value, error, value - half, value + half)
