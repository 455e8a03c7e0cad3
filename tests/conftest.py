"""Fixtures shared by all tests: one Spark session, the shared data folder, a test secret."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.ledgers import Place, Postgres

# No test may depend on speed: a first call compiles, and other processes hold the cores.
# A quarter of hypothesis's own number, for the suite's time: a law that needs more says so.
settings.register_profile("dplib", deadline=None, max_examples=25)
settings.load_profile("dplib")


def pytest_configure() -> None:
    """Look for no garbage among imports."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses the session, so that `-m "not spark"` starts no Spark, and run their files last.

    Java then lives no longer than they take.
    """
    spark = [item for item in items if "spark" in getattr(item, "fixturenames", ())]
    for item in spark:
        item.add_marker(pytest.mark.spark)
    last = {item.path for item in spark}
    items.sort(key=lambda item: item.path in last)


def pytest_collection_finish() -> None:
    """What was imported lives to the end: nobody looks through it for garbage, and seldom through what tests left."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 100)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Markers of inspections stay out of the user's own state folder."""
    os.environ["DPLIB_STATE"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """One local session with two cores for the whole run, started as the jobs start theirs."""
    # Imported here so that tests without Spark do not pay for it.
    from dplib.config.sections import SparkSettings
    from dplib.spark.engine.session import start_session, stop
    from tests.support.interpreted import without_python_sources

    conf = {
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("local")),
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "2g",
        # Tables that are joined stay with the frames that tests still hold, each in pages of this size.
        "spark.buffer.pageSize": "1m",
        "spark.sql.ui.retainedExecutions": "10",
        # Workers are forked from one process that has loaded what tasks of all jobs need; with short tracebacks, those
        # of frames made of lists would be forked from another.
        "spark.python.daemon.module": "tests.support.worker_daemon",
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
        # Many small queries: the second compiler costs more than it saves. With the first alone Java keeps 48 MB of
        # compiled code, which all tests together fill: it would look for methods to throw away, and compile them again.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    }
    session = start_session("dplib-tests", SparkSettings(master="local[2]", conf=conf))
    without_python_sources(session)
    yield session
    stop(session)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data sets, named by DPLIB_SHARED; tests that need it are skipped without."""
    folder = os.environ.get("DPLIB_SHARED")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DPLIB_SHARED names no folder")
    return Path(folder)


@pytest.fixture(scope="session")
def secret() -> bytes:
    """A secret of 32 bytes that every run of the tests shares; never one that protects data."""
    return bytes(range(32))


@pytest.fixture(scope="session")
def postgres_server() -> "Iterator[Postgres]":
    """A PostgreSQL server of this process's own; skipped with the reason where there can be none."""
    from tests.support.ledgers import Postgres

    with Postgres.running() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> "Place":
    """Where a ledger can be made, in both databases."""
    from tests.support.ledgers import Place, url_of

    if request.param == "sqlite":
        return Place(url_of(tmp_path))
    server: Postgres = request.getfixturevalue("postgres_server")
    return server.new_place()
