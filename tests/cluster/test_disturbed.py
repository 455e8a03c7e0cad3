"""Lost executors, workers, drivers and shuffle files, copies of slow tasks and other partitions: the same release.

Byte for byte, and it is paid once. Nothing is left of what was lost: neither in the folders of releases and of the
ledger nor in those for temporary files.
"""

import subprocess
from pathlib import Path

from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from tests.cluster.conftest import ITEM, RELEASE, ROOT, assert_clean, assert_paid_once, release_files
from tests.cluster.standalone import (
    PATIENCE,
    Cluster,
    descendants,
    executor_of,
    kill,
    kill_driver,
    processes,
    wait_for,
)

JOB = str(ROOT / "tests" / "cluster" / "disturbed_job.py")
Releases = dict[str, dict[str, bytes]]
SPARK_SCRATCH = {"artifacts", "blockmgr", "liblz4", "libnetty_transport_native_epoll_x86", "pyspark", "spark"}
"""Beginnings of the names of what Spark's processes put into the folder for temporary files."""


def options(wheel: Path, place: Path, where: str) -> list[str]:
    job = [JOB, str(place), where, "--config", "config.yaml", "--set", "publish.solver.layout=blocks"]
    return ["--py-files", str(wheel), *job]


def paused_process(place: Path, driver: "subprocess.Popen[str]") -> int:
    """The process that waits."""
    wait_for("process that waits", lambda: (place / "paused").exists() or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    return int((place / "paused").read_text())


def finish(driver: "subprocess.Popen[str]") -> list[str]:
    """Wait for the end; the lines of standard output."""
    out, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    return out.splitlines()


def executor_that_waits(place: Path, driver: "subprocess.Popen[str]") -> int:
    """The executor whose task waits."""
    worker = paused_process(place, driver)
    executor = executor_of(worker)
    assert executor is not None
    assert worker in descendants(executor, processes())
    return executor


def shuffle_of(path: Path) -> str:
    """The number of the shuffle, from shuffle_NUMBER_TASK_0.data."""
    return path.name.split("_")[1]


def rewritten(cluster: Cluster, shuffles: set[str]) -> str:
    """Says so when one of the shuffles has files again."""
    return "rewritten" if any(shuffle_of(path) in shuffles for path in cluster.shuffle_files()) else ""


def test_executor_killed_while_it_draws_noise(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: Releases
) -> None:
    with standalone_cluster.submit(options(wheel, place, "noise"), place) as driver:
        executor = executor_that_waits(place, driver)
        kill([executor, *descendants(executor, processes())])
        assert driver.poll() is None
        lines = finish(driver)
    # The task that waited never went on: what was published comes from the one that took its place.
    assert not (place / "go").exists()
    assert release_files(place) == undisturbed["blocks"]
    assert lines[-1] == str(place / "releases" / RELEASE)
    assert_paid_once(place)
    assert_clean(standalone_cluster, place)


def test_worker_killed_while_its_executor_draws_noise(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: Releases
) -> None:
    with standalone_cluster.submit(options(wheel, place, "noise"), place) as driver:
        executor = executor_that_waits(place, driver)
        number = standalone_cluster.kill_worker_of(executor)
        try:
            # The executor ends by itself when its worker is gone.
            wait_for("end of the executor", lambda: executor not in processes())
            assert driver.poll() is None
            finish(driver)
        finally:
            standalone_cluster.start_workers(number)
    assert not (place / "go").exists()
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)


def test_shuffle_files_deleted_between_two_tasks(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: Releases
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
        finish(driver)
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)
    assert_clean(standalone_cluster, place)


def test_slow_task_overtaken_by_its_copy(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: Releases
) -> None:
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        # The driver fetches one block after the other, in jobs of one task: time alone tells that it is slow.
        "spark.speculation.task.duration.threshold": "3s",
    }
    settings = [word for name, value in speculation.items() for word in ("--conf", f"{name}={value}")]
    with standalone_cluster.submit([*settings, *options(wheel, place, "noise")], place) as driver:
        executor = executor_that_waits(place, driver)
        # Its copy runs elsewhere while it still waits, and is not held up.
        wait_for("copy of the task", lambda: list(place.glob("passed-*")) or driver.poll() is not None)
        copies = [executor_of(int(path.name.split("-")[1])) for path in place.glob("passed-*")]
        assert executor in processes()
        assert [copy for copy in copies if copy not in (None, executor)]
        finish(driver)
    assert not (place / "go").exists()
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)
    assert_clean(standalone_cluster, place)


def test_shuffles_divided_otherwise_between_the_passes(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: Releases
) -> None:
    with standalone_cluster.submit(
        ["--conf", "spark.sql.shuffle.partitions=7", *options(wheel, place, "partitions")], place
    ) as driver:
        finish(driver)
    first, second = map(int, (place / "partitions").read_text().split())
    assert first == 7
    assert 1 <= second <= 3
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)


def states(place: Path) -> list[tuple[str, bool]]:
    """State of each run of the ledger, and whether it names a measurement."""
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", place))
    return [(run.state.value, run.measurement is not None) for run in ledger.runs("shop")]


def test_driver_killed_while_it_measures_and_again_before_it_publishes(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: Releases
) -> None:
    releases = place / "releases"
    with standalone_cluster.submit(options(wheel, place, "noise"), place) as driver:
        paused_process(place, driver)
        kill_driver(driver)
    assert states(place) == [("reserved", False)]
    assert len(list(releases.glob(".staging-*"))) == 1
    (place / "paused").unlink()
    with standalone_cluster.submit(options(wheel, place, "publish"), place) as driver:
        paused_process(place, driver)
        kill_driver(driver)
    # The measurement is stored and what the first driver left is gone; the second one left a release without manifest.
    assert states(place) == [("measured", True)]
    assert (releases / RELEASE / "measurement").is_dir()
    assert not (releases / RELEASE / "manifest.json").exists()
    left = list((place.parent / "tmp").rglob("*"))
    # Only Spark's scratch folders, which a killed Java cannot remove; no value of a row stands in them.
    assert {path.relative_to(place.parent / "tmp").parts[0].split("-")[0] for path in left} <= SPARK_SCRATCH
    assert not any(ITEM in path.read_bytes() for path in left if path.is_file() and path.suffix not in (".whl", ".zip"))
    job = [str(ROOT / "jobs" / "consistent_histograms.py"), *options(wheel, place, "publish")[-4:]]
    with standalone_cluster.submit(["--py-files", str(wheel), *job], place) as driver:
        finish(driver)
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)
