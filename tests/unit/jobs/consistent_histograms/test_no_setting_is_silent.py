"""Each setting changes what is planned or made, or the plan says that it decides nothing, or it is refused by name."""

import json
import typing
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest

from dplib.arrays import FloatArray
from dplib.config.sections import Section
from dplib.consistency import question_shares
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.config import HistogramsRelease
from dplib.jobs.consistent_histograms.estimate import chosen_solvers, layout_of, options
from dplib.jobs.consistent_histograms.ignored import ignored_settings
from dplib.jobs.consistent_histograms.plan import plan_notes
from dplib.jobs.consistent_histograms.work_blocks import in_work_blocks
from dplib.kept import Kept
from tests.unit.jobs.consistent_histograms.test_design import GROUPED, design

ELSEWHERE = {"job", "dataset", "publish.output.path", "publish.output.tables", "domain.items.table"}
ELSEWHERE |= {"domain.items.only", "domain.items.only.file", "domain.items.only.column", "domain.items.only.release"}
ELSEWHERE |= {f"constraints.{name}" for name in ("totals_from", "packages_from")}
ELSEWHERE |= {f"constraints.totals_from.{name}" for name in ("file", "item", "by")}
ELSEWHERE |= {f"constraints.packages_from.{name}" for name in ("file", "package", "item", "pieces")}
ELSEWHERE |= {"domain.items.release", "stream.horizon", "stream.levels", "stream.shares"}
"""Names, places, what a file or a release becomes, and streams, which have tests of their own."""
LISTED = {"items": ["a", "b", "c"], "first_day": "2024-01-01", "last_day": "2024-01-20"}
TOTALS = [{"totals": {"ab": ["a", "b"]}}, {"totals": {"bc": ["b", "c"]}}]
ORDERS = {"unit": "order", "max_rows_per_unit": 4, "max_quantity": 2, "budget": {"rho": 1}}
PLAIN: dict[str, Any] = {
    "domain": LISTED,
    "constraints": TOTALS,
    "privacy": ORDERS,
    "tree": {"levels": ["week", "day"], "branching": None, "root": False},
    "queries": ["day", "total"],
}
AUTO = {"levels": None, "branching": None, "root": False}
ROUNDS = {"solver": {"method": "alternating", "layout": "blocks"}}
BASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "chosen shares": {"measure": "auto"},
    "chosen tree": {"tree": AUTO, "measure": "auto"},
    "given shares": {"measure": {"shares": [2, 1, 1]}},
    "rounds in blocks": {"publish": ROUNDS},
}
QUALITY = {"privacy": {"quality_share": "0.1"}}
EVENTS = {"unit": "event", "max_rows_per_unit": 1, "max_quantity": 1, "neighbors": "replace_one"}
TABLE = GROUPED["domain"]["items"] | {"first_day": None, "table": "sku,kind,from,to\na,x,,\nb,x,2024-01-05,\nc,y,,\n"}


def merged(*parts: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            both = isinstance(value, dict) and isinstance(made.get(name), dict) and name != "budget" and name != "items"
            made[name] = merged(made[name], value) if both else value
    return made


def items(**changes: Any) -> dict[str, Any]:
    return {"domain": {"items": TABLE | changes, "groupings": [["kind"]]}, "constraints": []}


def grouped(*by: object, **more: Any) -> dict[str, Any]:
    return items() | {"domain": items()["domain"] | {"groupings": list(by)}} | more


def totals(**changes: Any) -> dict[str, Any]:
    return {"constraints": [TOTALS[0] | changes, TOTALS[1]]}


def solver(**changes: Any) -> dict[str, Any]:
    return {"publish": {"solver": changes}}


def target(**changes: Any) -> dict[str, Any]:
    return {"queries": [{"range": "day", "target": {"count": 50, "relative_error": "0.1"} | changes}]}


def budget(**parts: Any) -> dict[str, Any]:
    return {"privacy": {"budget": parts}}


def equation(**changes: Any) -> dict[str, Any]:
    own = {"coefficients": {"a": 1, "b": 1}, "value": 3} | changes
    columns = {"path": "r", "columns": {"day": "d", "item": "i"}}
    return {"privacy": EVENTS, "constraints": [{"equations": {"e": own}}], "input": columns, "measure": None}


PACKAGE = {"path": "r", "columns": {"day": "d", "package": "p", "quantity": "q", "unit": "u"}}
WITH: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "privacy.unit": ({"privacy": {"unit": "customer"}}, {}),
    "privacy.neighbors": ({"privacy": {"neighbors": "replace_one"}}, {}),
    "privacy.budget.epsilon": (budget(epsilon=2), budget(epsilon=3)),
    "privacy.budget.delta": (budget(epsilon=2, delta="1e-6"), budget(epsilon=2)),
    "privacy.budget.rho": (budget(rho=2), budget(rho=3)),
    "privacy.noise": (merged(budget(epsilon=1, delta="1e-6"), {"privacy": {"noise": "discrete_laplace"}}), {}),
    "privacy.quality_share": (QUALITY, {}),
    "privacy.quality_rows": (merged(QUALITY, {"privacy": {"quality_rows": 3}}), QUALITY),
    "privacy.max_rows_per_unit": ({"privacy": {"max_rows_per_unit": 3}}, {}),
    "privacy.max_rows_per_day": ({"privacy": {"max_rows_per_day": 9}}, {}),
    "privacy.max_quantity": ({"privacy": {"max_quantity": 3}}, {}),
    "domain.items": ({"domain": {"items": ["a", "b", "c", "e"]}}, {}),
    "domain.items.file": ({"domain": {"items": {"file": "none.txt"}}}, {}),
    "domain.items.column": ({"domain": {"items": {"file": "none.csv", "column": "x"}}}, {}),
    "domain.items.columns": (items(columns=["kind"], attributes=["sku"]), items()),
    "domain.items.attributes": (items(attributes=["kind", "from"], table="sku,kind,from\na,x,1\nb,x,2\n"), items()),
    "domain.items.first_day": (items(first_day="from"), items()),
    "domain.items.last_day": (items(last_day="from", table="sku,kind,from\na,x,\nb,x,2024-01-05\n"), items()),
    "domain.other": ({"domain": {"other": "d"}}, {}),
    "domain.groupings.by": (grouped([]), grouped(["kind"])),
    "domain.groupings.measured": (grouped({"by": ["kind"], "measured": True}), grouped(["kind"])),
    "domain.first_day": ({"domain": {"first_day": "2024-01-02"}}, {}),
    "domain.last_day": ({"domain": {"last_day": "2024-01-19"}}, {}),
    "constraints.packages": (
        {"input": PACKAGE, "constraints": [{"packages": {"p": {"a": 1, "b": 1, "c": 2}}}], "measure": None},
        {"input": PACKAGE, "constraints": [{"packages": {"p": {"a": 1, "b": 1, "c": 1}}}], "measure": None},
    ),
    "constraints.totals": (totals(totals={"ac": ["a", "c"]}), {}),
    "constraints.name": (totals(name="both"), {}),
    "constraints.measured": (totals(measured=True), {}),
    "constraints.equations.coefficients": (equation(), equation(coefficients={"a": 1})),
    "constraints.equations.value": (equation(), equation(value=-3)),
    "constraints.first": (totals(first="2024-01-10"), {}),
    "constraints.last": (totals(last="2024-01-10"), {}),
    "tree.levels": ({"tree": {"levels": ["month", "day"]}}, {"tree": {"levels": ["year", "day"]}}),
    "tree.branching": ({"tree": {"levels": None, "branching": 2}}, {"tree": {"levels": None, "branching": 3}}),
    "tree.root": ({"tree": {"root": True}}, {}),
    "tree.shares": ({"tree": {"levels": ["day"], "shares": [1, 3]}}, {"tree": {"levels": ["day"]}}),
    "measure.shares": ({"measure": {"shares": [3, 1, 1]}}, {}),
    "queries": ({"queries": ["week"]}, {}),
    "queries.range": ({"queries": [{"range": "week"}]}, {}),
    "queries.weight": ({"queries": [{"range": "day", "weight": 3}, "total"]}, {}),
    "queries.target.count": (target(), target(count=60)),
    "queries.target.relative_error": (target(), target(relative_error="0.2")),
    "queries.target.of": (target(), target(of="constraints.0")),
    "publish.output.csv": ({"publish": {"output": {"csv": True}}}, {}),
    "publish.solver.method": (solver(method="lblue"), {}),
    "publish.solver.acceleration": (solver(acceleration="none"), {}),
    "publish.solver.split": (solver(split=["sums", "nodes"]), {}),
    "publish.solver.tol": (solver(tol=0.01), {}),
    "publish.solver.max_rounds": (solver(max_rounds=700), {}),
    "publish.solver.accept_unconverged": (solver(accept_unconverged=True), {}),
    "publish.solver.layout": (solver(layout="reference"), {}),
    "publish.solver.block_days": (solver(block_days=7), {}),
    "publish.counts": ({"publish": {"counts": "reals"}}, {}),
    "publish.divided_from": (
        {"publish": {"divided_from": "tops", "solver": {"layout": "driver"}}},
        {"publish": {"solver": {"layout": "driver"}}},
    ),
}
"""Of each setting: changes with it, and the same without it or with another value."""


def leaves(model: type[Section], place: str = "") -> Iterator[str]:
    """Paths of all settings below a section."""
    for name, field in model.model_fields.items():
        sections = list(sections_of(field.annotation))
        if not sections or name in ("items", "queries"):
            yield place + name
        for each in sections:
            yield from leaves(each, f"{place}{name}.")


def sections_of(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for each in typing.get_args(annotation):
        yield from sections_of(each)


@lru_cache
def effect(settings: str) -> str:
    """What a plan says and a release is made by; where settings are refused, the sentence."""
    given = json.loads(settings)
    if given.get("measure", ...) is None:
        del given["measure"]
    try:
        made = design(**given)
    except ConfigError as error:
        return f"refused: {error}"
    config, own, layout = made.config, made.config.publish, layout_of(made)
    rounds = own.solver.by_rounds or own.counts == "reals"
    blocks = in_work_blocks(made).blocks.n_blocks if layout == "blocks" else 0
    making = (options(own.solver), own.solver.accept_unconverged) if rounds else ()
    days = [(each.first, each.end, each.matrix.toarray().tolist()) for each in made.constraints.day_constraints]
    said = (*plan_notes(made), *ignored_settings(made), *chosen_solvers(made, own.solver))
    counted = (
        config.privacy.unit,
        made.events,
        made.group_names,
        made.series,
        made.days.names,
        days,
        made.table_columns,
    )
    return repr(
        (
            counted,
            said,
            made.table_columns,
            config.questions,
            making,
            own.solver.split,
            own.counts,
            made.divided_from,
            own.output.csv,
            layout,
            blocks,
        )
    )


def test_every_setting_is_walked() -> None:
    assert set(leaves(HistogramsRelease)) - ELSEWHERE == set(WITH)


def equal_shares(_: object, __: object, costs: FloatArray, ___: object = None) -> tuple[Fraction, ...]:
    return (Fraction(1, len(costs)),) * len(costs)


@pytest.mark.parametrize("base", BASES)
def test_no_setting_is_silent(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The search takes a while and has tests of its own.
    monkeypatch.setattr(question_shares, "best_shares", equal_shares)
    monkeypatch.setattr(question_shares, "grouping_objective", lambda *_: (None, None))
    monkeypatch.setattr("dplib.jobs.consistent_histograms.design._KEPT", Kept(1))
    silent = []
    for setting, (one, other) in WITH.items():
        found = [effect(json.dumps(merged(PLAIN, BASES[base], each))) for each in (one, other)]
        if found[0] == found[1] and not found[0].startswith("refused"):
            silent.append(setting)
    assert silent == []
