"""A release that was damaged, by chance or on purpose: `dplib verify` names the file, exits 1; running again fixes."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dplib.release.files import MANIFEST, list_files
from tests.support.every_job import JOBS, new_place_of
from tests.support.jobs import Outcome, Shop, content, dplib
from tests.support.rows_in_python import count_in_python

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(scope="module", params=[JOBS[0], *(pytest.param(job, marks=pytest.mark.slow) for job in JOBS[1:])])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: object) -> Shop:
    """A place of each job with a release."""
    made = new_place_of(request.param, tmp_path_factory.mktemp("place"))
    with pytest.MonkeyPatch.context() as patch:
        if request.param == JOBS[0]:
            count_in_python(patch)
        assert made.run().code == 0
    return made


@pytest.fixture
def release(place: Shop) -> Iterator[Path]:
    """Its release, whole again after the test."""
    (found,) = (path for path in place.output.iterdir() if path.is_dir())
    kept, before = place.folder / "kept", content(found)
    shutil.copytree(found, kept)
    yield found
    for path in place.output.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    shutil.copytree(kept, found)
    shutil.rmtree(kept)
    assert content(found) == before


def flip_a_bit(path: Path) -> None:
    text = bytearray(path.read_bytes())
    text[len(text) // 2] ^= 1
    path.write_bytes(text)


def remove(path: Path) -> None:
    path.unlink()


def failed(outcome: Outcome) -> str:
    """What `verify` printed, after checking that it refused and ended in one sentence."""
    assert outcome.code == 1, outcome.out
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("dplib: release must pass every check, got ")
    return " ".join(line for line in outcome.out.splitlines() if line.startswith(("FAILED", " ")))


@pytest.mark.parametrize("damage", [flip_a_bit, remove])
def test_damage_to_any_file_is_found_and_named(damage: Callable[[Path], None], release: Path) -> None:
    for name, path in list_files(release).items():
        before = path.read_bytes()
        damage(path)
        outcome = dplib("verify", str(release))
        if not (release / MANIFEST).exists():
            assert outcome.code == 2
            assert outcome.err.startswith("dplib: RELEASE must be a directory with a manifest.json, got ")
            path.write_bytes(before)
            continue
        said = failed(outcome)
        # A long name is folded in the table.
        assert name.replace(" ", "") in said.replace(" ", ""), (name, said)
        path.write_bytes(before)
    assert dplib("verify", str(release)).code == 0


def test_a_manifest_of_an_older_version_is_told_and_written_anew_for_nothing(place: Shop, release: Path) -> None:
    before, spent = content(release), place.spent()
    fields = json.loads((release / MANIFEST).read_bytes())
    del fields["checksum"]
    (release / MANIFEST).write_text(json.dumps({**fields, "manifest_version": 1}), encoding="utf-8")
    assert "manifest_version" in failed(dplib("verify", str(release)))
    assert place.run().release == release
    assert content(release) == before
    assert place.spent() == spent


def test_running_again_mends_all_but_the_measurement_for_nothing(place: Shop, release: Path) -> None:
    before, spent = content(release), place.spent()
    for path in release.iterdir():
        if path.name != "measurement":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert place.run().release == release
    assert content(release) == before
    assert place.spent() == spent
    flip_a_bit(next(path for name, path in list_files(release).items() if name.startswith("measurement/")))
    (release / MANIFEST).unlink()
    refused = place.run()
    assert refused.code == 1
    assert "must have the measurement that the ledger names, got a changed one" in refused.err
    assert place.spent() == spent
