"""A secret in an environment variable stays with the driver: neither Java nor a Python worker has it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dplib.errors import ConfigError
from dplib.secret import places as secret_places
from dplib.workflow import run as workflow
from tests.support.jobs import SECRET, new_shop

NAME = "SHOP_SECRET_VARIABLE"
LOOK = """
import json, os, sys
from pathlib import Path
import pyarrow as pa
from pyspark import SparkContext
from dplib.jobs.consistent_histograms.job import JOB
from dplib.spark.engine.session import java_holds, open_session

prepared = JOB.prepare(Path(sys.argv[1]))
name = sys.argv[2]

def look(batches):
    for _ in batches:
        own, parent = (Path(f"/proc/{pid}/environ").read_text() for pid in ("self", os.getppid()))
        yield pa.RecordBatch.from_pydict({"found": [name in os.environ or name in own or name in parent]})

with open_session("look", prepared.config.spark) as spark:
    java = Path(f"/proc/{SparkContext._gateway.proc.pid}/environ").read_text()
    workers = [row.found for row in spark.range(4).mapInArrow(look, "found boolean").collect()]
    print(json.dumps([name in java, any(workers), len(workers), java_holds(name), java_holds("PATH")]))
"""


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not show environments")
def test_neither_java_nor_a_worker_gets_the_variable(tmp_path: Path) -> None:
    """Also where the secret is never read, as when a stored measurement is published."""
    shop = new_shop(tmp_path)
    shop.set(secret=f"env:{NAME}")
    words = [sys.executable, "-c", LOOK, str(shop.config), NAME]
    done = subprocess.run(
        words, env=os.environ | {NAME: SECRET.hex()}, capture_output=True, text=True, check=True, timeout=300
    )
    java, workers, n_seen, held, known = json.loads(done.stdout.splitlines()[-1])
    assert (java, workers, held) == (False, False, False)
    assert n_seen > 0
    assert known  # the looking itself works: Java has a PATH


def test_under_spark_submit_such_a_secret_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = new_shop(tmp_path)
    shop.set(secret=f"env:{NAME}")
    before = shop.ledger.entries()
    code = "import sys; sys.argv[0] = 'dplib'; import dplib.cli.main; dplib.cli.main.main()"
    words = [sys.executable, "-c", code, "run", "consistent-histograms", "--config", str(shop.config)]
    environment = os.environ | {NAME: SECRET.hex(), "PYSPARK_GATEWAY_PORT": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "secret must be file:PATH or command:WORDS" in done.stderr
    assert f"got env:{NAME}" in done.stderr
    assert SECRET.hex() not in done.stderr + done.stdout
    assert shop.ledger.entries() == before


def test_other_places_are_taken_wherever_java_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "java_holds", lambda name: True)
    for spec in ("file:dplib.key", "command:cat key"):
        workflow._require_unseen(spec)
    with pytest.raises(ConfigError, match="got env:A"):
        workflow._require_unseen("env:A")
    monkeypatch.setenv("A", "b")
    secret_places.withhold("env:A")
    assert "A" not in os.environ
    assert secret_places.read_place("env:A", Path()) == "b"
