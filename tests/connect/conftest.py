"""Fixtures of the tests over Spark Connect: one server for all, whose Python lacks this project."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import bare_environment
from tests.connect.server import Server, start_server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that needs a server."""
    for item in items:
        if {"connect_server", "foreign_python"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.connect)


@pytest.fixture(scope="session")
def foreign_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This environment's Python with all its packages but this project."""
    return bare_environment(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="session")
def connect_server(foreign_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on loopback."""
    with start_server(tmp_path_factory.mktemp("server"), foreign_python) as server:
        yield server
