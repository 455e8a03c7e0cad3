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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.network_statistics import EdgeInput
from dplib.spark.inspect import RuleCount
from dplib.spark.read import open_columns
from dplib.spark.resolve import text_column
from dplib.spark.session import quiet_spark_errors

Batches = Iterator[pa.RecordBatch]
IntArray = npt.NDArray[np.int64]
EDGE_RULES = (
    "both ends are given",
    "both ends can be read",
    "both ends are declared",
    "the ends differ",
    "the edge is new",
)
VERTEX_TYPES = frozenset({"byte", "short", "integer", "long", "string"})
_UNDECLARED, _UNREADABLE, _MISSING = -1, -2, -3
_ENDS = ("source", "target")


@dataclass(frozen=True)
class VertexDomain:
    """The declared vertices, in the job numbered from 0.

    Attributes:
        count: how many.
        first: the smallest, where they are numbers.
        names: in order; None where they are numbers.
    """

    count: int
    first: int = 0
    names: tuple[str, ...] | None = None


def open_edges(spark: SparkSession, source: EdgeInput, base: Path) -> DataFrame:
    """Open the input; of a text file at most the header line is read.

    Returns:
        columns source and target.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column is of no type that names vertices.
    """
    return open_columns(spark, source, source.columns.names, dict.fromkeys(_ENDS, VERTEX_TYPES), base)


def judge_edges(rows: DataFrame, domain: VertexDomain) -> DataFrame:
    """Find every row's vertices and say which rule drops it.

    Args:
        rows: from `open_edges`.
        domain: the declared vertices.

    Returns:
        columns source and target long (numbers of the vertices, the smaller first; negative where there is none), and
        failed int: the index in `EDGE_RULES` of the first rule that the row fails, null where it passes all but the
        last, which is not decided here; lazy.
    """
    texts = rows.select(*(text_column(F.col(end)).alias(end) for end in _ENDS))
    if domain.names is None:
        placed = texts.select(*(_number(F.col(end), domain).alias(end) for end in _ENDS))
    else:
        placed = texts.mapInArrow(_find_names(domain.names), "source long, target long")
    least = F.least("source", "target")
    failed = (
        F.when(least == _MISSING, 0)
        .when(least == _UNREADABLE, 1)
        .when(least == _UNDECLARED, 2)
        .when(F.col("source") == F.col("target"), 3)
    )
    return placed.select(least.alias("source"), F.greatest("source", "target").alias("target"), failed.alias("failed"))


def collect_edges(judged: DataFrame) -> tuple[IntArray, IntArray]:
    """Bring the edges to the driver, each once, in the order of their ends.

    Args:
        judged: from `judge_edges`.

    Returns:
        The smaller and the greater end of each edge, each of shape (m,). Private.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("collect the edges"):
        table = _edges(judged).toArrow()
    source, target = (table.column(end).to_numpy().astype(np.int64) for end in _ENDS)
    order = np.lexsort((target, source))
    return source[order], target[order]


def inspect_edges(judged: DataFrame) -> list[RuleCount]:
    """Count rows by rule. NOT PRIVATE: for the eyes of the data's owner only.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("inspect the edges"):
        by_rule = {row["failed"]: row["count"] for row in judged.groupBy("failed").count().collect()}
        n_edges = _edges(judged).count()
    by_rule[len(EDGE_RULES) - 1] = by_rule.get(None, 0) - n_edges
    left = n_edges + sum(by_rule.get(rule, 0) for rule in range(len(EDGE_RULES)))
    found = []
    for index, rule in enumerate(EDGE_RULES):
        dropped = by_rule.get(index, 0)
        left -= dropped
        found.append(RuleCount(rule, left, dropped))
    return found


def _edges(judged: DataFrame) -> DataFrame:
    return judged.where(F.col("failed").isNull()).select(*_ENDS).distinct()


def _number(text: Column, domain: VertexDomain) -> Column:
    """The vertex's number; what does not fit 64 bits is no declared vertex. Regular expressions would be far slower."""
    place = F.try_subtract(text.try_cast("long"), F.lit(domain.first))
    declared = F.coalesce(place.between(0, domain.count - 1), F.lit(False))
    return (
        F.when(text.isNull() | (text == ""), F.lit(_MISSING).cast("long"))
        .when(F.translate(text, "0123456789", "") != "", F.lit(_UNREADABLE).cast("long"))
        .when(declared, place)
        .otherwise(F.lit(_UNDECLARED).cast("long"))
    )


def _find_names(names: tuple[str, ...]) -> Callable[[Batches], Batches]:
    """A function from batches of names to batches of numbers."""
    known = [name.encode() for name in names]

    def find(batches: Batches) -> Batches:
        value_set = pa.array(known, pa.binary())
        for batch in batches:
            columns = [_places(batch.column(end), value_set) for end in _ENDS]
            yield pa.RecordBatch.from_arrays(columns, names=list(_ENDS))

    return find


def _places(texts: pa.Array, value_set: pa.Array) -> pa.Array:
    octets = texts.cast(pa.binary())
    place = pc.fill_null(pc.index_in(octets, value_set=value_set), _UNDECLARED).cast(pa.int64())
    given = pc.fill_null(pc.greater(pc.binary_length(octets), 0), False)
    return pc.if_else(given, place, pa.scalar(_MISSING, pa.int64()))
