"""Sensitivities that follow from settings are exact: against the definition, by fractions, for any settings."""

from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dplib.config.load import check
from dplib.constraints.checks import MAX_OF_ITEM
from dplib.constraints.resolve import resolve
from dplib.constraints.row_norms import row_norms
from dplib.constraints.specs import Package, Total
from dplib.errors import ConfigError
from dplib.graphs.statistics.network_sensitivity import Bounding, DegreeBound, Statistic, sensitivity
from dplib.jobs.consistent_histograms.columns import MAX_OF_ROW
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.privacy.neighbors import Neighbors
from dplib.validate import integer_norms

ITEMS = ("a", "b", "c", "d")
COUNTS = st.integers(1, MAX_OF_ITEM) | st.sampled_from([1, 2, MAX_OF_ITEM])
PACKAGES = st.lists(st.dictionaries(st.sampled_from(ITEMS), COUNTS, min_size=1), min_size=1, max_size=5)
TOTALS = st.lists(st.lists(st.sampled_from(ITEMS), min_size=1, unique=True), max_size=3)


@given(PACKAGES, TOTALS)
def test_norms_of_a_package_are_those_of_its_definition(
    packages: list[dict[str, int]], totals: list[list[str]]
) -> None:
    found = resolve(
        ITEMS,
        3,
        [Package(f"p{number}", contents) for number, contents in enumerate(packages)],
        [Total(f"t{number}", tuple(members), measured=True) for number, members in enumerate(totals)],
        rows_are_packages=True,
    )
    rows = [
        [Fraction(contents.get(item, 0)) for item in ITEMS]
        + [sum((Fraction(contents.get(item, 0)) for item in members), Fraction(0)) for members in totals]
        for contents in packages
    ]
    assert found.row_l1 == max(sum(row) for row in rows)
    assert found.row_l2_squared == max(sum(x**2 for x in row) for row in rows)
    assert found.row_l1 <= found.row_l2_squared <= found.row_l1**2


@given(st.lists(st.lists(st.integers(0, 2**63 - 1), min_size=3, max_size=3), min_size=1, max_size=4))
def test_norms_do_not_wrap_at_any_64_bit_entry(rows: list[list[int]]) -> None:
    """Beyond what settings allow: squares and sums of 64-bit entries need more than 64 bits."""
    found = row_norms([csr_array(np.array(rows, dtype=np.int64).T)])
    assert found == (max(map(sum, rows)), max(sum(x * x for x in row) for row in rows))


@pytest.mark.parametrize("count", [MAX_OF_ITEM + 1, 3037000500, 2**32, 2**62, 2**63, 10**30])
def test_multiplicities_beyond_the_bound_are_refused(count: int) -> None:
    packages = [Package("p", {"a": count, "b": 1}, setting="constraints.packages.p"), Package("q", {"b": 1})]
    with pytest.raises(ConfigError, match=rf"^constraints.packages.p.a must be at most {MAX_OF_ITEM}, got {count}$"):
        resolve(["a", "b"], 1, packages, rows_are_packages=True)


@pytest.mark.parametrize(("l1", "l2_squared"), [(2, 1), (3, 10), (-1, 1), (1, 0), (np.int64(1), 1), (1, 1.0)])
def test_norms_that_no_integer_vector_has_are_no_sensitivity(l1: Any, l2_squared: Any) -> None:
    with pytest.raises(ArithmeticError, match="L1 <= L2\\^2 <= L1\\^2"):
        integer_norms("sensitivity", l1, l2_squared)


def design_of(budget: dict[str, Any], packages: dict[str, dict[str, int]], **privacy: Any) -> Design:
    settings = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "test",
        "input": {"path": "none", "columns": {"day": "day", "package": "p", "quantity": "n", "unit": "who"}},
        "privacy": {"unit": "customer", "budget": budget} | privacy,
        "domain": {"items": ["a", "b"], "first_day": "2024-01-01", "last_day": "2024-01-08"},
        "constraints": [{"packages": packages}],
        "tree": {"branching": 2},
    }
    return Design.resolve(check(ConsistentHistogramsConfig, settings), Path())


@given(
    st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 60), st.integers(1, 2000), st.booleans(), st.booleans()
)
def test_noise_of_every_level_covers_a_unit(m: int, r: int, q: int, count: int, gaussian: bool, replaced: bool) -> None:
    """D1 = n m Q L1 and D2 = n m min(m, r w) Q^2 L2^2, n the neighbours' factor: by fractions, whatever the caps."""
    n, l1, l2 = Fraction(2 if replaced else 1), Fraction(count + 1), Fraction(max(count**2 + 1, 4))
    # Budgets that leave useful noise at every level.
    whole = n * m**2 * q**2 * l2 if gaussian else n * m * q * l1
    budget = {"rho": str(whole / 1000)} if gaussian else {"epsilon": str(whole)}
    privacy = {"max_rows_per_unit": m, "max_rows_per_day": r, "max_quantity": q}
    neighbors = "replace_one" if replaced else "add_remove"
    design = design_of(budget, {"p": {"a": count, "b": 1}, "q": {"b": 2}}, neighbors=neighbors, **privacy)
    widths = design.days.tree.hi - design.days.tree.lo
    for level, each in enumerate(design.measurements):
        if each is None:
            continue
        width = int(widths[design.days.tree.level_slice(level)].max())
        moved = n * m * min(m, min(r, m) * width) * q**2 * l2 if gaussian else n * m * q * l1
        part = each.rho if gaussian else each.epsilon
        assert part is not None
        assert each.noise.parameter * part * (2 if gaussian else 1) == moved


def test_rows_that_count_too_much_are_refused() -> None:
    many = {f"p{number}": {"a": MAX_OF_ITEM, "b": 1} for number in range(2)}
    design_of({"epsilon": 1000}, many, max_rows_per_unit=1, max_quantity=8)
    with pytest.raises(ConfigError, match=r"^privacy.max_quantity must be at most 8, since"):
        design_of({"epsilon": 1000}, many, max_rows_per_unit=1, max_quantity=9)
    packages = {"p": {"a": 1000, "b": 1}}
    most = MAX_OF_ROW // 1001
    design_of({"epsilon": 1000}, packages, max_rows_per_unit=1, max_quantity=most)
    with pytest.raises(ConfigError, match=rf"^privacy.max_quantity must be at most {most}, since .*, got {most + 1}$"):
        design_of({"epsilon": 1000}, packages, max_rows_per_unit=1, max_quantity=most + 1)


@given(st.integers(2, 10**7), st.integers(2, 20), st.integers(1, 10**7), st.booleans())
def test_star_sensitivities_are_exact_at_any_size(n: int, k: int, largest: int, promised: bool) -> None:
    """Against the definition: one edge raises two degrees by one, a vertex takes its own stars and a step of others."""
    bound = DegreeBound(Bounding.PROMISED, largest) if promised else DegreeBound(Bounding.NONE)
    top = bound.within(n)
    edge = sensitivity(Statistic.K_STARS, Neighbors.EDGE, n, bound, k)
    assert edge.l1 == 2 * (comb(top, k) - comb(top - 1, k))
    vertex = sensitivity(Statistic.K_STARS, Neighbors.VERTEX, n, bound, k)
    assert vertex.l1 == comb(top, k) + top * (comb(top, k) - comb(top - 1, k))
    for found in (edge, vertex):
        assert found.l2_squared == found.l1**2
