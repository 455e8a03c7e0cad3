"""k-means on a standalone cluster: the release of local mode byte for byte, paid once, with an executor lost too."""

import csv
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplib.jobs.kmeans.job import JOB
from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.secret.file import create_secret_file
from dplib.workflow.design import cost_of, natural_terms
from tests.cluster.conftest import ROOT
from tests.cluster.standalone import PATIENCE, Cluster, descendants, environment, executor_of, kill, processes, wait_for
from tests.support.release_bytes import unreserved

RELEASE = "people-kmeans-undated-000002"
DIMENSION = 5
CONFIG = f"""
config_version: 1
job: kmeans
dataset: people
input:
  path: rows.csv
  options: {{header: "true"}}
  columns: {{coordinates: [{", ".join(f"x{axis}" for axis in range(DIMENSION))}], unit: who}}
privacy: {{unit: person, max_rows_per_unit: 2, budget: {{rho: 2}}}}
clustering: {{radius: 1, n_clusters: 4}}
ledger: sqlite:///ledger.db
secret: file:dplib.key
"""
LOCAL_RUN = """
from pathlib import Path
from dplib.jobs.kmeans.job import JOB
from dplib.progress import SILENT
from dplib.workflow.run import run_job
run_job(JOB.prepare(Path("config.yaml")), progress=SILENT)
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, a configuration, a secret and a ledger that can pay once."""
    folder = tmp_path_factory.mktemp("people")
    generator = np.random.default_rng(5)
    places = generator.uniform(-0.5, 0.5, (4, DIMENSION))
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{axis}" for axis in range(DIMENSION)), "who"])
        # Three rows a person in the mean, so that the cap drops some.
        for person, group in zip(generator.integers(0, 4000, 12_000), generator.integers(0, 4, 12_000), strict=True):
            writer.writerow([*np.round(places[group] + generator.normal(0, 0.05, DIMENSION), 6), f"p{person}"])
    (folder / "config.yaml").write_text(CONFIG)
    create_secret_file(folder / "dplib.key")
    prepared = JOB.prepare(folder / "config.yaml")
    assert prepared.design.method == "tree_coreset"
    terms = natural_terms(prepared.design)
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", folder), create=True)
    delta = Fraction(1, 10**6) if terms.currency is Currency.ZCDP else None
    ledger.create_account("people", terms, cost_of(prepared.design, terms.currency), delta)
    return folder


@pytest.fixture
def place_of_people(people: Path, tmp_path: Path) -> Path:
    """A copy of one test's own: the same secret and the same state of the ledger."""
    return Path(shutil.copytree(people, tmp_path / "place"))


@pytest.fixture(scope="module")
def local_release(people: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the release that the checkout makes in local mode."""
    folder = Path(shutil.copytree(people, tmp_path_factory.mktemp("local") / "place"))
    words = [sys.executable, "-c", LOCAL_RUN]
    done = subprocess.run(
        words, cwd=folder, env=environment(Path(sys.executable)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return files_of(folder)


def files_of(place: Path) -> dict[str, bytes]:
    """The files of the one release."""
    releases = place / "releases"
    assert sorted(path.name for path in releases.iterdir()) == [".lock", RELEASE]
    return {str(path.relative_to(releases)): unreserved(path) for path in releases.rglob("*") if path.is_file()}


def assert_paid_once(place: Path) -> None:
    """The ledger holds one published run and keeps every rule."""
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", place))
    assert [run.state.value for run in ledger.runs("people")] == ["published"]
    assert ledger.balance("people").left == 0
    assert ledger.audit() == []


def test_the_release_of_a_cluster_is_that_of_local_mode(
    standalone_cluster: Cluster, wheel: Path, place_of_people: Path, local_release: dict[str, bytes]
) -> None:
    job = ["--py-files", str(wheel), str(ROOT / "jobs" / "kmeans.py"), "--config", "config.yaml"]
    with standalone_cluster.submit(job, place_of_people) as driver:
        out, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    assert out.splitlines()[-1] == str(place_of_people / "releases" / RELEASE)
    assert files_of(place_of_people) == local_release
    assert_paid_once(place_of_people)


def test_an_executor_killed_with_its_points_changes_nothing(
    standalone_cluster: Cluster, wheel: Path, place_of_people: Path, local_release: dict[str, bytes]
) -> None:
    script = str(ROOT / "tests" / "cluster" / "disturbed_kmeans.py")
    job = ["--py-files", str(wheel), script, str(place_of_people), "--config", "config.yaml"]
    with standalone_cluster.submit(job, place_of_people) as driver:
        paused = place_of_people / "paused"
        wait_for("task that waits", lambda: paused.exists() or driver.poll() is not None)
        assert driver.poll() is None, driver.communicate()
        worker = int(paused.read_text())
        executor = executor_of(worker)
        assert executor is not None
        lost = [executor, *descendants(executor, processes())]
        assert worker in lost
        # The executor held blocks of points that the passes before had read.
        kill(lost)
        _, err = driver.communicate(timeout=PATIENCE)
    # The task that waited never went on: its part of the sums comes from the one that took its place.
    assert not (place_of_people / "go").exists()
    assert driver.returncode == 0, err
    assert files_of(place_of_people) == local_release
    assert_paid_once(place_of_people)
