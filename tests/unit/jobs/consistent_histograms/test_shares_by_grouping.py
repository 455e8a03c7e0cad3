"""Shares of the budget by level and grouping: the dense oracle's errors, exact costs, and what is stored."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.selection import select
from dplib.consistency import choose, question_shares
from dplib.consistency.choose import MAX_CLASSES
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.compare import kind_errors
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.ignored import ignored_settings
from dplib.jobs.consistent_histograms.layouts import results_in_layout
from dplib.jobs.consistent_histograms.plan import days_only_variance
from dplib.jobs.consistent_histograms.publish import results_on_driver
from dplib.kept import Kept
from dplib.spark.engine.in_process import session_in_process
from dplib.workflow.settings import counted_settings, free_settings
from tests.spark.test_layouts import stored
from tests.support.dense_histograms import DenseHistograms
from tests.unit.jobs.consistent_histograms.test_design import PACKAGES, design

ITEMS = [f"i{number}" for number in range(7)]
TOTALS = [
    {"totals": {"all": ITEMS}},
    {"totals": {"a": ITEMS[:2], "b": ITEMS[2:5], "c": ITEMS[5:]}, "name": "parts"},
]
DOMAIN = {"items": ITEMS, "first_day": "2024-01-20", "last_day": "2024-02-25"}
WEEKS = {"levels": ["week", "day"], "branching": None, "root": False}
AUTO = {"levels": None, "branching": None, "root": False}
SHARES: list[Any] = ["auto", {"shares": [1, 2, 1]}, {"shares": [1, 0, 1]}]


def shared(budget: dict[str, object], measure: object, **changes: Any) -> Design:
    privacy = {"unit": "order", "max_rows_per_unit": 1, "max_quantity": 1, "budget": budget}
    settings = {"domain": DOMAIN, "constraints": TOTALS, "tree": WEEKS, "privacy": privacy}
    return design(**(settings | {"measure": measure, "queries": [{"range": "week", "weight": 2}, "day"]} | changes))


@pytest.mark.parametrize("measure", SHARES)
@pytest.mark.parametrize("budget", [{"epsilon": 4}, {"rho": 2}])
def test_stated_errors_are_those_of_dense_least_squares_with_the_same_weights(
    budget: dict[str, object], measure: object
) -> None:
    made = shared(budget, measure)
    known = DenseHistograms(made).node_errors
    np.testing.assert_allclose(Errors(made).node_std_error(), known, rtol=1e-9)
    for node in (0, 2, 5):
        found = Errors(made).range_std_error(int(made.tree.lo[node]), int(made.tree.hi[node]))
        np.testing.assert_allclose(found, known[node], rtol=1e-9)


@pytest.mark.parametrize("measure", SHARES)
def test_every_level_and_grouping_spends_its_exact_share(measure: object) -> None:
    made = shared({"epsilon": "3/7"}, measure)
    found = [Fraction(0) if each is None else each.epsilon for each in made.measurements]
    assert found == [Fraction(3, 7) * level * column for level in made.days.shares for column in made.columns.shares]
    assert sum(found) == Fraction(3, 7)
    assert Design.from_public(made.public()).measurements == made.measurements


def test_each_grouping_has_the_sensitivity_of_its_own_series() -> None:
    twice = [{"totals": {"all": ITEMS, "most": ITEMS[:5]}}, {"totals": {"a": ITEMS[:2]}}]
    made = shared({"epsilon": 1}, {"shares": [1, 1, 1]}, constraints=twice)
    assert [int(each.noise.sensitivity) for each in made.noise_of(1) if each is not None] == [1, 2, 1]


def test_what_was_chosen_is_read_again_whatever_the_queries_are_by_now() -> None:
    made, other = shared({"rho": 1}, "auto"), shared({"rho": 1}, "auto", queries=["total"])
    assert other.measurements != made.measurements
    assert other.as_measured(made.days.shape, made.columns.measure).measurements == made.measurements


def test_all_totals_are_hashed_where_shares_are_theirs() -> None:
    plan = {"constraints": [{"totals": {"all": ["a"]}, "measured": False, "equations": None}]}
    assert counted_settings(plan) == {"constraints": []}
    assert counted_settings(plan | {"measure": "auto"}) == plan | {"measure": "auto"}


@pytest.mark.parametrize(
    ("measure", "rule"),
    [
        ({"shares": [1, 1]}, "one share for each of items, total all, parts"),
        ({"shares": [0, 1, 1]}, "the first one above 0"),
        ("all", "measure"),
    ],
)
def test_shares_that_fit_nothing_are_refused(measure: object, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        shared({"epsilon": 1}, measure)


def test_the_plan_judges_targets_and_says_what_would_be_better() -> None:
    queries = [
        {"range": "day", "target": {"count": 1000, "relative_error": "1/10"}},
        {"range": "week", "target": {"count": 10, "relative_error": "0.01", "of": "constraints.1"}},
    ]
    fixed = shared({"epsilon": 1}, None, queries=queries)
    kinds, said = kind_errors(fixed, Errors(fixed))
    assert said[0].startswith("Met: a day of items: 10 % of 1000 is 100, its standard error")
    (week,) = (each for each in kinds if (each.query, each.of) == ("week", "parts"))
    assert said[1].startswith("Missed: a week of parts: 1 % of 10")
    assert said[1].endswith(f"{week.chosen / 0.1:.3g} times the budget would meet it.")
    assert "measure: auto would reach" in said[2]
    # What it promises is what the same configuration with measure: auto has, and there is nothing to say of that.
    chosen = shared({"epsilon": 1}, "auto", queries=["day", "week"])
    found, advice = kind_errors(chosen, Errors(chosen))
    assert [each.chosen for each in found] == pytest.approx([each.best for each in kinds])
    assert advice == ()
    with pytest.raises(ConfigError, match=r"^queries.0.target.of must be one of items, total all, parts, got tea$"):
        shared({"epsilon": 1}, None, queries=[{"range": "day", "target": queries[0]["target"] | {"of": "tea"}}])


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/2"}])
def test_days_alone_are_priced_by_the_items_whatever_the_shares(budget: dict[str, object]) -> None:
    """Without the totals, and with the last column not measured."""
    known = days_only_variance(shared(budget, None, constraints=[]))
    found = [
        days_only_variance(shared(budget, measure)) for measure in ({"shares": [1, 2, 0]}, {"shares": [1, 2, 3]}, None)
    ]
    assert found == pytest.approx([known] * 3, rel=1e-5)


@pytest.mark.parametrize("budget", [{"rho": "0.123"}, {"rho": "0.1234567"}, {"epsilon": 1, "delta": "1e-6"}])
@pytest.mark.parametrize("chosen", [{"measure": "auto"}, {"measure": None, "tree": AUTO}], ids=str)
def test_the_cost_is_the_same_whatever_the_queries_ask_for(budget: dict[str, object], chosen: dict[str, Any]) -> None:
    """The ledger keeps no queries: it works the cost of a run out with others than the run had."""
    measure, changes = chosen["measure"], {name: own for name, own in chosen.items() if name != "measure"}
    queries: list[list[Any]] = [["total"], ["day", "week"], [{"range": "month", "weight": 7}, "day"]]
    made = [shared(budget, measure, **changes, queries=each) for each in queries]
    costs = {sum((event.rho for event in each.events), Fraction(0)) for each in made}
    if "delta" not in budget or measure == "auto":
        assert len(costs) == 1
    for each in made:
        assert Design.from_public(each.public()).measurements == each.measurements


def test_totals_have_a_name_that_readers_know_and_no_noise_or_hash_depends_on() -> None:
    made = shared({"rho": 1}, {"shares": [1, 2, 1]})
    assert made.group_names == ("items", "total all", "parts")
    assert [each.name for each in select(made.names, ["parts"], (), False)] == ["a", "b", "c"]
    plain = [dict(each) for each in TOTALS]
    del plain[1]["name"]
    other = shared({"rho": 1}, {"shares": [1, 2, 1]}, constraints=plain)
    assert other.group_names == ("items", "total all", "3 totals (a, ...)")
    assert other.columns.streams == made.columns.streams == ("items", "constraints.0", "constraints.1")
    counted = [counted_settings(each.config.measured()) for each in (made, other)]
    assert counted[0] == counted[1]
    assert free_settings(made.config.measured()) == {"names": {"1": "parts"}}


@pytest.mark.parametrize("name", ["items", "total all", "i3", "b", ""])
def test_a_name_that_stands_twice_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^constraints\.1\.name must "):
        shared({"rho": 1}, None, constraints=[TOTALS[0], TOTALS[1] | {"name": name}])


def test_the_plan_says_that_shares_stand_in_for_flags() -> None:
    flagged = [TOTALS[0] | {"measured": True}, TOTALS[1] | {"measured": False}]
    (said,) = ignored_settings(shared({"rho": 1}, "auto", constraints=flagged))
    assert said.startswith("constraints.0.measured, constraints.1.measured decides nothing beside `measure`")
    assert list(ignored_settings(shared({"rho": 1}, "auto"))) == []


CHANGING = [
    {"totals": {"all": ITEMS, "x": ITEMS[:2]}, "to": "2024-02-05"},
    {"totals": {"all": ITEMS[:4], "x": ITEMS[4:]}, "from": "2024-02-06"},
]


ALTERNATING = {"method": "alternating", "tol": 1e-12}
OWN, UNMEASURED = {"shares": [1, 3]}, {"shares": [2, 0]}


# Only what alternates has code of its own in the reference layout.
@pytest.mark.parametrize(
    ("solver", "classes", "name", "measure", "layout"),
    [
        ({}, MAX_CLASSES, "tree_smoother", OWN, "blocks"),
        ({}, MAX_CLASSES, "tree_smoother", None, "reference"),
        ({}, MAX_CLASSES, "tree_smoother", UNMEASURED, "blocks"),
        ({}, 0, "matrix_free", None, "blocks"),
        ({}, 0, "matrix_free", OWN, "blocks"),
        ({}, 0, "matrix_free", UNMEASURED, "blocks"),
        (ALTERNATING, MAX_CLASSES, "alternating (conjugate gradients)", OWN, "blocks"),
        (ALTERNATING, MAX_CLASSES, "alternating (conjugate gradients)", UNMEASURED, "blocks"),
        (ALTERNATING, MAX_CLASSES, "alternating (conjugate gradients)", None, "reference"),
        (ALTERNATING, MAX_CLASSES, "alternating (conjugate gradients)", OWN, "reference"),
    ],
)
def test_constraints_that_change_are_solved_in_blocks(
    solver: dict[str, Any],
    classes: int,
    name: str,
    layout: str,
    measure: object,
    tmp_path: Path,
    secret: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With noise of its own for totals, equal noise, and totals that are not measured.
    monkeypatch.setattr(choose, "MAX_CLASSES", classes)
    made = shared({"epsilon": 1}, measure, constraints=CHANGING, publish={"solver": solver})
    made = replace(made, block_cells=80)
    assert made.blocks.n_blocks > 3
    wanted = results_on_driver(made, stored(made, tmp_path, secret))
    found = results_in_layout(session_in_process(), made, tmp_path, layout)
    assert found.layout == (layout if solver else "blocks")
    assert found.solution.solver == wanted.solution.solver == name
    np.testing.assert_allclose(found.solution.values, wanted.solution.values, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(found.std_error, wanted.std_error, rtol=1e-9)
    np.testing.assert_array_equal(found.tables.counts, wanted.tables.counts)


def test_a_plan_says_where_automatic_shares_of_many_packages_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    constraints = [*PACKAGES["constraints"], {"totals": {"ab": ["a", "b"]}}]
    few = design(**PACKAGES | {"constraints": constraints, "measure": "auto"})
    assert "decides nothing" not in " ".join(few.columns.notes)
    monkeypatch.setattr(question_shares, "MAX_LINKED", 1)
    monkeypatch.setattr("dplib.jobs.consistent_histograms.design._KEPT", Kept(1))
    many = design(**PACKAGES | {"constraints": constraints, "measure": "auto"})
    assert many.columns.shares == (Fraction(1, 2), Fraction(1, 2))
    assert many.columns.notes[0].startswith("measure: auto decides nothing where packages link so many series")
