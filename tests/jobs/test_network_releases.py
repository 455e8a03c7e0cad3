"""Noisy graphs, choices, degrees by vertex and the local model of network-statistics, from the command line."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.mechanisms.local.local_degrees import Counting, DegreeProtocol, report_degree
from dplib.mechanisms.local.randomized_response import report_later_neighbors
from dplib.release.tables import read_table
from tests.jobs.test_network_statistics import EDGES, N, Network, new_network, oracle
from tests.support.jobs import dplib
from tests.support.rows_in_python import edges_in_python

pytestmark = pytest.mark.usefixtures("spark")
NAMES = ["ann", "bob", "cat", "dee", "eve", "7", "gus", "hal"]
NAMED = [(NAMES[one], NAMES[other]) for one, other in EDGES]
ODD = [(f" {NAMED[0][0]}", f"{NAMED[0][1]} "), NAMED[0][::-1], ("Ann", "gus"), ("ann", "ann"), ("", "dee")]
"""Rows that repeat an edge, or are none."""
BLOCKS = {"left": ["ann", "bob", "cat"], "right": ["dee", "eve"]}
SPLITS = {"good": {"a": ["ann", "bob", "cat"], "b": ["dee", "eve"]}, "bad": {"a": ["ann", "gus"], "b": ["eve", "hal"]}}
SEEDS = {"hub": ["cat"], "loner": ["hal"]}
PARTS: dict[str, Any] = {
    "graph__vertices": NAMES,
    "graph__statistics": {"adjacency": 1, "split": 1, "coverage": 1, "degree_sequence": "1/2"},
    "graph__adjacency": {"blocks": BLOCKS},
    "graph__split": {"candidates": SPLITS, "resolution": "1/10"},
    "graph__coverage": {"candidates": SEEDS},
    "privacy__budget": {"epsilon": 200},
}
"""An epsilon at which nothing is left to chance but below 1e-10."""
LOCAL: dict[str, Any] = {
    "privacy__model": "local",
    "graph__statistics": {"degree_sequence": 1, "adjacency": 1},
    "privacy__budget": {"epsilon": 60},
}


def ask(release: Path, *words: str) -> list[dict[str, Any]]:
    found = dplib("query", str(release), *words, "--json")
    assert found.code == 0, found.err
    answers: list[dict[str, Any]] = json.loads(found.out)
    return answers


def verified(place: Network, release: Path) -> bool:
    return dplib("verify", str(release), "--ledger", f"sqlite:///{place.folder}/ledger.db").code == 0


@pytest.fixture(scope="module")
def named_release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Path]:
    place = new_network(tmp_path_factory.mktemp("parts"), **PARTS).rows([*NAMED, *ODD])
    return place, place.run().release


def test_the_graph_its_blocks_and_the_best_candidates_are_released(named_release: tuple[Network, Path]) -> None:
    place, release = named_release
    edges = read_table(release / "published" / "adjacency", blocks=("edges",)).to_pylist()
    assert {frozenset(edge.values()) for edge in edges} == {frozenset(edge) for edge in NAMED}
    chosen = read_table(release / "published" / "choices", blocks=("choices",)).to_pylist()
    assert {row["statistic"]: row["candidate"] for row in chosen} == {"split": "good", "coverage": "hub"}
    members = read_table(release / "published" / "choices", blocks=("members",)).to_pylist()
    assert [row["vertex"] for row in members if row["statistic"] == "coverage"] == ["cat"]
    assert sum(row["statistic"] == "split" for row in members) == N
    assert verified(place, release)
    manifest = json.loads((release / "manifest.json").read_text())
    mechanisms = {each["statistic"]: each["mechanism"] for each in manifest["mechanisms"]}
    assert mechanisms["adjacency"] == "noisy_adjacency"
    assert mechanisms["split"] == mechanisms["coverage"] == "exponential"
    assert "gus" not in json.dumps(manifest["details"]), "members stand in the tables"


def test_questions_about_pairs_blocks_vertices_and_choices(named_release: tuple[Network, Path]) -> None:
    _, release = named_release
    there, absent = (ask(release, "--item", "adjacency", "--from", "cat", "--to", other)[0] for other in ("7", "gus"))
    assert (there["published"], absent["published"]) == (1, 0)
    assert "is missing there with probability" in there["note"]
    blocks = {answer["range"]: answer["published"] for answer in ask(release, "--item", "adjacency")}
    assert blocks == {"all": 7, "inside left": 3, "left - right": 2, "inside right": 1}
    degree = ask(release, "--item", "degree_sequence", "--from", "cat")
    assert [(answer["range"], answer["published"]) for answer in degree] == [("vertex cat", 5)]
    assert len(ask(release, "--item", "degree_sequence")) == N
    assert [answer["published"] for answer in ask(release, "--item", "split")] == ["good"]
    for words in (("--from", "cat"), ("--from", "cat", "--to", "cat"), ("--from", "cat", "--to", "zoe")):
        refused = dplib("query", str(release), "--item", "adjacency", *words)
        assert (refused.code, refused.err[:9]) == (2, "dplib: --")
    assert dplib("query", str(release)).out.count("inside") > 1


def test_listed_files_are_worth_their_contents(named_release: tuple[Network, Path]) -> None:
    place, release = named_release
    folder, before = place.folder, place.spent()
    blocks = [f"{block},{vertex}" for block, vertices in BLOCKS.items() for vertex in vertices]
    (folder / "blocks.csv").write_text("\n".join(["block,vertex", *blocks]), encoding="utf-8")
    seeds = [f"{name},{vertex}" for name, vertices in SEEDS.items() for vertex in vertices]
    (folder / "seeds.csv").write_text("\n".join(["candidate,vertex", *seeds]), encoding="utf-8")
    splits = [
        f"{name},{vertex},{group}"
        for name, groups in SPLITS.items()
        for group, vertices in groups.items()
        for vertex in vertices
    ]
    (folder / "splits.csv").write_text("\n".join(["candidate,vertex,group", *splits]), encoding="utf-8")
    place.set(graph__adjacency__blocks={"file": "blocks.csv"}, graph__coverage__candidates={"file": "seeds.csv"})
    (folder / "people.txt").write_text("\n".join(NAMES), encoding="utf-8")
    place.set(graph__split__candidates={"file": "splits.csv"}, graph__vertices={"file": "people.txt"})
    assert place.run().release == release
    turned = {name: dict(reversed(groups.items())) for name, groups in reversed(SPLITS.items())}
    place.set(graph__split__candidates=turned, graph__adjacency__blocks=dict(reversed(BLOCKS.items())))
    again = place.run("--set", "publish.output.csv=true").release
    assert [answer["published"] for answer in ask(again, "--item", "split")] == ["good"], "no order but that of names"
    assert verified(place, again)
    assert place.spent() == before


def test_a_simulated_local_release_estimates_what_nobody_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges_in_python(monkeypatch)
    place = new_network(tmp_path, **LOCAL)
    planned = json.loads(place.command("plan", "--json").out)
    assert {each["statistic"]: each["mechanism"] for each in planned["statistics"]} == {
        "degree_sequence": "discrete_laplace",
        "adjacency": "randomized_response",
    }
    assert any("an edge is reported once" in note for note in planned["notes"])
    release = place.run().release
    table = read_table(release / "published").to_pandas()
    found = {str(name): rows["count"].tolist() for name, rows in table.groupby("statistic", observed=True)}
    exact = oracle(N, EDGES)
    derived = ("edge_count", "degree_histogram", "k_stars", "triangles")
    assert {name: found[name] for name in derived} == {name: exact[name] for name in derived}
    assert sorted(found["degree_sequence"]) == exact["sorted_degrees"]
    assert found["adjacency"] == exact["edge_count"]
    assert verified(place, release)
    page = (release / "report.html").read_text()
    assert "Local model, simulated" in page
    assert "not against anyone who runs the job" in page
    answer = ask(release, "--item", "degree_distribution", "--from", "0", "--to", "2")[0]
    assert answer["estimate"] == pytest.approx(sum(exact["degree_histogram"][:3]) / N, abs=1e-3)


def reports(epsilon: Fraction, n: int, non_respondents: set[int]) -> list[tuple[int, int, str]]:
    """What vertices would send from their own devices."""
    lists = [[v for edge in EDGES if u in edge for v in edge if v != u] for u in range(n)]
    protocol, rows = DegreeProtocol(epsilon, Counting.BOTH_ENDS), []
    for user in range(n):
        key = bytes([user] * 32)  # every device has its own
        bits = report_later_neighbors(key, user, np.array(lists[user], dtype=np.int64), n, epsilon)
        text = "".join("01"[bit] for bit in bits.astype(int))
        if user not in non_respondents:
            rows.append((user, report_degree(key, user, len(lists[user]), protocol), text))
    return rows


REPORTS: dict[str, Any] = {
    "input__columns": {"vertex": "vertex", "degree": "degree", "bits": "bits"},
    "privacy__model": "local",
    "graph__statistics": {"degree_sequence": 1, "adjacency": 1},
    "privacy__budget": {"epsilon": 2},
}
REPORT_HEADER = ("vertex", "degree", "bits")


def test_reports_that_vertices_made_are_judged_stored_and_estimated(tmp_path: Path) -> None:
    sent = reports(Fraction(1), N, {6})
    bad = [(9, 1, ""), ("x", 1, ""), (6, "many", "0"), (6, 1, "01"), (6, 1, "2"), (6, None, "0"), (7, 0.5, "")]
    twice = [sent[0], (1, 17, "0" * 6)]  # 0 repeats itself; 1 contradicts itself and is taken as silent
    place = new_network(tmp_path, **REPORTS).rows([*sent, *bad, *twice], REPORT_HEADER)
    lines = place.command("inspect").out
    assert "the vertex is declared" in lines
    assert "the vertex reports once" in lines
    release = place.run().release
    stored = read_table(release / "measurement").to_pandas()
    degrees = stored[stored.statistic == "degree_sequence"].noisy.tolist()
    told = {vertex: degree for vertex, degree, _ in sent if vertex != 1}
    assert [degrees[vertex] for vertex in told] == list(told.values())
    non_respondents = (
        read_table(release / "measurement" / "silent", blocks=("degree_sequence",)).column("vertex").to_pylist()
    )
    assert non_respondents == [1, 6]
    pairs = read_table(release / "measurement" / "adjacency", blocks=("edges",)).to_pylist()
    expected = {(v, v + 1 + place) for v, _, bits in sent if v != 1 for place, bit in enumerate(bits) if bit == "1"}
    assert {(pair["source"], pair["target"]) for pair in pairs} == expected
    estimates = read_table(release / "estimates").to_pandas()
    edges = float(estimates[estimates.statistic == "edge_count"].estimate.iloc[0])
    assert edges == pytest.approx(sum(told.values()) / 2 * N / len(told))
    assert (
        estimates[(estimates.statistic == "degree_sequence") & estimates.key.isin(non_respondents)]
        .estimate.isna()
        .all()
    )
    assert verified(place, release)
    assert place.spent() == 2
    page = (release / "report.html").read_text()
    assert "vertices randomized their own reports" in page
    assert "Which vertices sent a report is public" in page
    assert place.run().release == release
    refused = dplib("query", str(release), "--item", "adjacency", "--from", "1", "--to", "4")
    assert (refused.code, refused.err.split(" must")[0]) == (2, "dplib: --from and --to")
