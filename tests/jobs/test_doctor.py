"""``dplib doctor``: what it finds well, what it names as wrong and how to fix it, and that it writes nothing."""

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from dplib.config.sections import SparkSettings
from dplib.ledger.ledger import Ledger
from dplib.secret.secret import Secret
from dplib.spark.engine import doctor as spark_doctor
from dplib.spark.engine.doctor import Finding, Verdict, check_java, check_spark
from dplib.workflow import doctor
from tests.support.jobs import SECRET, Outcome, Shop, content, dplib, new_shop
from tests.support.ledgers import open_with, tamper


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return new_shop(tmp_path / "shop")


@pytest.fixture
def sound_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java and Spark are taken for well, unseen."""
    java, *others = (Finding(name, Verdict.OK, "well") for name in ("Java", "Spark", "workers", "time zone"))
    monkeypatch.setattr(doctor, "check_java", lambda: java)
    monkeypatch.setattr(doctor, "check_spark", lambda *_: others)


def findings(outcome: Outcome) -> dict[str, Finding]:
    return {each["name"]: Finding(**each) for each in json.loads(outcome.out)}


def verdicts(shop: Shop) -> dict[str, str]:
    """What is not well, by name, of ``dplib doctor --json``; each says how to fix it."""
    found = dplib("doctor", "--config", str(shop.config), "--json")
    ill = {name: each for name, each in findings(found).items() if each.verdict != "ok"}
    assert all(each.fix for each in ill.values())
    assert found.code == (1 if any(each.verdict == "bad" for each in ill.values()) else 0)
    assert SECRET.hex() not in found.out + found.err
    return {name: each.verdict for name, each in ill.items()}


@pytest.mark.usefixtures("spark")
def test_a_sound_place_is_ready_and_stays_as_it_is(shop: Shop) -> None:
    before = content(shop.folder)
    found = dplib("doctor", "--config", str(shop.config))
    assert found.code == 0, found.out + found.err
    assert found.out.endswith("\nReady.\n")
    assert Secret(SECRET).key_id in found.out
    assert SECRET.hex() not in found.out + found.err
    assert max(map(len, found.out.splitlines())) <= 80
    assert content(shop.folder) == before


@pytest.mark.usefixtures("sound_machine")
def test_what_is_looked_at(shop: Shop) -> None:
    assert " ".join(findings(dplib("doctor", "--config", str(shop.config), "--json"))) == (
        "Python packages time zones scratch Java Spark workers time zone secret ledger ledger access clock account "
        "output settings"
    )


@pytest.mark.usefixtures("sound_machine")
def test_without_a_configuration_it_looks_at_the_machine() -> None:
    found = dplib("doctor")
    assert found.code == 0, found.out
    assert "This machine is ready; --config FILE checks the rest." in found.out
    assert "secret" not in found.out


@pytest.mark.usefixtures("sound_machine")
def test_each_thing_that_is_wrong_is_named(shop: Shop) -> None:
    assert verdicts(shop) == {}
    (shop.folder / "shop.key").chmod(0o644)
    (shop.folder / "ledger.db").chmod(0o640)
    assert verdicts(shop) == {"secret": "bad", "ledger access": "warn"}
    (shop.folder / "ledger.db").chmod(0o600)
    (shop.folder / "shop.key").unlink()
    assert verdicts(shop) == {"secret": "bad"}
    (shop.folder / "shop.key").write_text("no key")
    (shop.folder / "shop.key").chmod(0o600)
    assert verdicts(shop) == {"secret": "bad"}
    shop.set(ledger="sqlite:///absent.db", secret="env:NOT_SET_ANYWHERE")
    assert verdicts(shop) == {"secret": "bad", "ledger": "bad"}
    shop.set(privacy__max_rows_per_unit=0)
    assert verdicts(shop) == {"settings": "bad"}


@pytest.mark.usefixtures("sound_machine")
def test_what_the_account_cannot_pay_is_a_warning(shop: Shop) -> None:
    assert verdicts(shop.set(privacy__budget={"epsilon": 11}, secret="file:absent")) == {
        "account": "warn",
        "secret": "bad",
    }
    (shop.folder / "shop.key").rename(shop.folder / "absent")
    assert verdicts(shop) == {"account": "warn"}
    assert verdicts(shop.set(dataset="unknown")) == {"account": "bad"}


@pytest.mark.usefixtures("sound_machine", "rows_in_python")
def test_a_changed_ledger_and_reservations_without_their_key(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("dplib.jobs.consistent_histograms.run.count_cells", None)
        assert shop.run().code == 1
    (shop.folder / "shop.key").write_text(os.urandom(32).hex())
    assert verdicts(shop) == {"secret": "warn"}
    tamper(shop.folder, "UPDATE entries SET why = 'x'")
    assert verdicts(shop)["ledger"] == "bad"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert doctor.check_output(tmp_path / "releases").verdict is Verdict.BAD


def test_an_output_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = doctor.check_output(tmp_path / "file")
    assert found.verdict is Verdict.BAD
    assert "must be a folder that can be written" in found.detail


@pytest.mark.parametrize(("free", "verdict"), [(1 << 30, "ok"), ((1 << 30) - 1, "warn"), ((1 << 26) - 1, "bad")])
def test_room(free: int, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert doctor.check_output(tmp_path / "a" / "b").verdict == verdict
    assert doctor.check_scratch(tmp_path).verdict == verdict
    assert os.listdir(tmp_path) == []


def test_packages_against_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "requirements.lock"
    assert doctor.check_packages(lock).verdict is Verdict.OK
    assert "no lock" in doctor.check_packages(lock).detail
    assert doctor.check_packages(doctor.LOCK).verdict is Verdict.OK
    lock.write_text('numpy==1.0 ; python_version < "3.12" \\\n    --hash=x\nnumpy==1.1 \\\nSQLAlchemy==0.1\n')
    found = doctor.check_packages(lock)
    assert found.verdict is Verdict.WARN
    assert "numpy" in found.detail
    assert "(1.0 or 1.1)" in found.detail
    assert "sqlalchemy" in found.detail
    monkeypatch.setattr(doctor.metadata, "requires", lambda _: ["numpy>=2", "no-such-package", 'other; extra == "x"'])
    found = doctor.check_packages(lock)
    assert (found.verdict, found.detail) == (Verdict.BAD, "missing: no-such-package")


def test_a_clock_behind_the_ledger(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    assert doctor.check_clock(open_with(tmp_path), now).verdict is Verdict.OK
    assert (
        doctor.check_clock(Ledger.open(f"sqlite:///{tmp_path}/ledger.db"), now - timedelta(hours=1)).verdict == "warn"
    )


def test_python_and_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "available_timezones", set)
    assert doctor.check_zones().verdict is Verdict.BAD
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    assert doctor.check_python().verdict is Verdict.BAD


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("echo 'openjdk version \"11.0.2\"' >&2", "got 11"),
        ("echo nothing", "got no version"),
        (None, "bin/java"),
    ],
)
def test_java(script: str | None, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if script is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = check_java()
    assert found.verdict is Verdict.BAD
    assert named in found.detail
    assert "JAVA_HOME" in found.fix


@pytest.mark.usefixtures("spark")
def test_workers_and_zones_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """That they agree here is seen in a sound place."""
    monkeypatch.setattr(spark_doctor, "_versions", lambda: "Python 2.7")
    monkeypatch.setattr(spark_doctor, "ZoneInfo", lambda _: UTC)
    found = check_spark(SparkSettings(), "America/Sao_Paulo")
    assert [each.name for each in found if each.verdict is Verdict.WARN and each.fix] == ["workers", "time zone"]
    assert all(each.verdict in (Verdict.OK, Verdict.WARN) for each in found)
