"""Columns of rows whose names are folded as those of the settings are (`dplib.config.fold`)."""

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.config.fold import Fold, fold_key
from dplib.spark.rows.contributions import Batches


def fold_columns(rows: DataFrame, names: Sequence[str], fold: Sequence[Fold] | None) -> DataFrame:
    """The rows with some columns as folded texts; as they are where nothing is folded.

    Cost: one pass through Python, where each different text of a batch is folded once.
    """
    if not fold:
        return rows
    # As bytes: what is no UTF-8 would be refused with a message that quotes it.
    octets = {name: F.col(f"`{name}`").cast("string").cast("binary") for name in names}
    sent = rows.select(*(octets[name].alias(name) if name in octets else F.col(f"`{name}`") for name in rows.columns))
    back = sent.mapInArrow(_folded(list(names), list(fold)), sent.schema)
    texts = (
        F.col(f"`{name}`").cast("string").alias(name) if name in octets else F.col(f"`{name}`") for name in rows.columns
    )
    return back.select(*texts)


def _folded(names: Sequence[str], fold: Sequence[Fold]) -> Callable[[Batches], Batches]:
    def folded(batches: Batches) -> Batches:
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in names:
                columns[name] = fold_array(columns[name], fold)
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return folded


def fold_array(texts: pa.Array, fold: Sequence[Fold] | None) -> pa.Array:
    """Texts as bytes, folded; those that are no UTF-8, or all where nothing is folded, as they are."""
    octets = texts.cast(pa.binary())
    if not fold:
        return octets
    coded = octets.dictionary_encode()
    return pa.array([_fold(value, fold) for value in coded.dictionary.to_pylist()], pa.binary()).take(coded.indices)


def _fold(value: bytes | None, fold: Sequence[Fold]) -> bytes | None:
    try:
        return None if value is None else fold_key(value.decode(), fold).encode()
    except UnicodeDecodeError:
        return value
