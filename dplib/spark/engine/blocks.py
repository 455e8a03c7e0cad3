"""Logical blocks on Spark: one row a block, its arrays as binary columns, mapped by plain functions.

Rows are turned into blocks once; from then on whole blocks move, and a function sees one block as a dictionary of byte
strings. What an executor gets besides is the function's closure: derived keys and settings, never the secret. Only the
DataFrame API is used, so the same code runs over Spark Connect.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame as DataFrame
from pyspark.sql import SparkSession as SparkSession

from dplib.spark.engine.session import quiet_spark_errors

Block = Mapping[str, bytes]
Batches = Iterator[pa.RecordBatch]
CHUNK_BYTES = 1 << 26
"""Blocks are handed to Spark in pieces of about this size, so that the driver never holds them all at once."""


def map_blocks(blocks: DataFrame, function: Callable[[int, Block], Block], columns: Sequence[str]) -> DataFrame:
    """Map every block by a function.

    Args:
        blocks: columns block int and binary ones.
        function: from the block's number and its columns to the columns of the result; must be deterministic, since
            Spark may call it again for a lost partition.
        columns: names of the result's binary columns.

    Returns:
        columns block int and ``columns``, binary; lazy.
    """
    names = [name for name in blocks.columns if name != "block"]
    schema = pa.schema([("block", pa.int32()), *((name, pa.binary()) for name in columns)])

    def apply(batches: Batches) -> Batches:
        for batch in batches:
            for row in range(batch.num_rows):
                number = batch.column("block")[row].as_py()
                found = function(number, {name: batch.column(name)[row].as_py() for name in names})
                arrays = [pa.array([number], pa.int32()), *(pa.array([found[name]], pa.binary()) for name in columns)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return blocks.mapInArrow(apply, ", ".join(["block int", *(f"{name} binary" for name in columns)]))


def iterate_blocks(blocks: DataFrame, task: str) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Bring blocks to the driver, one partition at a time; the order is Spark's.

    Args:
        blocks: columns block int and binary ones.
        task: what Spark is doing, for error messages.
    """
    names = [name for name in blocks.columns if name != "block"]
    with quiet_spark_errors(task):
        for row in blocks.toLocalIterator(prefetchPartitions=True):
            yield int(row["block"]), {name: bytes(row[name]) for name in names}


def collect_blocks(blocks: DataFrame, task: str) -> list[tuple[int, dict[str, bytes]]]:
    """Bring small summaries of all blocks to the driver in one job, ordered by block.

    Args:
        blocks: columns block int and binary ones, some kilobytes a block.
        task: what Spark is doing, for error messages.
    """
    names = [name for name in blocks.columns if name != "block"]
    with quiet_spark_errors(task):
        table = blocks.toArrow().sort_by("block")
    columns = [table.column(name).to_pylist() for name in names]
    return [
        (number, dict(zip(names, row, strict=True)))
        for number, row in zip(table.column("block").to_pylist(), zip(*columns, strict=True), strict=True)
    ]


def materialise_blocks(blocks: DataFrame, task: str) -> None:
    """Compute persisted blocks now, all partitions at once.

    Args:
        blocks: persisted.
        task: what Spark is doing, for error messages.
    """
    with quiet_spark_errors(task):
        blocks.select("block").toArrow()


def blocks_from(spark: SparkSession, blocks: Iterable[tuple[int, Block]], n_partitions: int) -> DataFrame:
    """Hand blocks from the driver to Spark, spread over partitions.

    Args:
        spark: the session.
        blocks: at least one, numbers and binary columns, all with the same names; read once, a piece at a time.
        n_partitions: how many tasks should hold them.
    """
    pieces: list[DataFrame] = []
    rows: list[dict[str, int | bytes]] = []
    size = 0
    with quiet_spark_errors("take the blocks"):
        for number, columns in blocks:
            rows.append({"block": number, **columns})
            size += sum(len(value) for value in columns.values())
            if size >= CHUNK_BYTES:
                pieces.append(_piece(spark, rows))
                rows, size = [], 0
        if rows:
            pieces.append(_piece(spark, rows))
        return reduce(DataFrame.unionByName, pieces).repartition(n_partitions, "block")


def _piece(spark: SparkSession, rows: list[dict[str, int | bytes]]) -> DataFrame:
    names = [name for name in rows[0] if name != "block"]
    schema = pa.schema([("block", pa.int32()), *((name, pa.binary()) for name in names)])
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))
