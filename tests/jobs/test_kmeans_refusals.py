"""The job kmeans refuses: wrong settings, wrong columns, budgets that do not suffice; nothing is spent or written."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import DROP, named, refuse_spark, require_refused
from tests.support.places import GROUPS, LOCAL, SETTINGS, Places, new_places


@pytest.fixture
def places(tmp_path: Path, spark: object) -> Places:
    return new_places(tmp_path)


NEEDS_DELTA: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("clustering", {"clustering__bounds": DROP}),
    ("clustering", {"clustering__radius": 3}),
    ("clustering.bounds", {"clustering__bounds": [[0, 0], [0, 1]]}),
    ("clustering.bounds", {"clustering__bounds": [[0, 1]]}),
    ("clustering.bounds", {"clustering__bounds": []}),
    ("clustering.center", {"clustering__center": [0, 0]}),
    ("clustering.center", {"clustering": {"radius": 1, "center": [0], "n_clusters": 2}}),
    ("clustering.radius", {"clustering": {"radius": 0, "n_clusters": 2}}),
    ("clustering.scale", {"clustering": {"radius": 1, "scale": "bounds", "n_clusters": 2}}),
    ("clustering.dimension", {"clustering__dimension": 3}),
    ("clustering.missing", {"clustering__missing": [0]}),
    ("clustering.n_clusters", {"clustering__n_clusters": 0}),
    ("clustering.n_clusters", {"clustering__n_clusters": 2.5}),
    ("clustering.method", {"clustering__method": "magic"}),
    ("clustering.method", {"clustering__method": "ghazi_2020"}),
    ("clustering.method", {"clustering__method": "kvariates_paper"}),
    ("privacy.budget", {"clustering__method": "tree_coreset"}),
    (
        "clustering.dimension",
        {
            "clustering": {"radius": 1, "dimension": 7, "n_clusters": 2, "method": "quadtree"},
            "input__columns": {"vector": "v", "unit": "person"},
        },
    ),
    (
        "clustering.dimension",
        {"clustering": {"radius": 1, "n_clusters": 2}, "input__columns": {"vector": "v", "unit": "person"}},
    ),
    ("clustering.seed", {"clustering__seed": -1}),
    ("clustering.inertia", {"clustering__inertia": True}),
    ("input.columns", {"input__columns__vector": "v"}),
    ("input.columns.coordinates", {"input__columns__coordinates": ["east", "east"]}),
    ("input.columns.unit", {"input__columns__unit": DROP}),
    ("privacy.noise", {"privacy__noise": "discrete_gaussian", "privacy__budget": NEEDS_DELTA}),
    ("privacy.budget.epsilon", {"privacy__budget": {"epsilon": -1}}),
    ("privacy.budget.delta", {"privacy__budget": {"epsilon": 1, "delta": 1}}),
    ("privacy.budget", {"privacy__budget": {"epsilon": 1000}}),
    ("publish.picture.x", {"publish__picture": {"x": "west"}}),
    ("publish.picture.y", {"publish__picture": {"y": 2}}),
    ("privacy.neighbors", {"clustering__method": "ldp_tree"}),
    ("clustering.method", LOCAL | {"clustering__method": "grid"}),
    ("clustering.method", LOCAL | {"clustering__method": "kaplan_stemmer_2018"}),
    ("privacy.max_rows_per_unit", LOCAL | {"privacy__max_rows_per_unit": 2}),
    ("privacy.unit", LOCAL | {"privacy__unit": "event", "input__columns__unit": DROP}),
    ("privacy.budget", LOCAL | {"privacy__budget": {"rho": 1}}),
    ("input.columns.report", {"input__columns": {"report": "r", "unit": "person"}}),
    (
        "input.columns.report",
        LOCAL | {"clustering__method": "ldp_hash_rounds", "input__columns": {"report": "r", "unit": "person"}},
    ),
    (
        "input.columns.report",
        LOCAL
        | {"clustering": {"radius": 1, "dimension": 7, "n_clusters": 2}}
        | {"input__columns": {"report": "r", "unit": "person"}},
    ),
    (
        "clustering.dimension",
        LOCAL
        | {"clustering": {"radius": 1, "dimension": 7, "n_clusters": 2, "method": "ldp_hash_rounds"}}
        | {"input__columns": {"vector": "v", "unit": "person"}},
    ),
    (
        "clustering.local.oracle",
        LOCAL | {"clustering__local": {"oracle": "unary_encoding", "expected_users": 10**12}},
    ),
    ("clustering.radius", LOCAL | {"clustering": {"radius": "private", "n_clusters": 2}}),
    ("clustering.local.oracle", {"clustering__local": {"oracle": "magic"}}),
    ("dataset", {"dataset": "unknown"}),
]


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return new_places(tmp_path_factory.mktemp("places"))


@pytest.mark.parametrize(("name", "changes"), WRONG, ids=[f"{n}-{name}" for n, (name, _) in enumerate(WRONG)])
def test_a_wrong_setting_is_named_and_nothing_happens(
    name: str, changes: dict[str, Any], untouched: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_spark(monkeypatch)
    wrong = Places(untouched.folder, deepcopy(SETTINGS)).set(**changes)
    assert named(require_refused(wrong, 2)) == name


def test_a_wrong_schema_is_named_and_nothing_happens(places: Places) -> None:
    require_refused(places.rows(GROUPS, ("east", "west", "person")), 3)
