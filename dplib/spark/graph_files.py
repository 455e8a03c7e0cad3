"""Graph files of other tools as rows with the two ends and the weight of an edge, all as text, for the row rule.

*SNAP text.* One edge a line, fields between blanks or tabs; blank lines and lines that start with ``#`` are left out. A
line with too few fields has empty ones. Read by all tasks.

*METIS.* The first line is ``vertices edges [format [weights a vertex]]``, then comes one line a vertex, in order: its
neighbours, numbered from 1, each followed by the edge's weight where the last digit of the format is 1. Lines that
start with ``%`` are left out. Sizes and weights of vertices stand before the neighbours and are passed over. The file
lists an edge at both ends; it is taken from the line of the smaller one. The number of edges is not compared.

*GML.* By networkx. Vertices are named by their label, or by their id (`input.options.label`); edges side by side and
directed ones are edges like others. A missing or odd weight is left to the row rule.

Limits: METIS and GML input is one file of less than 2 GB, taken apart by the driver. A file whose structure is wrong (a
METIS header, the number of its lines, anything that networkx refuses) is refused like a file that cannot be opened; the
message says nothing of its contents.

References: Leskovec, Krevl, "SNAP datasets", 2014; Karypis, "METIS: a software package", manual of version 5.1.0,
section 4.1.1; Himsolt, "GML: a portable graph file format", 1997.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.edge_input import EdgeInput
from dplib.errors import SchemaError
from dplib.spark.read import column_positions, opening
from dplib.spark.resolve import text_column
from dplib.spark.session import pin_session, quiet_spark_errors

Cells = list[str | None]
SNAP_ENDS = {"source": "_c0", "target": "_c1"}
_FORMAT_DIGITS = 3
_MOST_DIGITS = 18  # whole numbers that Python and 64 bits both take


def open_graph_file(spark: SparkSession, source: EdgeInput, base: Path) -> DataFrame:
    """Open a snap, metis or gml file; of a snap file no line is read, the others are read whole.

    Args:
        spark: the session; its settings that decide counts are pinned.
        source: where the input is.
        base: folder that relative paths start from (the configuration's).

    Returns:
        columns source, target and, where it is mapped, weight, all string.

    Raises:
        SchemaError: if the input cannot be opened, lacks a column, or is no file of its format.
        DplibError: if Spark fails otherwise.
    """
    pin_session(spark)
    if source.graph_format == "snap":
        return _open_snap(spark, source, base)
    text = _whole_text(spark, source, base)
    weight = source.columns.names.get("weight")
    if source.graph_format == "metis":
        cells = metis_edges(text, weight is not None)
    else:
        cells = gml_edges(text, source.options.get("label", "label"), weight)
    roles = ("source", "target") if weight is None else ("source", "target", "weight")
    columns = [pa.array([_encoded(cell) for cell in column], pa.string()) for column in cells]
    table = pa.table(dict(zip(roles, columns, strict=True)))
    with quiet_spark_errors("take the edges"):
        return spark.createDataFrame(table)


def metis_edges(text: str, weighted: bool) -> tuple[Cells, ...]:
    """Take a METIS graph file apart.

    Args:
        text: the file.
        weighted: whether the weights of edges are wanted.

    Returns:
        The smaller ends, the greater ends and, where wanted, the weights, as they stand in the file.

    Raises:
        SchemaError: if the first line or the number of lines is wrong, or the file has no weights of edges.
    """
    rows = text.removesuffix("\n").split("\n")
    header, *lines = [row for row in rows if not row.lstrip().startswith("%")] or [""]
    n_vertices, has_weights, n_skipped = _metis_header(header.split())
    if weighted and not has_weights:
        raise SchemaError("input.columns.weight must be absent for a METIS file without weights of edges, got weight")
    while len(lines) > n_vertices and not lines[-1].strip():
        lines.pop()
    if len(lines) != n_vertices:
        raise SchemaError(
            "input.path must name a METIS file with one line a vertex, as many as its first line says, got another"
            " number of lines"
        )
    sources: Cells = []
    targets: Cells = []
    weights: Cells = []
    step = 2 if has_weights else 1
    for vertex, line in enumerate(lines, 1):
        fields = line.split()[n_skipped:]
        for place in range(0, len(fields), step):
            end = fields[place]
            if _is_smaller(end, vertex):
                continue
            sources.append(str(vertex))
            targets.append(end)
            if weighted:
                weights.append(fields[place + 1] if place + 1 < len(fields) else None)
    return (sources, targets, weights) if weighted else (sources, targets)


def gml_edges(text: str, label: str, weight: str | None) -> tuple[Cells, ...]:
    """Take a GML file apart.

    Args:
        text: the file.
        label: what names a vertex: label or id.
        weight: the attribute of an edge that is wanted as its weight, if any.

    Returns:
        The two ends of each edge and, where wanted, its weight.

    Raises:
        SchemaError: if networkx cannot read the file.
    """
    # Without this line networkx refuses edges side by side.
    lines = re.sub(r"(?m)^\s*multigraph\s+\d+\s*$", "", text)
    lines = re.sub(r"(?m)^(\s*graph\s*\[)", "\\1\nmultigraph 1\n", lines, count=1)
    try:
        graph = nx.parse_gml(lines.splitlines(), label=label)
        edges = list(graph.edges(data=True))
    except Exception:  # whatever networkx meets in a broken file, its message quotes the file
        raise SchemaError(
            f"input.path must name a GML file that networkx can read, each vertex with its {label}, got another file"
        ) from None
    ends: tuple[Cells, ...] = ([str(edge[0]) for edge in edges], [str(edge[1]) for edge in edges])
    if weight is None:
        return ends
    return (*ends, [str(edge[2][weight]) if weight in edge[2] else None for edge in edges])


def _open_snap(spark: SparkSession, source: EdgeInput, base: Path) -> DataFrame:
    positions = column_positions(SNAP_ENDS | source.columns.names, "where input.format is snap")
    with opening(source):
        lines = spark.read.text(source.paths(base)).select(text_column(F.col("value")).alias("line"))
        edges = lines.where((F.col("line") != "") & ~F.col("line").startswith("#"))
        fields = F.split(F.translate("line", "\t", " "), " +")
        return edges.select(*(F.get(fields, F.lit(position)).alias(role) for role, position in positions.items()))


def _whole_text(spark: SparkSession, source: EdgeInput, base: Path) -> str:
    with opening(source):
        files = spark.read.text(source.paths(base), wholetext=True).limit(2)
    with quiet_spark_errors("read the graph's file"):
        # As bytes: a text that is not UTF-8 would be refused with a message that quotes it.
        texts = files.select(F.col("value").cast("binary")).toArrow().column(0).to_pylist()
    if len(texts) != 1:
        raise SchemaError(f"input.path must name one file where the format is {source.graph_format}, got others")
    return bytes(texts[0]).decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _metis_header(fields: Sequence[str]) -> tuple[int, bool, int]:
    """The number of vertices, whether edges have weights, and the fields before the neighbours in each line."""
    form = fields[2] if len(fields) > 2 else "0"
    right = 2 <= len(fields) <= 4 and all(_is_whole(field) for field in fields)
    right = right and len(form) <= _FORMAT_DIGITS and set(form) <= {"0", "1"}
    if right:
        sizes, weights, edge_weights = (digit == "1" for digit in form.rjust(_FORMAT_DIGITS, "0"))
        n_weights = int(fields[3]) if len(fields) > 3 else int(weights)
        # More than one weight a vertex without vertex weights is a contradiction.
        if weights or len(fields) < 4:
            return int(fields[0]), edge_weights, int(sizes) + n_weights
    raise SchemaError(
        "input.path must name a METIS file whose first line is its numbers of vertices and edges, then at most a format"
        " of the digits 0 and 1 and the weights a vertex, got another first line"
    )


def _encoded(cell: str | None) -> bytes | None:
    """A cell as UTF-8; halves of surrogate pairs, which GML can name by number, become question marks."""
    return None if cell is None else cell.encode("utf-8", "replace")


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def _is_smaller(text: str, vertex: int) -> bool:
    return _is_whole(text) and int(text) < vertex
