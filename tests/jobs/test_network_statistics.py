"""The job network-statistics from the command line: what it counts, publishes, answers, spends and refuses."""

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.edge_input import VertexDomain
from dplib.config.load import check
from dplib.graphs.simple_graph import SimpleGraph
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measure import measure_edges
from dplib.release.tables import read_table
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import judge_edges
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from tests.support.every_job import GRAPH, Graph
from tests.support.jobs import content, dplib, new_place, require_refused
from tests.support.made_releases import made_release
from tests.support.rows_in_python import edges_in_python

pytestmark = pytest.mark.usefixtures("spark")
N = 8
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (2, 4), (5, 2)]
"""Two triangles and a leaf at vertex 2; vertices 6 and 7 are isolated."""
GRAPH_OF_EDGES = SimpleGraph.from_edges(N, *np.array(EDGES).T)
ALL = {
    "edge_count": 1,
    "largest_degree": 1,
    "degree_histogram": 4,
    "cumulative_histogram": 2,
    "sorted_degrees": 2,
    "k_stars": 2 * (N - 2),
    "triangles": 2,
}
EXACT: dict[str, Any] = {"privacy__budget": {"epsilon": 30 * sum(ALL.values())}, "graph__statistics": ALL}
"""Weights as the sensitivities, hence noise that is 0 but for a chance below 1e-10 a number."""
SETTINGS: dict[str, Any] = GRAPH | {"dataset": "friends"}


class Network(Graph):
    """A shop whose rows are edges."""


def published(release: Path) -> dict[str, list[int]]:
    """Published integers by statistic."""
    table = read_table(release / "published").to_pandas()
    return {str(name): rows["count"].tolist() for name, rows in table.groupby("statistic", observed=True)}


def new_network(folder: Path, budget: str = "100000", **changes: object) -> Network:
    return new_place(Network, folder, SETTINGS, budget, **changes).rows(EDGES)


def design_of(**changes: object) -> Design:
    settings = deepcopy(SETTINGS)
    for name, value in changes.items():
        section, key = name.split("__")
        settings[section][key] = value
    return Design.resolve(check(NetworkStatisticsConfig, settings), Path())


def oracle(n: int, edges: Sequence[tuple[int, int]], stars: int = 2) -> dict[str, list[int]]:
    """All statistics by brute force over an adjacency matrix."""
    matrix = np.zeros((n, n), dtype=np.int64)
    for one, other in edges:
        matrix[one, other] = matrix[other, one] = 1
    degrees = matrix.sum(axis=0).tolist()
    histogram = [degrees.count(degree) for degree in range(n)]
    triples = combinations(range(n), 3)
    return {
        "edge_count": [len(edges)],
        "largest_degree": [max(degrees)],
        "degree_histogram": histogram,
        "cumulative_histogram": np.cumsum(histogram)[:-1].tolist(),
        "sorted_degrees": sorted(degrees),
        "k_stars": [sum(comb(degree, stars) for degree in degrees)],
        "triangles": [sum(bool(matrix[a, b] and matrix[b, c] and matrix[a, c]) for a, b, c in triples)],
    }


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return new_network(tmp_path)


def measure_the_graph(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    return measure_edges(design, GRAPH_OF_EDGES, keys, directory)


def test_counts_are_those_of_the_graph(tmp_path: Path) -> None:
    """Measured on the driver; on Spark, behind bad rows, they are below."""
    exact = new_network(tmp_path, **EXACT)
    assert published(made_release(exact, measure_the_graph)) == oracle(N, EDGES)
    assert published(made_release(exact, entry=3)) == oracle(N, [])


def test_a_run_publishes_and_comes_again_for_nothing(
    network: Network, pictures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges_in_python(monkeypatch)
    release = network.run().release
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["cost"] == "1"
    assert manifest["neighbors"] == "edge"
    assert manifest["sensitivities"]["degree_histogram"] == {"l1": 4, "l2_squared": 8}
    assert "Degree distribution" in (release / "report.html").read_text()
    stored = read_table(release / "measurement").to_pandas()
    withheld = stored[stored.variance.isna()]
    assert withheld.statistic.tolist() == ["triangles"]
    before = content(network.output)
    network.rows(EDGES[1:])
    assert network.run().release == release
    assert content(network.output) == before
    assert network.spent() == 1
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{network.folder}/ledger.db").code == 0
    # A publish setting makes another table of the same measurement.
    assert (network.run("--set", "publish.output.csv=true").release / "published" / "statistics.csv").is_file()
    assert network.spent() == 1


BAD = [
    ("1", "0"), (" 0", "1 "), ("00", "01"), ("3", "3"), ("8", "0"), ("99999999999999999999999", "0"), ("-1", "0"),
    ("-9223372036854775808", "0"), ("9223372036854775807", "+1"), ("1.0", "2"), ("SECRETVALUE", "2"), ("", "2"),
    ("4",),
]  # fmt: skip


def test_bad_rows_follow_the_rule_and_appear_nowhere(tmp_path: Path) -> None:
    """Beside the edges of a graph, one of which they repeat; counted on Spark, in blocks of edges."""
    exact = new_network(tmp_path, **EXACT).rows([*BAD, *EDGES])
    found = exact.run("--set", "counting.layout=spark")
    assert published(found.release) == oracle(N, EDGES)
    assert "SECRETVALUE" not in found.out + found.err
    assert all(b"SECRETVALUE" not in path.read_bytes() for path in exact.output.rglob("*") if path.is_file())
    lines = [re.split(r"\s{2,}", line.strip()) for line in exact.command("inspect").out.splitlines()[2:]]
    assert {rule: counts for rule, *counts in lines if len(counts) == 2} == {
        "both ends are given": ["18", "2"],
        "both ends can be read": ["13", "5"],
        "both ends are declared": ["11", "2"],
        "the ends differ": ["10", "1"],
        "the edge is new": ["7", "3"],
    }


def test_what_finds_a_vertex_stands_once_in_a_plan(spark: SparkSession) -> None:
    """Where it stood at every place that looks at a vertex, a plan of a few rows took longer than their run."""
    rows = spark.createDataFrame([("1", "2")], "source string, target string")
    edges = judge_edges(rows, VertexDomain(N)).where("failed IS NULL").select("source", "target").distinct()
    plan = edges._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("translate(source") == plan.count("translate(target") == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy__budget": {"rho": "0.5"}, "graph__statistics": ALL},
        {"privacy__neighbors": "vertex", "graph__degree_bound": {"bounding": "projected", "largest": 3}},
        {"privacy__neighbors": "vertex", "graph__degree_bound": {"bounding": "promised", "largest": 5}},
        {"graph__triangles": {"mechanism": "smooth", "rungs": "common_neighbors"}},
        {"graph__triangles": {"mechanism": "global"}, "graph__last_bin": 3},
        {"graph__triangles": {"rungs": "exact"}},
    ],
    ids=str,
)
def test_every_mechanism_plans_publishes_verifies_and_answers(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Measured in memory, as a run measures what it has read."""
    if changes.get("graph__degree_bound", {}).get("bounding") == "projected":
        changes = changes | {"graph__statistics": {name: w for name, w in ALL.items() if name != "triangles"}}
    found = new_network(tmp_path, **changes)
    planned = json.loads(found.command("plan", "--json").out)
    release = made_release(found, measure_the_graph)
    assert dplib("verify", str(release)).code == 0
    errors = {each["statistic"]: each["std_error"] for each in planned["statistics"]}
    for answer in json.loads(dplib("query", str(release), "--json").out):
        assert answer["std_error"] == errors[answer["statistic"]]
    asked = ("query", str(release), "--item", "degree_histogram", "--from", "1", "--to", "3", "--json")
    answer = json.loads(dplib(*asked).out)[0]
    table = read_table(release / "estimates").to_pandas()
    bins = table[(table.statistic == "degree_histogram") & table.key.between(1, 3)]
    assert answer["estimate"] == pytest.approx(bins.estimate.sum())
    refused = dplib("query", str(release), "--item", "beauty")
    assert (refused.code, refused.err.split(" must")[0]) == (2, "dplib: --item")


def test_the_budget_is_split_exactly_by_weight() -> None:
    weights = {"edge_count": "1/3", "degree_histogram": "0.1", "triangles": 7}
    design = design_of(graph__statistics=weights, privacy__budget={"epsilon": "0.7"})
    spent = [event.epsilon for event in design.events if event.epsilon is not None]
    assert sum(spent, Fraction(0)) == design.config.privacy.budget.epsilon == Fraction(7, 10)
    assert [each.share for each in design.measurements] == [part / Fraction(7, 10) for part in spent]
    gaussian = design_of(graph__statistics=weights, privacy__budget={"rho": "0.3"})
    total = sum((event.rho for event in gaussian.events), Fraction(0))
    assert total <= Fraction(3, 10)
    assert float(total) == pytest.approx(0.3, rel=1e-12)


def test_rehearse_meets_what_it_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal is a run, whose edges are read without Spark here."""
    edges_in_python(monkeypatch)
    network = new_network(tmp_path, graph__vertices={"count": 400}, graph__statistics={"degree_histogram": 1})
    found = network.command("rehearse", "--rows", "1500", "--seed", "3")
    assert found.code == 0, found.err
    line = next(line.split() for line in found.out.splitlines() if line.startswith("degree_hist"))
    assert line[1] == "400"
    assert 0.8 < float(line[4]) / float(line[3]) < 1.25
    assert network.spent() == 0


@pytest.mark.parametrize(("header", "path"), [(("old", "other"), "orders.csv"), (Graph.header, "absent.csv")])
def test_a_wrong_schema_is_named_and_nothing_happens(network: Network, header: tuple[str, ...], path: str) -> None:
    require_refused(network.rows(EDGES, header).set(input__path=path), 3)
