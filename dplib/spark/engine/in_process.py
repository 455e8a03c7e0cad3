"""Blocks without Spark: the few calls that blocks, rounds and regrouped pieces make of Spark, on one table of pyarrow.

What runs on executors is a plain function of Arrow batches (`dplib.spark.engine.blocks`), so a publication of a small
design can be tried before Java has started (`dplib.workflow.dry_publication`). Nothing here is lazy, lost or spilled,
and everything is held at once.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from dplib.spark.engine.blocks import Batches, SparkSession

_TYPES = {"int": pa.int32(), "binary": pa.binary()}


class _Frame:
    """A DataFrame of blocks or pieces; the names of its methods are Spark's."""

    def __init__(self, table: pa.Table, session: "_Session") -> None:
        self._table, self.sparkSession = table, session
        self.columns = list(table.column_names)

    def mapInArrow(self, function: Callable[[Batches], Batches], columns: str) -> "_Frame":  # noqa: N802 - Spark's
        found = function(iter(self._table.to_batches()))
        return self._like(pa.Table.from_batches(found, schema=_schema(columns)))

    def groupBy(self, name: str) -> "_Grouped":  # noqa: N802 - Spark's
        return _Grouped(self, self._table, name)

    def select(self, *names: str) -> "_Frame":
        return self._like(self._table.select(list(names)))

    def toDF(self, *names: str) -> "_Frame":  # noqa: N802 - Spark's
        return self._like(self._table.rename_columns(list(names)))

    def persist(self) -> "_Frame":
        return self

    def repartition(self, *_: object) -> "_Frame":
        return self

    def localCheckpoint(self, eager: bool = True) -> "_Frame":  # noqa: N802 - Spark's
        return self

    def unpersist(self) -> None:
        """Nothing is kept elsewhere."""

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's
        return self._table

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[dict[str, Any]]:  # noqa: N802
        return iter(self._table.to_pylist())

    def _like(self, table: pa.Table) -> "_Frame":
        return _Frame(table, self.sparkSession)


class _Grouped:
    def __init__(self, frame: _Frame, table: pa.Table, name: str) -> None:
        self._frame, self._table, self._key = frame, table, table[name]

    def applyInArrow(self, function: Callable[[pa.Table], pa.Table], columns: str) -> _Frame:  # noqa: N802 - Spark's
        groups = [self._table.filter(pc.equal(self._key, value)) for value in pc.unique(self._key)]
        made = [_schema(columns).empty_table(), *map(function, groups)]
        return _Frame(pa.concat_tables(made), self._frame.sparkSession)


class _Session:
    """A session that holds no setting."""

    @property
    def conf(self) -> "_Session":
        return self

    def get(self, _: str, default: str) -> str:
        return default

    def createDataFrame(self, table: pa.Table) -> _Frame:  # noqa: N802 - Spark's
        return _Frame(table, self)


def _schema(columns: str) -> pa.Schema:
    named = (column.split(" ") for column in columns.split(", "))
    return pa.schema([(name, _TYPES[kind]) for name, kind in named])


def session_in_process() -> SparkSession:
    """What stands in for a session where only blocks are handed to it."""
    return cast(SparkSession, _Session())
