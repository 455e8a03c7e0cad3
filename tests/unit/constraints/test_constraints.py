"""Constraints: exact null spaces, sensitivity, components, and every refusal."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csgraph, csr_array, random_array, vstack

from dplib.constraints.checks import check_consistent, check_holds_of_rows, expand_total
from dplib.constraints.exact import echelon, float_rows, null_space
from dplib.constraints.resolve import resolve
from dplib.constraints.resolved import linked, restrict
from dplib.constraints.specs import Equation, Package, Total
from dplib.errors import ConfigError
from tests.support.strategies import PAPER_B, PAPER_ITEMS, PAPER_PACKAGES, named_packages


def test_paper_constraints_span_equation_13() -> None:
    found = resolve(PAPER_ITEMS, 10, named_packages(PAPER_PACKAGES, PAPER_ITEMS), rows_are_packages=True)
    (daily,) = found.day_constraints
    assert daily.matrix.shape == (2, 5)
    assert not (PAPER_PACKAGES @ daily.matrix.T).any()
    assert np.linalg.matrix_rank(np.vstack([daily.matrix.toarray(), PAPER_B])) == 2
    assert np.array_equal(daily.generators.toarray(), PAPER_PACKAGES.T)
    # The sensitivity is the largest package's (5, 5, 4 items), not the number of items.
    assert (found.row_l1, found.row_l2_squared) == (5, 9)
    assert found.valid.all()
    assert found.row_types == ("p0", "p1", "p2")


@pytest.mark.parametrize("seed", range(10))
def test_null_space_is_the_whole_left_null_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_items, n_packages = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    matrix = rng.integers(0, 4, (n_packages, n_items)) * (rng.random((n_packages, n_items)) < 0.5)
    basis = float_rows(null_space([dict(enumerate(row)) for row in matrix.tolist()], n_items), n_items).toarray()
    assert len(basis) == n_items - np.linalg.matrix_rank(matrix)
    assert np.linalg.matrix_rank(basis) == len(basis)
    assert not (matrix @ basis.T).any()


def test_echelon_marks_a_contradiction() -> None:
    rows = [{0: Fraction(1), 1: Fraction(2), 9: Fraction(3)}, {0: Fraction(2), 1: Fraction(4), 9: Fraction(7)}]
    assert 9 in echelon(rows, last=9)
    assert 9 not in echelon(rows[:1], last=9)


def test_huge_integers_become_scaled_rows() -> None:
    (row,) = float_rows([{0: 10**30, 1: -1}], 2).toarray()
    assert row.tolist() == [1.0, -1e-30]


def test_totals_of_item_lines() -> None:
    totals = [Total("bread", ("naan", "papadum"), measured=True), Total("all", ("bread", "rice"))]
    found = resolve(["naan", "papadum", "rice"], 5, totals=totals)
    assert found.series == ("naan", "papadum", "rice", "bread", "all")
    assert found.measured.tolist() == [True, True, True, True, False]
    assert (found.row_l1, found.row_l2_squared) == (2, 2)
    day = np.array([3, 4, 5, 7, 12])
    (daily,) = found.day_constraints
    assert not (daily.matrix @ day).any()
    assert (daily.matrix @ (day + np.array([0, 0, 0, 1, 0]))).any()
    assert found.generator_components[0].tolist() == [0, 1, 2, 3, 4]


def test_measured_totals_count_only_where_measured() -> None:
    found = resolve(["a", "b"], 3, totals=[Total("t", ("a", "b")), Total("u", ("a",), measured=True)])
    assert found.row_l1 == 2
    assert any("always equals a" in note for note in found.notes)


def test_ranges_make_day_constraints_and_equal_neighbours_merge() -> None:
    packages = [
        Package("meal", {"a": 1, "b": 1}, 0, 4),
        Package("meal", {"a": 1, "b": 1}, 4, 7),
        Package("meal", {"a": 2, "b": 1}, 7),
        Package("extra", {"c": 1}, 9),
    ]
    found = resolve("abc", 12, packages, rows_are_packages=True)
    assert [(daily.first, daily.end) for daily in found.day_constraints] == [(0, 7), (7, 9), (9, 12)]
    assert [daily.generator_names for daily in found.day_constraints] == [
        ("meal",),
        ("meal (2)",),
        ("meal (2)", "extra"),
    ]
    assert found.valid.tolist() == [[True, False], [True, False], [True, True]]
    assert found.row_l1 == 3
    assert "No package of days 0 to 6 holds c: their counts are 0 there." in found.notes


def test_total_with_a_range_is_zero_outside() -> None:
    found = resolve(["a", "b"], 6, totals=[Total("t", ("a", "b"), True, 2, 4)])
    outside, inside, _ = found.day_constraints
    assert (outside.matrix @ [1, 1, 0]).tolist() == [0]
    assert (outside.matrix @ [1, 1, 2]).any()
    assert not (inside.matrix @ [1, 1, 2]).any()
    assert not found.incidence[0].toarray()[2].any()


def test_days_without_packages_and_spanning_packages_are_noted() -> None:
    found = resolve("ab", 4, [Package("p", {"a": 1}, 1), Package("q", {"b": 1}, 1)], rows_are_packages=True)
    assert found.day_constraints[0].matrix.shape == (2, 2)
    assert found.day_constraints[1].matrix.shape == (0, 2)
    assert any("No package is on sale on days 0 to 0" in note for note in found.notes)
    assert any("span all items" in note for note in found.notes)


def test_components_are_the_finest() -> None:
    # Items a, b are tied by one package, c, d by another; e is free in both senses.
    packages = [Package("p", {"a": 1, "b": 1}), Package("q", {"c": 1, "d": 2}), Package("r", {"e": 1})]
    found = resolve("abcde", 3, packages, rows_are_packages=True)
    assert [part.tolist() for part in found.components] == [[0, 1], [2, 3], [4]]
    # {a}, {a, b} imply no constraint, but their integer tables hang together.
    loose = resolve("ab", 3, [Package("p", {"a": 1}), Package("q", {"a": 1, "b": 1})], rows_are_packages=True)
    assert [part.tolist() for part in loose.components] == [[0], [1]]
    assert [part.tolist() for part in loose.generator_components] == [[0, 1]]


def test_restrict_keeps_a_component() -> None:
    packages = [Package("p", {"a": 1, "b": 1}), Package("q", {"c": 1, "d": 2})]
    (daily,) = resolve("abcd", 3, packages, rows_are_packages=True).day_constraints
    part = restrict(daily, [2, 3])
    assert part.matrix.shape == (1, 2)
    assert not (part.matrix @ [1, 2]).any()
    assert part.generator_names == ("q",)
    with pytest.raises(ConfigError, match="whole components"):
        restrict(daily, [1, 2])


def test_invariant_equations_add_a_right_hand_side() -> None:
    equation = Equation({"a": 1, "b": Fraction(-1, 2)}, Fraction(3, 2), invariant=True)
    found = resolve("abc", 4, equations=[equation])
    (daily,) = found.day_constraints
    assert found.has_invariants
    assert daily.generators is None
    assert (daily.matrix @ [3.0, 3.0, 8.0]).tolist() == daily.rhs.tolist()
    assert daily.rhs.any()


def test_implied_equation_is_redundant() -> None:
    totals = [Total("t", ("a", "b"))]
    found = resolve("ab", 4, totals=totals, equations=[Equation({"t": 2, "a": -2, "b": -2})])
    assert found.day_constraints[0].matrix.shape == (1, 3)
    assert not found.has_invariants
    assert any("constraints.equations[0] follows" in note for note in found.notes)


def test_dependent_invariants_are_redundant() -> None:
    same = [Equation({"a": k, "b": k}, 5 * k, invariant=True) for k in (1, 2)]
    found = resolve("abc", 4, equations=same)
    assert found.day_constraints[0].matrix.shape == (1, 3)
    assert any("equations[1]" in note for note in found.notes)


REFUSED = [
    ({"items": ["a", "a"]}, "domain.items"),
    ({"items": []}, "domain.items"),
    ({"packages": [Package("p", {"z": 1})], "rows_are_packages": True}, "constraints.packages.p must hold items"),
    ({"packages": [Package("p", {"a": 0})], "rows_are_packages": True}, "constraints.packages.p.a must be a whole"),
    ({"packages": [Package("p", {})], "rows_are_packages": True}, "at least one item"),
    ({"packages": [Package("p", {"a": 1})]}, "unless every input row is a package"),
    ({"rows_are_packages": True}, "name at least one package"),
    ({"packages": [Package("p", {"a": 1}), Package("p", {"b": 1}, 3)], "rows_are_packages": True}, "p twice"),
    ({"packages": [Package("p", {"a": 1}, 5, 5)], "rows_are_packages": True}, "range of days"),
    ({"packages": [Package("p", {"a": 1}, 0, 11)], "rows_are_packages": True}, "range of days"),
    ({"totals": [Total("a", ("b",))]}, "constraints.totals.a must differ"),
    ({"totals": [Total("t", ("z",))]}, "constraints.totals.t must have items or totals"),
    ({"totals": [Total("t", ())]}, "at least one member"),
    ({"totals": [Total("t", ("u",)), Total("u", ("t",))]}, "not contain itself"),
    ({"totals": [Total("t", ("t",))]}, "not contain itself"),
    ({"totals": [Total("t", ("a", "a"))]}, "count each item once"),
    ({"totals": [Total("t", ("a", "u")), Total("u", ("a", "b"))]}, "count each item once"),
    ({"totals": [Total("t", ("a",), True, 0, 2), Total("t", ("b",), False, 2)]}, "measured must be the same"),
    ({"equations": [Equation({"z": 1})]}, r"equations\[0\] must speak of items"),
    ({"equations": [Equation({"a": 0})]}, "coefficient that is not 0"),
    ({"equations": [Equation({"a": 1, "b": -1})]}, "a row of a breaks"),
    ({"totals": [Total("t", ("a", "b"))], "equations": [Equation({"t": 1, "a": -1, "b": -1}, 3)]}, "agree with"),
    ({"equations": [Equation({"a": 1}, k, invariant=True) for k in (1, 2)]}, r"equations\[1\] must agree"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_refusals(settings: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"items": ["a", "b", "c"], "n_days": 10, **settings}
    with pytest.raises(ConfigError, match=message):
        resolve(**given)  # type: ignore[arg-type]


def test_checks_pass_what_holds() -> None:
    check_consistent("constraints.0", contradictory=False)
    check_holds_of_rows(Equation({"a": 1}, invariant=True), "a")
    assert expand_total("t", {"t": Total("t", ("b", "u")), "u": Total("u", ("a",))}, {"a": 0, "b": 1}) == [0, 1]


@pytest.mark.parametrize(
    ("coefficient", "value", "message"),
    [
        (
            Fraction(10**9 + 1),
            Fraction(0),
            "balance.coefficients.a must be a fraction of whole numbers up to 1000000000",
        ),
        (Fraction(1, 10**9 + 1), Fraction(0), "balance.coefficients.a must be a fraction of whole numbers up to"),
        (Fraction(10**300), Fraction(0), "balance.coefficients.a must be .*, got a longer one"),
        (Fraction(1), Fraction(10**400), "balance.value must be a fraction of whole numbers up to 1000000000000000"),
        (Fraction(1), Fraction(1, 10**400), "balance.value must be .*, got a longer one"),
    ],
)
def test_long_coefficients_are_refused(coefficient: Fraction, value: Fraction, message: str) -> None:
    equation = Equation({"a": coefficient, "b": Fraction(-1)}, value, invariant=True, setting="balance")
    with pytest.raises(ConfigError, match=message):
        resolve(["a", "b"], 1, equations=[equation])


def test_coefficients_at_the_bound_are_exact() -> None:
    most = Fraction(10**9)
    equation = Equation({"a": most, "b": Fraction(-1) / most}, Fraction(10**15), invariant=True, setting="balance")
    (daily,) = resolve(["a", "b"], 1, equations=[equation]).day_constraints
    assert daily.matrix.toarray().tolist() == [[1.0, -1e-18]]
    assert daily.rhs.tolist() == [10.0**6]


@pytest.mark.parametrize("density", [0.01, 0.03, 0.08])
def test_components_are_those_of_the_graph_of_series_that_share_a_row(density: float) -> None:
    rows = [csr_array(random_array((20, 50), density=density, rng=seed)) for seed in range(3)]
    whole = csr_array(vstack(rows))
    _, label = csgraph.connected_components(whole.T @ whole, directed=False)
    expected = sorted(np.flatnonzero(label == each).tolist() for each in set(label))
    assert [each.tolist() for each in linked(rows, 50)] == expected
