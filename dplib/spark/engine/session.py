"""The Spark session: how it starts, where it runs, and how its errors reach a user.

A session is started so that counts cannot depend on the machine (time zone, parser policy and ANSI mode are pinned)
and so that no value of a row is shown: the UI, the event log and all loggers that quote values are off, and Spark's
exceptions, which quote the value that failed, are replaced by sentences with class names and settings only.
Under ``spark-submit`` and Spark Connect the master is theirs; ours is used only where we start the JVM.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from py4j.protocol import Py4JError, Py4JJavaError
from pyarrow import ArrowException
from pyspark import SparkContext, SparkFiles
from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from dplib.errors import ConfigError, DplibError, SchemaError
from dplib.spark.engine.java import java_options, prepare_java

if TYPE_CHECKING:
    # Every Python worker loads this module with the function it runs; settings would cost each of them a second.
    from dplib.config.sections import SparkSettings

SPARK_ERRORS = (PySparkException, Py4JError, ArrowException)
"""What a call into Spark may raise; all of them may quote values of rows."""
MAX_CAUSES = 20
PAGE_CHECKSUMS = "parquet.page.verify-checksum.enabled"
"""Hadoop's setting, which a session hands on to readers; Parquet's pages without a checksum are read as they are."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
PINNED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.ansi.enabled": "true",
    # Values of partition folders stay text: 01 is not 1.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # What a name in a list of columns means: one before it too. Plans of rows have fewer steps so, 20 ms each.
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    # What is damaged or gone is an error, never fewer rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # No value of a Parquet column stops a run: old days are read as they are written, nanoseconds as numbers.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}
"""Settings that decide what a row counts as; they cannot be changed in `spark.conf`."""
_PINS = PINNED | {PAGE_CHECKSUMS: "true"}
"""What is set in every session."""
QUIET = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.driver.log.persistToDfs.enabled": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.pyspark.worker.logging.enabled": "false",
    "spark.executor.python.worker.log.details": "false",
    # A traceback in an executor's file would list what the functions hold: rows.
    "spark.sql.execution.pyspark.udf.tracebackWithLocals.enabled": "false",
    # What executors may write follows the driver, which is silent: their logs stay on machines that others read.
    "spark.executor.syncLogLevel.enabled": "true",
    # No limit: how large a result is depends on rows, and one row more would decide whether a run fails.
    "spark.driver.maxResultSize": "0",
}


def start_session(app_name: str, settings: "SparkSettings") -> SparkSession:
    """Start a session, or take the one of ``spark-submit``, of Spark Connect or of a notebook.

    Args:
        app_name: name shown by cluster managers.
        settings: master or remote (ignored where Spark is already there) and further Spark settings.

    Raises:
        ConfigError: if Java is missing, or a setting is refused by Spark or would change the counts.
        DplibError: if a Connect server does not answer or cannot run our functions.
    """
    for key, value in PINNED.items():
        if settings.conf.get(key, value) != value:
            raise ConfigError("spark.conf", f"not change {key}, which decides the counts", settings.conf[key])
    _silence_python_loggers()
    # Imported here: workers load this module, and only a driver starts sessions.
    from dplib.spark.engine.connect import connect, connect_address, settle

    active, address = SparkSession.getActiveSession(), connect_address(settings)
    if active is not None and _is_connect(active):
        return settle(active, settings)
    if address is not None and active is None:
        if _under_submit():
            raise ConfigError("spark.remote", "be absent under spark-submit, which starts Spark itself", "one")
        return connect(address, app_name, settings)
    spark = _get_or_create(app_name, settings)
    pin_session(spark)
    with suppress(*SPARK_ERRORS):
        # Where the JVM was started by others, our log settings were not read; some platforms refuse this call.
        spark.sparkContext.setLogLevel("OFF")
    _ship_package(spark)
    return spark


def _get_or_create(app_name: str, settings: "SparkSettings") -> SparkSession:
    """The session that is there, or one of a JVM that we or ``spark-submit`` start."""
    builder = SparkSession.builder.appName(app_name)
    if _under_submit() or SparkSession.getActiveSession() is not None:
        if _under_submit():
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf = _conf_of_others(settings)
    else:
        _set_python(settings.master)
        prepare_java()
        conf = _local_defaults(settings.master) | QUIET | settings.conf | PINNED
        own = settings.conf.get(JAVA_OPTIONS, "")
        conf[JAVA_OPTIONS] = " ".join([*java_options(own), own]).strip()
        builder = builder.master(settings.master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except SPARK_ERRORS as error:
        raise ConfigError(
            "spark.master and spark.conf",
            "be settings that Spark can start with",
            f"{settings.master} and {error_name(error)}",
        ) from None


def pin_session(spark: SparkSession) -> None:
    """Set what decides the counts, in a session that may have been started by someone else."""
    _silence_python_loggers()
    for key, value in _PINS.items():
        spark.conf.set(key, value)


@contextmanager
def open_session(app_name: str, settings: "SparkSettings") -> Iterator[SparkSession]:
    """The session of a block, as `start_session` starts it; one that was there before is left running, as it was."""
    active = SparkSession.getActiveSession()
    if active is None:
        spark = start_session(app_name, settings)
        try:
            yield spark
        finally:
            stop(spark)
        return
    before, ours = dict[str, str | None](), (QUIET if _is_connect(active) else {}) | _conf_of_others(settings) | _PINS
    with suppress(*SPARK_ERRORS):
        # One by one: asking for all of a session's settings takes longer than all else here.
        before = {key: active.conf.get(key, None) for key in ours}
    try:
        yield start_session(app_name, settings)
    finally:
        _set_back(active, {key: value for key, value in before.items() if value != ours[key]})


def _conf_of_others(settings: "SparkSettings") -> dict[str, str]:
    """What is set, besides the pins, where Spark was started elsewhere: it has its static settings already."""
    # Under spark-submit the context is still to come: there ours win, so that an event log which a cluster turns on for
    # everybody stays off.
    return (QUIET | settings.conf | PINNED) if _under_submit() else settings.conf


def _set_back(spark: SparkSession, before: Mapping[str, str | None]) -> None:
    """Give a session the settings that its owner left: the next job, or a notebook, must not run with ours."""
    with suppress(*SPARK_ERRORS):
        for key, value in before.items():
            if spark.conf.get(key, None) == value or not spark.conf.isModifiable(key):
                continue
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


def stop(spark: SparkSession) -> None:
    """Stop the session; errors of a Spark that is already gone are ignored."""
    with suppress(*SPARK_ERRORS, OSError):
        spark.stop()


def deploy_mode(spark: SparkSession) -> Literal["local", "client", "cluster", "connect"]:
    """Where the driver runs: in local mode, beside the user, on the cluster, or behind Spark Connect."""
    if _is_connect(spark):
        return "connect"
    if str(spark.conf.get("spark.master", "")).split("[")[0] == "local":
        return "local"
    return "cluster" if spark.conf.get("spark.submit.deployMode", "client") == "cluster" else "client"


def _is_connect(spark: SparkSession) -> bool:
    return "connect" in type(spark).__module__.split(".")


def error_name(error: BaseException) -> str:
    """Class and error condition of an exception of Spark, and nothing that it says."""
    name, condition = type(error).__name__, None
    if isinstance(error, PySparkException):
        condition = error.getCondition()
    elif isinstance(error, Py4JJavaError):
        with suppress(Exception):  # the JVM may be gone, and not every Java exception has a condition
            name = str(error.java_exception.getClass().getSimpleName())
            condition = error.java_exception.getCondition()
    return f"{name} {condition}" if condition else name


def _is_damaged_input(error: BaseException) -> bool:
    """Whether Spark could not read a file; what it says is looked at, never shown.

    Tables that go to the driver through Arrow wrap the reason: in a cause, or in the text of a failed stage alone.
    """
    told = [error_name(error), str(error)]
    cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    with suppress(Exception):  # the JVM may be gone
        while cause is not None and len(told) < MAX_CAUSES:
            told.append(str(cause.toString()))
            cause = cause.getCause()
    return any("FAILED_READ_FILE" in text for text in told)


@contextmanager
def quiet_spark_errors(task: str = "finish the job") -> Iterator[None]:
    """Replace Spark's exceptions by sentences without any value of a row.

    Every action on private rows belongs inside this context.

    Args:
        task: what Spark was asked to do, for the message ``Spark must be able to <task>``.

    Raises:
        SchemaError: if a file, table or column cannot be read.
        DplibError: for everything else that Spark raises.
    """
    try:
        yield
    except SPARK_ERRORS as error:
        name = error_name(error)
        if isinstance(error, AnalysisException) or _is_damaged_input(error):
            failure: DplibError = SchemaError(f"input must hold files and columns that Spark can read, got {name}")
        else:
            failure = DplibError(f"Spark must be able to {task}, got {name}")
        raise failure from None


def java_holds(variable: str) -> bool:
    """Whether the Java that serves this process was started with an environment variable, which its workers inherit.

    Under ``spark-submit`` it was: Java starts Python and hands its environment on. A Java that this process started
    itself is asked where the system tells (Linux).
    """
    if _under_submit():
        return True
    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    if process is None:
        return False
    try:
        entries = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(entry.startswith(f"{variable}=".encode()) for entry in entries)


def _ship_package(spark: SparkSession) -> None:
    """Let executors import this package where the driver has it from a wheel: Spark knows zip, egg and jar only."""
    archive = Path(getattr(__spec__.loader, "archive", ""))
    if archive.suffix == ".whl" and deploy_mode(spark) != "local":
        # Spark removes this folder when it stops.
        copy = Path(tempfile.mkdtemp(dir=SparkFiles.getRootDirectory())) / f"{archive.stem}.zip"
        shutil.copyfile(archive, copy)
        spark.sparkContext.addPyFile(str(copy))


def runs_here(settings: "SparkSettings") -> bool:
    """Whether a job with these settings reads this machine's files: in a JVM that it starts, or one in local mode."""
    from dplib.spark.engine.connect import connect_address

    active = SparkSession.getActiveSession()
    if active is not None:
        return deploy_mode(active) == "local"
    return not _under_submit() and connect_address(settings) is None and settings.master.startswith("local")


def _under_submit() -> bool:
    # spark-submit starts Python with the port of its JVM; an interactive pyspark shell does the same.
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _set_python(master: str) -> None:
    """Let the workers use this interpreter; on a cluster only where nobody named one."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        if master.startswith("local"):
            os.environ[name] = sys.executable
        else:
            os.environ.setdefault(name, sys.executable)


def _local_defaults(master: str) -> dict[str, str]:
    """Settings of a JVM that we start; ``spark.conf`` may change them."""
    if not master.startswith("local"):
        return {}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        # The default of 200 tasks costs seconds a shuffle in one process.
        "spark.sql.shuffle.partitions": str(max(2, 2 * cores)),
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.daemon.module": "dplib.spark.engine.worker_daemon",
    }


def _silence_python_loggers() -> None:
    # PySpark prints an exception's message, with the value that failed, to stderr when it is raised.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
