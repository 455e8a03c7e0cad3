"""What Spark Connect cannot do ends with one sentence, before anything is spent."""

import socket
import sys
import venv
from pathlib import Path

import pytest

from tests.connect.server import Server, start_server
from tests.support.jobs import Shop, new_shop, python_process


def ran(place: Shop, **environment: str) -> "tuple[int, str]":
    outcome = python_process("-m", "dplib.cli.main", "run", place.job, "--config", str(place.config), **environment)
    assert place.spent() == 0
    assert not place.output.exists()
    lines = outcome.err.splitlines()
    # A log line may stand before it.
    return outcome.code, lines[-1]


def test_a_setting_of_the_server_is_refused(connect_server: Server, tmp_path: Path) -> None:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.executor.memory": "4g"}
    code, line = ran(new_shop(tmp_path).set(spark={"remote": connect_server.address, "conf": conf}))
    assert code == 2
    assert line.startswith(
        "dplib: spark.conf must hold only what a client may change on a Connect server, got spark.ex"
    )


@pytest.mark.parametrize(
    ("address", "code", "got"),
    [
        ("sc://127.0.0.1:{closed}/;token=SECRETTOKEN", 1, "that answers, got sc://127.0.0.1:{closed}"),
        ("http://127.0.0.1:{closed}", 2, "sc://HOST:PORT of a Connect server, got http://127.0.0.1:{closed}"),
        ("sc://127.0.0.1:99999", 2, "sc://HOST:PORT of a Connect server, got one with an odd port"),
        ("${NOT_SET_ANYWHERE}", 2, "environment variables that are set, got ${NOT_SET_ANYWHERE}"),
    ],
)
def test_an_address_without_a_server_is_refused(address: str, code: int, got: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = str(free.getsockname()[1])
    place = new_shop(tmp_path).set(spark={"remote": address.replace("{closed}", closed)})
    found, line = ran(place)
    assert (found, line.endswith(got.replace("{closed}", closed))) == (code, True), line
    assert "SECRETTOKEN" not in line


def test_workers_without_the_packages_are_refused_and_a_web_page_is_a_warning(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare")
    python = tmp_path / "bare" / "bin" / "python"
    site = next((tmp_path / "bare").glob("lib/python*/site-packages"))
    # Spark alone: what its workers start with, and Arrow, but nothing that we compute with.
    import py4j
    import pyarrow
    import pyspark

    for module in (py4j, pyarrow, pyspark):
        folder = Path(module.__file__ or "").parent
        (site / folder.name).symlink_to(folder)
    place = new_shop(tmp_path / "shop")
    with start_server(tmp_path, python, spark__ui__enabled="true", spark__ui__port="0") as server:
        place.set(spark={"remote": server.address})
        outcome = python_process("-m", "dplib.cli.main", "run", place.job, "--config", str(place.config))
    assert outcome.code == 1
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    lines = outcome.err.splitlines()
    assert lines[-1].startswith(f"dplib: the Connect server's workers must run Python {version} with the packages of")
    assert any("warning: the Connect server has its web page on (spark.ui.enabled)" in line for line in lines)
    assert place.spent() == 0
