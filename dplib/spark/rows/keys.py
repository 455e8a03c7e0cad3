"""Keys that are not declared: from rows to the few that a selection releases, one group-by a round.

A row is judged by `KEY_RULES` and dropped at the first that it fails. The keys of one unit become one row, each once,
in the order of a keyed hash where they are more than the cap, so that "its first k that are not yet released" is the
same in every order and partitioning, and looks at one unit at a time. A unit keeps `MAX_HELD` of them at most, the
first of that order. Every round counts the weights of the keys (`dplib.mechanisms.release_table`) as exact integers and
decides key by key; only released ones reach the driver.

Cost: one shuffle by unit, sorted in each partition; then for every round one pass, one shuffle by key and a hash a key.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.config.item_table import KEY_SEPARATOR
from dplib.config.key_input import KeyInput
from dplib.mechanisms.release_table import Selector, draw_uniforms
from dplib.randomness.keyed import Key
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.rows.contributions import Batches, priorities
from dplib.spark.rows.fold import fold_columns
from dplib.spark.rows.inspection import Inspection, RuleCount, rule_counts, totals_by_rule
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.read import KEY_TYPES, open_columns
from dplib.spark.rows.resolve import first_failed, text_sql
from dplib.spark.rows.sql_text import literal

KEY_RULES = ("unit is given", "key can be a name")
IN_CAP = "keys are within the cap a unit"
MAX_BYTES = 1024
"""Of a key: longer texts are no names."""
MAX_HELD = 1 << 14
"""Keys of one unit that are looked at."""
_CONTROLS = literal("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]")
_SELECTED = "key binary, noisy long, place long"


def open_keys(spark: SparkSession, source: KeyInput, base: Path) -> DataFrame:
    """Open the input; of a text file at most the header line is read.

    Returns:
        columns key, or key.0 and so on, and unit where it is mapped.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    names = source.columns.names
    rows = open_columns(spark, source, names, dict.fromkeys(names, KEY_TYPES), base)
    return fold_columns(rows, [role for role in names if role != "unit"], source.fold)


def judge_keys(rows: DataFrame) -> DataFrame:
    """Find every row's key and say which rule drops it.

    Args:
        rows: from `open_keys`.

    Returns:
        columns key binary (of several columns their texts, joined), unit binary where there is one, failed (index in
        `KEY_RULES`, null where the row counts) and shown (the key's text, for the data's owner).
    """
    parts = [text_sql(f"`{role}`") for role in rows.columns if role != "unit"]
    named = " AND ".join(f"{part} IS NOT NULL AND {part} != '' AND NOT rlike({part}, {_CONTROLS})" for part in parts)
    key = f"CAST(concat({f', {literal(KEY_SEPARATOR)}, '.join(parts)}) AS BINARY)"
    unit = text_sql("unit") if "unit" in rows.columns else None
    given = "true" if unit is None else f"{unit} IS NOT NULL AND {unit} != ''"
    failed = first_failed((given, f"{named} AND octet_length({key}) <= {MAX_BYTES}")).alias("failed")
    owner = [] if unit is None else [F.expr(f"CAST({unit} AS BINARY) AS unit")]
    shown = F.expr(f"concat_ws(' / ', {', '.join(parts)}) AS shown")
    return rows.select(F.expr(f"{key} AS key"), *owner, failed, shown)


def judged_rows(rows: DataFrame) -> JudgedRows:
    """Rows from `open_keys` as the quality of the input sees them."""
    judged = judge_keys(rows)
    owner = F.col("unit") if "unit" in judged.columns else F.lit(None).cast("binary")
    columns = (F.lit(False).alias("clipped"), F.lit(True).alias("takes_place"), F.col("key").alias("content"))
    return JudgedRows(judged.select("failed", *columns, owner.alias("owner")), KEY_RULES)


def inspect_keys(rows: DataFrame, max_keys: int) -> Inspection:
    """Count rows from `open_keys` by rule, and the different keys of units that the cap takes. NOT PRIVATE."""
    judged = judge_keys(rows)
    with quiet_spark_errors("inspect the rows"):
        totals, values = totals_by_rule(judged, KEY_RULES)
        by_rule = {rule: row["rows"] for rule, row in totals.items()}
        found = rule_counts(KEY_RULES, by_rule, by_rule.get(None, 0))
        if "unit" in judged.columns:
            pairs = judged.where(F.col("failed").isNull()).select("unit", "key").distinct()
            sums = pairs.groupBy("unit").count().agg(F.sum("count"), F.sum(F.least("count", F.lit(max_keys))))
            held, kept = (int(number or 0) for number in sums.collect()[0])
            found.append(RuleCount(IN_CAP, kept, held - kept))
    return Inspection(found, values)


def keys_of_units(rows: DataFrame, max_keys: int, key: bytes) -> DataFrame:
    """The keys of each unit.

    Args:
        rows: from `open_keys`.
        max_keys: k.
        key: derived sub-key of 16 to 64 bytes that belongs to the account.

    Returns:
        column keys, an array of binaries for each unit, each once; lazy.
    """
    counted = judge_keys(rows).where(F.col("failed").isNull())
    if "unit" not in counted.columns:
        return counted.select(F.array("key").alias("keys"))
    together = counted.select("unit", "key").repartition("unit").sortWithinPartitions("unit", "key")
    return together.mapInArrow(gather_keys(max_keys, key), "keys array<binary>")


def gather_keys(max_keys: int, key: bytes, max_held: int = MAX_HELD) -> Callable[[Batches], Batches]:
    """The function that makes one row a unit of batches sorted by unit and key."""

    def gather(batches: Batches) -> Batches:
        held = None
        for batch in batches:
            if not batch.num_rows:
                continue
            rows = pa.table({name: batch.column(name) for name in ("unit", "key")})
            rows = _once(rows if held is None else pa.concat_tables([held, rows]).combine_chunks())
            starts = _starts(rows.column("unit"))
            held = rows.slice(starts[-1])
            if held.num_rows > 2 * max_held:
                # In the order of the hash what is left out now would be left out at the end.
                held = held.take(_ordered(held, key)[:max_held]).sort_by("key")
            if starts[-1]:
                yield _lists(rows.slice(0, starts[-1]), max_keys, max_held, key)
        if held is not None:
            yield _lists(held, max_keys, max_held, key)

    return gather


def _starts(column: pa.ChunkedArray) -> IntArray:
    """Where runs of equal values begin."""
    codes = column.combine_chunks().dictionary_encode().indices.to_numpy()
    return np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))


def _once(rows: pa.Table) -> pa.Table:
    """Rows sorted by unit and key without those that are like the one before."""
    first = np.zeros(rows.num_rows, dtype=bool)
    for name in ("unit", "key"):
        first[_starts(rows.column(name))] = True
    return rows if first.all() else rows.filter(pa.array(first))


def _ordered(rows: pa.Table, key: bytes) -> IntArray:
    """Rows sorted by unit in the order of the keyed hash of key and unit within each, as places of rows."""
    pairs = zip(rows.column("key").to_pylist(), rows.column("unit").to_pylist(), strict=True)
    # Lengths come first, so that different pairs are different messages.
    place = priorities((len(text).to_bytes(4, "little") + text + unit for text, unit in pairs), key)
    starts = _starts(rows.column("unit"))
    unit = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows.num_rows)))
    by = [("unit", "ascending"), ("place", "ascending")]
    order: IntArray = pc.sort_indices(pa.table({"unit": unit, "place": place}), by).to_numpy().astype(np.int64)
    return order


def _lists(rows: pa.Table, max_keys: int, max_held: int, key: bytes) -> pa.RecordBatch:
    starts = _starts(rows.column("unit"))
    lengths = np.diff(np.append(starts, rows.num_rows))
    order = np.arange(rows.num_rows)
    crowded = np.flatnonzero(np.repeat(lengths > max_keys, lengths))
    if len(crowded):
        order[crowded] = crowded[_ordered(rows.take(pa.array(crowded)), key)]
    kept = np.arange(rows.num_rows) - np.repeat(starts, lengths) < max_held
    ends = np.append(0, np.cumsum(np.minimum(lengths, max_held)))
    values = rows.column("key").combine_chunks().take(pa.array(order[kept]))
    return pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)], names=["keys"])


def select_round(
    units: DataFrame, selector: Selector, released: list[bytes], key: Key, number: int, limit: int
) -> tuple[list[bytes], list[int | None]]:
    """One round: weigh the keys that are not yet released, decide, and bring what is released to the driver.

    Args:
        units: from `keys_of_units`.
        selector: the round's mechanism.
        released: keys of earlier rounds.
        key: the measurement key.
        number: of the round, from 0.
        limit: keys at most; those of the largest noisy weights, or the first by a keyed hash where there are none.

    Returns:
        the released keys and their noisy weights, None where there are none; sorted by key.
    """
    gone = pa.array(released, pa.binary())
    weighed = units.mapInArrow(weigh_keys(gone, selector.weights), "key binary, weight long")
    summed = weighed.groupBy("key").agg(F.sum("weight").alias("weight"))
    found = summed.mapInArrow(decide(selector, key, number), _SELECTED).orderBy("place", "key").limit(limit)
    with quiet_spark_errors("select keys"):
        table = found.toArrow()
    pairs = sorted(zip(table.column("key").to_pylist(), table.column("noisy").to_pylist(), strict=True))
    return [name for name, _ in pairs], [noisy for _, noisy in pairs]


def weigh_keys(gone: pa.Array, weights: tuple[int, ...]) -> Callable[[Batches], Batches]:
    """The function from units to the weights that they give to their first keys that are not gone, added up."""
    by_degree = np.array((0, *weights), np.int64)

    def weigh(batches: Batches) -> Batches:
        for batch in batches:
            lists = batch.column("keys")
            flat, lengths = lists.flatten(), lists.value_lengths().to_numpy()
            unit = np.repeat(np.arange(len(lengths)), lengths)
            left = ~pc.is_in(flat, value_set=gone).to_numpy(zero_copy_only=False)
            rank = np.cumsum(left)
            before = np.append(0, rank)[np.cumsum(lengths) - lengths]
            kept = left & (rank - before[unit] <= len(weights))
            degree = np.bincount(unit[kept], minlength=len(lengths))
            rows = pa.table({"key": flat.filter(pa.array(kept)), "weight": by_degree[degree[unit[kept]]]})
            summed = rows.group_by("key").aggregate([("weight", "sum")])
            yield from summed.select(["key", "weight_sum"]).rename_columns(["key", "weight"]).to_batches()

    return weigh


def decide(selector: Selector, key: Key, number: int) -> Callable[[Batches], Batches]:
    """The function from keys and weights to what is released, with the place by which a limit chooses."""

    def decided(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names, weights = batch.column("key"), batch.column("weight").to_numpy()
            released, noisy = selector.release(draw_uniforms(key, number, names.to_pylist(), weights), weights)
            kept = names.filter(pa.array(released))
            if noisy is None:
                # Of the key alone, under a number that no round has.
                place = draw_uniforms(key, -1 - number, kept.to_pylist(), np.zeros(len(kept), np.int64))
                shown = pa.nulls(len(kept), pa.int64())
            else:
                place, shown = -noisy[released], pa.array(noisy[released], pa.int64())
            arrays = [kept.cast(pa.binary()), shown, pa.array(place, pa.int64())]
            yield pa.RecordBatch.from_arrays(arrays, names=["key", "noisy", "place"])

    return decided
