"""From the stored measurement to the tables of a release and what its manifest says; sees no row and draws no noise."""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.config.item_table import ItemTable
from dplib.consistency.integers.integer_tables import Start
from dplib.consistency.problem import Solution
from dplib.constraints.day_constraints import PartlyAbsent
from dplib.jobs.consistent_histograms.convergence import require_converged
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import (
    PublishedTable,
    chosen_solvers,
    estimate,
    integer_tables,
    publication_sentences,
)
from dplib.jobs.consistent_histograms.tables import (
    ESTIMATES,
    PUBLISHED,
    Tables,
    block_names,
    block_nodes,
)
from dplib.page.guarantee import Promise, rows_text
from dplib.page.number_text import count_text
from dplib.progress import SILENT, Progress


@dataclass(frozen=True, eq=False)
class Results:
    """What post-processing made of a measurement.

    Attributes:
        solution: estimates with the solver's name and rounds.
        std_error: standard error of each estimate, shape (n_nodes, n_series).
        tables: non-negative counts.
        layout: where it ran: driver, blocks or reference.
    """

    solution: Solution
    std_error: FloatArray
    tables: PublishedTable
    layout: str

    @property
    def stated_error(self) -> FloatArray:
        """The standard errors that may be stated: NaN where rounds stopped before their threshold.

        The errors are those of the optimum; estimates short of it can be off by several of them.
        """
        return self.std_error if self.solution.converged else np.full(self.std_error.shape, np.nan)


def results_on_driver(design: Design, directory: Path, progress: Progress = SILENT) -> Results:
    """Estimate, bound the errors and round, all in this process."""
    noisy = Tables(directory, design).read_measurement()
    solution = estimate(design, noisy, design.config.publish.solver, progress)
    require_converged(design.config.publish.solver, solution)
    return Results(solution, Errors(design).node_std_error(), published_table(design, solution.values), "driver")


def published_table(design: Design, values: FloatArray) -> PublishedTable:
    """Non-negative counts from estimates of shape (n_nodes, n_series), all in this process."""
    if design.config.publish.counts == "integers":
        return integer_tables(design, values, start=Start(design.divided_from))
    # Imported where it is needed: it brings the passes of the blocks.
    from dplib.jobs.consistent_histograms.nearest_table import nearest_on_driver

    return nearest_on_driver(design, values)


def write_tables(design: Design, results: Results, directory: Path) -> None:
    """Write ``estimates/`` and ``published/``."""
    tables = Tables(directory, design)
    for name in block_names(design):
        nodes = block_nodes(design, name)
        estimates = {"estimate": results.solution.values[nodes], "std_error": results.stated_error[nodes]}
        tables.write_block(ESTIMATES, name, estimates)
        if results.tables.published.any():
            counts = {"count": results.tables.counts[nodes]}
            tables.write_block(PUBLISHED, name, counts, results.tables.published)


def manifest_fields(design: Design, results: Results) -> dict[str, Any]:
    """What the manifest says besides the fields that every job has."""
    privacy, solution = design.config.privacy, results.solution
    return {
        "sensitivities": {
            "row_l1": design.constraints.row_l1,
            "row_l2_squared": design.constraints.row_l2_squared,
            "max_rows_per_unit": privacy.rows_per_unit,
            "max_rows_per_day": privacy.rows_per_day,
            "max_quantity": privacy.max_quantity,
        },
        "mechanisms": [
            measurement.to_dict() | {"variance": measurement.noise.variance, "level": place // design.columns.n_columns}
            for place, measurement in enumerate(design.measurements)
            if measurement is not None
        ],
        "solver": {
            "name": solution.solver,
            "reasons": [f"{name}: {reason}" for name, reason in chosen_solvers(design, design.config.publish.solver)],
            "layout": results.layout,
            "rounds": [[each.number, each.change, each.deviation] for each in solution.rounds],
            "converged": solution.converged,
            **({} if solution.converged else {"accepted": True}),
            "integer_tables": publication_sentences(design),
        },
        "constraints": resolved_constraints(design),
        "domain": {
            **_names(design),
            "first_day": design.config.domain.first_day,
            "last_day": design.config.domain.last_day,
            "levels": list(design.days.names),
        },
        "details": {"queries": [each.range for each in design.config.questions]},
    }


def _names(design: Design) -> dict[str, Any]:
    """What the release counts: names that are listed, or the table from which names follow, and its groupings."""
    others = list(design.series[design.constraints.n_items :])
    if design.table is None:
        return {"items": list(design.items), "totals": others}
    items = design.config.domain.items
    assert isinstance(items, ItemTable)
    assert items.table is not None
    made = set() if design.groupings is None else set(design.groupings.names)
    return {
        "table": {
            "columns": items.columns,
            "attributes": items.attributes,
            "n_items": design.table.n_items,
            "sha256": hashlib.sha256(items.table.encode()).hexdigest(),
        },
        "totals": [name for name in others if name not in made],
        "groupings": [
            {
                "columns": grouping.by,
                "totals": size.n_totals,
                "items": [size.least, size.most],
                "measured": size.measured,
            }
            for grouping, size in zip(design.config.domain.groupings or (), design.grouping_sizes, strict=True)
        ],
    }


def promise(design: Design) -> Promise:
    """What the release promises, in the job's own words."""
    privacy = design.config.privacy
    caps = rows_text(privacy.rows_per_unit, privacy.unit)
    if privacy.max_rows_per_day is not None:
        caps += f", at most {count_text(privacy.max_rows_per_day)} of them a day"
    if design.config.stream is not None and privacy.spans_days:
        caps += ", chosen once for all runs of the stream"
    return Promise(
        caps=f"{caps}; each row counts at most {count_text(privacy.max_quantity)}",
        invariants=tuple(invariants(design)),
        public_settings="Items, days, caps, constraints and budget",
    )


def invariants(design: Design) -> list[str]:
    """The public invariants on which the guarantee is conditional, in words."""
    if not design.constraints.has_invariants:
        return []
    return [
        f"{name}: {' + '.join(f'{value} x {item}' for item, value in equation.coefficients.items())} = {equation.value}"
        for constraint in design.config.constraints
        for name, equation in (constraint.equations or {}).items()
    ]


def resolved_constraints(design: Design) -> list[dict[str, Any]]:
    """Every linear equation that the tables obey on each day of its range.

    What groupings add up, and the days of items, is in the domain.
    """
    found = []
    made = set() if design.groupings is None else set(design.groupings.names)
    grouped = np.array([name in made for name in design.series])
    for daily in design.constraints.day_constraints:
        rows = daily.matrix
        told = daily.whole.n_constraints if isinstance(daily, PartlyAbsent) else daily.n_constraints
        for number, value in enumerate(daily.rhs[:told].tolist()):
            part = slice(rows.indptr[number], rows.indptr[number + 1])
            if grouped[rows.indices[part]].any():
                continue
            entries = zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True)
            coefficients = {design.series[n]: _exact(entry) for n, entry in entries}
            found.append(
                {
                    "first_day": design.date(daily.first),
                    "last_day": design.date(daily.end - 1),
                    "coefficients": coefficients,
                    "value": _exact(value),
                }
            )
    return found


def _exact(value: float) -> int | str:
    return int(value) if value == int(value) else str(Fraction(value).limit_denominator(10**9))
