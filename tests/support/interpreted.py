"""A session that interprets expressions: for few rows compiling them takes longer than all else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_PLANNED_ONCE = {"spark.sql.adaptive.enabled": "false"}
_PLANNED_AGAIN = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "3"}


@contextmanager
def interpreting(spark: "SparkSession", wanted: bool = True) -> "Iterator[SparkSession]":
    """Let a session interpret expressions, or compile them as users' sessions do; as it was afterwards."""
    with _having(spark, _INTERPRETED if wanted else dict.fromkeys(_INTERPRETED)):
        yield spark


@contextmanager
def planning_once(spark: "SparkSession", wanted: bool = True, n_tasks: int = 1) -> "Iterator[SparkSession]":
    """Let a session plan each query once, with as many tasks a shuffle: planning after each takes a quarter of a run.

    Where this is not wanted: plan as users' sessions do, with several tasks.
    """
    once = _PLANNED_ONCE | {"spark.sql.shuffle.partitions": str(n_tasks)}
    with _having(spark, once if wanted else _PLANNED_AGAIN):
        yield spark


def without_python_sources(spark: "SparkSession") -> None:
    """Let a session know that there are no data sources in Python.

    At the first format or table that it does not know Spark looks for them with two processes of their own.
    """
    java = spark.sparkContext._jvm
    assert java is not None
    manager = getattr(getattr(java.org.apache.spark.sql.execution.datasources, "DataSourceManager$"), "MODULE$")
    none = java.org.apache.spark.api.python.PythonUtils.toScalaMap(java.java.util.HashMap())
    getattr(manager, "dataSourceBuilders_$eq")(java.scala.Some(none))


@contextmanager
def _having(spark: "SparkSession", settings: dict[str, str] | dict[str, str | None]) -> "Iterator[SparkSession]":
    before = {key: spark.conf.get(key, None) for key in settings}
    _set(spark, settings)
    try:
        yield spark
    finally:
        _set(spark, before)


def _set(spark: "SparkSession", settings: dict[str, str | None] | dict[str, str]) -> None:
    for key, value in settings.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
