"""Processes killed at every step of a run's life, and two at once: the retry gives the same bytes, paid once, alone."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.every_job import JOBS, ONE_RUN, entries_of, new_place_of
from tests.support.fault_points import POINTS, PUBLICATION_POINTS, WAIT
from tests.support.jobs import ROOT, Outcome, Shop, content, dplib, python_process, visible

pytestmark = [pytest.mark.slow, pytest.mark.pictures, pytest.mark.usefixtures("spark")]
MEASURING = [point for point in POINTS if point != WAIT]
MAIN = ("in the middle of the first table", "before the measurement is recorded", "after the measurement is recorded")
MAIN_PUBLISHING = ("in the middle of the manifest", "between the two renames")
OTHERS = [job for job in JOBS if job != JOBS[0]]


def place_of(job: str, folder: Path) -> Shop:
    """A place whose runs in other processes keep their temporary files below it."""
    place = new_place_of(job, folder)
    (folder / "temporary").mkdir()
    options = f"-Djava.io.tmpdir={folder}/temporary"
    conf = {"spark.local.dir": f"{folder}/temporary", "spark.driver.extraJavaOptions": options}
    return place.set(spark={"master": "local[1]", "conf": conf})


def words_of(place: Shop, point: str) -> list[str]:
    return ["-m", "tests.support.fault_points", point, "run", place.job, "--config", str(place.config)]


def killed(place: Shop, point: str) -> Outcome:
    """A run in a process that dies at a point."""
    found = python_process(*words_of(place, point), TMPDIR=f"{place.folder}/temporary")
    assert found.code == -signal.SIGKILL, found.err
    assert found.out == ""
    assert "Traceback" not in found.err
    return found


Undisturbed = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Undisturbed:
    """The release of a run of a job that nothing disturbs."""
    known: dict[str, dict[str, str]] = {}

    def of(job: str) -> dict[str, str]:
        if job not in known:
            known[job] = content(new_place_of(job, tmp_path_factory.mktemp(job)).run().release)
        return known[job]

    return of


def check_retry(place: Shop, expected: dict[str, str]) -> None:
    release = place.run().release
    assert content(release) == expected
    assert entries_of(place) == ONE_RUN
    assert place.spent() == 1
    assert visible(place.output) == [release.name]
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{place.folder}/ledger.db").code == 0
    assert {path.name for path in place.folder.iterdir() if path.name.startswith("ledger")} == {"ledger.db"}
    # A killed driver's Java notices and cleans up by itself.
    temporary = place.folder / "temporary"
    end = time.monotonic() + 60
    while any(temporary.iterdir()) and time.monotonic() < end:
        time.sleep(0.2)
    assert sorted(temporary.rglob("*")) == []


@pytest.mark.parametrize("point", MEASURING)
def test_a_kill_while_measuring(point: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    place = place_of(JOBS[0], tmp_path)
    killed(place, point)
    assert entries_of(place) in [ONE_RUN[:length] for length in (0, 1, 2)]
    check_retry(place, undisturbed(JOBS[0]))


@pytest.mark.parametrize("point", PUBLICATION_POINTS)
def test_a_kill_while_publishing(point: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    place = place_of(JOBS[0], tmp_path)
    assert place.run("--stage", "measure").code == 0
    killed(place, point)
    check_retry(place, undisturbed(JOBS[0]))


@pytest.mark.parametrize("job", OTHERS)
def test_a_kill_of_every_job(job: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    for number, point in enumerate((*MAIN, *MAIN_PUBLISHING)):
        place = place_of(job, tmp_path / str(number))
        if point in MAIN_PUBLISHING:
            assert place.run("--stage", "measure").code == 0
        killed(place, point)
        check_retry(place, undisturbed(job))


def test_a_kill_while_a_release_is_replaced_leaves_the_old_or_the_new_one(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    for number, point in enumerate(PUBLICATION_POINTS):
        place = place_of(JOBS[0], tmp_path / str(number))
        old = place.set(queries=["total"]).run().release
        before = content(old)
        place.settings.pop("queries")
        place.set()
        killed(place, point)
        recovered = place.run().release
        assert recovered == old
        assert content(recovered) == undisturbed(JOBS[0]) != before
        assert place.spent() == 1
        assert visible(place.output) == [recovered.name]
        assert entries_of(place)[:3] == ONE_RUN


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[tuple[Shop, "subprocess.Popen[str]", Path]]:
    """A run of another process that has drawn its noise and waits."""
    place, marker = place_of(JOBS[0], tmp_path), tmp_path / "waits"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DPLIB_TEST_WAIT": str(marker)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, *words_of(place, WAIT)], env=environment, text=True, cwd=ROOT, **pipes)
    end = time.monotonic() + 120
    while not marker.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    assert marker.exists()
    yield place, process, marker
    if process.poll() is None:
        process.kill()
        process.wait()


Waiting = tuple[Shop, "subprocess.Popen[str]", Path]


def test_two_runs_at_once_measure_once(waiting: Waiting, undisturbed: Undisturbed) -> None:
    place, process, marker = waiting
    second = place.run()
    assert second.code == 1
    assert "is being measured by another run, on " in second.err
    assert entries_of(place) == ["reserve"]
    marker.unlink()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert place.run().release == Path(out.splitlines()[-1])
    check_retry(place, undisturbed(JOBS[0]))


def test_the_lease_of_a_dead_run_is_taken_over(waiting: Waiting, undisturbed: Undisturbed) -> None:
    place, process, _ = waiting
    process.kill()
    process.wait()

    def change_lease(statement: str) -> None:
        with sqlite3.connect(place.folder / "ledger.db") as connection:
            assert connection.execute(statement).rowcount == 1
        connection.close()

    # Of another host nobody knows whether the process lives: its lease has to end.
    change_lease("UPDATE leases SET host = 'elsewhere'")
    told = place.run()
    assert told.code == 1
    assert "is being measured by another run, on elsewhere" in told.err
    change_lease("UPDATE leases SET expires = 0")
    check_retry(place, undisturbed(JOBS[0]))
