"""Fixtures of the tests on a real cluster: the cluster, the wheel, a Python without this project, an input."""

import csv
import datetime as dt
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dplib.jobs.consistent_histograms.job import JOB
from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.workflow.design import cost_of, natural_terms
from tests.cluster.standalone import Cluster, bare_environment, environment, start_cluster, wait_for
from tests.support.release_bytes import unreserved

ROOT = Path(__file__).parents[2]
RELEASE = "shop-consistent-histograms-undated-000002"
N_ITEMS, N_ROWS = 40, 20_000
ITEM = b"i17"
"""In every other input file, and in none of Spark's own."""
FIRST_DAY, LAST_DAY = dt.date(1990, 1, 1), dt.date(2024, 12, 31)
CONFIG = f"""
config_version: 1
job: consistent-histograms
dataset: shop
input:
  path: rows.csv
  options: {{header: "true"}}
  columns: {{day: day, item: item, quantity: n, unit: order}}
privacy: {{unit: order, max_rows_per_unit: 2, max_quantity: 3, budget: {{epsilon: 1}}}}
domain: {{items: [{", ".join(f"i{i}" for i in range(N_ITEMS))}], first_day: {FIRST_DAY}, last_day: {LAST_DAY}}}
constraints: [{{totals: {{half: [{", ".join(f"i{i}" for i in range(N_ITEMS // 2))}]}}}}]
tree: {{branching: [8, 40, 40]}}
ledger: sqlite:///ledger.db
secret: file:dplib.key
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that needs the cluster."""
    for item in items:
        if "standalone_cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as for a release."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [ROOT / "scripts" / "package.sh", folder], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This environment's Python with all its packages but this project."""
    return bare_environment(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="session")
def standalone_cluster(bare_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core each, on two addresses of loopback."""
    with start_cluster(tmp_path_factory.mktemp("cluster"), bare_python) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, a configuration whose tree has eight blocks, a secret and a ledger that can pay once."""
    folder = tmp_path_factory.mktemp("shop")
    generator = np.random.default_rng(20_240_101)
    days = generator.integers(0, (LAST_DAY - FIRST_DAY).days + 1, N_ROWS)
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["day", "item", "n", "order"])
        for day, item, n, order in zip(
            days,
            generator.integers(0, N_ITEMS, N_ROWS),
            generator.integers(1, 6, N_ROWS),
            # Two rows an order in the mean, so that the cap drops some.
            generator.integers(0, N_ROWS // 2, N_ROWS),
            strict=True,
        ):
            writer.writerow([FIRST_DAY + dt.timedelta(days=int(day)), f"i{item}", n, order])
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "dplib.key").write_text(bytes(range(32)).hex() + "\n", encoding="ascii")
    (folder / "dplib.key").chmod(0o600)
    prepared = JOB.prepare(folder / "config.yaml")
    assert prepared.design.blocks.n_blocks == 8
    terms = natural_terms(prepared.design)
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", folder), create=True)
    ledger.create_account("shop", terms, cost_of(prepared.design, terms.currency))
    return folder


@pytest.fixture
def place(shop: Path, tmp_path: Path) -> Path:
    """A copy of the shop of one test's own: the same secret and the same state of the ledger."""
    return Path(shutil.copytree(shop, tmp_path / "place"))


LOCAL_RUNS = """
import sys
from pathlib import Path
from dplib.jobs.consistent_histograms.job import JOB
from dplib.progress import SILENT
from dplib.workflow.run import run_job
for layout in sys.argv[1:]:
    run_job(JOB.prepare(Path(layout) / "config.yaml", (f"publish.solver.layout={layout}",)), progress=SILENT)
"""


@pytest.fixture(scope="session")
def undisturbed(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """By layout: the files of the release that the checkout makes in local mode."""
    folder = tmp_path_factory.mktemp("local")
    layouts = ["driver", "blocks"]
    for layout in layouts:
        shutil.copytree(shop, folder / layout)
    done = subprocess.run(
        [sys.executable, "-c", LOCAL_RUNS, *layouts],
        cwd=folder,
        env=environment(Path(sys.executable)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {layout: release_files(folder / layout) for layout in layouts}


def release_files(place: Path) -> dict[str, bytes]:
    """The files under the folder of releases, which must hold one release and nothing else (but the lock)."""
    releases = place / "releases"
    assert sorted(path.name for path in releases.iterdir()) == [".lock", RELEASE]
    return {str(path.relative_to(releases)): unreserved(path) for path in releases.rglob("*") if path.is_file()}


def assert_paid_once(place: Path) -> None:
    """The ledger holds one published run and keeps every rule."""
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", place))
    assert [run.state.value for run in ledger.runs("shop")] == ["published"]
    assert ledger.balance("shop").left == 0
    assert ledger.audit() == []


def assert_clean(cluster: Cluster, place: Path) -> None:
    """Nothing is left beside the ledger, in the driver's folder for temporary files and in those of the workers."""
    own = {"config.yaml", "dplib.key", "ledger.db", "releases", "rows.csv"}
    told = ("paused", "passed-", "partitions", "go")
    assert {path.name for path in place.iterdir() if not path.name.startswith(told)} <= own
    temporary = place.parent / "tmp"
    assert [path for path in temporary.rglob("*") if path.is_file()] == []
    wait_for("removal of the job's files by the workers", lambda: not cluster.left_on_workers())
