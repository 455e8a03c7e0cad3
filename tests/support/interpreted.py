"""A session that interprets expressions: for few rows compiling them takes longer than all else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@contextmanager
def interpreting(spark: "SparkSession", wanted: bool = True) -> "Iterator[SparkSession]":
    """Let a session interpret expressions, or compile them as users' sessions do; as it was afterwards."""
    before = {key: spark.conf.get(key, None) for key in _INTERPRETED}
    _set(spark, _INTERPRETED if wanted else dict.fromkeys(_INTERPRETED))
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
