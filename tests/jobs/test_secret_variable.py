"""A secret in an environment variable stays with the driver: `tests.spark.test_session` looks at what others get."""

import os
from pathlib import Path

import pytest

from dplib.errors import ConfigError
from dplib.secret import places as secret_places
from dplib.workflow import run as workflow
from tests.support.jobs import SECRET, new_shop, refuse_spark, require_refused

NAME = "SHOP_SECRET_VARIABLE"


def test_under_spark_submit_such_a_secret_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = new_shop(tmp_path).set(secret=f"env:{NAME}")
    monkeypatch.setenv(NAME, SECRET.hex())
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")  # as Java sets it where it starts Python
    refuse_spark(monkeypatch)
    done = require_refused(shop, 2)
    assert "secret must be file:PATH or command:WORDS" in done.err
    assert f"got env:{NAME}" in done.err
    assert SECRET.hex() not in done.err + done.out


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
