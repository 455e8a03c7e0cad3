"""The design's sensitivities against brute force over everything that one privacy unit can do."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.load import check
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.rows import SeriesCounts, row_kinds
from dplib.privacy.budget import Currency
from dplib.workflow.design import cost_of
from tests.support.dense_histograms import DenseHistograms

N_DAYS = 4


def settings(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "shop",
        "input": {"path": "rows.csv", "columns": {"day": "d", "item": "i", "quantity": "q", "unit": "u"}},
        "privacy": {"unit": "order", "max_rows_per_unit": 2, "max_quantity": 2, "budget": {"epsilon": 1}},
        "domain": {"items": ["a", "b", "c"], "first_day": "2024-01-01", "last_day": f"2024-01-0{N_DAYS}"},
        "tree": {"branching": [2, 2], "root": True},
    }
    for key, value in changes.items():
        made[key] = made[key] | value if isinstance(value, dict) and isinstance(made.get(key), dict) else value
    return made


def design(**changes: Any) -> Design:
    return Design.resolve(check(ConsistentHistogramsConfig, settings(**changes)), Path())


TOTALS = [
    {"totals": {"ab": ["a", "b"]}, "measured": True},
    {"totals": {"abc": ["ab", "c"]}, "measured": True},
    {"totals": {"bc": ["b", "c"]}},
]
PACKAGES = {
    "input": {"path": "r", "columns": {"day": "d", "package": "p", "quantity": "q", "unit": "u"}},
    "constraints": [{"packages": {"small": {"a": 1, "b": 1}, "large": {"a": 2, "b": 1, "c": 3}}}],
}

GROUPED: dict[str, Any] = {
    "domain": {
        "items": {"table": "sku,kind,from\na,food,\nb,food,\nc,drink,2024-01-02\n", "columns": ["sku"]}
        | {"attributes": ["kind"], "first_day": "from"},
        "groupings": [{"by": ["kind"], "measured": True}, {"by": [], "measured": True}],
    }
}
"""What a file with these items becomes; drinks, and packages with one, are sold from the second day."""


def unit_levels(made: Design) -> Iterator[list[np.ndarray]]:
    """The counts at every level for every set of rows that one unit can have kept."""
    privacy = made.config.privacy
    kinds, series = range(len(row_kinds(made))), SeriesCounts(made)
    rows = list(product(range(N_DAYS), kinds, range(1, privacy.max_quantity + 1)))
    for chosen in combinations_with_replacement(rows, privacy.rows_per_unit):
        counts = np.zeros((N_DAYS, len(kinds)), dtype=np.int64)
        per_day = np.zeros(N_DAYS, dtype=int)
        for day, kind, quantity in chosen:
            counts[day, kind] += quantity
            per_day[day] += 1
        if per_day.max() <= privacy.rows_per_day:
            values = made.tree.sums(series.of(counts))
            yield [values[made.tree.level_slice(level)] for level in range(made.tree.n_levels)]


CASES: dict[str, dict[str, Any]] = {
    "items": {},
    "measured totals": {"constraints": TOTALS},
    "packages": PACKAGES,
    "packages of a table's items": PACKAGES | GROUPED,
    "a row a day": {"privacy": {"max_rows_per_day": 1}},
}


@pytest.mark.parametrize("name", CASES)
def test_laplace_sensitivity_is_the_largest_l1_norm_of_a_unit(name: str) -> None:
    made = design(**CASES[name])
    found = list(unit_levels(made))
    for level, measurement in enumerate(made.measurements):
        assert measurement is not None
        assert measurement.noise.sensitivity == max(int(np.abs(levels[level]).sum()) for levels in found)


@pytest.mark.parametrize("name", CASES)
def test_gaussian_sensitivity_is_the_largest_squared_l2_norm_of_a_unit(name: str) -> None:
    changes = {**CASES[name], "privacy": CASES[name].get("privacy", {}) | {"budget": {"rho": 1}}}
    made = design(**changes)
    found = list(unit_levels(made))
    for level, measurement in enumerate(made.measurements):
        assert measurement is not None
        assert measurement.noise.sensitivity == max(int((levels[level] ** 2).sum()) for levels in found)


def test_replacing_a_unit_stays_below_twice_the_sensitivity() -> None:
    made = design(privacy={"neighbors": "replace_one", "max_rows_per_unit": 1, "budget": {"rho": 1}})
    laplace = design(privacy={"neighbors": "replace_one", "max_rows_per_unit": 1})
    found = list(unit_levels(made))
    for level in range(made.tree.n_levels):
        gaps = [one[level] - other[level] for one, other in product(found, found)]
        l2, l1 = made.measurements[level], laplace.measurements[level]
        assert l1 is not None
        assert l2 is not None
        assert l1.noise.sensitivity >= max(int(np.abs(gap).sum()) for gap in gaps)
        assert l2.noise.sensitivity >= max(int((gap**2).sum()) for gap in gaps)


def test_series_are_what_the_packages_of_each_day_hold() -> None:
    contents = {"small": {"a": 1, "b": 1}, "large": {"a": 2, "b": 1, "c": 3}}
    early = {"packages": {"small": contents["small"]}, "last": "2024-01-02"}
    late = {"packages": {"large": contents["large"]}, "first": "2024-01-03"}
    made = design(input=PACKAGES["input"], constraints=[early, late])
    names = [made.constraints.row_types[row_type] for row_type, _, _ in row_kinds(made)]
    counts = np.random.default_rng(1).integers(0, 9, (N_DAYS, len(names)))
    for kind, (_, first, end) in enumerate(row_kinds(made)):
        counts[:first, kind] = counts[end:, kind] = 0
    expected = [[sum(day[k] * contents[n].get(i, 0) for k, n in enumerate(names)) for i in "abc"] for day in counts]
    series = SeriesCounts(made)
    assert series.of(counts).tolist() == expected
    for start in range(N_DAYS):
        assert series.of(counts[start : start + 2], start).tolist() == expected[start : start + 2]


@pytest.mark.parametrize("budget", [{"epsilon": "0.3"}, {"rho": "0.3"}, {"epsilon": 1, "delta": "1e-6"}])
def test_levels_cost_no_more_than_the_budget(budget: dict[str, Any]) -> None:
    made = design(privacy={"budget": budget}, tree={"shares": [1, "0.7", 3]})
    if "epsilon" in budget and "delta" not in budget:
        assert cost_of(made, Currency.PURE) == Fraction("0.3")
        assert cost_of(made, Currency.ZCDP) == sum(event.rho for event in made.events)
    else:
        cost = cost_of(made, Currency.ZCDP)
        limit = Fraction(budget["rho"]) if "rho" in budget else Fraction(1, 10)
        assert 0 < cost <= limit
        with pytest.raises(ConfigError, match=r"privacy\.noise"):
            cost_of(made, Currency.PURE)


def test_the_public_part_rebuilds_the_same_design() -> None:
    made = design(constraints=TOTALS, tree={"shares": [1, 2, 3]})
    again = Design.from_public(made.public())
    assert again.public() == made.public()
    assert again.measurements == made.measurements
    assert np.array_equal(again.tree.lo, made.tree.lo)


def test_a_design_is_shared_by_equal_settings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal but for the order of their names settings have series in another order, so a design of their own."""
    totals = [{"totals": {"ab": ["a", "b"], "bc": ["b", "c"]}}]
    made = design(constraints=totals)
    assert design(constraints=totals).constraints is made.constraints
    turned = design(constraints=[{"totals": dict(reversed(totals[0]["totals"].items()))}])
    assert turned.config == made.config
    assert (made.series[3:], turned.series[3:]) == (("ab", "bc"), ("bc", "ab"))
    monkeypatch.setattr("dplib.jobs.consistent_histograms.design.MAX_KEPT_CELLS", 0)
    alone = [design(constraints=totals, domain={"items": ["a", "b", "c", "d"]}) for _ in range(2)]
    assert alone[0].constraints is not alone[1].constraints


def test_auto_chooses_a_tree_from_settings_alone() -> None:
    domain = {"first_day": "2023-01-01", "last_day": "2023-12-31"}
    made = design(domain=domain, tree="auto", queries=["month"])
    assert "month" in made.days.names
    assert design(domain=domain, tree="auto", queries=["month"]).days.shape == made.days.shape


def test_equations_need_replace_one_and_rows_that_count_whole() -> None:
    equation = [{"equations": {"full": {"coefficients": {"a": 1, "b": 1}, "value": 5}}}]
    whole = {"input": {"columns": {"day": "d", "item": "i"}}, "constraints": equation}
    event = {"unit": "event", "max_rows_per_unit": 1, "max_quantity": 1}
    changed = settings(**whole, privacy=event | {"neighbors": "replace_one"})
    changed["input"] = {"path": "r", "columns": {"day": "d", "item": "i"}}
    made = Design.resolve(check(ConsistentHistogramsConfig, changed), Path())
    assert made.constraints.has_invariants
    with pytest.raises(ConfigError, match="constraints"):
        design(constraints=equation, privacy={"neighbors": "replace_one"})
    changed["privacy"] |= {"neighbors": "add_remove"}
    with pytest.raises(ConfigError):
        Design.resolve(check(ConsistentHistogramsConfig, changed), Path())


@pytest.mark.parametrize("measure", [None, {"shares": [2, 1, 0]}, "auto"])
def test_a_package_changes_every_item_and_every_total_over_one(measure: object) -> None:
    """Against counts by hand of each package, and errors of dense least squares."""
    one = {"max_rows_per_unit": 1, "max_quantity": 1, "budget": {"rho": "1/2"}}
    made = design(**PACKAGES, **GROUPED, privacy=one, measure=measure)
    assert made.series == ("a", "b", "c", "kind=drink", "kind=food", "grand total")
    hand = np.array([[1, 1, 0, 0, 2, 2], [2, 1, 3, 3, 3, 6]])
    assert row_kinds(made).tolist() == [[0, 0, N_DAYS], [1, 1, N_DAYS]]  # the large one from the second day
    counts = np.array([[4, 0], [1, 2], [0, 3], [5, 0]])
    assert SeriesCounts(made).of(counts).tolist() == (counts @ hand)[:, made.constraints.measured].tolist()
    groups = [[0, 1, 2], [3, 4], [5]] if measure else [[0, 1, 2, 3, 4, 5]]
    for own, noise in zip(groups, made.noise_of(1), strict=True):
        assert noise is None or noise.noise.sensitivity == max((hand[:, own] ** 2).sum(axis=1))
    np.testing.assert_allclose(Errors(made).node_std_error(), DenseHistograms(made).node_errors, rtol=1e-9, atol=1e-12)
    assert made.constraints.notes[0].startswith("Package large is on sale 2024-01-02 to 2024-01-04, the days on which")


def test_a_package_whose_items_never_meet_is_refused() -> None:
    table = "sku,from,to\na,,2024-01-02\nb,,\nc,2024-01-03,\n"
    days = {"first_day": "from", "last_day": "to", "columns": ["sku"]}
    with pytest.raises(
        ConfigError, match=r"^constraints\.0\.packages\.large must hold items that all exist on some day"
    ):
        design(**PACKAGES, domain={"items": {"table": table} | days})
