"""Groupings of a public table against dense least squares: estimates, stated errors, sums; items with days."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.load import check
from dplib.config.selection import select
from dplib.jobs.consistent_histograms.compare import kind_errors
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import estimate, integer_tables
from tests.support.dense_histograms import DenseHistograms

N_DAYS = 6
PLAIN = "store,sku,region,kind\n" + "".join(
    f"s{store},{sku},{'north' if store < 2 else 'south'},{'tea' if sku < 2 else 'milk'}\n"
    for store in range(4)
    for sku in range(4)
    if (store, sku) != (3, 2)
)
DATED = "store,sku,region,kind,from,to\n" + "".join(
    f"{line},{first},{last}\n"
    for line, (first, last) in zip(
        PLAIN.splitlines()[1:],
        [("", ""), ("2024-01-03", ""), ("", "2024-01-04"), ("2024-01-02", "2024-01-02"), ("", "")] * 3,
        strict=True,
    )
)
GROUPINGS = [{"by": ["region", "kind"], "measured": True}, {"by": [], "measured": True}, ["kind"], ["store"]]


def design(folder: Path, table: str, budget: dict[str, str]) -> Design:
    (folder / "p.csv").write_text(table, encoding="utf-8")
    days = {"first_day": "from", "last_day": "to"} if "from" in table else {}
    items = {"file": "p.csv", "columns": ["store", "sku"], "attributes": ["region", "kind"]} | days
    settings: dict[str, Any] = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "shop",
        "input": {"path": "rows.csv", "columns": {"day": "d", "item": ["store", "sku"], "unit": "u"}},
        "privacy": {"unit": "order", "max_rows_per_unit": 2, "budget": budget},
        "domain": {"items": items, "groupings": GROUPINGS, "first_day": "2024-01-01", "last_day": f"2024-01-0{N_DAYS}"},
        "tree": {"branching": [2, 3]},
    }
    return Design.resolve(check(ConsistentHistogramsConfig, settings), folder)


@pytest.mark.parametrize("budget", [{"epsilon": "1"}, {"rho": "0.5"}], ids=["laplace", "gauss"])
@pytest.mark.parametrize("table", [PLAIN, DATED], ids=["all days", "own days"])
def test_estimates_and_errors_are_those_of_dense_least_squares(
    tmp_path: Path, table: str, budget: dict[str, str]
) -> None:
    made = design(tmp_path, table, budget)
    noisy = np.random.default_rng(1).normal(40, 20, made.variance.shape)
    oracle, errors = DenseHistograms(made), Errors(made)
    found = estimate(made, noisy, made.config.publish.solver).values
    np.testing.assert_allclose(found, oracle.estimates(noisy), atol=1e-9)
    np.testing.assert_allclose(errors.node_std_error(), oracle.node_errors, atol=1e-9)
    asked = [
        *select(made.names, (), ("region=north", "kind=tea"), True),
        *select(made.names, ("s0 / 1", "s2 / 2", "s3 / 3"), (), True),
        *select(made.names, (), ("sku=1",), False),
        *select(made.names, ("grand total",), (), False),
    ]
    for each in asked:
        for lo, hi in ((0, 6), (1, 4), (2, 3)):
            known = oracle.sum_error(lo, hi, each.series)
            assert errors.sum_std_error(lo, hi, each.series) == pytest.approx(known, abs=1e-9), (each.name, lo, hi)
    tables = integer_tables(made, found)
    assert tables.published.all()
    assert tables.counts[:, made.constraints.n_items :].tolist() == [
        (
            row[: made.constraints.n_items] @ made.constraints.incidence[0][made.constraints.n_items :].T.toarray()
        ).tolist()
        for row in tables.counts
    ]
    assert (tables.counts[~np.isclose(oracle.node_errors, 0)] >= 0).all()
    assert not tables.counts[oracle.node_errors == 0].any()


def test_items_off_their_days_are_in_no_mean_of_errors(tmp_path: Path) -> None:
    made = design(tmp_path, DATED, {"rho": "1"})
    kinds, _ = kind_errors(made, Errors(made))
    assert min(each.chosen for each in kinds) > 0.1 * max(each.chosen for each in kinds)
