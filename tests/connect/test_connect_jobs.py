"""Every job over Spark Connect: the bytes of local mode, from a server whose Python does not have this project."""

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.connect.server import Server
from tests.jobs.test_minimum_cuts import new_contacts
from tests.jobs.test_network_statistics import new_network
from tests.jobs.test_range_histograms import new_visits
from tests.support.every_job import new_place_of
from tests.support.jobs import HEADER, ROOT, ROWS, Shop, content, new_shop, python_process
from tests.support.places import new_places

PROJECTED = {
    "privacy__neighbors": "vertex",
    "graph__degree_bound": {"bounding": "projected", "largest": 3},
    "graph__statistics": {"edge_count": 1, "degree_histogram": 2},
}
IN_ONE_SESSION = """
import sys
from dplib.config.sections import SparkSettings
from dplib.spark.engine.session import start_session
from tests.support.jobs import dplib

start_session("all jobs", SparkSettings(remote=sys.argv[1]))
for place in sys.argv[2:]:
    job, _, config = place.partition("@")
    outcome = dplib("run", job, "--config", config)
    print(job, outcome.code, outcome.err)
    assert outcome.code == 0, outcome.err

# Random trials as tasks, which no job of this size takes.
from dplib.graphs.cuts.karger import plan_trials
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.spark.graphs.cut_trials import search_cuts
from pyspark.sql import SparkSession
from tests.support.cut_graphs import complete

graph = complete(8)
trials = search_cuts(SparkSession.getActiveSession(), graph, 7, plan_trials(8, 1, 1e-9), 7, 1)
assert trials.values.tolist() == near_minimum_cuts(graph, 7).cuts.values.tolist() == [7] * 8
"""


def shop(folder: Path, **changes: object) -> Shop:
    return new_shop(folder).set(**changes)


def shop_of_times(folder: Path) -> Shop:
    """Its moments stand in Parquet in milliseconds, one of them beyond all years."""
    place = new_shop(folder).set(input__path="orders.parquet", input__format="parquet", input__options={})
    columns = dict(zip(HEADER, map(list, zip(*ROWS, strict=True)), strict=True))
    seconds = [dt.datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() for day in columns["date"]]
    millis = [int(1000 * each) for each in seconds]
    table = pa.table(columns | {"date": pa.array([*millis[:-1], 9_223_372_036_854_776], pa.timestamp("ms"))})
    pq.write_table(table, folder / "orders.parquet")
    return place


CASES: dict[str, tuple[Callable[..., Shop], dict[str, Any]]] = {
    "consistent-histograms": (shop, {"publish__solver": {"layout": "blocks"}}),
    "consistent-histograms of moments in Parquet": (shop_of_times, {}),
    "range-histograms": (new_visits, {}),
    "network-statistics": (new_network, {}),
    "network-statistics projected": (new_network, PROJECTED),
    "minimum-cuts": (new_contacts, {}),
    "kmeans": (new_places, {}),
    "key-selection": (partial(new_place_of, "key-selection"), {}),
    "kmeans by local search": (new_places, {"clustering__method": "local_search"}),
}


@pytest.fixture(scope="module")
def remote(connect_server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shop]:
    """The places of all cases after their runs, in one session of the server, as a notebook would have one."""
    folder = tmp_path_factory.mktemp("remote")
    places = {case: new(folder / str(number), **changes) for number, (case, (new, changes)) in enumerate(CASES.items())}
    named = [f"{place.job}@{place.config}" for place in places.values()]
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE_SESSION, connect_server.address, *named],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning: the Connect server" not in done.stdout + done.stderr
    return places


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("case", CASES)
def test_a_release_has_the_bytes_of_local_mode(case: str, remote: dict[str, Shop], tmp_path: Path) -> None:
    new_place, changes = CASES[case]
    local = new_place(tmp_path / "local", **changes)
    assert local.run().code == 0
    assert content(remote[case].output) == content(local.output)
    assert remote[case].spent() == local.spent() > 0


@pytest.mark.usefixtures("spark")
def test_a_process_of_its_own_finds_the_server(connect_server: Server, tmp_path: Path) -> None:
    local, by_setting, by_variable = (new_shop(tmp_path / name) for name in ("local", "setting", "variable"))
    by_setting.set(spark={"remote": "${CONNECT_HERE}"})
    words = ("-m", "dplib.cli.main", "run", local.job, "--config")
    local.run()
    for place, variable in ((by_setting, "CONNECT_HERE"), (by_variable, "SPARK_REMOTE")):
        outcome = python_process(*words, str(place.config), **{variable: connect_server.address})
        assert outcome.code == 0, outcome.err
        assert content(place.output) == content(local.output)
