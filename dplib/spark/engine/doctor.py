"""Is there a Java and a Spark that can start, with workers that run our Python? What is wrong, and how to fix it."""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyspark
import pyspark.sql.functions as f

from dplib.config.sections import SparkSettings
from dplib.errors import DplibError
from dplib.spark.engine.blocks import Batches, SparkSession
from dplib.spark.engine.java import prepare_java
from dplib.spark.engine.session import deploy_mode, open_session, quiet_spark_errors

MIN_JAVA = 17
_HALF_YEAR = 182 * 86_400
_FIRST_INSTANT, _N_INSTANTS = 631_152_000, 100  # 1990 to 2039


class Verdict(StrEnum):
    """How bad a finding is: with ``warn`` jobs run, with ``bad`` some or all do not."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, and how to fix it where it is not well."""

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""


def check_java() -> Finding:
    """Whether a Java that Spark can use is found, and which."""
    fix = f"install a Java runtime of version {MIN_JAVA} or newer and set JAVA_HOME to its folder"
    try:
        prepare_java()
    except DplibError as error:
        return Finding("Java", Verdict.BAD, str(error), fix)
    home = os.environ.get("JAVA_HOME")
    binary = str(Path(home) / "bin" / "java") if home else shutil.which("java") or "java"
    try:
        found = subprocess.run([binary, "-version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return Finding("Java", Verdict.BAD, f"{binary} must be a program that runs and ends, got none", fix)
    version = re.search(r'version "(\d+)', found.stderr + found.stdout)
    if version is None or int(version[1]) < MIN_JAVA:
        shown = version[1] if version else "no version"
        return Finding("Java", Verdict.BAD, f"Java must be {MIN_JAVA} or newer, got {shown} from {binary}", fix)
    return Finding("Java", Verdict.OK, f"Java {version[1]} at {binary}")


def check_spark(settings: SparkSettings, timezone: str) -> list[Finding]:
    """Whether a session starts, its workers run this Python, and Java and Python agree on a time zone.

    Args:
        settings: master and further settings.
        timezone: name of the zone in which days are cut.
    """
    found: list[Finding] = []
    try:
        with open_session("dplib doctor", settings) as spark:
            where = deploy_mode(spark)
            found.append(Finding("Spark", Verdict.OK, f"Spark {pyspark.__version__} starts ({where} mode)"))
            found.append(_check_workers(spark))
            found.append(_check_zone(spark, timezone))
    except DplibError as error:
        name = ("Spark", "workers", "time zone")[len(found)]
        fixes = {
            "Spark": "look at spark.master and spark.conf; DPLIB_DEBUG=1 dplib doctor shows what Spark says",
            "workers": "let PYSPARK_PYTHON name this Python, or send its packages along (dplib guide)",
            "time zone": "name a zone of the IANA database, such as Europe/Berlin",
        }
        found.append(Finding(name, Verdict.BAD, str(error), fixes[name]))
    return found


def _check_workers(spark: SparkSession) -> Finding:
    here = _versions()
    with quiet_spark_errors("run a function on a worker"):
        rows = spark.range(3).mapInArrow(_report_versions, "versions string").distinct().collect()
    others = sorted({str(row["versions"]) for row in rows} - {here})
    if others:
        fix = "give drivers and workers the same Python environment"
        return Finding("workers", Verdict.WARN, f"workers must run {here}, got {'; '.join(others)}", fix)
    return Finding("workers", Verdict.OK, f"they run {here}")


def _versions() -> str:
    return f"Python {platform.python_version()}, numpy {np.__version__}, pyarrow {pa.__version__}"


def _report_versions(batches: Batches) -> Batches:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"versions": [_versions()] * batch.num_rows})


def _check_zone(spark: SparkSession, timezone: str) -> Finding:
    """Java turns instants into days, Python checks the settings: databases of different years may cut days apart."""
    seconds = f.lit(_FIRST_INSTANT) + f.col("id") * _HALF_YEAR
    shown = f.date_format(f.from_utc_timestamp(f.timestamp_seconds(seconds), timezone), "yyyy-MM-dd HH:mm:ss")
    with quiet_spark_errors(f"use the time zone {timezone}"):
        rows = spark.range(_N_INSTANTS).select("id", shown.alias("local")).collect()
    zone = ZoneInfo(timezone)
    differ = sum(
        datetime.fromtimestamp(_FIRST_INSTANT + row["id"] * _HALF_YEAR, zone).strftime("%Y-%m-%d %H:%M:%S")
        != row["local"]
        for row in rows
    )
    if differ:
        detail = (
            f"Java and Python must agree on {timezone}, got {differ} of {_N_INSTANTS} half-years in which they do not"
        )
        return Finding("time zone", Verdict.WARN, detail, "update Java and the package tzdata, on every machine")
    return Finding("time zone", Verdict.OK, f"Java and Python agree on {timezone} from 1990 to 2039")
