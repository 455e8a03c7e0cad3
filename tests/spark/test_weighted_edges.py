"""Weighted edge lists on Spark against the row rule in plain Python."""

import gzip
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.config.edge_input import VertexDomain, WeightedEdgeInput, WeightSettings
from dplib.errors import SchemaError
from dplib.graphs.edges import Graph
from dplib.spark.graphs.edges import open_edges
from dplib.spark.graphs.weighted_edges import (
    collect_graph,
    inspect_weighted_edges,
    judge_weighted_edges,
    most_pair_weight,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
Row = tuple[str | None, str | None, str | None]
NAMES = ("ada", "bob", "eve", "3", "é", "no edge")
WEIGHTS = ("1", "2", " 7 ", "0", "-3", "2.5", "NaN", "", None, "x", "1e400", "-Infinity", "99999999999999999999", "1e1")
LARGEST = 50


def read(spark: "SparkSession", domain: VertexDomain, weights: WeightSettings, **given: Any) -> tuple[Graph, Any]:
    rows = open_edges(spark, WeightedEdgeInput.model_validate(given), Path())
    judged = judge_weighted_edges(rows, domain, weights, for_owner=True)
    return collect_graph(judged, domain, weights), judged


def test_one_row_or_one_pair_adds_no_more_than_the_weight_cap(spark: "SparkSession", tmp_path: Path) -> None:
    """The neighbour's graph differs by the cap at most: one row more, or all rows of a pair more."""
    rows = {"s": ["0", "1", "0", "1"], "t": ["1", "2", "1", "0"], "w": ["1000000000", "2", "7", "0.5"]}
    pq.write_table(pa.table(rows), tmp_path / "edges.parquet")
    columns = {"source": "s", "target": "t", "weight": "w"}
    source = WeightedEdgeInput(path=str(tmp_path / "edges.parquet"), format="parquet", columns=columns)
    domain, found, opened = VertexDomain(4), {}, open_edges(spark, source, Path())
    for name, outside, row_cap, pair_cap in (
        ("row", "clamp", 3, None),
        ("drop", "drop", 3, None),
        ("pair", "clamp", None, 3),
    ):
        weights = WeightSettings.model_validate({"outside": outside, "largest": 10**6})
        judged = judge_weighted_edges(opened, domain, weights, row_cap, for_owner=True)
        found[name] = weights_of(collect_graph(judged, domain, weights, pair_cap))
        if name == "row":  # what an inspection adds up
            assert judged.where("failed IS NULL AND changed").count() == 3
    inspection = inspect_weighted_edges(judged, domain, weights, pair_cap)
    assert inspection.losses[0].counted == sum(found["pair"].values())
    assert inspection.rules[-1].dropped == 2
    assert found == {
        "row": {(0, 1): 6, (1, 2): 2},
        "drop": {(0, 1): 3, (1, 2): 2},
        "pair": {(0, 1): 3, (1, 2): 2},
    }


def weights_of(graph: Graph) -> dict[tuple[int, int], int]:
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    return dict(zip(ends, graph.weight.tolist(), strict=True))


def by_hand(rows: list[Row], names: tuple[str, ...], outside: str) -> tuple[dict[tuple[int, int], int], list[int]]:
    """The graph, and how many rows each rule drops or changes."""
    found: dict[tuple[int, int], int] = defaultdict(int)
    dropped = [0] * 6
    for one, other, weight in rows:
        ends = [(one or "").strip(), (other or "").strip()]
        try:
            number = float((weight or "").strip())
        except ValueError:
            number = math.nan
        within = number if math.isnan(number) else math.floor(min(max(number, 0), LARGEST))
        if not all(ends):
            dropped[0] += 1
        elif not set(ends) <= set(names):
            dropped[2] += 1
        elif ends[0] == ends[1]:
            dropped[3] += 1
        elif math.isnan(number):
            dropped[4] += 1
        else:
            dropped[5] += number != within
            if outside == "clamp" or number == within:
                low, high = sorted(names.index(end) for end in ends)
                found[low, high] += int(within)
    return {pair: total for pair, total in found.items() if total}, dropped


@pytest.mark.parametrize("outside", ["clamp", "drop"])
def test_rows_count_as_the_public_rule_says(spark: "SparkSession", tmp_path: Path, outside: str) -> None:
    rng = random.Random(7)
    ends = [*NAMES[:5], " ada ", "ada ", "Ada", "mallory", "", None]
    rows: list[Row] = [(rng.choice(ends), rng.choice(ends), rng.choice(WEIGHTS)) for _ in range(600)]
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate("abw")})
    pq.write_table(table, tmp_path / "edges.parquet")
    weights = WeightSettings.model_validate({"largest": LARGEST, "outside": outside})
    graph, judged = read(
        spark,
        VertexDomain(len(NAMES), 0, NAMES),
        weights,
        path=str(tmp_path / "edges.parquet"),
        format="parquet",
        columns={"source": "a", "target": "b", "weight": "w"},
    )
    expected, dropped = by_hand(rows, NAMES, outside)
    assert graph.n_vertices == len(NAMES)
    assert weights_of(graph) == expected
    found = inspect_weighted_edges(judged, VertexDomain(len(NAMES), 0, NAMES), weights)
    assert [count.dropped for count in found.rules] == dropped
    assert "mallory" in [value for value, _ in found.values["both ends are declared"]]
    assert found.losses[0].counted == sum(expected.values())


def test_columns_of_numbers_count_like_texts_and_overflows_stay_within_the_cap(
    compiled: "SparkSession", tmp_path: Path
) -> None:
    # The last pair's rows add up to more than 64 bits hold.
    n_rows, weights, domain = 10_000, WeightSettings(largest=10**15), VertexDomain(4, 10)
    columns = {
        "source": [10, 11, 10, 12, 9, 10] + [11] * n_rows,
        "target": [11, 10, 12, 12, 10, 13] + [13] * n_rows,
        "w": [10**15, 10**15, 2**62, 5, 6, 7] + [2**62] * n_rows,
    }
    pq.write_table(pa.table(columns), tmp_path / "edges.parquet")
    given: dict[str, Any] = {"path": str(tmp_path / "edges.parquet"), "format": "parquet"}
    given["columns"] = {"source": "source", "target": "target", "weight": "w"}
    graph, _ = read(compiled, domain, weights, **given)
    assert n_rows * weights.largest > 2**63
    assert weights_of(graph) == {(0, 1): 2 * 10**15, (0, 2): 10**15, (0, 3): 7, (1, 3): most_pair_weight(4)}


def test_one_graph_in_five_formats(spark: "SparkSession", tmp_path: Path) -> None:
    edges = [(1, 2, 3), (2, 3, 1), (1, 3, 2), (4, 5, 6)]  # vertex 6 has no edge
    lines = ["# comment", "", *(f"{u}\t {v}  {w}\t" for u, v, w in edges), "2 1 4 more", "3 3 9", "1"]
    with gzip.open(tmp_path / "g.txt.gz", "wt") as file:
        file.write("\r\n".join(lines))
    (tmp_path / "g.csv").write_text("w,to,from\n" + "".join(f"{w},{v},{u}\n" for u, v, w in edges) + "4,1,2\n")
    (tmp_path / "g.graph").write_text("6 4 1\n2 7 3 2\n1 7 3 1\n1 2 2 1\n5 6\n4 6\n\n")
    nodes = "".join(f'node [ id {v} label "{v}" ]\n' for v in range(1, 7))
    listed = "".join(f"edge [ source {u} target {v} value {w} ]\n" for u, v, w in [*edges, (2, 1, 4)])
    (tmp_path / "g.gml").write_text(f"graph [\n{nodes}{listed}]\n")
    cases: list[dict[str, Any]] = [
        {"format": "snap", "path": "g.txt.gz", "columns": {"weight": "_c2"}},
        {
            "path": "g.csv",
            "options": {"header": "true"},
            "columns": {"source": "from", "target": "to", "weight": "w"},
        },
        {"format": "metis", "path": "g.graph", "columns": {"weight": "weight"}},
        {"format": "gml", "path": "g.gml", "columns": {"weight": "value"}},
    ]
    texts = [f"CAST({name} AS STRING)" for name in ("source", "target", "weight")]
    opened = [open_edges(spark, WeightedEdgeInput.model_validate(case), tmp_path).selectExpr(*texts) for case in cases]
    found = reduce(DataFrame.union, (each.withColumn("case", F.lit(place)) for place, each in enumerate(opened)))
    rows = found.collect()
    for place, case in enumerate(cases):
        mine = [row[:3] for row in rows if row["case"] == place]
        assert added_up(mine) == {(1, 2): 7, (2, 3): 1, (1, 3): 2, (4, 5): 6}, case["path"]
    graph, judged = read(
        spark, VertexDomain(6, 1), WeightSettings(repeats="once"), path=str(tmp_path / "g.txt.gz"), format="snap"
    )
    assert weights_of(graph) == {(0, 1): 1, (1, 2): 1, (0, 2): 1, (3, 4): 1}
    assert graph.n_vertices == 6
    found = inspect_weighted_edges(judged, VertexDomain(6, 1), WeightSettings(repeats="once"))
    assert found.rules[-1] == ("the edge is new", 4, 1)


def added_up(rows: Sequence[Sequence[str | int | None]]) -> dict[tuple[int, int], int]:
    """The weight of each pair of different vertices, in either order."""
    found: dict[tuple[int, int], int] = defaultdict(int)
    for one, other, weight in rows:
        if one is not None and other is not None and weight is not None and one != other:
            low, high = sorted((int(one), int(other)))
            found[low, high] += int(weight)
    return dict(found)


def test_graphs_without_edges_or_vertices(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("0 1\n")
    graph, _ = read(spark, VertexDomain(0), WeightSettings(), path=str(tmp_path / "g.txt"), format="snap")
    assert (graph.n_vertices, graph.n_edges) == (0, 0)
    (tmp_path / "g.graph").write_text("0 0\n")
    graph, _ = read(spark, VertexDomain(2), WeightSettings(), path=str(tmp_path / "g.graph"), format="metis")
    np.testing.assert_array_equal(graph.degrees(), [0, 0])


@pytest.mark.parametrize(
    ("setting", "given"),
    [
        ("input.path must name what Spark can open", {"path": "absent.txt", "format": "snap"}),
        ("input.path must name what Spark can open", {"path": "absent.gml", "format": "gml"}),
        ("input.path must name one file", {"path": "*.txt", "format": "metis"}),
        ("input.path must name a METIS file", {"path": "one.txt", "format": "metis"}),
        ("input.path must name a GML file", {"path": "one.txt", "format": "gml"}),
        (
            "input.columns.weight must be _c0, _c1",
            {"path": "one.txt", "format": "snap", "columns": {"weight": "w"}},
        ),
        (
            "input.columns.weight must name one column",
            {
                "path": "one.txt",
                "options": {"header": "true"},
                "columns": {"source": "a", "target": "b", "weight": "c"},
            },
        ),
    ],
)
def test_wrong_structure_is_one_sentence_with_the_setting(
    spark: "SparkSession", tmp_path: Path, setting: str, given: dict[str, Any]
) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("a,b\n17,4242\n")
    with pytest.raises(SchemaError) as error:
        read(spark, VertexDomain(2), WeightSettings(), **given | {"path": str(tmp_path / given["path"])})
    assert str(error.value).startswith(setting)
    assert "4242" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("gml", b'graph [ node [ id 0 label "a" ]\nnode [ id 1 label "caf\xe9" ]\nedge [ source 0 target 1 ]\n]\n'),
        ("gml", b'graph [ node [ id 0 label "a" ]\nnode [ id 1 label "&#xD800;" ]\nedge [ source 0 target 1 ]\n]\n'),
        ("metis", b"2 1\n2\n1 \xe9\n"),
    ],
)
def test_text_that_is_no_unicode_stops_no_run(spark: "SparkSession", tmp_path: Path, name: str, written: bytes) -> None:
    (tmp_path / "graph").write_bytes(written)
    rows = open_edges(spark, WeightedEdgeInput(path="graph", format=name), tmp_path).collect()
    assert len(rows) == (1 if name == "gml" else 2)
    assert rows[0][0] in ("a", "2", "1")
