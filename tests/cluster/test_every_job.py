"""Every kind of job on the cluster: the bytes of local mode, undisturbed and with an executor killed.

The main job is in ``test_submit`` and ``test_disturbed``.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.cluster.conftest import ROOT
from tests.cluster.standalone import Cluster, descendants, kill, processes
from tests.cluster.test_disturbed import JOB as DISTURBED
from tests.cluster.test_disturbed import executor_that_waits, finish
from tests.jobs.test_minimum_cuts import APPROX_TERMS, N, new_contacts
from tests.jobs.test_network_statistics import new_network
from tests.jobs.test_range_histograms import new_visits
from tests.support.every_job import POINTS, Points, new_place_of
from tests.support.jobs import Shop, content, new_place


def new_strict_contacts(folder: Path) -> Shop:
    """A complete graph whose cuts are found by Karger's random trials, which are tasks."""
    place = new_contacts(
        folder,
        cuts__releases={"sampled_cuts": {"k": 3, "when_small": "refuse"}},
        privacy__budget={"epsilon": 8, "delta": "0.000001"},
    )
    place.ledger.create_account("strict", APPROX_TERMS, Fraction(20), Fraction(1, 10**5))
    rows = [(one + 10, other + 10, 9) for one, other in combinations(range(N), 2)] * 20
    return place.set(dataset="strict", cuts__method="karger").rows(rows)


def new_people(folder: Path) -> Shop:
    """Clusters in five coordinates, over which a method goes several times; three rows a person in the mean."""
    axes, generator = [f"x{axis}" for axis in range(5)], np.random.default_rng(5)
    groups = generator.integers(0, 4, 12_000)
    points = generator.uniform(-0.5, 0.5, (4, 5))[groups] + generator.normal(0, 0.05, (12_000, 5))
    settings = POINTS | {
        "input": POINTS["input"] | {"columns": {"coordinates": axes, "unit": "person"}},
        "privacy": {"unit": "person", "max_rows_per_unit": 2, "budget": {"rho": 2}},
        "clustering": {"radius": 1, "n_clusters": 4, "method": "tree_coreset"},
    }
    people = [f"p{person}" for person in generator.integers(0, 4000, 12_000)]
    rows = [(*row, person) for row, person in zip(points.round(6), people, strict=True)]
    return new_place(Points, folder, settings, "2").rows(rows, [*axes, "person"])


CASES: dict[str, tuple[Callable[..., Shop], dict[str, Any]]] = {
    "range-histograms": (new_visits, {"publish__layout": "blocks"}),
    # Counted on Spark, after a projection that takes rounds.
    "network-statistics": (
        new_network,
        {
            "privacy__neighbors": "vertex",
            "graph__degree_bound": {"bounding": "projected", "largest": 3},
            "graph__statistics": {"edge_count": 1, "degree_histogram": 2},
            "counting": {"layout": "spark"},
        },
    ),
    "minimum-cuts": (new_strict_contacts, {}),
    "kmeans": (new_people, {}),
    "key-selection": (partial(new_place_of, "key-selection"), {}),
}
WAITING = {"range-histograms": "range noise", "minimum-cuts": "trials", "kmeans": "points"}
"""Where a task of the job waits to be killed."""


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """By job: the hashes of the files that local mode makes."""
    found = {}
    for job, (make, changes) in CASES.items():
        place = make(tmp_path_factory.mktemp("local") / job, **changes)
        place.run().release  # noqa: B018  # fails where the run has failed
        found[job] = content(place.output)
    return found


def assert_as_expected(place: Shop, expected: dict[str, str]) -> None:
    assert content(place.output) == expected
    assert [run.state.value for run in place.ledger.runs(place.settings["dataset"])] == ["published"]
    assert place.spent() == sum(run.cost for run in place.ledger.runs(place.settings["dataset"]))
    assert place.ledger.audit() == []


@pytest.mark.parametrize("job", CASES)
def test_the_bytes_of_local_mode(
    job: str, standalone_cluster: Cluster, wheel: Path, expected: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    make, changes = CASES[job]
    place = make(tmp_path / "place", **changes)
    file = ROOT / "jobs" / f"{job.replace('-', '_')}.py"
    arguments = ["--py-files", str(wheel), str(file), "--config", str(place.config)]
    with standalone_cluster.submit(arguments, place.folder) as driver:
        lines = finish(driver)
    assert Path(lines[-1]).parent == place.output
    assert_as_expected(place, expected[job])


@pytest.mark.parametrize("job", WAITING)
def test_the_same_bytes_with_an_executor_killed(
    job: str, standalone_cluster: Cluster, wheel: Path, expected: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    make, changes = CASES[job]
    place = make(tmp_path / "place", **changes)
    arguments = ["--py-files", str(wheel), DISTURBED, str(place.folder), WAITING[job], "--config", str(place.config)]
    with standalone_cluster.submit(arguments, place.folder) as driver:
        executor = executor_that_waits(place.folder, driver)
        kill([executor, *descendants(executor, processes())])
        assert driver.poll() is None
        finish(driver)
    assert not (place.folder / "go").exists()
    assert_as_expected(place, expected[job])
