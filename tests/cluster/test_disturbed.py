"""Lost executors and lost shuffle files leave the release as it is, byte for byte, and it is paid once."""

from pathlib import Path

from tests.cluster.conftest import RELEASE, ROOT, assert_paid_once, release_files
from tests.cluster.standalone import PATIENCE, Cluster, descendants, executor_of, kill, processes, wait_for

JOB = str(ROOT / "tests" / "cluster" / "disturbed_job.py")


def options(wheel: Path, place: Path, where: str) -> list[str]:
    job = [JOB, str(place), where, "--config", "config.yaml", "--set", "publish.solver.layout=blocks"]
    return ["--py-files", str(wheel), *job]


def paused_process(place: Path) -> int:
    return int(wait_for("task that waits", lambda: (place / "paused").exists() and (place / "paused").read_text()))


def test_executor_killed_while_it_draws_noise(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: dict[str, dict[str, bytes]]
) -> None:
    with standalone_cluster.submit(options(wheel, place, "noise"), place) as driver:
        worker = paused_process(place)
        executor = executor_of(worker)
        assert executor is not None
        lost = [executor, *descendants(executor, processes())]
        assert worker in lost
        kill(lost)
        assert driver.poll() is None
        out, err = driver.communicate(timeout=PATIENCE)
    # The task that waited never went on: what was published comes from the one that took its place.
    assert not (place / "go").exists()
    assert driver.returncode == 0, err
    assert release_files(place) == undisturbed["blocks"]
    assert out.splitlines()[-1] == str(place / "releases" / RELEASE)
    assert_paid_once(place)


def test_shuffle_files_deleted_between_two_tasks(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: dict[str, dict[str, bytes]]
) -> None:
    # With one core the other tasks of the stage have not started when the first one waits.
    one_core = ["--conf", "spark.cores.max=1"]
    with standalone_cluster.submit([*one_core, *options(wheel, place, "counts")], place) as driver:
        paused_process(place)
        deleted = standalone_cluster.shuffle_files()
        for path in deleted:
            path.unlink()
        (place / "go").touch()
        assert deleted
        # Spark finds them missing and makes them again, under the same names, perhaps elsewhere.
        names = {path.name for path in deleted}
        wait_for("second computation", lambda: {path.name for path in standalone_cluster.shuffle_files()} & names)
        assert driver.poll() is None
        _, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)
