"""Acceptance of what to measure: shares that serve the declared queries, on real configurations and against oracles."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dplib.config.load import check as checked
from dplib.config.load import read_yaml
from dplib.jobs.consistent_histograms.compare import kind_errors
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.workflow.kind_errors import KindError
from scripts.accept.claims import Check, Result, at_least, at_most
from scripts.accept.runs import ROOT
from tests.support.dense_histograms import DenseHistograms

GAUSS: dict[str, object] = {"rho": "1/2"}
LAPLACE: dict[str, object] = {"epsilon": 1}
YEAR = ("2013-01-01", "2013-12-31")
THREE_YEARS = ("2021-01-01", "2023-12-31")
KINDS = ["day", "month", "total"]
TABLE: tuple[
    tuple[str, dict[str, object], tuple[int, ...], tuple[str, str], dict[str, object], list[str], float], ...
] = (
    ("3 years; 1 > 20 > 2,000", GAUSS, (1, 20, 2000), THREE_YEARS, {"levels": "calendar"}, [*KINDS, "year"], 3.05),
    ("3 years; 1 > 20 > 2,000", LAPLACE, (1, 20, 2000), THREE_YEARS, {"levels": "calendar"}, [*KINDS, "year"], 13.2),
    ("14 carriers > 35 routes", GAUSS, (14, 35), YEAR, {"levels": "calendar"}, KINDS, 1.97),
    ("14 carriers > 35 routes", LAPLACE, (14, 35), YEAR, {"levels": "calendar"}, KINDS, 5.04),
    ("the same with a grand total", LAPLACE, (1, 14, 35), YEAR, {"levels": "calendar"}, KINDS, 8.45),
    ("12 months; 1 > 50 > 3,000", GAUSS, (1, 50, 3000), YEAR, {"levels": ["month", "day"]}, KINDS, 2.85),
)
"""Case, noise, totals from coarse to fine down to the items, days, tree, queries, best product of shares.

The table is of continuous noise and months of one length; discrete Laplace noise has 0.7 % less variance at epsilon 1.
"""


def design_of(settings: dict[str, Any], base: Path = Path()) -> Design:
    """The design of a configuration."""
    return Design.resolve(checked(ConsistentHistogramsConfig, settings), base)


def chain(sizes: tuple[int, ...], days: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A configuration whose totals nest: sizes from coarse to fine, the items last; one event more or less."""
    items = [f"item {number}" for number in range(sizes[-1])]
    cuts = [np.linspace(0, len(items), size + 1).round().astype(int).tolist() for size in sizes[:-1]]
    return {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "chain",
        "input": {"path": "none", "columns": {"day": "d", "item": "i"}},
        "domain": {"items": items, "first_day": days[0], "last_day": days[1]},
        "constraints": [
            {"totals": {f"{number}.{part}": items[ends[part] : ends[part + 1]] for part in range(len(ends) - 1)}}
            for number, ends in enumerate(cuts)
        ],
    } | more


def mean_error(design: Design, name: str = "chosen") -> float:
    """Geometric mean of the standard errors over all kinds of answers."""
    return mean_of(kind_errors(design, Errors(design))[0], name)


def mean_of(kinds: Sequence[KindError], name: str) -> float:
    """Geometric mean over kinds of answers at one division of the budget."""
    return float(np.exp(np.mean([np.log(getattr(each, name)) for each in kinds])))


def table() -> Iterator[Result]:
    """The six rows of the design note: real days, exact discrete noise, shares on the grid."""
    for case, budget, sizes, days, tree, queries, best in TABLE:
        privacy = {"unit": "event", "budget": budget}
        made = design_of(chain(sizes, days, privacy=privacy, tree=tree, queries=queries, measure="auto"))
        claim = f"{case}, {' '.join(map(str, next(iter(budget.items()))))}: geometric mean of errors over best product"
        yield at_most(claim, mean_error(made) / best, 1.02)


def flights() -> Iterator[Result]:
    """The shipped example beside the one before it: carriers' totals measured with the noise of the routes."""
    folder = ROOT / "conf"
    shipped = read_yaml(folder / "nycflights13.yaml")
    (totals,) = shipped["constraints"]
    measured = {name: own for name, own in totals["totals"].items() if name not in ("all VX", "all OO")}
    free = {name: own for name, own in totals["totals"].items() if name not in measured}
    before = {name: own for name, own in shipped.items() if name != "measure"}
    before["constraints"] = [{"totals": measured, "measured": True}, {"totals": free}]
    now = design_of(shipped, folder)
    same = {**shipped, "constraints": before["constraints"]}
    then, fair = design_of(before, folder), design_of(same, folder)
    spent = [sum((event.epsilon or 0 for event in each.events), 0) for each in (now, then)]
    yield Result("flights: epsilon of the example now and before", "1 and 1", f"{spent}", spent == [1, 1])
    claim = "flights: geometric mean of the errors, before over now"
    yield at_least(claim, mean_error(then) / mean_error(fair), 1.35, "x")


def shipped() -> Iterator[Result]:
    """Every example that stands on public rows, as it is shipped: no division of the budget on its tree is better."""
    for name in ("nycflights13", "bakeries", "restaurant"):
        made = design_of(read_yaml(ROOT / "conf" / f"{name}.yaml"), ROOT / "conf")
        kinds, _ = kind_errors(made, Errors(made))
        for other in ("best", "equal", "items_only"):
            claim = f"{name}: geometric mean of the errors over that of {other.replace('_', ' ')} shares"
            yield at_most(claim, mean_of(kinds, "chosen") / mean_of(kinds, other), 1 + 1e-6)


def days() -> Iterator[Result]:
    """`tree: auto` for weeks, months and the total beside days alone, months, and weeks in shares 20 to 1."""
    settings = chain((5,), YEAR, privacy={"unit": "event", "budget": LAPLACE}, queries=["week", "month", "total"])
    found = mean_error(design_of(settings | {"tree": "auto"}))
    others: dict[str, dict[str, object]] = {
        "days alone": {"levels": ["day"]},
        "months and days": {"levels": ["month", "day"]},
        "weeks 20 to 1": {"levels": ["week", "day"], "shares": [20, 1]},
    }
    for name, tree in others.items():
        claim = f"tree: auto for week, month, total: geometric mean of the errors over that of {name}"
        yield at_most(claim, found / mean_error(design_of(settings | {"tree": tree})), 1.0)


def oracle() -> Iterator[Result]:
    """Every stated error against dense least squares with the same weights, groupings nested and crossing."""
    items = [f"item {number}" for number in range(12)]
    crossing = [
        {"totals": {"all": items}},
        {"totals": {f"region {part}": items[part::3] for part in range(3)}},
        {"totals": {f"category {part}": items[part * 4 : part * 4 + 4] for part in range(3)}},
    ]
    dates = ("2024-01-20", "2024-02-25")
    for name, own in (("nested", None), ("crossing", crossing)):
        for budget in (GAUSS, {"epsilon": 4}):
            settings = chain((1, 3, 12), dates, privacy={"unit": "event", "budget": budget}, measure="auto")
            settings |= {"tree": {"levels": ["week", "day"]}} | ({} if own is None else {"constraints": own})
            made = design_of(settings)
            gap = np.abs(Errors(made).node_std_error() / DenseHistograms(made).node_errors - 1).max()
            yield at_most(f"{name} groupings, {budget}: stated errors against the dense oracle", float(gap), 1e-9)


CHECKS: tuple[Check, ...] = (table, flights, shipped, days, oracle)
