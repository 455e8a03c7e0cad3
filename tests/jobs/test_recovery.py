"""A run that fails or is killed anywhere: the retry finishes it, pays once and leaves nothing behind."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dplib.jobs.consistent_histograms import measure, run
from dplib.ledger.ledger import Ledger
from dplib.workflow import manifest
from tests.support.jobs import JOB, Shop, content, dplib, new_shop, python_process, visible

ONE_RUN = ["account", "reserve", "measure", "publish"]
STEPS: dict[str, tuple[Any, str]] = {
    "count": (run, "count_cells"),
    "draw": (measure, "write_top"),
    "record the measurement": (Ledger, "record_measurement"),
    "write the tables": (run, "write_tables"),
    "write the manifest": (manifest, "write_manifest"),
    "record the release": (Ledger, "record_published"),
}
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


def failing(original: Callable[..., Any], after: bool, error: type[BaseException]) -> Callable[..., Any]:
    def fail(*arguments: Any, **options: Any) -> None:
        if after:
            original(*arguments, **options)
        raise error("Canary")

    return fail


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, spark: object) -> dict[str, str]:
    """The release of a run that nothing disturbs."""
    return content(new_shop(tmp_path_factory.mktemp("undisturbed")).run().release)


def check_retry(shop: Shop, undisturbed: dict[str, str]) -> None:
    release = shop.run().release
    assert content(release) == undisturbed
    assert shop.entries() == ONE_RUN
    assert shop.spent() == 1
    assert visible(shop.output) == [release.name]
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{shop.folder}/ledger.db").code == 0


@pytest.mark.parametrize(("step", "after"), [*((step, False) for step in STEPS), ("record the measurement", True)])
def test_a_failure_at_any_step_is_met_by_a_retry(
    step: str, after: bool, tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop(tmp_path)
    owner, name = STEPS[step]
    error = KeyboardInterrupt if after else RuntimeError
    with monkeypatch.context() as broken:
        broken.setattr("dplib.workflow.run.try_publication", lambda *_: True)
        broken.setattr(owner, name, failing(getattr(owner, name), after, error))
        failed = shop.run()
    assert failed.code == (130 if after else 1)
    assert failed.out == ""
    assert "Canary" not in failed.err
    assert shop.entries() in [ONE_RUN[:length] for length in range(1, 5)]
    check_retry(shop, undisturbed)


def test_a_killed_process_is_met_by_a_retry(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    shop = new_shop(tmp_path).set(spark={"master": "local[1]"})
    killed = python_process("-c", KILLED, "run", JOB, "--config", str(shop.config))
    assert killed.code == -signal.SIGKILL, killed.err
    assert killed.out == ""
    assert shop.entries() == ["account", "reserve"]
    assert any(name.startswith(".staging-") for name in os.listdir(shop.output))
    check_retry(shop, undisturbed)


def test_a_reservation_can_be_given_back_before_it_is_measured(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop(tmp_path)
    address = f"sqlite:///{tmp_path}/ledger.db"
    with monkeypatch.context() as broken:
        broken.setattr(run, "count_cells", failing(run.count_cells, False, RuntimeError))
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
