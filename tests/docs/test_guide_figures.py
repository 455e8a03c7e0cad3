"""Every figure of the guide's tables about jobs is computed again: errors of both models, limits of releases, rules."""

import re
from fractions import Fraction
from typing import Any

import pytest

from dplib.clustering.choose import METHODS, plan_method
from dplib.clustering.problem import Problem
from dplib.clustering.space import Space
from dplib.errors import ConfigError
from dplib.estimates.range_estimates import mean_range_variance
from dplib.guide import read_page
from dplib.jobs.minimum_cuts.config import CutReleases
from dplib.jobs.network_statistics.noisy_graph_plan import ModelError, compared_models
from dplib.privacy.budget import ApproxDP, Budget, PureDP
from dplib.trees.strategies import blue, boost, dwork
from tests.support.minimum_cuts import design_of
from tests.support.network_statistics import design_of as network_design

NETWORK, CUTS = read_page("network-statistics"), read_page("minimum-cuts")


def table(page: str, first_header: str) -> list[list[str]]:
    """The cells of the rows of the table whose first header starts with these words."""
    lines = page.splitlines()
    (start,) = (number for number, line in enumerate(lines) if line.startswith(f"| {first_header}"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def rounded(value: float, cell: str) -> float:
    """A value to as many significant digits as a cell shows; zeros at the end of a large number do not count."""
    digits = len(re.sub(r"\D", "", cell).strip("0"))
    return float(f"{value:.{digits - 1}e}")


@pytest.fixture(scope="module")
def errors() -> dict[tuple[str, str], ModelError]:
    """What the plan says of Email-Enron's declared vertices."""
    (header,) = re.findall(r"^\| Email-Enron \(([\d,]+) vertices\), epsilon (\d+) \|", NETWORK, re.MULTILINE)
    design = network_design(["edge_count"], {"epsilon": int(header[1])}, n=int(number(header[0])))
    return {(each.number, each.how): each for each in compared_models(design)}


@pytest.mark.parametrize(
    ("row", "how"), [(0, "noisy degrees, one end"), (1, "randomized bits")], ids=["degrees", "bits"]
)
def test_the_errors_of_both_models(errors: dict[tuple[str, str], ModelError], row: int, how: str) -> None:
    found = errors["edge count", how]
    rows = table(NETWORK, "Email-Enron")
    assert len(rows) == 2
    for cell, value in zip(rows[row][1:], (found.central, found.local), strict=True):
        assert number(cell) == rounded(value, cell), (cell, value)


def test_every_release_about_minimum_cuts_is_in_the_table() -> None:
    assert {row[0].strip("`") for row in table(CUTS, "release | what")} == set(CutReleases.model_fields)


@pytest.mark.parametrize("row", table(CUTS, "release | what"), ids=lambda row: row[0].strip("`"))
def test_releases_about_minimum_cuts_stop_where_the_table_says(row: list[str]) -> None:
    name, budget = row[0].strip("`"), {"epsilon": 1, "delta": "0.000001"}
    extra: dict[str, Any] = {"soft_cut_count": {"eta": 1}, "top_cuts": {"k": 1}, "sampled_cuts": {"k": 1}}
    releases = {name: extra.get(name, {})}
    if row[2] == "any":
        assert design_of(releases, budget, n=100_000).n_vertices == 100_000
        return
    limit = int(number(row[2]))
    assert design_of(releases, budget, n=limit).n_vertices == limit
    with pytest.raises(ConfigError, match=name.replace("_", ".")):
        design_of(releases, budget, n=limit + 1)


def test_sampled_cuts_need_a_delta() -> None:
    with pytest.raises(ConfigError, match="delta"):
        design_of({"sampled_cuts": {"k": 1}}, {"epsilon": 1})


@pytest.mark.parametrize("budget", [PureDP(Fraction(1)), ApproxDP(Fraction(1), Fraction(1, 10**6))])
def test_auto_takes_the_methods_that_the_text_names(budget: Budget) -> None:
    assert "| up to 3 | any |" in read_page("kmeans")
    for dimension in range(1, 7):
        chosen = plan_method(Problem(Space.ball([0.0] * dimension, 1.0), 4), budget).method
        above = "tree_coreset" if isinstance(budget, ApproxDP) else "local_search"
        assert chosen == ("grid" if dimension <= 3 else above)


def test_every_method_is_on_the_page() -> None:
    named = {row[0].strip("`") for row in table(read_page("kmeans"), "method | what it does")}
    assert named <= set(METHODS)
    assert all(f"`{method}`" in read_page("kmeans") for method in METHODS)


def test_the_errors_in_the_table_are_those_of_the_methods() -> None:
    rows = re.findall(
        r"^\| ([\d,]+) \| ([\d,.]+) \| ([\d,.]+) \| ([\d,.]+) \|$", read_page("range-histograms"), re.MULTILINE
    )
    assert rows
    for row in rows:
        n_bins, *stated = (float(cell.replace(",", "")) for cell in row)
        exact = [mean_range_variance(method(int(n_bins))) for method in (blue, dwork, boost)]
        for cell, shown, value in zip(row[1:], stated, exact, strict=True):
            digits = len(cell.partition(".")[2])
            assert shown == round(value, digits), (row, value)
