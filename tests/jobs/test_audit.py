"""Empirical privacy of the whole job on worst-case neighbours: counts of a bounded unit, through the job's own noise.

One domain holds thousands of copies of a tiny tree of four days, each with or without the same unit: independent runs
of the job on two neighbouring inputs, repeated under several keys. The best distinguisher is the likelihood ratio of
the noise; its empirical epsilon must stay below the claim and come near it, and planted faults in the design must be
caught by the same test.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.arrays import FloatArray, IntArray
from dplib.config.load import check
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.rows import row_kinds
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.mechanisms.discrete_gaussian import discrete_gaussian_probability
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.noise import Law, Noise, NoiseEvent
from dplib.randomness.keyed import derive_key
from dplib.workflow.run_keys import RunKeys
from tests.support.goodness_of_fit import epsilon_between
from tests.support.jobs import JOB

COPIES, KEYS = 2_000, 8
"""16,000 runs a side: sound designs are found at 0.39 of their claim or more, faults at 1.1 times it."""
KEY = bytes(range(3, 35))
DAYS = 4
FIRST = dt.date(2024, 1, 1)


@dataclass(frozen=True)
class Case:
    """A configuration and the rows of the unit that speaks loudest: (day, row type, quantity) each."""

    settings: dict[str, Any]
    unit: list[tuple[int, str, int]]


def settings(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "config_version": 1,
        "job": JOB,
        "dataset": "audit",
        "input": {"path": "none", "columns": {"day": "d", "item": "i", "quantity": "q", "unit": "u"}},
        "privacy": {"unit": "order", "max_rows_per_unit": 3, "max_quantity": 2, "budget": {"epsilon": 1}},
        "domain": {
            "items": ["a", "b"],
            "first_day": str(FIRST),
            "last_day": str(FIRST + dt.timedelta(days=COPIES * DAYS - 1)),
        },
        "tree": {"branching": [COPIES, 2, 2]},
    }
    return base | changes


CASES = {
    "rows and quantities": Case(settings(), [(0, "a", 2)] * 3),
    "rows on different days": Case(settings(), [(0, "a", 2), (1, "b", 2), (3, "a", 2)]),
    "measured totals": Case(
        settings(constraints=[{"totals": {"all": ["a", "b"], "some": ["a"]}, "measured": True}]), [(2, "a", 2)] * 3
    ),
    "shares by grouping": Case(
        settings(
            constraints=[{"totals": {"all": ["a", "b"], "some": ["a"]}}, {"totals": {"a too": ["a"]}}],
            measure={"shares": [1, 2, 1]},
            tree={"branching": [COPIES, 2, 2], "shares": [1, 0, 2]},
        ),
        [(2, "a", 2)] * 3,
    ),
    "packages": Case(
        settings(
            input={"path": "none", "columns": {"day": "d", "package": "p"}},
            privacy={"unit": "event", "budget": {"epsilon": 1}},
            constraints=[{"packages": {"small": {"a": 1}, "large": {"a": 2, "b": 3}}}],
        ),
        [(1, "large", 1)],
    ),
    "replace one": Case(
        settings(
            input={"path": "none", "columns": {"day": "d", "item": "i"}},
            privacy={"unit": "event", "neighbors": "replace_one", "budget": {"epsilon": 1}},
        ),
        [(1, "a", 1), (2, "b", -1)],
    ),
}
GAUSSIAN = {
    "rho with a cap a day": Case(
        settings(
            privacy={
                "unit": "order",
                "max_rows_per_unit": 4,
                "max_rows_per_day": 1,
                "max_quantity": 2,
                "budget": {"rho": "0.5"},
            }
        ),
        [(day, "a", 2) for day in range(DAYS)],
    ),
    "rho": Case(
        settings(privacy={"unit": "order", "max_rows_per_unit": 2, "max_quantity": 3, "budget": {"rho": "0.5"}}),
        [(0, "a", 3)] * 2,
    ),
}


def design_of(case: Case) -> Design:
    return Design.resolve(check(ConsistentHistogramsConfig, case.settings), Path())


def counts_of(design: Design, case: Case, present: bool) -> IntArray:
    """Exact counts by day and row kind, of 5 other rows a cell with or without the unit."""
    names = [design.constraints.row_types[row_type] for row_type, _, _ in row_kinds(design)]
    counts = np.full((COPIES, DAYS, len(names)), 5, dtype=np.int64)
    if present:
        for day, name, quantity in case.unit:
            counts[:, day, names.index(name)] += quantity
    return counts.reshape(COPIES * DAYS, -1)


def measured(design: Design, counts: IntArray, key: int, monkeypatch: pytest.MonkeyPatch) -> IntArray:
    """The job's noisy counts, shape (n_nodes, n_measured_series), before they are written."""
    written: list[IntArray] = []
    monkeypatch.setattr(Tables, "write_measurement", lambda *given: written.append(given[-1]))
    keys = RunKeys("audit", b"", derive_key(KEY, "digest", key), derive_key(KEY, "parent", key))
    measure_on_driver(design, counts, keys, Path())
    assert len(written) == 1
    return written[0]


def log_mass(k: IntArray, noise: Noise) -> FloatArray:
    """Log of the mass of noise ``k``, up to a constant."""
    scale = float(noise.parameter)
    if noise.law is Law.LAPLACE:
        return -np.abs(k) / scale
    return -(k.astype(np.float64) ** 2) / (2 * scale)


def scores(claimed: Design, used: Design, case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood ratios under the noise in use, of copies with and without the unit."""
    exact = [node_sums(claimed, counts_of(claimed, case, present)) for present in (True, False)]
    ratios = []
    for present in (True, False):
        counts = counts_of(claimed, case, present)
        for key in range(KEYS):
            noisy = measured(used, counts, key, monkeypatch)
            ratio = np.zeros(COPIES)
            columns = used.columns.of[used.constraints.measured]
            for place, noise in enumerate(used.measurements):
                if noise is not None:
                    level, column = divmod(place, used.columns.n_columns)
                    cells = claimed.tree.level_slice(level), columns == column
                    gaps = [log_mass(noisy[cells] - values[cells], noise.noise) for values in exact]
                    ratio += (gaps[0] - gaps[1]).reshape(COPIES, -1).sum(axis=1)
            ratios.append(ratio)
    return np.concatenate(ratios[:KEYS]), np.concatenate(ratios[KEYS:])


def node_sums(design: Design, counts: IntArray) -> IntArray:
    """True values of all nodes and measured series, by the definition: A applied to the rows, summed over days."""
    types = [row_type for row_type, _, _ in row_kinds(design)]
    incidence = design.constraints.incidence[0][design.constraints.measured][:, types].toarray()
    before = np.concatenate([np.zeros((1, len(incidence)), np.int64), np.cumsum(counts @ incidence.T, axis=0)])
    sums: IntArray = before[design.tree.hi] - before[design.tree.lo]
    return sums


def empirical_epsilon(
    claimed: Design, used: Design, case: Case, delta: float, monkeypatch: pytest.MonkeyPatch
) -> float:
    present, absent = scores(claimed, used, case, monkeypatch)
    return epsilon_between(present, absent, delta, error=1e-4)


def with_noise(design: Design, factor: Fraction) -> Design:
    """The design with the parameter of every level's noise multiplied: what a wrong sensitivity or scale gives."""

    def change(event: NoiseEvent | None) -> NoiseEvent | None:
        return event and replace(event.noise, parameter=event.noise.parameter * factor).event(event.statistic)

    return replace(design, measurements=tuple(change(noise) for noise in design.measurements))


@pytest.mark.parametrize("name", CASES)
def test_the_job_keeps_its_epsilon_and_uses_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    design = design_of(CASES[name])
    claim = float(sum(event.epsilon or 0 for event in design.events))
    assert claim == 1
    found = empirical_epsilon(design, design, CASES[name], 0, monkeypatch)
    assert 0.3 * claim < found <= claim


def _half_the_scale(design: Design) -> Fraction:
    return Fraction(1, 2)


def _without_totals(design: Design) -> Fraction:
    """The sensitivity of the items alone where totals are measured as well."""
    items = design.constraints.incidence[0][: design.constraints.n_items]
    return Fraction(int(items.sum(axis=0).max()), design.constraints.row_l1)


def _sensitivity_one(design: Design) -> Fraction:
    """As if a row met one total of a grouping where it meets two."""
    return Fraction(1, 2)


def _one_row(design: Design) -> Fraction:
    """The sensitivity of one row where a unit has three."""
    return Fraction(1, design.config.privacy.rows_per_unit)


def _quantity_one(design: Design) -> Fraction:
    return Fraction(1, design.config.privacy.max_quantity)


def _number_of_items(design: Design) -> Fraction:
    """The paper's sensitivity: the number of items instead of the largest package."""
    return Fraction(design.constraints.n_items, design.constraints.row_l1)


FAULTS: list[tuple[str, Callable[[Design], Fraction]]] = [
    ("rows and quantities", _half_the_scale),
    ("rows and quantities", _one_row),
    ("rows and quantities", _quantity_one),
    ("measured totals", _without_totals),
    ("shares by grouping", _sensitivity_one),
    ("packages", _number_of_items),
    ("replace one", _half_the_scale),
]


@pytest.mark.parametrize(("name", "fault"), FAULTS, ids=[f"{name}-{fault.__name__}" for name, fault in FAULTS])
def test_a_planted_fault_is_caught(
    name: str, fault: Callable[[Design], Fraction], monkeypatch: pytest.MonkeyPatch
) -> None:
    design = design_of(CASES[name])
    factor = fault(design)
    assert factor < 1
    assert empirical_epsilon(design, with_noise(design, factor), CASES[name], 0, monkeypatch) > 1


DELTA = 1e-2


@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_job_keeps_its_rho(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    design = design_of(GAUSSIAN[name])
    rho = sum((event.rho for event in design.events), Fraction(0))
    assert rho <= Fraction(1, 2)
    claim = float(epsilon_from_rho(rho, Fraction(1, 100)))
    found = empirical_epsilon(design, design, GAUSSIAN[name], DELTA, monkeypatch)
    assert 0.3 * claim < found <= claim


@pytest.mark.parametrize("name", GAUSSIAN)
def test_half_the_deviation_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    design = design_of(GAUSSIAN[name])
    rho = sum((event.rho for event in design.events), Fraction(0))
    claim = float(epsilon_from_rho(rho, Fraction(1, 100)))
    assert empirical_epsilon(design, with_noise(design, Fraction(1, 4)), GAUSSIAN[name], DELTA, monkeypatch) > claim


@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_worst_unit_moves_the_counts_by_no_more_than_the_design_says(name: str) -> None:
    """Exactly, without sampling: squared distance of a copy at each level against its sensitivity."""
    case, design = GAUSSIAN[name], design_of(GAUSSIAN[name])
    gap = node_sums(design, counts_of(design, case, True)) - node_sums(design, counts_of(design, case, False))
    distances = [
        (noise.noise.sensitivity, int((gap[design.tree.level_slice(level)] ** 2).sum()) // COPIES)
        for level, noise in enumerate(design.measurements)
        if noise is not None
    ]
    assert all(squared <= sensitivity for sensitivity, squared in distances)
    assert any(squared == sensitivity for sensitivity, squared in distances)


def test_the_noise_is_the_law_that_the_scores_take() -> None:
    """The mass up to a constant that the distinguisher uses is the sampler's."""
    k = np.arange(-5, 6)
    noise = Noise(Law.GAUSSIAN, Fraction(3), Fraction(1))
    difference = log_mass(k, noise) - np.log(discrete_gaussian_probability(k, Fraction(3)))
    assert np.ptp(difference) < 1e-9
