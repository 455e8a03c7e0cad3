"""The job minimum-cuts from the command line: what it counts, publishes, answers, spends and refuses."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.edge_input import VertexDomain, WeightSettings
from dplib.ledger.runs import Terms
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.release.tables import read_table
from dplib.spark.rows.inspection import Inspection, RuleCount
from tests.support.cut_mechanism_laws import all_cuts, all_sides
from tests.support.every_job import WEIGHTS, Weights
from tests.support.jobs import content, dplib, named, new_place, require_refused
from tests.support.rows_in_python import edges_in_python, inspect_in_python

pytestmark = pytest.mark.usefixtures("spark")
N = 8
EDGES = [(0, 1, 4), (0, 2, 3), (1, 2, 5), (2, 3, 1), (3, 4, 6), (4, 5, 7), (3, 5, 2), (5, 6, 9), (6, 7, 8), (4, 7, 1)]
SETTINGS: dict[str, Any] = WEIGHTS | {
    "dataset": "contacts",
    "graph": {"vertices": {"count": N, "first": 10}, "weights": {"largest": 9, "capped": "promised"}},
    "cuts": {
        "releases": {
            "minimum_cut_value": {"share": 1},
            "synthetic_graph": {"share": 1},
            "top_cuts": {"share": 7, "k": 2, "values_share": "2/7"},
        }
    },
}
EXACT = {"epsilon": 31 * 9}
"""Noise of scale 1/31: 0 but for a chance below 1e-11 a number."""
SAMPLED: dict[str, Any] = {"sampled_cuts": {"k": 2, "when_small": "refuse"}}
APPROX = {"epsilon": 2, "delta": "0.000001"}
APPROX_TERMS = Terms(Currency.APPROX, "contact", Neighbors.EDGE)


class Contacts(Weights):
    """A shop whose rows are weighted edges between vertices 10 to 17."""


def rows_of(edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return [(one + 10, other + 10, times) for one, other, times in edges]


def new_contacts(folder: Path, budget: str = "100000", **changes: object) -> Contacts:
    return new_place(Contacts, folder, SETTINGS, budget, **changes).rows(rows_of(EDGES))


@pytest.fixture
def contacts(tmp_path: Path) -> Contacts:
    return new_contacts(tmp_path)


def answers(release: Path, *names: str) -> list[dict[str, Any]]:
    words = [word for name in names for word in ("--item", name)]
    found = dplib("query", str(release), *words, "--json")
    assert found.code == 0, found.err
    return list(json.loads(found.out))


def test_a_release_without_noise_is_the_list_of_all_cuts(tmp_path: Path) -> None:
    exact = new_contacts(tmp_path, privacy__budget=EXACT)
    # Split rows add up; a loop, a stranger, and a row without weight do not count.
    exact.rows([(11, 10, 3), *rows_of(EDGES)[1:], (10, 11, 1), (12, 12, 5), (10, 18, 5), (10, 14, "")])
    release = exact.run().release
    matrix = np.zeros((N, N), dtype=np.int64)
    for one, other, times in EDGES:
        matrix[one, other] = times
    sides, values = all_sides(N), all_cuts(N, np.array([matrix[pair] for pair in combinations(range(N), 2)]))
    numbers = {each["statistic"]: each["estimate"] for each in answers(release)}
    least = int(values.min())
    assert numbers["minimum_cut_value"] == numbers["synthetic_graph_value"] == least
    near = sorted(values[values <= 1.1 * least].tolist())
    assert numbers["synthetic_graph_cuts"] == len(near)
    assert [each["estimate"] for each in answers(release, "synthetic_graph")] == near
    top = answers(release, "top_cuts")
    assert sorted(each["estimate"] for each in top) == sorted(values.tolist())[:2]
    # The weight around a set, and where its vertices are in each cut.
    around, *listed = answers(release, "13", "14")
    inside = np.isin(np.arange(N), [3, 4])
    assert around["estimate"] == values[(sides == inside).all(axis=1)][0]
    members = read_table(release / "estimates" / "members", ["statistic", "cut", "vertex"]).to_pylist()
    for each in listed:
        held = {row["vertex"] for row in members if (row["statistic"], row["cut"]) == (each["statistic"], each["cut"])}
        kept = len(held & {13, 14})
        assert each["where"] == ["other side", "apart", "side"][kept]
        assert each["side_size"] == len(held)
        own = np.isin(np.arange(N) + 10, list(held))
        assert each["estimate"] == values[(sides == own).all(axis=1)][0]
    graph = read_table(release / "estimates" / "graph").to_pylist()
    assert [(row["source"] - 10, row["target"] - 10, row["weight"]) for row in graph] == sorted(EDGES)
    nodes = read_table(release / "estimates" / "cactus_nodes").to_pylist()
    assert sorted(row["vertex"] for row in nodes) == list(range(10, 18))


def test_a_run_publishes_and_comes_again_for_nothing(
    contacts: Contacts, pictures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges_in_python(monkeypatch)
    release = contacts.run().release
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["cost"] == "1"
    assert manifest["neighbors"] == "edge"
    assert "weight of one pair of vertices differs by at most 1" in manifest["details"]["relation"]
    page = (release / "report.html").read_text()
    for text in (
        "The smallest cuts",
        "Near-minimum cuts of the synthetic graph",
        "differs by at most 1",
        'aria-label="Cactus of',
    ):
        assert text in page
    before = content(contacts.output)
    contacts.rows(rows_of(EDGES[1:]))
    assert contacts.run().release == release
    assert content(contacts.output) == before
    assert contacts.spent() == 1
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{contacts.folder}/ledger.db").code == 0
    # A publish setting makes other tables of the same measurement.
    again = contacts.run("--set", "publish.factor=1.9", "--set", "publish.output.csv=true").release
    assert (again / "estimates" / "cuts" / "cuts.csv").is_file()
    assert contacts.spent() == 1
    # Questions without an answer.
    for words in (("--item", "18"), ("--item", "nobody"), ("--from", "3")):
        assert named(dplib("query", str(release), *words)) == words[0]
    everyone = [word for vertex in range(10, 18) for word in ("--item", str(vertex))]
    assert named(dplib("query", str(release), *everyone)) == "--item"


@pytest.mark.parametrize("when", ["refuse", "pad"])
def test_sampled_cuts_spend_their_whole_part_even_to_refuse(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges_in_python(monkeypatch)
    releases = {"sampled_cuts": SAMPLED["sampled_cuts"] | {"when_small": when}}
    changes: dict[str, Any] = {"cuts__releases": releases, "privacy__budget": APPROX}
    place = new_contacts(tmp_path, **changes, dataset="sampled")
    # Twice the delta of one release in an account of ten times its epsilon: delta decides what it costs.
    place.ledger.create_account("strict", APPROX_TERMS, Fraction(20), Fraction(2, 10**6))
    release = place.set(dataset="strict").run().release
    numbers = {each["statistic"]: each["estimate"] for each in answers(release)}
    assert numbers["sampled_cuts_refused"] == (when == "refuse")
    cuts = release / "estimates" / "cuts"
    assert cuts.is_dir() == (when == "pad")
    page = (release / "report.html").read_text()
    assert ("Sampled cuts: refused" in page) == (when == "refuse")
    assert Fraction(9) < place.spent() <= Fraction(10)
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{tmp_path}/ledger.db").code == 0
    plan = place.command("plan")
    assert "T_low" in plan.out, plan.err


@pytest.mark.parametrize("budget", [APPROX, {"epsilon": 1}])
def test_accounts_without_a_delta_refuse_sampled_cuts(tmp_path: Path, budget: dict[str, Any]) -> None:
    place = new_contacts(tmp_path, cuts__releases=SAMPLED, privacy__budget=budget)
    assert named(require_refused(place, 2)) == ("dataset" if "delta" in budget else "privacy.budget")


def test_an_empty_graph_and_names_with_odd_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges_in_python(monkeypatch)
    names = ["Ann, the first", 'Bob "B"', "Çelik", "d"]
    place = new_contacts(tmp_path, graph__vertices=names, privacy__budget=EXACT).rows([])
    release = place.run().release
    numbers = {each["statistic"]: each["estimate"] for each in answers(release)}
    assert numbers["minimum_cut_value"] == 0
    assert numbers["synthetic_graph_cuts"] == 7
    assert answers(release, 'Bob "B"', "Çelik")[0]["estimate"] == 0
    assert not (release / "estimates" / "cactus_nodes").exists()
    assert "in separate parts, so it has no cactus" in (release / "report.html").read_text()


@pytest.mark.slow
def test_random_trials_as_tasks_give_what_packing_gives(tmp_path: Path) -> None:
    rows = [(one + 10, other + 10, 9) for one, other in combinations(range(N), 2)] * 20
    releases = {"sampled_cuts": {"k": 3, "when_small": "refuse"}}
    budget = {"epsilon": 8, "delta": "0.000001"}
    found = {}
    for method in ("packing", "karger"):
        place = new_contacts(tmp_path / method, cuts__releases=releases, privacy__budget=budget)
        place.ledger.create_account("strict", APPROX_TERMS, Fraction(20), Fraction(1, 10**5))
        place.set(dataset="strict", cuts__method=method).rows(rows)
        release = place.run().release
        assert {each["statistic"]: each["estimate"] for each in answers(release)}["sampled_cuts_refused"] == 0
        found[method] = answers(release, "sampled_cuts")
    # Only single vertices are near the minimum: 7 edges of weight 180.
    for drawn in found.values():
        assert drawn
        assert all(each["side_size"] in (1, N - 1) for each in drawn)
        assert all(abs(each["estimate"] - 1260) < 25 * each["std_error"] for each in drawn)


def test_rehearse_and_inspect(contacts: Contacts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges are generated, and read by Spark, in rehearsals of the other graph job; inspected in `tests.spark`."""
    edges_in_python(monkeypatch)
    found = contacts.command("rehearse", "--rows", "160", "--seed", "3")
    assert found.code == 0, found.err
    assert "synthetic_graph" in found.out
    assert contacts.spent() == 0

    def inspect(_: object, vertices: VertexDomain, weights: WeightSettings, pair_cap: int | None) -> Inspection:
        assert (vertices, weights.largest, pair_cap) == (VertexDomain(N, 10), 9, None)
        return Inspection([RuleCount("the weight is a number", 9, 1)])

    inspect_in_python(monkeypatch, "dplib.jobs.minimum_cuts.run", "inspect_weighted_edges", inspect)
    assert "the weight is a number" in contacts.command("inspect").out
