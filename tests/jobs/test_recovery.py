"""A run that is killed or given back: the retry finishes it, pays once and leaves nothing behind.

Every step of a run's life is met in `tests/unit/workflow/test_storing.py`, and with processes of all jobs in
`tests/jobs/test_fault_points.py`.
"""

import os
import signal
from pathlib import Path

import pytest

from dplib.jobs.consistent_histograms import run
from tests.support.jobs import JOB, content, dplib, new_shop, python_process, visible

KILLED = """
import os, signal, sys
from dplib.jobs.consistent_histograms import run
import dplib.cli.main
original = run.measure_on_driver
def deadly(*arguments):
    original(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
run.measure_on_driver = deadly
sys.argv = ["dplib", *sys.argv[1:]]
dplib.cli.main.main()
"""
"""A run that dies with its noise drawn and its measurement written, before the ledger knows of it."""


def test_a_killed_process_is_met_by_a_retry(tmp_path: Path, spark: object) -> None:
    undisturbed = content(new_shop(tmp_path / "undisturbed").run().release)
    shop = new_shop(tmp_path / "shop").set(spark={"master": "local[1]"})
    killed = python_process("-c", KILLED, "run", JOB, "--config", str(shop.config))
    assert killed.code == -signal.SIGKILL, killed.err
    assert killed.out == ""
    assert shop.entries() == ["account", "reserve"]
    assert any(name.startswith(".staging-") for name in os.listdir(shop.output))
    release = shop.run().release
    assert content(release) == undisturbed
    assert shop.entries() == ["account", "reserve", "measure", "publish"]
    assert shop.spent() == 1
    assert visible(shop.output) == [release.name]
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{shop.folder}/ledger.db").code == 0


def test_a_reservation_can_be_given_back_before_it_is_measured(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop(tmp_path)
    address = f"sqlite:///{tmp_path}/ledger.db"
    with monkeypatch.context() as broken:
        broken.setattr(run, "count_cells", None)
        assert shop.run().code == 1
    assert shop.spent() == 1
    reserved = shop.ledger.runs("shop")[0].release_id
    voided = dplib("ledger", "void", reserved, "--reason", "wrong file", "--ledger", address)
    assert (voided.code, voided.out) == (0, f"{reserved} is voided.\n")
    assert shop.spent() == 0
    release = shop.run().release
    assert release.name != reserved
    refused = dplib("ledger", "void", release.name, "--reason", "regret", "--ledger", address)
    assert refused.code == 2
    assert "must be a reservation without a measurement" in refused.err
    assert shop.spent() == 1
