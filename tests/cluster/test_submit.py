"""spark-submit with the wheel on a standalone cluster: the same bytes as in local mode, and the job's exit codes."""

import subprocess
from pathlib import Path

import pytest

from tests.cluster.conftest import RELEASE, ROOT, assert_paid_once, release_files
from tests.cluster.standalone import PATIENCE, Cluster

JOB = str(ROOT / "jobs" / "consistent_histograms.py")


def finished(driver: "subprocess.Popen[str]") -> tuple[int, list[str], str]:
    """Exit code, lines of standard output, standard error."""
    out, err = driver.communicate(timeout=PATIENCE)
    return driver.returncode, out.splitlines(), err


def test_plain_spark_submit_with_the_wheel(
    standalone_cluster: Cluster, wheel: Path, place: Path, undisturbed: dict[str, dict[str, bytes]]
) -> None:
    events = place / "events"
    events.mkdir()
    arguments = ["--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={events.as_uri()}"]
    arguments += ["--py-files", str(wheel), JOB, "--config", "config.yaml", "--set", "publish.solver.layout=driver"]
    with standalone_cluster.submit(arguments, place) as driver:
        code, lines, err = finished(driver)
    assert code == 0, err
    assert release_files(place) == undisturbed["driver"]
    assert lines[-1] == str(place / "releases" / RELEASE)
    assert_paid_once(place)
    # An event log holds numbers of rows: the job overrules anyone who turned it on.
    assert list(events.iterdir()) == []


def test_the_script_that_knows_spark_submit(
    standalone_cluster: Cluster,
    wheel: Path,
    place: Path,
    undisturbed: dict[str, dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPLIB_WHEEL", str(wheel))
    arguments = [JOB, "--config", "config.yaml", "--set", "publish.solver.layout=blocks"]
    with standalone_cluster.submit(arguments, place, ROOT / "scripts" / "submit.sh") as driver:
        code, lines, err = finished(driver)
    assert code == 0, err
    assert release_files(place) == undisturbed["blocks"]
    assert lines[-1] == str(place / "releases" / RELEASE)
    assert_paid_once(place)
    # Spark itself is silent from the first line on, in contrast to plain spark-submit; Java names a module.
    assert [line for line in err.splitlines() if "incubator" not in line] == []


def test_exit_codes_are_passed_on(standalone_cluster: Cluster, wheel: Path, place: Path) -> None:
    job = ["--conf", "spark.cores.max=1", "--py-files", str(wheel), JOB, "--config", "config.yaml", "--set"]
    wrong = {
        2: ("privacy.max_quantity=-1", "privacy.max_quantity"),
        3: ("input.columns.item=absent", "input.columns.item must name one column"),
        4: ("privacy.budget.epsilon=2", "dataset shop must have epsilon 2 left"),
    }
    with (
        standalone_cluster.submit([*job, wrong[2][0]], place) as two,
        standalone_cluster.submit([*job, wrong[3][0]], place) as three,
        standalone_cluster.submit([*job, wrong[4][0]], place) as four,
    ):
        for code, driver in {2: two, 3: three, 4: four}.items():
            found, lines, err = finished(driver)
            assert found == code, err
            # spark-submit sends what the job writes on standard error to standard output.
            sentences = [line for line in lines if line.startswith("dplib: ")]
            assert len(sentences) == 1
            assert wrong[code][1] in sentences[0]
            assert sentences == lines[-1:]
    assert not (place / "releases").exists()
