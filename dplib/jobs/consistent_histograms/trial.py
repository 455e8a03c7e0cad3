"""How a publication is tried before anything is spent: a few items and their constraints, and no rows.

Whatever chooses code stays: the levels of the tree, whether constraints link series, differ by day or have public
values, whether totals are measured, the solver and the layout, whose blocks run in this process. Noise and sensitivity
are those of the whole. The limit of the solver `general` is asked of the whole.
"""

import datetime as dt
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from dplib.config.item_table import ItemTable
from dplib.consistency import general
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.config import Constraint, HistogramsRelease
from dplib.jobs.consistent_histograms.convergence import require_reachable
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import groups, layout_of, publication_plans
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.spark.rows.row_domain import RULES
from dplib.workflow.job import Trial
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

DAYS = 1 << 12
"""Days that are tried whole: eleven years."""
ROUNDS = 20
"""Of an iterative solver, at most."""


def thinned(design: Design, size: int) -> Design | None:
    """The design on about ``size`` items and constraints; None if these are of another character than the whole."""
    if design.config.publish.solver.method == "general":
        for group in groups(design, design.constraints.components):
            general.require_fits(design.tree.n_nodes * len(group))
    n_days, whole = design.config.domain.n_days, design.constraints
    for days in sorted({min(n_days, DAYS), min(n_days, 4 * DAYS), n_days}):
        with suppress(ConfigError):
            settings, columns = _few_settings(design, size, days)
            found = Design.of(settings, design.rows_are_packages)
            if _character(found) == _character(design):
                constraints = replace(found.constraints, row_l1=whole.row_l1, row_l2_squared=whole.row_l2_squared)
                require_reachable(design)
                noise = [design.noise_of(level)[column] for level in range(design.tree.n_levels) for column in columns]
                return replace(found, measurements=tuple(noise), constraints=constraints)
    return None


def _few_settings(design: Design, size: int, days: int) -> tuple[HistogramsRelease, list[int]]:
    """Few items and constraints on the first days, or the last ones where the calendar ends soon after.

    Returns:
        The settings, and which columns of the whole are theirs.
    """
    config, domain, solver = design.config, design.config.domain, design.config.publish.solver
    skipped = domain.n_days - days if domain.last_day.year == dt.MAXYEAR else 0
    first, last = design.date(skipped), design.date(skipped + days - 1)
    few, named = _few(design, size)
    items = named if design.table is None else _few_rows(design, set(named), size)
    few = {n: each for n, each in few.items() if (each.first or first) <= last and first <= (each.last or last)}
    measure, columns = design.columns.measure, [0]
    if measure is not None:
        names, kept = design.columns.streams, {f"constraints.{number}" for number in few}
        grouped = range(len(names) - len(config.domain.groupings or ()), len(names))
        columns += [place for place, name in enumerate(names) if name in kept or place in grouped]
        measure = measure.model_copy(update={"shares": [measure.shares[column] for column in columns]})
    rounds = min(ROUNDS, solver.max_rounds)
    ways = {"layout": layout_of(design), "max_rounds": rounds, "accept_unconverged": True, "split": None}
    changes = {
        "domain": domain.model_copy(update={"items": items, "first_day": first, "last_day": last}),
        "constraints": list(few.values()),
        "tree": design.days.shape,
        "measure": measure,
        "publish": config.publish.model_copy(update={"solver": solver.model_copy(update=ways)}),
    }
    return config.model_copy(update=changes), columns


def _few_rows(design: Design, names: set[str], size: int) -> ItemTable:
    """The table on the named items and some more: in each grouping two that share a total, and of each sort of days."""
    table, whole = design.table, design.config.domain.items
    assert table is not None
    assert isinstance(whole, ItemTable)
    assert whole.table is not None
    kept = {number for number, name in enumerate(table.names) if name in names}
    for part in () if design.groupings is None else design.groupings.part_of:
        kept.update(np.flatnonzero(part == np.bincount(part).argmax())[:2].tolist())
    if table.days is not None:
        everywhere = (table.days == [0, design.config.domain.n_days]).all(axis=1)
        kept.update(np.flatnonzero(everywhere)[:1].tolist(), np.flatnonzero(~everywhere)[:size].tolist())
    # The text is the header and one line an item, in their order: no value holds an end of line.
    header, *lines = whole.table.splitlines(keepends=True)
    return whole.model_copy(update={"table": "".join([header, *(lines[number] for number in sorted(kept))])})


def _character(design: Design) -> tuple[object, ...]:
    """What of a design chooses the code that publishes it, besides the solver's name."""
    constraints = design.constraints
    linked = any(daily.n_constraints for daily in constraints.day_constraints)
    methods = {plan.method for _, plan in publication_plans(design)}
    changes = len(constraints.day_constraints) > 1
    return design.days.names, linked, changes, constraints.has_invariants, bool(constraints.measured.all()), methods


def _few(design: Design, size: int) -> tuple[dict[int, Constraint], list[str]]:
    """The first constraints on the first items, and on what these need, by number; every kept total has a member."""
    every = design.config.constraints
    known = {name: members for each in every for name, members in (each.totals or {}).items()}
    packages = [_first(each.packages, size) for each in every[:size]]
    other = design.config.domain.other
    wanted = [*design.items[:size], *(name for each in every[:size] for name in list(each.totals or {})[:size])]
    wanted += [item for each in packages for contents in each.values() for item in list(contents)[:size]]
    equations = [equation for each in every[:size] for equation in (each.equations or {}).values()]
    wanted += [name for equation in equations for name in equation.coefficients]
    wanted += [other] if isinstance(other, str) else []
    kept: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in kept:
            kept.add(name)
            wanted += known.get(name, [])[:size]
    found = {}
    for number, each in enumerate(every):
        own, contents = each.totals or {}, packages[number] if number < size else {}
        totals = {name: [x for x in members if x in kept] for name, members in own.items() if name in kept}
        few = {name: {item: n for item, n in items.items() if item in kept} for name, items in contents.items()}
        if totals or few or (number < size and each.equations):
            found[number] = each.model_copy(update={"packages": few or None, "totals": totals or None})
    return found, [item for item in design.items if item in kept]


def _first(given: dict[str, dict[str, int]] | None, size: int) -> dict[str, dict[str, int]]:
    return dict(list((given or {}).items())[:size])


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of counts that are all 0."""
    if design.config.stream is not None:
        # Imported where it is needed: other plans do without Spark.
        from dplib.jobs.consistent_histograms.stream_run import measure_no_rows

        return measure_no_rows(design, keys, directory)
    Tables(directory, design).write_tree()
    domain = row_domain(design)
    counts = np.zeros((domain.n_days, domain.n_row_types), dtype=np.int64)
    return measure_on_driver(design, counts, keys, directory)


TRIAL = Trial(thinned, measure_nothing, RULES)
"""How the job's publication is tried."""
