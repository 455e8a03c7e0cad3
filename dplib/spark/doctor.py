"""Is there a Java and a Spark that can start? What is wrong, and how to mend it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pyspark

from dplib.config.sections import SparkSettings
from dplib.errors import DplibError
from dplib.spark.blocks import Batches
from dplib.spark.session import open_session, prepare_java, quiet_spark_errors

LEAST_JAVA = 17
Finding = tuple[bool, str]


def check_java() -> Finding:
    """Whether a Java that Spark can use is found, and which."""
    try:
        prepare_java()
    except DplibError as error:
        return False, f"{error}; install a Java runtime of version {LEAST_JAVA} or newer and set JAVA_HOME"
    home = os.environ.get("JAVA_HOME")
    binary = str(Path(home) / "bin" / "java") if home else shutil.which("java") or "java"
    found = subprocess.run([binary, "-version"], capture_output=True, text=True, check=False, timeout=60)
    version = re.search(r'version "(\d+)', found.stderr + found.stdout)
    if version is None or int(version[1]) < LEAST_JAVA:
        shown = version[1] if version else "no version"
        return False, f"Java must be {LEAST_JAVA} or newer, got {shown} from {binary}; set JAVA_HOME to a newer one"
    return True, f"Java {version[1]} at {binary}"


def _unchanged(batches: Batches) -> Batches:
    # Spark asks for the signature, which builtins such as `iter` lack.
    yield from batches


def check_spark() -> Finding:
    """Whether a local session starts and runs a Python function on a worker."""
    try:
        with (
            open_session("dplib doctor", SparkSettings(master="local[1]")) as spark,
            quiet_spark_errors("run a function on a worker"),
        ):
            spark.range(3).mapInArrow(_unchanged, "id long").count()
    except DplibError as error:
        return False, str(error)
    return True, f"Spark {pyspark.__version__} starts and its workers run this Python"
