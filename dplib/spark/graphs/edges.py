"""From rows that name two vertices to the edges of a simple undirected graph: the one public rule for edge lists.

A row is judged by these rules in order and dropped at the first that it fails; nothing else about it is ever shown.

    both ends are given           not null and not blank
    both ends can be read         whole numbers of decimal digits, where vertices are numbers; any text where declared
                                  by name
    both ends are declared        in the public vertex set
    the ends differ               no loop at one vertex
    the edge is new               of all rows that name the same two vertices, in either order, one counts

Texts lose the blanks at their ends first. So an edge of the graph is a pair of declared vertices that at least one row
names, and a privacy unit ``edge`` is all rows that name one pair. Vertices that no row names are isolated.

Cost: one pass, one shuffle of the pairs; the pairs go to the driver, 16 bytes each.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.edge_input import EdgeInput, VertexDomain
from dplib.graphs.simple_graph import SimpleGraph
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.graphs.graph_files import open_graph_file
from dplib.spark.rows.inspection import Inspection, RuleCount, rule_counts, totals_by_rule
from dplib.spark.rows.read import NUMBER_TYPES, open_columns
from dplib.spark.rows.resolve import text_sql
from dplib.spark.rows.sql_text import once

Batches = Iterator[pa.RecordBatch]
EDGE_RULES = (
    "both ends are given",
    "both ends can be read",
    "both ends are declared",
    "the ends differ",
    "the edge is new",
)
VERTEX_TYPES = frozenset({"byte", "short", "integer", "long", "string"})
EDGE_TYPES: Mapping[str, frozenset[str]] = {"source": VERTEX_TYPES, "target": VERTEX_TYPES, "weight": NUMBER_TYPES}
"""Types that the columns of an edge list may have, by role."""
_UNDECLARED, _UNREADABLE, _MISSING = -1, -2, -3
_ENDS = ("source", "target")


def open_edges(spark: SparkSession, source: EdgeInput, base: Path, domain: VertexDomain | None = None) -> DataFrame:
    """Open the input; of a text file at most the header line is read, but metis and gml files are read whole.

    Args:
        spark: the session.
        source: section `input`.
        base: folder that relative paths start from.
        domain: the declared vertices, for a metis file's first line to be compared with.

    Returns:
        columns source and target, and weight where it is mapped.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column is of no type that its role can have.
        DplibError: if Spark fails otherwise.
    """
    if source.graph_format is not None:
        return open_graph_file(spark, source, base, None if domain is None else domain.count)
    return open_columns(spark, source, source.columns.names, EDGE_TYPES, base)


def judge_edges(rows: DataFrame, domain: VertexDomain, for_owner: bool = False) -> DataFrame:
    """Find every row's vertices and say which rule drops it.

    Args:
        rows: from `open_edges`.
        domain: the declared vertices.
        for_owner: whether to keep texts of rows, for the data's owner.

    Returns:
        columns source and target long (numbers of the vertices, the smaller first; negative where there is none), and
        failed int: the index in `EDGE_RULES` of the first rule that the row fails, null where it passes all but the
        last, which is not decided here; and weight as it was, where there is one; for the owner shown (the text of
        the end that fails) and pair (both texts, whatever their order); lazy.
    """
    others = [name for name in rows.columns if name not in _ENDS]
    texts = rows.select(*(F.expr(f"{text_sql(end)} AS {end}") for end in _ENDS), *others)
    if for_owner:
        texts = texts.select("*", *(F.col(end).alias(f"{end}_text") for end in _ENDS))
        others += [f"{end}_text" for end in _ENDS]
    if domain.names is None:
        placed = texts.selectExpr(once({end: _number(end, domain) for end in _ENDS}), *others)
    else:
        kept = [f"{field.name} {field.dataType.simpleString()}" for field in texts.schema.fields[len(_ENDS) :]]
        placed = texts.mapInArrow(_find_names(domain.names), ", ".join(["source long, target long", *kept]))
    least = F.least("source", "target")
    failed = F.expr(
        f"CASE least(source, target) WHEN {_MISSING} THEN 0 WHEN {_UNREADABLE} THEN 1 WHEN {_UNDECLARED} THEN 2"
        " ELSE CASE WHEN source = target THEN 3 END END AS failed"
    )
    greatest = F.greatest("source", "target").alias("target")
    if for_owner:
        # The codes of what fails are below 0, and the one that fails first is the least.
        shown = F.when(F.col("source") == least, F.col("source_text")).otherwise(F.col("target_text"))
        texts_of_pair = F.to_json(F.array_sort(F.array("source_text", "target_text")))
        placed = placed.select("*", shown.alias("shown"), texts_of_pair.alias("pair"))
        others = [*(name for name in others if not name.endswith("_text")), "shown", "pair"]
    return placed.select(least.alias("source"), greatest, failed, *others)


def collect_edges(judged: DataFrame, n_vertices: int) -> SimpleGraph:
    """Bring the edges to the driver.

    Args:
        judged: from `judge_edges`.
        n_vertices: declared ones.

    Returns:
        The graph. Private.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("collect the edges"):
        table = _edges(judged).toArrow()
    source, target = (table.column(end).to_numpy().astype(np.int64) for end in _ENDS)
    order = np.lexsort((target, source))
    return SimpleGraph(n_vertices, source[order], target[order])


def inspect_edges(judged: DataFrame, domain: VertexDomain, largest_degree: int | None) -> Inspection:
    """Count rows by rule. NOT PRIVATE: for the eyes of the data's owner only.

    Args:
        judged: from `judge_edges`, for the owner.
        domain: the declared vertices.
        largest_degree: to which the graph is cut; None where it is not.

    Returns:
        The rules in order, and where the graph is cut ``the degree is within the bound`` of vertices with an edge
        (dropped: vertices that lose edges).

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("inspect the edges"):
        found, values = totals_by_rule(judged, EDGE_RULES)
        degrees = degrees_of(_edges(judged))
        above = F.lit(0) if largest_degree is None else F.sum((F.col("count") > largest_degree).cast("long"))
        sums = (F.coalesce(total, F.lit(0)) for total in (above, F.sum("count")))
        n_named, n_above, n_ends = degrees.agg(F.count("*"), *sums).collect()[0]
    by_rule = {rule: row["rows"] for rule, row in found.items()}
    n_edges = n_ends // 2
    by_rule[len(EDGE_RULES) - 1] = by_rule.get(None, 0) - n_edges
    counts = rule_counts(EDGE_RULES, by_rule, n_edges)
    if largest_degree is not None:
        counts.append(RuleCount("the degree is within the bound", n_named - n_above, n_above))
    return Inspection(counts, values, hints=isolated_hint(domain, n_named), changing=frozenset({counts[-1].rule}))


def degrees_of(edges: DataFrame) -> DataFrame:
    """Vertices with an edge: vertex, count."""
    ends = edges.select(F.explode(F.array("source", "target")).alias("vertex"))
    return ends.groupBy("vertex").count()


def isolated_hint(domain: VertexDomain, n_named: int) -> list[str]:
    """How many declared vertices have no edge. NOT PRIVATE."""
    if n_named == domain.count:
        return []
    return [f"{domain.count - n_named:,} of {domain.count:,} declared vertices have no edge that counts."]


def _edges(judged: DataFrame) -> DataFrame:
    return judged.where(F.col("failed").isNull()).select(*_ENDS).distinct()


def _number(text: str, domain: VertexDomain) -> str:
    """The vertex's number; what does not fit 64 bits is no declared vertex. Regular expressions would be far slower."""
    place = f"try_subtract(TRY_CAST({text} AS BIGINT), {domain.first}L)"
    return (
        f"CASE WHEN {text} IS NULL OR {text} = '' THEN {_MISSING}L"
        f" WHEN translate({text}, '0123456789', '') != '' THEN {_UNREADABLE}L"
        f" WHEN {place} BETWEEN 0 AND {domain.count - 1} THEN {place} ELSE {_UNDECLARED}L END"
    )


def _find_names(names: tuple[str, ...]) -> Callable[[Batches], Batches]:
    """A function from batches of names to batches of numbers."""
    known = [name.encode() for name in names]

    def find(batches: Batches) -> Batches:
        value_set = pa.array(known, pa.binary())
        for batch in batches:
            columns = [_places(batch.column(end), value_set) for end in _ENDS]
            others = batch.schema.names[len(_ENDS) :]
            columns += [batch.column(name) for name in others]
            yield pa.RecordBatch.from_arrays(columns, names=[*_ENDS, *others])

    return find


def _places(texts: pa.Array, value_set: pa.Array) -> pa.Array:
    octets = texts.cast(pa.binary())
    place = pc.fill_null(pc.index_in(octets, value_set=value_set), _UNDECLARED).cast(pa.int64())
    given = pc.fill_null(pc.greater(pc.binary_length(octets), 0), False)
    return pc.if_else(given, place, pa.scalar(_MISSING, pa.int64()))
