"""A wrong setting: one sentence that names it, the right exit code, nothing spent, nothing written."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import DROP, JOB, Shop, content, dplib, named, new_shop, refuse_spark, require_refused

PACKAGES: dict[str, Any] = {
    "input__columns": {"day": "date", "package": "product"},
    "privacy": {"unit": "event", "budget": {"epsilon": 1}},
    "constraints": [{"packages": {"meal": {"bread": 1, "tea": 2}}}],
}
"""Changes that make rows packages."""
EQUATIONS: dict[str, Any] = {
    "input__columns": {"day": "date", "item": "product"},
    "privacy": {"unit": "event", "neighbors": "replace_one", "budget": {"epsilon": 1}},
    "constraints": [{"equations": {"seats": {"coefficients": {"bread": 1, "milk": 1, "tea": 1}, "value": 100}}}],
}
"""Changes that make the total of a day a public invariant."""

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("privcy", {"privcy": {}}),
    ("privacy.max_quantty", {"privacy__max_quantty": 3}),
    ("input.columns.price", {"input__columns__price": "p"}),
    ("config_version", {"config_version": 2}),
    ("config_version", {"config_version": DROP}),
    ("job", {"job": "histogram"}),
    ("dataset", {"dataset": "a/b"}),
    ("dataset", {"dataset": "another-shop"}),
    ("privacy", {"privacy": DROP}),
    ("privacy", {"privacy": "strict"}),
    ("privacy.budget", {"privacy__budget": {}}),
    ("privacy.budget", {"privacy__budget": {"epsilon": 1, "rho": 1}}),
    ("privacy.budget.epsilon", {"privacy__budget": {"epsilon": 0}}),
    ("privacy.budget.epsilon", {"privacy__budget": {"epsilon": -1}}),
    ("privacy.budget.epsilon", {"privacy__budget": {"epsilon": "much"}}),
    ("privacy.budget.epsilon", {"privacy__budget": {"epsilon": True}}),
    ("privacy.budget.epsilon", {"privacy__budget": {"epsilon": ".nan"}}),
    ("privacy.budget.delta", {"privacy__budget": {"epsilon": 1, "delta": 1}}),
    ("privacy.budget", {"privacy__budget": {"epsilon": "1e-20"}}),
    ("privacy.budget", {"privacy__budget": {"epsilon": "1e100"}}),
    ("privacy.noise", {"privacy__noise": "laplace"}),
    ("privacy.noise", {"privacy__budget": {"rho": 1}}),  # the account is pure
    ("privacy.unit", {"privacy__unit": "customer"}),  # the account's is another
    ("privacy.unit", {"privacy__unit": DROP}),
    ("privacy.neighbors", {"privacy__neighbors": "replace_one"}),  # the account's are others
    ("privacy.neighbors", {"privacy__neighbors": "swap"}),
    ("privacy.max_rows_per_unit", {"privacy__max_rows_per_unit": -3}),
    ("privacy.max_rows_per_unit", {"privacy__max_rows_per_unit": DROP}),
    ("privacy.max_rows_per_unit", {"privacy__max_rows_per_unit": 10**30}),
    ("privacy.max_rows_per_unit", {"privacy__max_rows_per_unit": "many"}),
    ("privacy.max_rows_per_day", {"privacy__max_rows_per_day": 0}),
    ("privacy.max_quantity", {"privacy__max_quantity": -1}),
    ("privacy.max_quantity", {"privacy__max_quantity": 1.5}),
    ("privacy.max_quantity", {"privacy__max_quantity": True}),
    ("privacy.max_quantity", {"input__columns__quantity": DROP}),
    ("input.columns.unit", {"input__columns__unit": DROP}),
    ("input.columns.unit", {"privacy__unit": "event", "privacy__max_rows_per_unit": 1}),
    ("input.columns", {"input__columns__package": "product"}),
    ("input.columns", {"input__columns__item": DROP}),
    ("input.columns.day", {"input__columns__day": DROP}),
    ("input", {"input__table": "db.orders"}),
    ("input", {"input__path": DROP}),
    ("input.path", {"input__path": ""}),
    ("input.path", {"input__path": "${DPLIB_TEST_ABSENT}/orders.csv"}),
    ("input.timezone", {"input__timezone": "Mars/Olympus"}),
    ("input.options.header", {"input__options": {"header": True}}),
    ("domain", {"domain": DROP}),
    ("domain.items", {"domain__items": []}),
    ("domain.items", {"domain__items": ["bread", "milk", "tea", "bread"]}),
    ("domain.items", {"domain__items": ["bread", "milk", "tea", "bread "]}),
    ("domain.items", {"domain__items": ["bread", "milk", "tea", " "]}),
    ("domain.items", {"domain__items": "bread"}),
    ("domain.items.3", {"domain__items": ["bread", "milk", "tea", 7]}),
    ("domain.items.file", {"domain__items": {"file": "items.txt"}}),
    ("domain.items.column", {"domain__items": {"file": "orders.csv", "column": "article"}}),
    ("domain.items.colum", {"domain__items": {"file": "orders.csv", "colum": "article"}}),
    ("domain.last_day", {"domain__last_day": "2023-12-31"}),
    ("domain.last_day", {"domain__last_day": "14/01/2024"}),
    ("domain.last_day", {"domain__last_day": DROP}),
    ("constraints.0.totals.drinks", {"constraints__0__totals": {"drinks": ["milk", "water"]}}),
    ("constraints.0.totals.drinks", {"constraints__0__totals": {"drinks": []}}),
    ("constraints.0.totals.drinks", {"constraints__0__totals": {"drinks": ["milk", "milk"]}}),
    ("constraints.0.totals.drinks", {"constraints__0__totals": {"drinks": ["drinks", "milk"]}}),
    ("constraints.0.totals.bread", {"constraints__0__totals": {"bread": ["milk", "tea"]}}),
    ("constraints.1.totals.drinks", {"constraints": [{"totals": {"drinks": ["milk", "tea"]}}] * 2}),
    ("constraints.0", {"constraints": [{"from": "2025-01-01", "totals": {"drinks": ["milk", "tea"]}}]}),
    ("constraints.0", {"constraints": [{"from": "2024-01-09", "to": "2024-01-02", "totals": {"d": ["milk"]}}]}),
    ("constraints.0", {"constraints": [{"from": "2024-01-09"}]}),
    ("constraints.0", {"constraints": [{"totals": {"d": ["milk"]}, "equations": {}}]}),
    ("constraints.0.fro", {"constraints": [{"fro": "2024-01-09", "totals": {"d": ["milk"]}}]}),
    ("constraints", {"constraints": {"totals": {"d": ["milk"]}}}),
    (
        "constraints.0.packages.meal",
        {"constraints": [{"packages": {"meal": {"bread": 1, "tea": 2}}}]},
    ),  # over item lines
    ("constraints.0.equations.seats", {"constraints": EQUATIONS["constraints"]}),  # with add_remove
    ("constraints.0.equations.seats", EQUATIONS | {"input__columns__quantity": "quantity"}),
    ("constraints.0.equations.seats", EQUATIONS | {"constraints__0__equations__seats__coefficients": {"beer": 1}}),
    ("constraints.0.equations.seats", EQUATIONS | {"constraints__0__equations__seats__coefficients": {}}),
    ("constraints.0.equations.seats.value", EQUATIONS | {"constraints__0__equations__seats__value": "all"}),
    ("constraints.0.packages.meal", PACKAGES | {"constraints__0__packages__meal": {}}),
    ("constraints.0.packages.meal", PACKAGES | {"constraints__0__packages__meal": {"bread": 1, "beer": 1}}),
    ("constraints.0.packages.meal.bread", PACKAGES | {"constraints__0__packages__meal": {"bread": -1}}),
    (
        "constraints.0.packages.Meal (big).bread",
        PACKAGES | {"constraints": [{"packages": {"Meal (big)": {"bread": []}}}]},
    ),
    ("constraints.0.packages.meal ", PACKAGES | {"constraints": [{"packages": {"meal ": {"bread": 1}}}]}),
    ("constraints.1.packages.meal", PACKAGES | {"constraints": PACKAGES["constraints"] * 2}),
    ("constraints", PACKAGES | {"constraints": []}),
    ("tree.branching", {"tree": {"branching": [2, 6]}}),
    ("tree.branching", {"tree": {"branching": 1}}),
    ("tree.branching.0", {"tree": {"branching": [1, 14]}}),
    ("tree.levels", {"tree": {"levels": ["week", "month", "day"]}}),
    ("tree.levels", {"tree": {"levels": []}}),
    ("tree.levels.0", {"tree": {"levels": ["decade", "day"]}}),
    ("tree", {"tree": {"levels": "calendar", "branching": [2, 7]}}),
    ("tree", {"tree": "deep"}),
    ("tree.shares", {"tree__shares": [1, 1, 1]}),
    ("tree.shares", {"tree__shares": [1, 0]}),
    ("queries.0", {"queries": ["hour"]}),
    ("publish.solver.method", {"publish__solver": {"method": "magic"}}),
    ("publish.solver.tol", {"publish__solver": {"tol": 0}}),
    ("publish.solver.max_rounds", {"publish__solver": {"max_rounds": 0}}),
    ("publish.output.csv", {"publish__output__csv": "perhaps"}),
    ("publish.output.path", {"publish__output__path": "${DPLIB_TEST_ABSENT}"}),
    ("publish.output.path", {"publish__output__path": "s3a://bucket/releases"}),
    ("ledger", {"ledger": "sqlite:///absent.db"}),
    ("ledger", {"ledger": "sqlite://"}),
    ("ledger", {"ledger": "mysql://server/db"}),
    ("ledger", {"ledger": "ledger.db"}),
    ("secret", {"secret": "file:absent.key"}),
    ("secret", {"secret": "env:DPLIB_TEST_ABSENT"}),
    ("secret", {"secret": "command:false"}),
    ("secret", {"secret": "file:orders.csv"}),
    ("secret", {"secret": "00" * 32}),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One shop for all: a refusal must leave it as it was."""
    return new_shop(tmp_path_factory.mktemp("shop"))


@pytest.mark.parametrize(("name", "changes"), WRONG, ids=[f"{number}-{name}" for number, (name, _) in enumerate(WRONG)])
def test_a_wrong_setting_is_named_and_nothing_happens(
    name: str, changes: dict[str, Any], shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_spark(monkeypatch)
    monkeypatch.delenv("DPLIB_TEST_ABSENT", raising=False)
    assert named(require_refused(Shop(shop.folder).set(**changes), 2)) == name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--set", "privacy.budget.epsilon"), "--set"),
        (("--set", "=1"), "--set"),
        (("--set", "dataset.name=1"), "--set"),
        (("--set", "domain.items={"), "--set"),
        (("--set", "domain.items.0=tea"), "--set"),
        (("--set", "privacy.budget.epsilon=-2"), "privacy.budget.epsilon"),
        (("--set", "privacy.budgt.epsilon=2"), "privacy.budgt"),
        (("--stage", "reap"), "--stage"),
        (("--release", "shop-1"), "--release"),
        (("--again", "--stage", "publish"), "--again"),
        (("--release", "x", "--stage", "publish"), "release"),
    ],
)
def test_wrong_options_arenamed(words: tuple[str, ...], name: str, shop: Shop) -> None:
    right = Shop(shop.folder).set()
    before = content(shop.folder)
    outcome = right.run(*words)
    assert outcome.code == 2, outcome.err
    found = re.fullmatch(r"dplib: (\S+) .*must .+, got .+\n", outcome.err)
    assert found is not None, outcome.err
    assert found[1] == name
    assert content(shop.folder) == before


@pytest.mark.parametrize(
    "text",
    ["privacy: [1", "- a\n- b\n", "", "a: 1\na: 2\n", "dataset: \x00\n", "dataset: shop\n\tjob: x\n", "a: &x [*x]\n"],
)
def test_a_file_that_is_no_configuration(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    outcome = dplib("run", JOB, "--config", str(path))
    assert outcome.code == 2, outcome.err
    assert re.fullmatch(r"dplib: \S+ must .+, got .+\n", outcome.err), outcome.err
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.yaml", tmp_path):
        outcome = dplib("run", JOB, "--config", str(path))
        assert outcome.code == 2
        assert named(outcome) == "--config"
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"dataset: caf\xe9\n")
    assert named(dplib("run", JOB, "--config", str(latin))) == "--config"


def test_an_unknown_job_isnamed(shop: Shop) -> None:
    outcome = dplib("run", "histograms", "--config", str(Shop(shop.folder).set().config))
    assert outcome.code == 2
    assert named(outcome) == "JOB"


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_spent(tmp_path: Path, spark: object) -> None:
    shop = new_shop(tmp_path).set(publish__output__path="orders.csv/deeper")
    before = content(tmp_path)
    outcome = shop.run()
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("dplib: publish.output.path must be a directory that can be written")
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("changes", "code", "name"),
    [
        ({"input__date_format": "dd/mm/yyyy"}, 2, "input.date_format"),
        ({"input__date_format": "yyyy-MM-dd'"}, 2, "input.date_format"),
        ({"input__date_format": "nonsense"}, 2, "input.date_format"),
        ({"input__format": "papyrus"}, 2, "input.format"),
        ({"input__options": {"header": "true", "mode": "FAILFAST"}}, 2, "input.options.mode"),
        ({"input__columns__day": "day"}, 3, "input.columns.day"),
        ({"input__columns__item": "_c1", "input__options": {}}, 3, "input.columns.day"),
        ({"input__path": "absent.csv"}, 3, "input.path"),
        ({"input__path": "shop.yaml", "input__format": "parquet", "input__options": {}}, 3, "input.path"),
        ({"input__table": "absent.orders", "input__path": DROP, "input__options": DROP}, 3, "input.table"),
        ({"spark": {"conf": {"spark.sql.ansi.enabled": "false"}}}, 2, "spark.conf"),
    ],
)
def test_what_only_spark_can_tell_is_named_and_reserves_nothing(
    changes: dict[str, Any], code: int, name: str, tmp_path: Path, spark: object
) -> None:
    shop = new_shop(tmp_path).set(**changes)
    before = content(tmp_path)
    outcome = shop.run()
    assert outcome.code == code, outcome.err
    assert re.fullmatch(rf"dplib: {re.escape(name)} must .+, got .+", outcome.err.splitlines()[-1]), outcome.err
    assert content(tmp_path) == before
    assert shop.entries() == ["account"]
