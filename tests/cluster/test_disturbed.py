"""Lost executors and lost shuffle files leave the release as it is, byte for byte, and it is paid once."""

import subprocess
from pathlib import Path

from tests.cluster.conftest import RELEASE, ROOT, assert_paid_once, release_files
from tests.cluster.standalone import PATIENCE, Cluster, descendants, executor_of, kill, processes, wait_for

JOB = str(ROOT / "tests" / "cluster" / "disturbed_job.py")


def options(wheel: Path, place: Path, where: str) -> list[str]:
    job = [JOB, str(place), where, "--config", "config.yaml", "--set", "publish.solver.layout=blocks"]
    return ["--py-files", str(wheel), *job]


def paused_process(place: Path, driver: "subprocess.Popen[str]") -> int:
    """The process of the task that waits."""
    wait_for("task that waits", lambda: (place / "paused").exists() or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    return int((place / "paused").read_text())


def shuffle_of(path: Path) -> str:
    """The number of the shuffle, from shuffle_NUMBER_TASK_0.data."""
    return path.name.split("_")[1]


def rewritten(cluster: Cluster, shuffles: set[str]) -> str:
    """Says so when one of the shuffles has files again."""
    return "rewritten" if any(shuffle_of(path) in shuffles for path in cluster.shuffle_files()) else ""


def test_executor_killed_while_it_draws_noise(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: dict[str, dict[str, bytes]]
) -> None:
    with standalone_cluster.submit(options(wheel, place, "noise"), place) as driver:
        worker = paused_process(place, driver)
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
        paused_process(place, driver)
        deleted = standalone_cluster.shuffle_files()
        for path in deleted:
            path.unlink()
        (place / "go").touch()
        assert deleted
        # Spark finds them missing and runs the tasks again that had written them. The new files carry the number of
        # the same shuffle and of other tasks.
        lost = {shuffle_of(path) for path in deleted}
        found = wait_for("second computation", lambda: rewritten(standalone_cluster, lost) or driver.poll() is not None)
        assert found == "rewritten", driver.communicate()
        _, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)
