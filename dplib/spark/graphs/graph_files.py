"""Graph files of other tools as rows with the two ends and the weight of an edge, all as text, for the row rule.

*SNAP text.* One edge a line, fields between blanks or tabs; blank lines and lines that start with ``#`` are left out. A
line with too few fields has empty ones. Read by all tasks.

*METIS.* The first line is ``vertices edges [format [weights a vertex]]``, then comes one line a vertex, in order: its
neighbours, each followed by the edge's weight where the last digit of the format is 1. Vertices are numbered from 1, or
from 0 where `input.options.first` says so. Lines that start with ``%`` are left out. Sizes and weights of vertices
stand before the neighbours and are passed over. An edge that stands at both ends is taken from the line of the smaller
one; one that stands on one line only counts, too. What is no number of a vertex of the file is left to the row rule.
The number of edges is not compared.

*GML.* Record by record (`dplib.spark.graphs.gml`). Vertices are named by their label, or by their id
(`input.options.label`); edges side by side and directed ones are edges like others. A missing or odd weight is left to
the row rule.

What a row or a record holds decides about itself only. What is refused is the form of the file, which its first lines
and the number of its vertices show: the guarantee holds those for public, as it does the declared vertices.

Limits: METIS and GML input is one file of less than 2 GB, taken apart by the driver. A file whose form is wrong (a
METIS header, the number of its lines, more vertices than are declared, no graph in a GML file) is refused like a file
that cannot be opened; the message says nothing of its contents.

References: Leskovec, Krevl, "SNAP datasets", 2014; Karypis, "METIS: a software package", manual of version 5.1.0,
section 4.1.1; Himsolt, "GML: a portable graph file format", 1997.
"""

from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.edge_input import EdgeInput
from dplib.errors import SchemaError
from dplib.spark.engine.session import pin_session, quiet_spark_errors
from dplib.spark.graphs.gml import Cells, gml_edges, is_gml
from dplib.spark.rows.input_files import LINE, list_files, open_lines
from dplib.spark.rows.path_input import column_positions
from dplib.spark.rows.read import opening
from dplib.spark.rows.resolve import text_sql

SNAP_ENDS = {"source": "_c0", "target": "_c1"}
_FORMAT_DIGITS = 3
_MAX_DIGITS = 18  # whole numbers that Python and 64 bits both take


def open_graph_file(spark: SparkSession, source: EdgeInput, base: Path, n_vertices: int | None = None) -> DataFrame:
    """Open a snap, metis or gml file; of a snap file no line is read, the others are read whole.

    Args:
        spark: the session; its settings that decide counts are pinned.
        source: where the input is.
        base: folder that relative paths start from (the configuration's).
        n_vertices: how many are declared, where they are numbers.

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
        cells = metis_edges(text, weight is not None, int(source.options.get("first", "1")), n_vertices)
    else:
        require_gml(text)
        cells = gml_edges(text, source.options.get("label", "label"), weight)
    roles = ("source", "target") if weight is None else ("source", "target", "weight")
    columns = [pa.array([_encoded(cell) for cell in column], pa.string()) for column in cells]
    table = pa.table(dict(zip(roles, columns, strict=True)))
    with quiet_spark_errors("take the edges"):
        return spark.createDataFrame(table)


def metis_edges(text: str, weighted: bool, first: int = 1, declared: int | None = None) -> tuple[Cells, ...]:
    """Take a METIS graph file apart.

    Args:
        text: the file.
        weighted: whether the weights of edges are wanted.
        first: the number of the first vertex, 0 or 1.
        declared: how many vertices are declared; None where that is not known.

    Returns:
        The two ends and, where wanted, the weights, as they stand in the file.

    Raises:
        SchemaError: if the first line or the number of lines is wrong, or the file has no weights of edges.
    """
    rows = text.removesuffix("\n").split("\n")
    header, *lines = [row for row in rows if not row.lstrip().startswith("%")] or [""]
    n_vertices, has_weights, n_skipped = _metis_header(header.split())
    if weighted and not has_weights:
        raise SchemaError("input.columns.weight must be absent for a METIS file without weights of edges, got weight")
    if declared is not None and n_vertices > declared:
        raise SchemaError(
            f"graph.vertices must be no fewer than the vertices in a METIS file's first line, got {declared}"
        )
    while len(lines) > n_vertices and not lines[-1].strip():
        lines.pop()
    if len(lines) != n_vertices:
        raise SchemaError(
            "input.path must name a METIS file with one line a vertex, as many as its first line says, got another"
            " number of lines"
        )
    step, last = 2 if has_weights else 1, first + n_vertices - 1
    edges = _EdgesByLine()
    for vertex, line in enumerate(lines, first):
        fields = line.split()[n_skipped:]
        for place in range(0, len(fields), step):
            weight = fields[place + 1] if weighted and place + 1 < len(fields) else None
            edges.add(vertex, fields[place], weight, first, last)
    return edges.cells(weighted)


class _EdgesByLine:
    """Edges as they are met; those of the greater end's line count where the smaller end's line lacks them."""

    def __init__(self) -> None:
        self._kept: tuple[Cells, Cells, Cells] = ([], [], [])
        self._again: tuple[Cells, Cells, Cells] = ([], [], [])
        self._named, self._again_named = array("q"), array("q")

    def add(self, vertex: int, end: str, weight: str | None, first: int, last: int) -> None:
        """Add what stands on a vertex's line; anything but one of the file's vertices is kept as it stands."""
        number = int(end) if _is_whole(end) else -1
        inside = first <= number <= last
        again = inside and number < vertex
        for cells, cell in zip(self._again if again else self._kept, (str(vertex), end, weight), strict=True):
            cells.append(cell)
        if inside:
            low, high = sorted((number, vertex))
            (self._again_named if again else self._named).append(low * (last + 1) + high)

    def cells(self, weighted: bool) -> tuple[Cells, ...]:
        """The columns."""
        named, again = (np.frombuffer(each, np.int64) for each in (self._named, self._again_named))
        for place in np.flatnonzero(~np.isin(again, named)).tolist():
            for kept, cells in zip(self._kept, self._again, strict=True):
                kept.append(cells[place])
        return self._kept if weighted else self._kept[:2]


def require_gml(text: str) -> None:
    """Refuse a file without a graph.

    Raises:
        SchemaError: in the same case.
    """
    if not is_gml(text):
        raise SchemaError("input.path must name a GML file, in which a graph begins with graph [, got another file")


def _open_snap(spark: SparkSession, source: EdgeInput, base: Path) -> DataFrame:
    positions = column_positions(SNAP_ENDS | source.columns.names, "where input.format is snap")
    with opening(source):
        list_files(spark, source, base)
        lines = open_lines(spark, source, base).selectExpr(f"{text_sql(LINE)} AS line")
        edges = lines.where((F.col("line") != "") & ~F.col("line").startswith("#"))
        fields = F.split(F.translate("line", "\t", " "), " +")
        return edges.select(*(F.get(fields, F.lit(position)).alias(role) for role, position in positions.items()))


def _whole_text(spark: SparkSession, source: EdgeInput, base: Path) -> str:
    with opening(source):
        files = list_files(spark, source, base).files
        if len(files) != 1:
            raise SchemaError(
                f"input.path must name one file where the format is {source.graph_format}, got {len(files)} files"
            )
        whole = spark.read.text(source.paths(base), wholetext=True)
    with quiet_spark_errors("read the graph's file"):
        # As bytes: a text that is not UTF-8 would be refused with a message that quotes it.
        # Of an empty file there is no row.
        text = b"".join(whole.select(F.col("value").cast("binary")).toArrow().column(0).to_pylist())
    return text.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


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
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
