from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dplib.errors import ConfigError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Publication, RunState
from dplib.release.manifest import MANIFEST, Manifest, build_manifest, load_manifest, write_manifest
from dplib.release.verify import Check, verify_against_ledger, verify_content, verify_files
from tests.support.ledgers import KEY, TERMS, measurement, open_with, tamper
from tests.unit.release.test_manifest import content


def bad(checks: list[Check]) -> set[str]:
    return {check.name for check in checks if not check.ok}


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Ledger]:
    """A release that the ledger knows."""
    ledger = open_with(tmp_path)
    run = ledger.record_measurement(ledger.reserve(KEY, TERMS, Fraction(1, 3), ""), measurement())
    release = tmp_path / run.release_id
    (release / "estimates").mkdir(parents=True)
    (release / "estimates" / "top.parquet").write_bytes(b"numbers")
    (release / "report.html").write_text("page")
    fields = content(release_id=run.release_id, job=KEY.job, logical_date=KEY.logical_date)
    digest = write_manifest(release, build_manifest(release, fields))
    ledger.record_published(run, Publication(str(release), "b" * 64, digest))
    return release, ledger


def test_a_sound_release_passes_every_check(made: tuple[Path, Ledger]) -> None:
    release, ledger = made
    checks = verify_files(release) + verify_against_ledger(load_manifest(release), ledger)
    assert bad(checks) == set()
    assert len(checks) >= 15
    assert all(check.detail for check in checks if check.name != "logical date")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda r: (r / "report.html").write_text("pagE"), "changed files"),
        (lambda r: (r / "report.html").write_text("longer page"), "changed files"),
        (lambda r: (r / "report.html").unlink(), "missing files"),
        (lambda r: (r / "estimates" / "more.parquet").write_text(""), "extra files"),
        (lambda r: (r / ".hidden").write_text(""), "extra files"),
        (lambda r: (r / ".cache").mkdir() or (r / ".cache" / "x").write_text(""), "extra files"),
        (lambda r: (r / MANIFEST).unlink(), "manifest"),
        (lambda r: (r / MANIFEST).write_text("{}"), "manifest"),
        (lambda r: (r / "link").symlink_to(r / "report.html"), "manifest"),
    ],
)
def test_each_change_to_files_is_found(change: Callable[[Path], object], named: str, made: tuple[Path, Ledger]) -> None:
    release, _ = made
    change(release)
    assert bad(verify_files(release)) == {named}


def test_a_renamed_release_is_found(made: tuple[Path, Ledger]) -> None:
    release, _ = made
    checks = verify_files(release.rename(release.with_name("another")))
    assert bad(checks) == {"name"}
    assert f"folder another holds the release {release.name}" in {check.detail for check in checks}


def test_a_file_that_the_disk_cannot_read_is_named(made: tuple[Path, Ledger], monkeypatch: pytest.MonkeyPatch) -> None:
    release, _ = made

    def broken(path: Path) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("dplib.release.manifest.file_sha256", broken)
    checks = verify_files(release)
    assert bad(checks) == {"changed files"}
    assert "report.html" in next(check.detail for check in checks if check.name == "changed files")


@pytest.mark.parametrize("error", [KeyError("Canary"), ConfigError("JOB", "be known", "Canary"), ValueError()])
def test_a_job_that_cannot_check_a_release_is_a_bad_check(error: Exception) -> None:
    def check() -> list[Check]:
        raise error

    (found,) = verify_content(check)
    assert not found.ok
    assert ("Canary" in found.detail) == isinstance(error, ConfigError)
    good = [Check("sums", True, "agree")]
    assert verify_content(lambda: good) == good


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"job": "other"}, "job"),
        ({"dataset": "other"}, "dataset"),
        ({"logical_date": "2030-01-01"}, "logical date"),
        ({"cost": "1/30"}, "cost"),
        ({"privacy_unit": "event"}, "privacy unit"),
        ({"neighbors": "edge"}, "neighbors"),
        ({"currency": "zcdp"}, "currency"),
        ({"key_id": "other"}, "key"),
        ({"settings_hash": "f" * 64}, "measurement settings"),
        ({"publish_hash": "f" * 64}, "publish settings"),
        ({"domain": {"items": []}}, None),
    ],
)
def test_a_manifest_rewritten_with_another_claim_is_found(
    changes: dict[str, Any], named: str | None, made: tuple[Path, Ledger]
) -> None:
    release, ledger = made
    manifest = Manifest.model_validate({**load_manifest(release).model_dump(), **changes})
    write_manifest(release, manifest)
    assert bad(verify_files(release)) == set()
    expected = {"manifest recorded"} | ({named} if named else set())
    assert bad(verify_against_ledger(manifest, ledger)) == expected


def test_a_release_that_the_ledger_does_not_know_is_found(made: tuple[Path, Ledger]) -> None:
    release, ledger = made
    manifest = load_manifest(release).model_copy(update={"release_id": "takeaway-job-undated-000777"})
    assert bad(verify_against_ledger(manifest, ledger)) == {"ledger entry"}


def test_a_release_whose_publication_was_not_recorded_is_found(made: tuple[Path, Ledger]) -> None:
    release, ledger = made
    run = ledger.reserve(KEY, TERMS, Fraction(1, 3), "", again=True)
    assert run.state is RunState.RESERVED
    manifest = load_manifest(release).model_copy(update={"release_id": run.release_id})
    assert bad(verify_against_ledger(manifest, ledger)) == {"manifest recorded", "publish settings", "key"}


def test_a_changed_ledger_is_found(made: tuple[Path, Ledger], tmp_path: Path) -> None:
    release, ledger = made
    ledger.create_account("unrelated", TERMS, Fraction(1))
    tamper(tmp_path, "UPDATE entries SET why = 'x' WHERE dataset = 'unrelated'")
    assert bad(verify_against_ledger(load_manifest(release), ledger)) == {"ledger audit"}
    tamper(tmp_path, "UPDATE entries SET why = 'x' WHERE dataset = 'takeaway'")
    assert bad(verify_against_ledger(load_manifest(release), ledger)) == {"ledger entry"}
