"""The groups of constraints that `publish.solver.split` names, for rounds of alternating projections.

Names: ``trees`` (all sums of every series' tree), ``sums`` (each sum by itself), ``days`` and ``nodes`` (all
constraints on the days, or on every node), ``packages``, ``public`` (the equations with public values), and totals by
their names.
"""

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.consistency.commuting import same_null_space
from dplib.consistency.problem import DAYS, NODES, SUMS, TREES, SplitPart
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolved import restrict
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.solver_config import Solver
from dplib.validate import require, require_known

KINDS = {"trees": TREES, "sums": SUMS, "days": DAYS, "nodes": NODES}


def is_paper_split(solver: Solver) -> bool:
    """Whether rounds alternate between trees and days, which every layout takes and accelerates."""
    return solver.split is None or [*map(_names, solver.split)] == [["trees"], ["days"]]


def split_of(design: Design, group: IntArray) -> tuple[SplitPart, ...]:
    """The split of some series' constraints.

    Args:
        design: the design.
        group: series numbers, whole components.

    Raises:
        ConfigError: if a name is unknown, some constraint is in no group, or sums one by one, or constraints at every
            node, do not take the settings.
    """
    solver = design.config.publish.solver
    if is_paper_split(solver):
        return TREES, DAYS
    parts, constraints = [], design.constraints.day_constraints
    held = [np.zeros(daily.n_constraints, dtype=bool) for daily in constraints]
    for names in map(_names, solver.split or ()):
        if len(names) == 1 and names[0] in KINDS:
            parts.append(KINDS[names[0]])
            if parts[-1] in (DAYS, NODES):
                held = [np.ones_like(each) for each in held]
            continue
        rows = [_rows(design, daily, names) for daily in constraints]
        held = [known | own for known, own in zip(held, rows, strict=True)]
        found = (_taken(daily, own) for daily, own in zip(constraints, rows, strict=True))
        parts.append(SplitPart("days", tuple(restrict(daily, group) for daily in found)))
    whole = all(each.all() for each in held) and any(part in (TREES, SUMS) for part in parts)
    if not whole:
        raise ConfigError("publish.solver.split", "hold every constraint in some group", _shown(solver))
    own = design.noise_variance[1:, design.columns.of[group[design.constraints.measured[group]]]]
    inner = (NODES in parts or TREES not in parts) and not np.isfinite(own).all()
    _refuse(solver, inner, "inner nodes are not measured")
    _refuse(solver, NODES in parts and not same_null_space(constraints), "constraints differ by day")
    return tuple(parts)


def _refuse(solver: Solver, condition: bool, where: str) -> None:
    require(not condition, "publish.solver.split", f"be of trees and days where {where}", _shown(solver))


def _names(group: str | list[str]) -> list[str]:
    return [group] if isinstance(group, str) else list(group)


def _shown(solver: Solver) -> str:
    return " | ".join(" + ".join(_names(group)) for group in solver.split or ())


def _taken(daily: DayConstraints, rows: BoolArray) -> DayConstraints:
    return DayConstraints(daily.first, daily.end, daily.matrix[rows], daily.rhs[rows])


def _rows(design: Design, daily: DayConstraints, names: list[str]) -> BoolArray:
    """Which equations of a day the names mean: where rows are items, a total's stands in its place."""
    totals = design.series[design.constraints.n_items :]
    found = np.zeros(daily.n_constraints, dtype=bool)
    known = {"packages": slice(None)} if design.rows_are_packages else {"public": slice(len(totals), None)}
    if not design.rows_are_packages:
        known |= {name: slice(place, place + 1) for place, name in enumerate(totals)}
    for name in names:
        rule = f"name groups among {', '.join([*KINDS, *known])}; trees, sums, days and nodes by themselves"
        require_known("publish.solver.split", name, known, rule)
        found[known[name]] = True
    return found
