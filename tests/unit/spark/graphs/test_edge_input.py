"""Settings of edge lists, and METIS and GML files against networkx."""

import io
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dplib.config.edge_input import (
    EdgeInput,
    VertexCount,
    VertexDomain,
    WeightedEdgeInput,
    WeightSettings,
    reading_notes,
    require_fitting_vertices,
    require_fitting_weights,
    vertex_names,
)
from dplib.config.names import ListFile
from dplib.errors import ConfigError, SchemaError
from dplib.spark.graphs.gml import gml_edges
from dplib.spark.graphs.graph_files import metis_edges, require_gml


@pytest.mark.parametrize(
    ("setting", "rule", "given"),
    [
        ("input.columns.target", "name a column", {"columns": {"source": "a"}}),
        ("input.columns.source", "name a column", {"format": "parquet"}),
        ("input.columns.source", "be absent where", {"format": "gml", "columns": {"source": "a"}}),
        ("input.columns.weight", "be absent or weight", {"format": "metis", "columns": {"weight": "w"}}),
        ("input.options.header", "be absent where", {"format": "snap", "options": {"header": "true"}}),
        ("input.options.label", "be label or id", {"format": "gml", "options": {"label": "name"}}),
        ("input.options.first", "be 0 or 1", {"format": "metis", "options": {"first": "2"}}),
        ("input.table", "be absent where", {"format": "METIS", "table": "t", "path": None}),
    ],
)
def test_what_does_not_fit_the_format_is_refused_by_name(setting: str, rule: str, given: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=f"{setting} must {rule}"):
        WeightedEdgeInput.model_validate({"path": "graph"} | given)


def test_unweighted_jobs_know_no_weights_and_keep_their_settings() -> None:
    columns = {"source": "a", "target": "b"}
    assert EdgeInput.model_validate({"path": "x", "columns": columns}).model_dump()["columns"] == columns
    with pytest.raises(ValidationError, match="weight"):
        EdgeInput.model_validate({"path": "x", "columns": columns | {"weight": "w"}})


def test_one_of_several_rows_counts_only_where_all_weigh_the_same() -> None:
    weighted = WeightedEdgeInput.model_validate({"path": "x", "format": "snap", "columns": {"weight": "_c2"}})
    require_fitting_weights(weighted, WeightSettings())
    require_fitting_weights(WeightedEdgeInput(path="x", format="snap"), WeightSettings(repeats="once"))
    with pytest.raises(ValueError, match=r"graph\.weights\.repeats must be sum"):
        require_fitting_weights(weighted, WeightSettings(repeats="once"))


def test_declared_vertices_are_numbers_a_list_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "people.txt").write_text("ada\n bob \n\neve\n")
    listed = ("ada", "bob", "eve")
    assert vertex_names(ListFile(file="people.txt"), tmp_path) == vertex_names(list(listed), tmp_path) == listed
    assert VertexDomain.declared(ListFile(file="people.txt"), tmp_path) == VertexDomain(3, 0, listed)
    assert VertexDomain.declared(VertexCount(count=0), tmp_path) == VertexDomain(0)
    with pytest.raises(ConfigError, match=r"graph\.vertices must hold each name once, got ada twice"):
        VertexDomain.declared(["ada", "ada"], tmp_path)


@st.composite
def weighted_graphs(draw: st.DrawFn) -> nx.Graph:
    n = draw(st.integers(1, 8))
    graph = nx.empty_graph(n)
    for u in range(n):
        for v in range(u + 1, n):
            weight = draw(st.integers(0, 9))
            if weight:
                graph.add_edge(u, v, weight=weight)
    return graph


def metis_text(graph: nx.Graph, digits: str, n_weights: int, newline: str = "\n") -> str:
    """The file as METIS's manual describes it."""
    header = f"{len(graph)} {graph.number_of_edges()} {digits}" + (f" {n_weights}" if digits[1] == "1" else "")
    before = ["7"] * (int(digits[0]) + (n_weights if digits[1] == "1" else 0))
    lines = ["% a comment", header]
    for vertex in graph:
        fields = list(before)
        for neighbor in graph[vertex]:
            fields += [str(neighbor + 1), *([str(graph[vertex][neighbor]["weight"])] if digits[2] == "1" else [])]
        lines.append(" ".join(fields))
    return newline.join(lines) + newline


@given(weighted_graphs(), st.sampled_from(["000", "001", "010", "011", "100", "101", "110", "111"]), st.integers(1, 3))
def test_metis_files_hold_each_edge_once(graph: nx.Graph, digits: str, n_weights: int) -> None:
    weighted = digits[2] == "1"
    found = metis_edges(metis_text(graph, digits, n_weights), weighted)
    expected = [(str(u + 1), str(v + 1), str(w)) for u, v, w in graph.edges(data="weight")]
    assert sorted(zip(*found, strict=True)) == sorted(edge if weighted else edge[:2] for edge in expected)


def test_metis_keeps_what_the_row_rule_has_to_judge() -> None:
    sources, targets, weights = metis_edges("3 9 1\n1 5 x 2 9 4 3\n\n1 7 2 2", True)
    assert list(zip(sources, targets, weights, strict=True)) == [
        ("1", "1", "5"),
        ("1", "x", "2"),
        ("1", "9", "4"),
        ("1", "3", None),
        ("3", "2", "2"),
    ]


@given(weighted_graphs(), st.integers(0, 1), st.sampled_from(["both", "smaller", "greater"]))
def test_metis_edges_count_once_whichever_line_names_them(graph: nx.Graph, first: int, side: str) -> None:
    """Also in files that count from 0: the graph is the same, under the file's own numbers."""
    n, lines = graph.number_of_nodes(), []
    for u in range(n):
        held = [v for v in graph[u] if side == "both" or (u <= v if side == "smaller" else u >= v)]
        lines.append(" ".join(f"{v + first} {graph[u][v]['weight']}" for v in held))
    found = metis_edges("\n".join([f"{n} {graph.number_of_edges()} 1", *lines, ""]), True, first)
    expected = {(frozenset((str(u + first), str(v + first))), str(w)) for u, v, w in graph.edges(data="weight")}
    assert len(found[0]) == graph.number_of_edges()
    assert {(frozenset((u, v)), w) for u, v, w in zip(*found, strict=True)} == expected


def test_a_vertex_that_a_metis_file_does_not_have_is_left_to_the_row_rule() -> None:
    """So that the owner's inspection shows what a file that counts from 0 says under a number from 1."""
    assert metis_edges("2 1\n1\n0\n", False) == (["1", "2"], ["1", "0"])
    assert metis_edges("2 1\n1\n0\n", False, 0) == (["0"], ["1"])
    with pytest.raises(SchemaError, match=r"^graph\.vertices must be no fewer than .* got 1$"):
        metis_edges("2 1\n2\n1\n", False, 1, 1)
    assert metis_edges("2 1\n2\n1\n", False, 1, 3) == (["1"], ["2"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3\n\n\n\n",
        "3 2 2\n2\n1 3\n2",
        "3 2 0 2\n2\n1 3\n2\n",
        "a b\n",
        "-1 0\n",
        "3 2 1 1 1\n2\n1\n",
        "3 2 0001\n2\n1\n",
    ],
)
def test_wrong_metis_headers_are_refused_without_their_contents(text: str) -> None:
    with pytest.raises(SchemaError, match=r"^input\.path must name a METIS file whose first line .* got another first"):
        metis_edges(text, False)


@pytest.mark.parametrize("text", ["3 2\n2\n1 3\n", "2 1\n2\n1\n2\n"])
def test_metis_files_have_one_line_a_vertex(text: str) -> None:
    with pytest.raises(SchemaError, match=r"^input\.path must name a METIS file with one line a vertex"):
        metis_edges(text, False)


def test_weights_that_a_metis_file_lacks_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"^input\.columns\.weight must be absent"):
        metis_edges("2 1\n2\n1\n", True)
    assert metis_edges("0 0\n", False) == ([], [])
    assert metis_edges("1 0\n\n", False) == ([], [])


@given(weighted_graphs(), st.booleans())
def test_gml_edges_are_those_of_networkx(graph: nx.Graph, by_id: bool) -> None:
    named = nx.relabel_nodes(graph, {v: f"v {v}" for v in graph})
    text = io.BytesIO()
    nx.write_gml(named, text)
    found = gml_edges(text.getvalue().decode(), "id" if by_id else "label", "weight")
    prefix = "" if by_id else "v "
    expected = {(frozenset((f"{prefix}{u}", f"{prefix}{v}")), str(w)) for u, v, w in graph.edges(data="weight")}
    assert {(frozenset((u, v)), w) for u, v, w in zip(*found, strict=True)} == expected
    assert len(found[0]) == graph.number_of_edges()


def test_gml_edges_side_by_side_loops_and_odd_weights_are_kept() -> None:
    edges = "".join(
        f"edge [ source {u} target {v} {rest} ]\n" for u, v, rest in ((1, 2, "w 2"), (2, 1, 'w "x"'), (1, 1, ""))
    )
    text = f'Creator "a graph [ 1 ]"\ngraph [\nmultigraph 0\ndirected 1\nnode [ id 1 ]\nnode [ id 2 ]\n{edges}]\n'
    found = gml_edges(text, "id", "w")
    assert sorted(zip(*found, strict=True), key=str) == [("1", "1", None), ("1", "2", "2"), ("2", "1", "x")]


@pytest.mark.parametrize("text", ["", "secret", "node [ id 7 ]", '"graph [ ]"', "subgraph [ ]"])
def test_a_text_without_a_graph_is_refused_without_its_contents(text: str) -> None:
    with pytest.raises(SchemaError, match=r"^input\.path must name a GML file, .* got another file$"):
        require_gml(text)


def gml_text(broken: str = "") -> str:
    nodes = "".join(f'node [ id {v} label "v{v}" ]\n' for v in range(4))
    return f"graph [\n{nodes}edge [ source 0 target 1 w 5 ]\n{broken}edge [ source 2 target 3 w 6 ]\n]\n"


@pytest.mark.parametrize(
    ("broken", "rows"),
    [
        ("", []),
        ("edge [ source 0 target 99 w 1 ]\n", [("v0", "99", "1")]),
        ("edge [ source 0 target 2 w 1\n", [("v0", "v2", "1")]),
        ("edge [ source 0 target 2 w 1 ] ] ] ]\n", [("v0", "v2", "1")]),
        ('edge [ source 0 target 2 w "1 ]\n', [("v0", "v2", "1 ]")]),
        ("edge [ source 0 target 2 w [ [ 1 ]\n", [("v0", "v2", None)]),
        ("edge [ source target 2 ]\n", [("target", None, None)]),
        ("edge [ ]\n", [(None, None, None)]),
        ("edge [\n", [(None, None, None)]),
        ("edge [ source 0 source 1 target 2 graphics [ w 9 ] w 1 ]\n", [("v0", "v2", "1")]),
        ('node [ id 0 label "another" ]\n', []),
        ('node [ id 7 label "v0" ]\nedge [ source 7 target 2 w 1 ]\n', [("v0", "v2", "1")]),
        ("node [ id 8 ]\nedge [ source 8 target 02 w 1 ]\n", [("8", "v2", "1")]),
        ("# edge [ source 0 target 1 ]\n", []),
    ],
)
def test_a_broken_gml_record_is_judged_alone(broken: str, rows: list[tuple[str | None, ...]]) -> None:
    text = gml_text(broken)
    require_gml(text)
    found = list(zip(*gml_edges(text, "label", "w"), strict=True))
    assert found == [("v0", "v1", "5"), *rows, ("v2", "v3", "6")]


def test_vertices_that_a_graph_file_cannot_name_are_refused() -> None:
    def refused(options: dict[str, str], form: str, vertices: VertexCount | list[str]) -> str:
        source = EdgeInput.model_validate({"path": "g", "format": form, "options": options})
        names = None if isinstance(vertices, VertexCount) else tuple(vertices)
        try:
            require_fitting_vertices(source, vertices, names)
        except ConfigError as error:
            return str(error).partition(" must ")[0]
        return ""

    count, from_one = VertexCount(count=3), VertexCount(count=3, first=1)
    assert refused({}, "gml", count) == "input.options.label"
    assert refused({"label": "id"}, "gml", count) == refused({}, "gml", ["a"]) == ""
    assert refused({}, "metis", count) == refused({"first": "0"}, "metis", from_one) == "graph.vertices.first"
    assert refused({"first": "0"}, "metis", count) == refused({}, "metis", from_one) == ""
    assert refused({}, "metis", ["1", "b"]) == "graph.vertices"
    assert refused({}, "metis", ["1", "2"]) == refused({}, "snap", ["a"]) == ""
    for form, word in (("metis", "counted from 1"), ("gml", "named by their label")):
        (note,) = reading_notes(EdgeInput.model_validate({"path": "g", "format": form}))
        assert word in note
