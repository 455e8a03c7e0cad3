"""Spark behind a Spark Connect server: how it is found, what our code needs there, and what a client cannot change.

The driver of a job runs with its user: secret, ledger and release never leave it. The server and its workers get the
rows, which they read themselves, this package's code as an artifact of the session, and the functions of the
DataFrame API with the sub-keys of one release inside. So paths of the input are the server's, and the connection is
as private as the rows: it should be encrypted, or stay on one machine.

A client cannot change how a server was started. What of that could show rows is read where it can be, and each is a
warning of the logger ``dplib``: the web page and event log, which hold numbers of rows, and a connection that others
can read. The level of the server's log, which may quote values of rows that failed, cannot be read: start servers with
the settings that `dplib guide connect` names.
"""

import hashlib
import io
import ipaddress
import logging
import os
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from socket import create_connection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dplib.errors import ConfigError, DplibError
from dplib.spark.engine.session import QUIET, SPARK_ERRORS, error_name, pin_session

if TYPE_CHECKING:
    from dplib.config.sections import SparkSettings

PORT = 15002
"""Spark's own default."""
PATIENCE = 10
"""Seconds to wait for an answer; Spark's client itself would try for ten minutes."""
PACKAGES = ("cryptography", "numba", "numpy", "pandas", "pyarrow", "pydantic", "scipy")
"""What the functions import that run on workers."""
TELLING = {
    "spark.ui.enabled": ("true", "its web page"),
    "spark.eventLog.enabled": ("false", "its event log"),
    "spark.driver.log.persistToDfs.enabled": ("false", "its stored driver log"),
}
"""Settings of a server that should be false: their defaults, and what shows numbers of rows where they are true."""
RESULT_SIZE = "spark.driver.maxResultSize"
_log = logging.getLogger("dplib.spark.engine.connect")
_settled: "weakref.WeakSet[SparkSession]" = weakref.WeakSet()
"""Sessions that have our code and whose workers were asked."""


def connect_address(settings: "SparkSettings") -> str | None:
    """Where the Connect server is: ``spark.remote``, a ``spark.master`` that starts with sc://, or SPARK_REMOTE."""
    given = settings.remote_address or (settings.master if settings.master.startswith("sc://") else None)
    return given or os.environ.get("SPARK_REMOTE") or None


def shown_address(address: str) -> str:
    """An address without its parameters, which may hold a token, and without a user."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].split(';')[0]}"


def connect(address: str, app_name: str, settings: "SparkSettings") -> SparkSession:
    """A session of a Connect server, with this package on its workers.

    Args:
        address: ``sc://host:port/;parameter=value...``.
        app_name: name of the session.
        settings: further Spark settings.

    Raises:
        ConfigError: if the address is none, the client's packages are missing, or a setting is the server's.
        DplibError: if no server answers, or its workers cannot run our functions.
    """
    host, port = _host_and_port(address)
    _require_client()
    try:
        create_connection((host, port), PATIENCE).close()
    except OSError:
        raise DplibError(
            f"spark.remote must name a Connect server that answers, got {shown_address(address)}"
        ) from None
    try:
        spark = SparkSession.builder.remote(address).appName(app_name).getOrCreate()
        version = spark.version
    except (*SPARK_ERRORS, OSError) as error:
        raise DplibError(
            f"spark.remote must name a Connect server that takes this client, got {shown_address(address)} and "
            f"{error_name(error)}"
        ) from None
    _warn_of_connection(address, host)
    _warn_of_version(version)
    return settle(spark, settings)


def settle(spark: SparkSession, settings: "SparkSettings") -> SparkSession:
    """Make a Connect session ready for a job: settings, this package's code, warnings; also one of a notebook.

    Raises:
        ConfigError: if ``spark.conf`` holds what only the server's operator can set.
        DplibError: if the workers cannot run our functions.
    """
    try:
        for key, value in settings.conf.items():
            if not spark.conf.isModifiable(key):
                raise ConfigError(
                    "spark.conf",
                    "hold only what a client may change on a Connect server",
                    f"{key}: it belongs to the server's start",
                )
            spark.conf.set(key, value)
        for key, value in QUIET.items():
            if key not in settings.conf and spark.conf.isModifiable(key):
                spark.conf.set(key, value)
        pin_session(spark)
        if spark in _settled:
            return spark
        ship_package(spark)
        warn_of_server(spark)
    except SPARK_ERRORS as error:
        raise DplibError(f"the Connect server must take settings and code, got {error_name(error)}") from None
    _require_workers(spark)
    _settled.add(spark)
    return spark


def warn_of_server(spark: SparkSession) -> None:
    """Say what the server was started with that shows numbers of rows, or fails a run by them."""
    for key, (default, what) in TELLING.items():
        if str(spark.conf.get(key, default)).lower() == "true":
            _log.warning("the Connect server has %s on (%s), which shows numbers of rows: not private", what, key)
    if spark.conf.get(RESULT_SIZE, "1g") != QUIET[RESULT_SIZE]:
        _log.warning("the Connect server has a limit (%s) that one row more could reach: not private", RESULT_SIZE)


def ship_package(spark: SparkSession) -> None:
    """Let the server's workers import this package, in the version that runs here."""
    content = package_archive()
    # A file's name must change with its content: a session refuses another content under a known name.
    name = f"dplib-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        spark.addArtifacts(str(path), pyfile=True)


def package_archive() -> bytes:
    """This package's modules as a zip archive, byte for byte the same for the same modules."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, module in sorted(_modules(files("dplib"), "dplib")):
            archive.writestr(zipfile.ZipInfo(name), module.read_bytes(), zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _modules(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        place = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _modules(entry, place)
        elif entry.name.endswith(".py"):
            yield place, entry


def _host_and_port(address: str) -> tuple[str, int]:
    rule = "be an address sc://HOST:PORT of a Connect server"
    try:
        parts = urlsplit(address.split(";")[0])
        port = parts.port or PORT
    except ValueError:
        raise ConfigError("spark.remote", rule, "one with an odd port") from None
    if parts.scheme != "sc" or not parts.hostname or parts.path not in ("", "/"):
        raise ConfigError("spark.remote", rule, shown_address(address))
    return parts.hostname, port


def _require_client() -> None:
    try:
        from pyspark.sql.connect.utils import check_dependencies

        check_dependencies()
    except (ImportError, PySparkException):
        raise ConfigError(
            "spark.remote",
            "stand in an environment with the extra connect (pip install 'dplib[connect]')",
            "one without its packages",
        ) from None


def _warn_of_connection(address: str, host: str) -> None:
    # A token makes Spark's client encrypt.
    encrypted = any(part in address.lower() for part in (";use_ssl=true", ";token="))
    if not encrypted and not _is_loopback(host):
        _log.warning("the connection to the Connect server is not encrypted: use_ssl=true in spark.remote encrypts it")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _warn_of_version(version: str) -> None:
    import pyspark

    if version.split(".")[:2] != pyspark.__version__.split(".")[:2]:
        _log.warning("the Connect server runs Spark %s, this client %s", version, pyspark.__version__)


def _missing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        found = [name for name in PACKAGES if find_spec(name) is None]
        yield pa.RecordBatch.from_pydict({"missing": pa.array(found, pa.string())})


def _require_workers(spark: SparkSession) -> None:
    """Run one function on a worker before anything is reserved."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    rule = f"the Connect server's workers must run Python {python} with the packages of this project"
    try:
        missing = spark.range(1).mapInArrow(_missing, "missing string").toArrow().column(0).to_pylist()
    except SPARK_ERRORS as error:
        raise DplibError(f"{rule}, got {error_name(error)}") from None
    if missing:
        raise DplibError(f"{rule}, got a Python without {', '.join(missing)}")
