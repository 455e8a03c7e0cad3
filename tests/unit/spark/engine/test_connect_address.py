"""Where a Connect server is, what is said of it, and the code that travels there; no server is needed."""

import io
import logging
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from dplib.config.sections import SparkSettings
from dplib.errors import ConfigError, DplibError
from dplib.spark.engine import connect


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    handler = Heard()
    monkeypatch.setattr(connect._log, "handlers", [handler])
    monkeypatch.setattr(connect._log, "propagate", False)
    return handler


def test_the_setting_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert connect.connect_address(SparkSettings()) is None
    assert connect.connect_address(SparkSettings(master="sc://a:1")) == "sc://a:1"
    monkeypatch.setenv("SPARK_REMOTE", "sc://b:2")
    assert connect.connect_address(SparkSettings()) == "sc://b:2"
    monkeypatch.setenv("TOKEN_HERE", "t0ken")
    given = SparkSettings(remote="sc://c:3/;token=${TOKEN_HERE}")
    assert connect.connect_address(given) == "sc://c:3/;token=t0ken"
    assert "t0ken" not in repr(given)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sc://host:15002", "sc://host:15002"),
        ("sc://host:443/;use_ssl=true;token=SECRET", "sc://host:443"),
        ("sc://someone:SECRET@host", "sc://host"),
        ("sc://host;token=SECRET", "sc://host"),
    ],
)
def test_messages_show_no_token(address: str, shown: str) -> None:
    assert connect.shown_address(address) == shown


@pytest.mark.parametrize(
    ("address", "found"), [("sc://h", ("h", 15002)), ("sc://h:7/;a=b", ("h", 7)), ("sc://[::1]:8", ("::1", 8))]
)
def test_addresses_are_taken_apart(address: str, found: tuple[str, int]) -> None:
    assert connect._host_and_port(address) == found


@pytest.mark.parametrize("address", ["h:1", "http://h:1", "sc://", "sc://h:0x1", "sc://h:1/path"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"^spark.remote must be an address sc://HOST:PORT of a Connect server, got "):
        connect._host_and_port(address)


@pytest.mark.parametrize(
    ("address", "host", "warned"),
    [
        ("sc://spark.example.org:1", "spark.example.org", True),
        ("sc://spark.example.org:1/;user_id=a", "spark.example.org", True),
        ("sc://spark.example.org:1/;use_ssl=true", "spark.example.org", False),
        ("sc://spark.example.org:1/;token=a", "spark.example.org", False),
        ("sc://127.0.0.1:1", "127.0.0.1", False),
        ("sc://localhost", "localhost", False),
        ("sc://10.0.0.1", "10.0.0.1", True),
    ],
)
def test_a_connection_that_others_can_read_is_a_warning(address: str, host: str, warned: bool, heard: Heard) -> None:
    connect._warn_of_connection(address, host)
    assert [("not encrypted" in message) for message in heard.messages] == [True] * warned


def test_another_version_of_spark_is_a_warning(heard: Heard) -> None:
    import pyspark

    connect._warn_of_version(pyspark.__version__)
    assert heard.messages == []
    connect._warn_of_version("4.0.1")
    assert heard.messages == [f"the Connect server runs Spark 4.0.1, this client {pyspark.__version__}"]


class Remote:
    """A session of a server that was started with some settings, and whose workers lack packages."""

    version = "4.1.0"

    def __init__(self, started: dict[str, str], missing: list[str]) -> None:
        self.settings, self.missing, self.shipped = dict(started), missing, list[str]()
        self.conf = self

    def get(self, key: str, default: str) -> str:
        return self.settings.get(key, default)

    def isModifiable(self, key: str) -> bool:  # noqa: N802
        return key.startswith("spark.sql.")

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value

    def addArtifacts(self, path: str, pyfile: bool) -> None:  # noqa: N802
        self.shipped.append(f"{pyfile} {Path(path).suffix}")

    def range(self, _: int) -> "Remote":
        return self

    def mapInArrow(self, function: object, schema: str) -> "Remote":  # noqa: N802
        del function, schema
        return self

    def toArrow(self) -> pa.Table:  # noqa: N802
        if self.missing == ["Python"]:
            raise PySparkException("another Python quotes SECRETVALUE")
        return pa.table({"missing": pa.array(self.missing, pa.string())})


def settle(remote: Remote, **conf: str) -> None:
    connect.settle(cast(Any, remote), SparkSettings(conf=conf))


QUIET_START = {"spark.ui.enabled": "false", connect.RESULT_SIZE: "0"}


def test_a_server_s_web_page_and_its_limit_are_warnings(heard: Heard) -> None:
    remote = Remote(QUIET_START, [])
    settle(remote)
    settle(remote)
    assert (heard.messages, remote.shipped) == ([], ["True .zip"])
    settle(Remote({}, []))
    assert [message.partition(")")[0].rpartition("(")[2] for message in heard.messages] == [
        "spark.ui.enabled",
        connect.RESULT_SIZE,
    ]


@pytest.mark.parametrize(
    ("missing", "got"), [(["numba", "scipy"], "a Python without numba, scipy"), (["Python"], "PySparkException")]
)
def test_workers_without_the_packages_are_refused(missing: list[str], got: str) -> None:
    """Before anything is spent: a session is opened before a run is reserved."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    rule = f"the Connect server's workers must run Python {version} with the packages of this project, got {got}"
    with pytest.raises(DplibError) as refused:
        settle(Remote(QUIET_START, missing))
    assert str(refused.value) == rule


def test_what_workers_lack_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "find_spec", lambda name: None if name == "scipy" else name)
    found: Iterable[pa.RecordBatch] = connect._missing([pa.RecordBatch.from_pydict({"id": [0]})])
    assert [batch.to_pydict() for batch in found] == [{"missing": ["scipy"]}]


def test_a_setting_of_the_server_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^spark.conf must hold only what a client may change .*, got spark.ex"):
        settle(Remote(QUIET_START, []), **{"spark.executor.memory": "4g"})


def test_the_code_that_travels_is_this_package_whole_and_always_the_same(tmp_path: Path) -> None:
    content = connect.package_archive()
    assert connect.package_archive() == content
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    folder = Path(connect.__file__).parents[2]
    assert sorted(names) == sorted(f"dplib/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.py"))
    archive = tmp_path / "code.zip"
    archive.write_bytes(content)
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import dplib.errors; print(dplib.errors.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(archive))
