"""Files of this machine that settings name one by one, which nobody need list."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dplib.spark.engine.session import deploy_mode


def named_files(spark: SparkSession, places: Sequence[str]) -> tuple[str, ...]:
    """The addresses of plain files, in order of their names; none where Spark must say which files there are.

    Args:
        spark: the session.
        places: absolute paths, patterns or URLs; patterns, folders, and a file that stands twice are Spark's.
    """
    if len(set(places)) < len(places) or not all(map(_is_plain, places)):
        return ()
    if deploy_mode(spark) != "local" or _default_file_system(spark) != "file:///":
        return ()
    return tuple(sorted(Path(os.path.normpath(place)).as_uri() for place in places))


def _is_plain(place: str) -> bool:
    """Whether a place is a file whose name every file system reads alike, and that the reader does not pass over."""
    hidden = Path(place).name.startswith(("_", ".")) or place.endswith("._COPYING_")
    return place.isascii() and place.startswith("/") and not hidden and Path(place).is_file()


def _default_file_system(spark: SparkSession) -> str:
    """Where paths without a scheme lie, of a session that is no Connect client's."""
    session: Any = spark
    return str(session._jsparkSession.sessionState().newHadoopConf().get("fs.defaultFS"))
