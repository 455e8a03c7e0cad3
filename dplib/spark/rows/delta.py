"""Delta tables as input without a connector in Spark: the log tells which Parquet files are live, Spark reads them.

The log is read by the driver, once, with the library ``deltalake`` (extra ``delta``). From then on the input is a fixed
list of files that a Delta table never changes: anyone who writes to the table meanwhile changes no count, and a retry
of a task reads what the first try read. Nothing about the log is shown: its newest version says how often rows came in.

Where Spark has Delta's own connector (``spark.sql.extensions``), the connector reads instead.

Limits: tables with deletion vectors, column mapping, type widening or a feature unknown here need the connector and are
refused. Over Spark Connect the driver must see the log and the server the files under the same path.

Reference: Armbrust et al., "Delta Lake: high-performance ACID table storage over cloud object stores", PVLDB 13(12),
2020; the Delta transaction log protocol, section "Reader requirements".
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dplib.config.paths import literal
from dplib.config.sections import DELTA, Source
from dplib.errors import ConfigError, SchemaError

CONNECTOR = "DeltaSparkSessionExtension"
READ_FEATURES = frozenset({"timestampNtz", "vacuumProtocolCheck", "v2Checkpoint", "appendOnly", "invariants"})
"""Table features that change nothing about which rows its live Parquet files hold."""
_FILE = "__dplib_file"


def open_delta(spark: SparkSession, source: Source, base: Path) -> DataFrame:
    """Open one version of a Delta table; no row is read.

    Args:
        spark: the session.
        source: of format delta, with a path.
        base: folder that relative paths start from (the configuration's).

    Returns:
        the table's columns with their types.

    Raises:
        ConfigError: if the extra ``delta`` is not installed, or the table has no such version.
        SchemaError: if there is no table, or reading it needs the connector.
    """
    (path,) = source.places(base)
    if CONNECTOR in str(spark.conf.get("spark.sql.extensions", "")):
        options = source.options | ({} if source.version is None else {"versionAsOf": str(source.version)})
        return spark.read.format(DELTA).options(**options).load(path)
    table = _load(path, source)
    _require_plain(table, path)
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    partitioned_by = list(table.metadata().partition_columns)
    actions = pa.table(table.get_add_actions(flatten=True))
    files = [_place(path, str(name)) for name in actions.column("path").to_pylist()]
    if not files:
        return spark.createDataFrame([], schema)
    stored = StructType([field for field in schema.fields if field.name not in partitioned_by])
    frame = spark.read.schema(stored).parquet(*map(literal, files))
    if not partitioned_by:
        return frame
    frame = frame.withColumn(_FILE, F.col("_metadata.file_name"))
    values = spark.createDataFrame(_partition_values(actions, files, partitioned_by, path))
    joined = frame.join(F.broadcast(values), _FILE)
    return joined.select(*(F.col(f"`{field.name}`").cast(field.dataType).alias(field.name) for field in schema.fields))


def _load(path: str, source: Source) -> Any:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError
    except ImportError:
        raise ConfigError(
            "input.format",
            "be one that this environment reads",
            f"{DELTA} without the extra delta (pip install 'dplib[delta]') and without Delta's connector in Spark",
        ) from None
    try:
        table = DeltaTable(path, storage_options=source.options or None)
    except (DeltaError, OSError, ValueError) as error:
        found = "no table" if isinstance(error, TableNotFoundError) else type(error).__name__
        raise SchemaError(f"input.path must name a Delta table that can be opened, got {path} ({found})") from None
    if source.version is None:
        return table
    try:
        table.load_as_version(source.version)
    except (DeltaError, OSError, ValueError):
        raise ConfigError("input.version", "be a version that the table has", source.version) from None
    return table


def _require_plain(table: Any, path: str) -> None:
    """Refuse what the live files alone do not tell."""
    from deltalake.exceptions import DeltaError

    protocol, configuration = table.protocol(), table.metadata().configuration
    features = set(protocol.reader_features or ())
    needed = sorted(features - READ_FEATURES - {"deletionVectors", "columnMapping"})
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        needed.append("columnMapping")
    if "deletionVectors" in features:
        try:
            deleted = any(batch.num_rows for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()))
        except (DeltaError, OSError):
            deleted = True
        needed += ["deletionVectors"] if deleted else []
    if needed:
        raise SchemaError(
            f"input.path must name a Delta table that can be read without Delta's connector in Spark, got {path} with "
            f"{', '.join(needed)}"
        )


def _place(path: str, name: str) -> str:
    """Where a file of the log is: the log's names are escaped as in an address, relative to the table or absolute."""
    plain = unquote(name)
    return plain if plain.startswith("/") or "://" in plain else f"{path.rstrip('/')}/{plain}"


def _partition_values(actions: pa.Table, files: list[str], partitioned_by: list[str], path: str) -> pa.Table:
    """The values of the partition columns by file: they stand in the log, not in the files."""
    names = [file.rpartition("/")[2] for file in files]
    if len(set(names)) < len(names):
        raise SchemaError(f"input.path must name a Delta table whose files have different names, got {path}")
    columns = [actions.column(f"partition.{name}") for name in partitioned_by]
    return pa.table([pa.array(names, pa.string()), *columns], names=[_FILE, *partitioned_by])
