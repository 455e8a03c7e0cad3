"""Groups that add up against dense least squares: estimates, errors, sums, integers; shares and what they cost."""

from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from dplib.config.load import check
from dplib.config.measure import Measure
from dplib.config.selection import select
from dplib.errors import ConfigError
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors, estimate_sums
from dplib.jobs.range_histograms.kinds import errors_by_kind
from dplib.jobs.range_histograms.quantiles import ShapeBins
from tests.support.dense_ranges import DenseRanges

TABLE = "shop,region,kind\n" + "".join(
    f"s{n},{'coast' if n < 4 else 'inland'},{'big' if n % 3 else 'small'}\n" for n in range(7)
)
NESTED: dict[str, Any] = {"groupings": [["region"], []]}
CROSSING: dict[str, Any] = {"groupings": [["region"], {"by": ["kind"], "measured": True}, []]}
LISTED: dict[str, Any] = {
    "groups": ["a", "b", "c"],
    "totals": [{"totals": {"ab": ["a", "b"], "bc": ["b", "c"]}, "name": "pairs"}, {"totals": {"all": ["a", "b", "c"]}}],
}
SHARES = {"shares": [5, 1, 0, 2]}
LAPLACE, GAUSS = {"epsilon": 3}, {"rho": "1/2"}


def design(folder: Path, histogram: dict[str, Any], budget: dict[str, Any] = LAPLACE, **more: Any) -> Design:
    (folder / "shops.csv").write_text(TABLE, encoding="utf-8")
    groups = {"file": "shops.csv", "columns": ["shop"], "attributes": ["region", "kind"]}
    privacy = {"unit": "buyer", "max_rows_per_unit": 2, "budget": budget} | more.pop("privacy", {})
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "shops",
        "input": {"path": "rows.csv", "columns": {"value": "v", "group": "g", "unit": "u"}},
        "privacy": privacy,
        "histogram": {"edges": {"start": 0, "stop": 13, "width": 1}, "groups": groups} | histogram,
    }
    return Design.resolve(check(RangeHistogramsConfig, settings | more), folder)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "nested, auto": (NESTED, LAPLACE, {"measure": "auto"}),
    "nested, all the same noise": ({"groupings": [{"by": ["region"], "measured": True}]}, LAPLACE, {}),
    "crossing, shares": (CROSSING, LAPLACE, {"measure": SHARES, "tree": {"method": "boost", "branching": 3}}),
    "crossing, gauss": (CROSSING, GAUSS, {"measure": {"shares": [3, 1, 1, 1]}, "queries": ["bin", "total"]}),
    "listed that overlap": (LISTED, GAUSS, {"measure": {"shares": [4, 2, 1]}}),
    "nodes of their own": (NESTED, LAPLACE, {"measure": "auto", "tree": {"method": "lue_dptree", "branching": 2}}),
    "public totals": (
        NESTED | {"total_is_public": True},
        LAPLACE,
        {"measure": {"shares": [2, 1, 1]}, "privacy": {"neighbors": "replace_one"}},
    ),
}


@cache
def design_of(case: str) -> Design:
    """The design of a case, some of which take a search."""
    histogram, budget, more = CASES[case]
    with TemporaryDirectory() as folder:
        return design(Path(folder), histogram, budget, **more)


@pytest.mark.parametrize("case", CASES)
def test_estimates_and_errors_are_those_of_dense_least_squares(case: str) -> None:
    made = design_of(case)
    assert made.sums is not None
    tree, n_groups = made.strategy.tree, len(made.bins.groups)
    true = made.with_totals(np.random.default_rng(2).integers(0, 60, (n_groups, made.bins.n_bins)))
    noisy = tree.sums(true.T).T + np.random.default_rng(1).normal(0, 4, (len(made.series), tree.n_nodes))
    noisy[~made.measured] = 0.0
    if made.total_is_public:
        noisy[:, 0] = np.where(made.measured, true.sum(axis=1), 0)
    oracle, errors, found = DenseRanges(made), Errors(made), estimate_sums(made, noisy)
    close = 1e-4 if made.total_is_public else 1e-9
    np.testing.assert_allclose(found.estimates, oracle.estimates(noisy), rtol=1e-9, atol=10 * close)
    every = np.arange(len(made.series))
    for lo, hi in ((0, 13), (0, 1), (3, 4), (2, 9), (6, 13)):
        known = [oracle.error(lo, hi, every[[series]]) for series in every]
        np.testing.assert_allclose(
            errors.by_series(np.array([lo]), np.array([hi]), every)[:, 0], known, rtol=close, atol=close
        )
        for each in (every[:2], every[[0, n_groups - 1]], every[:n_groups], every[[0, -1]]):
            known = [oracle.error(lo, hi, each)]
            np.testing.assert_allclose([errors.sum_std_error(lo, hi, each)], known, rtol=close, atol=close)
    of_nodes = [
        [oracle.error(int(tree.lo[x]), int(tree.hi[x]), every[[s]]) for x in range(tree.n_nodes)] for s in every
    ]
    np.testing.assert_allclose(errors.nodes(np.arange(tree.n_nodes), every), of_nodes, rtol=close, atol=close)
    counts = found.counts
    assert counts.min() >= 0
    assert np.array_equal(made.with_totals(counts[:n_groups]), counts)
    if made.total_is_public:
        assert np.array_equal(counts.sum(axis=1), true.sum(axis=1))


@pytest.mark.parametrize("budget", [LAPLACE, GAUSS], ids=["laplace", "gauss"])
def test_chosen_shares_are_near_the_best_product(budget: dict[str, Any], tmp_path: Path) -> None:
    made = design(tmp_path, NESTED, budget, measure="auto", queries=["bin", {"range": {"length": 4}, "weight": 2}])

    def error(given: Design) -> float:
        return float(np.average(np.log(errors_by_kind(given, 3)).mean(axis=1), weights=[1, 2]))

    def at(region: int, every: int) -> float:
        return error(Design.of(made.config, made.strategy, Measure(shares=[10 - region - every, region, every])))

    assert error(made) <= np.log(1.02) + min(at(*each) for each in product((0, 2, 4), repeat=2))


def test_a_row_changes_the_histograms_by_no_more_than_the_events_pay_for(tmp_path: Path) -> None:
    """Every row of a unit in every place: its ratio over all nodes and columns is at most the budget."""
    for histogram, more in ((LISTED, {"measure": {"shares": [4, 2, 1]}}), (CROSSING, {"measure": SHARES})):
        for budget in (LAPLACE, GAUSS):
            made = design(tmp_path, histogram, budget, **more)
            assert made.sums is not None
            adds, path = made.sums.constraints.incidence[0].toarray(), made.strategy.shares
            m, law = made.config.privacy.rows_per_unit, made.config.privacy.mechanism
            spent = Fraction(0)
            for group in range(adds.shape[1]):
                total = Fraction(0)
                for series in np.flatnonzero(adds[:, group] * made.measured):
                    for node in np.flatnonzero((made.strategy.tree.lo <= 5) & (made.strategy.tree.hi > 5) & (path > 0)):
                        b = made.noise_parameter(int(path[node]), int(made.column_of[series]))
                        count = m * int(adds[series, group])
                        total += Fraction(count) / b if law.is_pure else Fraction(count**2) / (2 * b)
                spent = max(spent, total)
            assert Fraction(99, 100) * made.budget < spent <= made.budget
            events = [each.epsilon if law.is_pure else each.rho for each in made.events]
            assert sum(events, Fraction(0)) == made.budget


def test_names_of_questions(tmp_path: Path) -> None:
    made = design(tmp_path, CROSSING, measure="auto")
    named = [each.name for each in select(made.names, (), ("region=coast",), False)]
    assert named == ["region=coast"]
    assert [len(each.series) for each in select(made.names, (), ("region=coast", "kind=big"), False)] == [2]
    with pytest.raises(ConfigError, match="--sum must add up what has no group in common"):
        select(made.names, ("region=coast", "s0"), (), True)


@pytest.mark.parametrize(
    ("histogram", "more", "message"),
    [
        ({"groups": ["a", "b"]}, {"measure": "auto"}, "measure must be absent unless"),
        ({"groups": ["a", "b"], "groupings": [["x"]]}, {}, "histogram.groupings must be absent unless"),
        ({"groupings": [["country"]]}, {}, "histogram.groupings.0 must hold columns or attributes"),
        (NESTED, {"measure": {"shares": [1]}}, "measure.shares must have one share for each of groups, by region"),
        (NESTED, {"tree": {"method": "adaptive"}}, "tree.method must be another one than adaptive"),
        (NESTED, {"publish": {"layout": "blocks"}}, "publish.layout must be auto or driver"),
        ({}, {"queries": ["bin"], "tree": {"queries": "prefix"}}, "tree.queries must be absent"),
        ({}, {"queries": ["bin", {"range": {"length": 14}}]}, "queries.1.range.length must be at most 13"),
        (
            NESTED,
            {"queries": [{"range": "bin", "target": {"count": 1, "relative_error": 1, "of": "shops"}}]},
            "queries.0.target.of must be one of groups, by region, grand total, got shops",
        ),
    ],
)
def test_wrong_settings_are_refused(
    histogram: dict[str, Any], more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        design(tmp_path, histogram, **more)


@pytest.mark.parametrize("case", CASES)
def test_covariances_of_shapes_are_those_of_dense_least_squares(case: str) -> None:
    made = design_of(case)
    oracle, n = DenseRanges(made), made.bins.n_bins
    weights = np.array([[float(at < 5) for at in range(n)], [float(at >= 5) for at in range(n)]])
    for series in range(len(made.series)):
        first, last, whole = (oracle.error(lo, hi, np.array([series])) ** 2 for lo, hi in ((0, 5), (5, n), (0, n)))
        both = (whole - first - last) / 2
        found = ShapeBins.of(made, "share").covariance(weights, series)
        np.testing.assert_allclose(found, [[first, both], [both, last]], rtol=1e-6, atol=1e-6)
