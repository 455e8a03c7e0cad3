"""A secret in an environment variable stays with the driver: `tests.spark.test_session` looks at what others get."""

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
