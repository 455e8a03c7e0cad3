"""Which bin of which histogram a row counts in: the one public rule for rows of values.

A row is judged by these rules in order and dropped at the first that it fails; nothing else about it is ever shown.

    unit is given           not null and not blank, where the privacy unit has a column
    value can be read       a finite or infinite number; a moment by `input.date_format`; any text for categories
    value is in a bin       [a, b), the last bin closed; with `outside: clamp` every number is
    group is declared       where there are groups; with `histogram.other` any group, but a blank one, is

Texts lose the blanks at their ends first, and names of groups and categories what `input.fold` names. The result has
the columns that bounding and counting take: ``day`` is the number of the histogram, ``row_type`` that of the bin,
``quantity`` 1. Search and comparison run inside an Arrow function on whole columns; no value reaches Python code one by
one, but for names that are folded: each different one of a batch.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.arrays import BoolArray, FloatArray, Int32Array, IntArray
from dplib.config.fold import Fold, folded
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.spark.points.point_batches import has_unit
from dplib.spark.rows.contributions import Batches
from dplib.spark.rows.fold import fold_array
from dplib.spark.rows.read import KEY_TYPES, MOMENT_TYPES, NUMBER_TYPES, open_columns
from dplib.spark.rows.resolve import number_sql, read_sql
from dplib.spark.rows.timestamps import check_date_format, with_day_number

BIN_RULES = ("unit is given", "value can be read", "value is in a bin", "group is declared")
_UNIT, _VALUE, _BIN, _GROUP = range(4)


def open_values(spark: SparkSession, source: HistogramInput, domain: BinDomain, base: Path) -> DataFrame:
    """Open the input; of a text file at most the header line is read.

    Returns:
        columns value, and group and unit where they are mapped.

    Raises:
        ConfigError: if an option, the format or `date_format` is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    if domain.first_day is not None:
        check_date_format(spark, source.date_format)
        kinds = MOMENT_TYPES
    else:
        kinds = KEY_TYPES if domain.categories is not None else NUMBER_TYPES
    accepted = {"value": kinds, "group": KEY_TYPES, "unit": KEY_TYPES}
    return open_columns(spark, source, source.columns.names, accepted, base)


def bin_rows(rows: DataFrame, source: HistogramInput, domain: BinDomain) -> DataFrame:
    """Keep the rows that count.

    Args:
        rows: from `open_values`.
        source: for the date pattern and the time zone.
        domain: bins and groups.

    Returns:
        columns day int (the histogram), row_type int (the bin), quantity long (1), and unit string where there is
        one; lazy.
    """
    kept = judge_values(rows, source, domain).where(F.col("failed").isNull())
    return kept.select("day", "row_type", "quantity", *(["unit"] if "unit" in rows.columns else []))


def judge_values(rows: DataFrame, source: HistogramInput, domain: BinDomain, for_owner: bool = False) -> DataFrame:
    """Find every row's bin and say which rule drops it.

    Args:
        rows: from `open_values`.
        source: for the date pattern and the time zone.
        domain: bins and groups.
        for_owner: whether to keep texts of rows, for the data's owner.

    Returns:
        the columns of `bin_rows`, and ``failed``: the index in `BIN_RULES` of the first rule that the row fails, null
        where it counts; for the owner ``series`` (the group), ``shown`` (the text that the failed rule judged),
        ``content`` (all texts) and, where there is a group of the rest, ``undeclared`` (the one that a row names).
    """
    types = {field.name: field.dataType.typeName() for field in rows.schema.fields}
    with_unit = "unit" in types
    if domain.first_day is not None:
        moment = read_sql("value") if types["value"] == "string" else "value"
        rows = with_day_number(rows, moment, types["value"], source, domain.first_day, domain.n_days)
        columns = ["day_number AS value"]
    elif domain.categories is not None:
        columns = [f"CAST({read_sql('value')} AS BINARY) AS value"]
    else:
        columns = [f"{number_sql('value', types['value'])} AS value"]
    # As bytes: a table's text need not be valid UTF-8.
    columns += [f"CAST({read_sql(f'`{name}`')} AS BINARY) AS `{name}`" for name in ("group", "unit") if name in types]
    schema = "failed int, day int, row_type int, quantity long" + (", unit binary" if with_unit else "")
    if for_owner:
        columns.append(f"CAST({read_sql('value')} AS BINARY) AS text")
        both = ", ".join(f"'{name}', {read_sql(f'`{name}`')}" for name in ("value", "group") if name in types)
        columns.append(f"CAST(to_json(named_struct({both})) AS BINARY) AS content")
        schema += ", shown binary, content binary" + ", undeclared binary" * (domain.other is not None)
    judged = rows.selectExpr(*columns).mapInArrow(_judge(domain, with_unit, source.fold), schema)
    if with_unit:
        judged = judged.withColumn("unit", F.col("unit").cast("string"))
    return (
        judged.withColumn("shown", F.col("shown").cast("string")).withColumn("series", F.col("day"))
        if for_owner
        else judged
    )


def _judge(domain: BinDomain, with_unit: bool, fold: Sequence[Fold] | None) -> Callable[[Batches], Batches]:
    groups = None if domain.groups is None else _octets(folded(domain.groups, fold, "histogram.groups"))
    find = _finder(domain, fold)

    def judge(batches: Batches) -> Batches:
        for batch in batches:
            readable, bins = find(batch.column("value"))
            group = np.zeros(batch.num_rows, np.int32)
            if groups is not None:
                named = fold_array(batch.column("group"), fold)
                group = _index(named, groups)
                if domain.other is not None:
                    given = pc.fill_null(pc.greater(pc.binary_length(named), 0), False).to_numpy(zero_copy_only=False)
                    undeclared = (group < 0) & given
                    group = np.where(undeclared, np.int32(domain.other), group)
            failed = np.where(group < 0, _GROUP, -1)
            failed = np.where(bins < 0, _BIN, failed)
            failed = np.where(readable, failed, _VALUE)
            arrays = [pa.array(group, pa.int32()), pa.array(bins.astype(np.int32), pa.int32())]
            arrays.append(pa.array(np.ones(batch.num_rows, np.int64)))
            names = ["day", "row_type", "quantity"]
            if with_unit:
                failed = np.where(has_unit(batch), failed, _UNIT)
                arrays.append(batch.column("unit").cast(pa.binary()))
                names.append("unit")
            if "text" in batch.schema.names:
                arrays += [_judged_text(batch, failed), batch.column("content").cast(pa.binary())]
                names += ["shown", "content"]
                if domain.other is not None:
                    arrays.append(pc.if_else(pa.array(undeclared), batch.column("group").cast(pa.binary()), None))
                    names.append("undeclared")
            first = pa.array(failed.astype(np.int32), pa.int32(), mask=failed < 0)
            yield pa.RecordBatch.from_arrays([first, *arrays], names=["failed", *names])

    return judge


def _judged_text(batch: pa.RecordBatch, failed: npt.NDArray[np.signedinteger]) -> pa.Array:
    """The text that the failed rule of each row judged. NOT PRIVATE."""
    shown = batch.column("text").cast(pa.binary())
    for rule, name in ((_GROUP, "group"), (_UNIT, "unit")):
        if name in batch.schema.names:
            shown = pc.if_else(pa.array(failed == rule), batch.column(name).cast(pa.binary()), shown)
    return shown


def _octets(names: Sequence[str]) -> pa.Array:
    return pa.array([name.encode() for name in names], pa.binary())


def _finder(domain: BinDomain, fold: Sequence[Fold] | None) -> Callable[[pa.Array], tuple[BoolArray, IntArray]]:
    """A function from a column of values to whether each can be read, and its bin (-1 for none)."""
    if domain.categories is not None:
        names = _octets(folded(domain.categories, fold, "histogram.categories"))
        return lambda values: (
            ~values.is_null().to_numpy(zero_copy_only=False),
            _index(fold_array(values, fold), names).astype(np.int64),
        )
    if domain.edges is None:
        return lambda values: _day_bins(values, domain.days_per_bin)
    edges, clamp = domain.edges, domain.clamp
    return lambda values: _number_bins(values.to_numpy(zero_copy_only=False), edges, clamp)


def _day_bins(values: pa.Array, days_per_bin: int) -> tuple[BoolArray, IntArray]:
    days = pc.fill_null(values, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return ~values.is_null().to_numpy(zero_copy_only=False), np.where(days < 0, -1, days // days_per_bin)


def _number_bins(values: FloatArray, edges: FloatArray, clamp: bool) -> tuple[BoolArray, IntArray]:
    readable = ~np.isnan(values)
    bins = np.searchsorted(edges, values, side="right").astype(np.int64) - 1
    last = len(edges) - 2
    bins[values == edges[-1]] = last
    if clamp:
        return readable, np.clip(bins, 0, last)
    return readable, np.where((bins < 0) | (bins > last), -1, bins)


def _index(values: pa.Array, names: pa.Array) -> Int32Array:
    found = pc.fill_null(pc.index_in(values, value_set=names), -1)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32)
