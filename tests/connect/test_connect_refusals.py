"""What Spark Connect cannot do ends with one sentence, before anything is spent."""

import socket
import sys
import venv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.connect.server import Server, start_server
from tests.support.jobs import Outcome, Shop, new_shop, python_process


def last_line(place: Shop, outcome: Outcome) -> str:
    """What a run said last, after checking that it spent nothing: a log line may stand before."""
    assert place.spent() == 0
    assert not place.output.exists()
    return outcome.err.splitlines()[-1]


def in_a_process(place: Shop) -> Outcome:
    return python_process("-m", "dplib.cli.main", "run", place.job, "--config", str(place.config))


def test_a_setting_of_the_server_is_refused(connect_server: Server, tmp_path: Path) -> None:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.executor.memory": "4g"}
    place = new_shop(tmp_path).set(spark={"remote": connect_server.address, "conf": conf})
    outcome = in_a_process(place)
    assert outcome.code == 2
    assert last_line(place, outcome).startswith(
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
def test_an_address_without_a_server_is_refused(
    address: str, code: int, got: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A session of other tests would be taken.
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = str(free.getsockname()[1])
    place = new_shop(tmp_path).set(spark={"remote": address.replace("{closed}", closed)})
    outcome = place.run()
    line = last_line(place, outcome)
    assert (outcome.code, line.endswith(got.replace("{closed}", closed))) == (code, True), line
    assert "SECRETTOKEN" not in outcome.out + outcome.err


@pytest.mark.connect
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
        outcome = in_a_process(place)
    assert outcome.code == 1
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    refused = f"dplib: the Connect server's workers must run Python {version} with the packages of"
    assert last_line(place, outcome).startswith(refused)
    assert "warning: the Connect server has its web page on (spark.ui.enabled)" in outcome.err
