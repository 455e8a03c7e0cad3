"""Whole runs with the ledger on a server, and many jobs at once on one budget."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.support.jobs import ROOT, dplib, named, new_shop_without_ledger
from tests.support.ledgers import Place, Postgres


@pytest.mark.postgres
@pytest.mark.usefixtures("spark")
def test_a_whole_run_on_a_server_leaves_its_password_nowhere(
    postgres_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = postgres_server.new_place()
    password = str(make_url(place.url).password)
    monkeypatch.setenv("LEDGER_PASSWORD", password)
    shop = new_shop_without_ledger(tmp_path, ledger=place.url.replace(password, "${LEDGER_PASSWORD}"))
    made = dplib("init", "--config", str(shop.config), "--budget", "10", "--yes")
    assert made.code == 0, made.err
    run = shop.run()
    others = [
        shop.command("plan", "--json"),
        shop.run("--again"),
        dplib("verify", str(run.release), "--ledger", place.url),
        dplib("ledger", "show", "--ledger", place.url),
        dplib("doctor", "--config", str(shop.config)),
    ]
    for outcome in (made, run, *others):
        assert outcome.code == 0, outcome.err
        assert password not in outcome.out + outcome.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if password.encode() in path.read_bytes()]
    monkeypatch.setenv("LEDGER_PASSWORD", "hunter2")
    wrong = shop.run("--again")
    assert wrong.code == 2
    assert named(wrong) == "ledger"
    assert "hunter2" not in wrong.err


@pytest.mark.slow
def test_real_jobs_at_once_spend_no_more_than_there_is(place: Place, tmp_path: Path) -> None:
    """Three processes of the console script, each with a Spark of its own, on a budget for one."""
    shop = new_shop_without_ledger(tmp_path, ledger=place.url)
    assert dplib("init", "--config", str(shop.config), "--budget", "1", "--yes").code == 0
    words = ["-m", "dplib.cli.main", "run", shop.job, "--config", str(shop.config), "--date"]
    with ExitStack() as stack:
        jobs = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, *words, f"2024-01-0{number}"],
                    cwd=ROOT,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            for number in range(1, 4)
        ]
        for job in jobs:
            stack.callback(job.kill)  # runs before it is waited for; without effect on one that has ended
        codes = sorted(job.wait(timeout=1200) for job in jobs)
    assert codes == [0, 4, 4]
    assert len([path for path in shop.output.iterdir() if (path / "manifest.json").is_file()]) == 1
    assert dplib("ledger", "audit", "--ledger", place.url, "--releases", str(shop.output)).code == 0
