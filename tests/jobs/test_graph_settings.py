"""A wrong setting of a graph job: one sentence that names it, exit code 2, nothing spent and nothing written."""

import json
from typing import Any

import pytest

from tests.jobs.test_minimum_cuts import new_contacts
from tests.jobs.test_network_releases import LOCAL, REPORTS
from tests.jobs.test_network_statistics import new_network
from tests.support.jobs import DROP, Shop, named, refuse_spark, require_refused

PROJECTED = {"bounding": "projected", "largest": 3}
OF_NETWORKS: list[tuple[str, dict[str, Any]]] = [
    ("graph.directed", {"graph__directed": True}),
    ("graph.vertices", {"graph__vertices": DROP}),
    ("graph.vertices", {"graph__vertices": ["ann", "ann"]}),
    ("graph.vertices", {"graph__vertices": ["ann"]}),
    ("graph.vertices.file", {"graph__vertices": {"file": "absent.txt"}}),
    ("graph.vertices.count", {"graph__vertices": {"count": 1}}),
    ("graph.statistics", {"graph__statistics": {}}),
    ("graph.statistics", {"graph__statistics": {"edge_count": 0}}),
    ("graph.statistics.beauty", {"graph__statistics": {"beauty": 1}}),
    ("graph.statistics.influence_spread", {"graph__statistics": {"influence_spread": 1}}),
    ("graph.statistics.adjacency", {"graph__statistics": {"adjacency": 1}, "graph__degree_bound": PROJECTED}),
    ("graph.statistics.triangles", {"graph__degree_bound": PROJECTED}),
    ("graph.statistics.triangles", {"graph__degree_bound": {"bounding": "promised", "largest": 1}}),
    ("graph.degree_bound.bounding", {"graph__degree_bound": {"bounding": "top_edges", "largest": 3}}),
    ("graph.degree_bound.bounding", {"graph__degree_bound": {"bounding": "drop_vertices", "largest": 3}}),
    ("graph.degree_bound.largest", {"graph__degree_bound": {"bounding": "projected"}}),
    ("graph.degree_bound.largest", {"graph__degree_bound": {"largest": 3}}),
    ("graph.last_bin", {"graph__last_bin": 0}),
    ("graph.last_bin", {"graph__vertices": {"count": 3_000_000}}),
    ("graph.stars", {"graph__stars": 1}),
    ("graph.triangles.mechanism", {"graph__triangles": {"mechanism": "magic"}}),
    ("graph.triangles.mechanism", {"graph__triangles": {"mechanism": "ladder"}, "privacy__neighbors": "vertex"}),
    ("input.columns.target", {"input__columns": {"source": "one"}}),
    ("privacy.neighbors", {"privacy__neighbors": "add_remove"}),
    ("privacy.budget", {"privacy__budget": {"epsilon": 100_000}}),
    ("privacy.budget.epsilon", {"privacy__budget": {"epsilon": 0}}),
    ("dataset", {"dataset": "unknown"}),
]
PROMISED = {"bounding": "promised", "largest": 3}
OF_PARTS: list[tuple[str, dict[str, Any]]] = [
    ("graph.adjacency.threshold", {"graph__adjacency": {"threshold": 0}}),
    ("graph.adjacency.threshold", {"graph__adjacency": {"threshold": 1}, "graph__vertices": {"count": 30_000}}),
    ("graph.adjacency.blocks.a", {"graph__adjacency": {"blocks": {"a": [8]}}}),
    ("graph.adjacency.blocks.b", {"graph__adjacency": {"blocks": {"a": [0, 1], "b": [1]}}}),
    ("graph.adjacency.blocks.file", {"graph__adjacency": {"blocks": {"file": "absent.csv"}}}),
    ("privacy.budget", {"privacy__budget": {"epsilon": "1/2000"}}),
    ("privacy.budget", {"privacy__budget": {"epsilon": 40}, "graph__adjacency": {"threshold": 2, "steps": 1}}),
    ("privacy.budget", LOCAL | {"privacy__budget": {"epsilon": 70}}),
    ("graph.split.candidates", {"graph__statistics": {"split": 1}}),
    ("graph.split.candidates", {"graph__split": {"candidates": {}}}),
    ("graph.split.candidates.x", {"graph__split": {"candidates": {"x": {"a": [0, 1], "b": [1]}}}}),
    ("graph.split.resolution", {"graph__split": {"candidates": {"x": {"a": [0]}}, "resolution": "high"}}),
    ("graph.coverage.candidates", {"graph__statistics": {"coverage": 1}}),
    ("graph.coverage.candidates.x", {"graph__coverage": {"candidates": {"x": ["ann"]}}}),
    ("graph.statistics.triangles", {"privacy__model": "local", "graph__statistics": {"triangles": 1}}),
    ("privacy.neighbors", LOCAL | {"privacy__neighbors": "vertex"}),
    ("privacy.budget", LOCAL | {"privacy__budget": {"rho": 1}}),
    (
        "graph.degree_bound.bounding",
        LOCAL
        | {"graph__degree_bound": PROMISED | {"bounding": "projected"}}
        | {"graph__statistics": {"degree_sequence": 1}},
    ),
    ("graph.vertices", LOCAL | {"graph__vertices": {"count": 5_000}}),
    ("counting.layout", {"counting": {"layout": "spark"}}),
    ("privacy.model", {"input__columns": {"vertex": "vertex", "degree": "degree"}}),
    ("input.columns.bits", REPORTS | {"input__columns": {"vertex": "vertex", "degree": "degree"}}),
    ("input.columns.degree", REPORTS | {"graph__statistics": {"adjacency": 1}}),
    ("input.columns.target", {"input__columns": {"source": "one"}}),
]
OF_CUTS: list[tuple[str, dict[str, Any]]] = [
    ("graph.directed", {"graph__directed": True}),
    ("graph.vertices", {"graph__vertices": DROP}),
    ("graph.vertices", {"graph__vertices": ["ann"]}),
    ("graph.weights.repeats", {"graph__weights": {"repeats": "once"}}),
    ("cuts.releases.top_cuts.k", {"cuts__releases": {"top_cuts": {}}}),
    ("cuts.releases.top_cuts.method", {"cuts__releases": {"top_cuts": {"k": 1, "method": "guess"}}}),
    ("cuts.releases.top_cuts.values_share", {"cuts__releases": {"top_cuts": {"k": 1, "values_share": 1}}}),
    ("cuts.releases.minimum_cut_value.share", {"cuts__releases": {"minimum_cut_value": {"share": 0}}}),
    ("cuts.releases.soft_cut_count.eta", {"cuts__releases": {"soft_cut_count": {"eta": 0}}}),
    ("cuts.failure", {"cuts__failure": 0}),
    ("cuts.method", {"cuts__method": "guess"}),
    ("privacy.weight_cap", {"privacy__weight_cap": 0}),
    ("privacy.neighbors", {"privacy__neighbors": "vertex"}),
    ("publish.factor", {"publish__factor": "0.5"}),
    ("plan.minimum_cut_values", {"plan": {"minimum_cut_values": []}}),
    ("input.columns.target", {"input__columns": {"source": "one"}}),
    ("dataset", {"dataset": "unknown"}),
]
WRONG = {"networks": OF_NETWORKS, "parts": OF_PARTS, "cuts": OF_CUTS}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shop]:
    folder = tmp_path_factory.mktemp("wrong")
    parts = new_network(folder / "parts", graph__statistics={"adjacency": 1})
    return {"networks": new_network(folder / "networks"), "parts": parts, "cuts": new_contacts(folder / "cuts")}


@pytest.mark.parametrize(
    ("kind", "name", "changes"), [(kind, name, changes) for kind in WRONG for name, changes in WRONG[kind]]
)
def test_a_wrong_setting_is_named_and_nothing_is_touched(
    kind: str, name: str, changes: dict[str, Any], places: dict[str, Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_spark(monkeypatch)
    right = places[kind]
    wrong = type(right)(right.folder, json.loads(json.dumps(right.settings))).set(**changes)
    try:
        assert named(require_refused(wrong, 2)) == name
    finally:
        right.set()
