"""Rows with numbers: opening them, and the one public rule for which of them count.

A row is judged by these rules in order and dropped at the first that it fails; nothing else about it is ever shown.

    unit is given                  not null and not blank, where the privacy unit has a column
    every coordinate is given      a number or an infinity; NaN, null, text that is no number and short rows are not;
                                   with `clustering.missing` public numbers stand for them and no row fails
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType

from dplib.clustering.point_frame import PointFrame
from dplib.config.point_input import PointInput
from dplib.errors import SchemaError
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.points.point_batches import has_unit, point_numbers
from dplib.spark.rows.contributions import Batches
from dplib.spark.rows.inspection import Inspection, RuleCount, rule_counts, totals_by_rule
from dplib.spark.rows.read import KEY_TYPES, NUMBER_TYPES, open_columns
from dplib.spark.rows.resolve import number_sql, text_sql

POINT_RULES = ("unit is given", "every coordinate is given")
_UNIT, _COORDINATES = range(2)
INSIDE = "point is inside the bounds"
_VECTOR_TYPES = frozenset({"array"})


def open_points(spark: SparkSession, source: PointInput, base: Path, for_owner: bool = False) -> DataFrame:
    """Open the input; of a text file at most the header line is read.

    Args:
        spark: the session.
        source: section `input`.
        base: folder that relative paths refer to.
        for_owner: whether to add a text column shown: the first coordinate that is no number. NOT PRIVATE.

    Returns:
        columns x0, x1, ... of doubles, or vector of arrays of doubles, and unit as bytes where it is mapped.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    names = source.columns.names
    accepted = {"vector": _VECTOR_TYPES, "unit": KEY_TYPES}
    accepted |= {role: NUMBER_TYPES for role in names if role.startswith("coordinates.")}
    rows = open_columns(spark, source, names, accepted, base)
    types = [field.dataType.typeName() for field in rows.schema.fields]
    if source.columns.vector is not None:
        _require_numbers(source.columns.vector, rows.schema["vector"].dataType)
    roles = [role.replace("coordinates.", "x") for role in names]
    of_texts = source.columns.vector is not None and _held(rows.schema["vector"].dataType) == "string"
    columns = []
    for role, kind in zip(roles, types, strict=True):
        if role == "unit":
            column = f"CAST({text_sql(role)} AS BINARY)"
        elif role == "vector":
            numbers = f"transform({role}, each -> {number_sql('each', 'string')})" if of_texts else role
            column = f"TRY_CAST({numbers} AS ARRAY<DOUBLE>)"
        else:
            column = number_sql(role, kind)
        columns.append(F.expr(f"{column} AS {role}"))
    named = rows.toDF(*roles)
    if for_owner:
        columns.append(_unreadable(source, roles, types).cast("binary").alias("shown"))
    return named.select(*columns)


def _unreadable(source: PointInput, roles: list[str], types: list[str]) -> Column:
    """The first coordinate that is no number, as ``name: text``."""
    if source.columns.vector is not None:
        return F.col("vector").cast("string")
    found = []
    for role, column, kind in zip(roles, source.columns.names.values(), types, strict=True):
        if role != "unit":
            number = F.expr(number_sql(role, kind))
            text = F.concat(F.lit(f"{column}: "), F.expr(f"coalesce({text_sql(role)}, '')"))
            found.append(F.when(number.isNull() | F.isnan(number), text))
    return F.coalesce(*found)


def _require_numbers(column: str, vector: DataType) -> None:
    """Refuse arrays of what is no number; Spark would say so only later, in words of its own."""
    held = _held(vector)
    if held not in NUMBER_TYPES:
        allowed = ", ".join(sorted(NUMBER_TYPES))
        raise SchemaError(f"input.columns.vector must name arrays of type {allowed}, got {column} of arrays of {held}")


def _held(vector: DataType) -> str:
    return vector.elementType.typeName() if isinstance(vector, ArrayType) else "none"


def inspect_points(rows: DataFrame, frame: PointFrame, max_rows: int) -> Inspection:
    """Count rows kept and dropped by each rule, for the data's owner. NOT PRIVATE.

    Args:
        rows: from `open_points`, for the owner.
        frame: bounds and scales.
        max_rows: cap of a unit's rows.

    Returns:
        the rules in order; then ``point is inside the bounds`` (dropped: rows that are clipped), and with units ``rows
        are within the cap a unit``.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with_unit = "unit" in rows.columns
    judged = judge_points(rows, frame)
    with quiet_spark_errors("inspect the rows"):
        by_rule, values = totals_by_rule(judged, POINT_RULES, F.sum("outside").alias("outside"))
        n_kept, clipped = (by_rule[None]["rows"], by_rule[None]["outside"]) if None in by_rule else (0, 0)
        found = rule_counts(POINT_RULES, {rule: row["rows"] for rule, row in by_rule.items()}, n_kept)
        found.append(RuleCount(INSIDE, n_kept - clipped, clipped))
        if with_unit:
            kept = judged.where("failed is null").groupBy("unit").agg(F.least(F.count("*"), F.lit(max_rows)).alias("n"))
            within = kept.agg(F.coalesce(F.sum("n"), F.lit(0))).collect()[0][0]
            found.append(RuleCount("rows are within the cap a unit", within, n_kept - within))
    hints = []
    if 2 * clipped > n_kept:
        hints.append("More than half of the points lie outside the bounds and count at their border: are these right?")
    return Inspection(found, values, hints=hints, changing=frozenset({INSIDE}))


def judge_points(rows: DataFrame, frame: PointFrame) -> DataFrame:
    """Say which rule drops each row, and whether it is clipped.

    Args:
        rows: from `open_points`.
        frame: bounds and scales.

    Returns:
        columns failed int (null where the row counts), outside int, shown binary, unit binary where there is one, and
        content binary: all coordinates.
    """
    coordinates = [name for name in rows.columns if name not in ("unit", "shown")]
    content = F.to_json(F.struct(*coordinates)).cast("binary").alias("content")
    unit = ", unit binary" if "unit" in rows.columns else ""
    schema = f"failed int, outside int, shown binary{unit}, content binary"
    return rows.select("*", content).mapInArrow(_judge(frame), schema)


def _judge(frame: PointFrame) -> Callable[[Batches], Batches]:
    def judge(batches: Batches) -> Batches:
        for batch in batches:
            rows = point_numbers(batch, frame.space.dimension)
            given = frame.given(rows)
            failed = np.where(has_unit(batch), np.where(given, -1, _COORDINATES), _UNIT).astype(np.int32)
            outside = np.zeros(batch.num_rows, dtype=np.int32)
            outside[given] = frame.outside(rows[given])
            arrays = [pa.array(failed, mask=failed < 0), pa.array(outside)]
            names = ["failed", "outside"]
            shown = pa.nulls(batch.num_rows, pa.binary())
            if "shown" in batch.schema.names:
                shown = pc.if_else(pa.array(failed == _COORDINATES), batch.column("shown").cast(pa.binary()), shown)
            arrays.append(shown)
            names.append("shown")
            for name in ("unit", "content"):
                if name in batch.schema.names:
                    arrays.append(batch.column(name).cast(pa.binary()))
                    names.append(name)
            yield pa.record_batch(arrays, names=names)

    return judge
