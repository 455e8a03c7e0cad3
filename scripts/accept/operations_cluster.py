"""Acceptance of operations: clusters, packages, Spark's settings, paths and the image (``dplib guide cluster``)."""

import re
import subprocess
import sys
from collections.abc import Iterator

from scripts.accept.claims import Check, Result, console, tests_pass

DISTURBED, JOBS, KMEANS = "test_disturbed", "test_every_job", "test_kmeans_cluster"
ON_THE_CLUSTER: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "an executor killed while it draws noise: bytes equal, paid once, nothing left",
        (f"{DISTURBED}::test_executor_",),
    ),
    ("a worker killed: bytes equal, paid once", (f"{DISTURBED}::test_worker_",)),
    ("shuffle files deleted between two tasks, written again: bytes equal", (f"{DISTURBED}::test_shuffle_files_",)),
    ("speculation: a slow task is overtaken by its copy elsewhere: bytes equal", (f"{DISTURBED}::test_slow_task_",)),
    ("partitions and coalescing changed between the passes: bytes equal", (f"{DISTURBED}::test_shuffles_divided_",)),
    (
        "driver killed while it measures, and again between measure and publish: bytes equal, one entry, amount once,"
        " no leftovers",
        (f"{DISTURBED}::test_driver_",),
    ),
    ("range-histograms on the cluster: bytes of local mode", (f"{JOBS}::test_the_bytes_of_local_mode[range",)),
    ("network-statistics on the cluster: bytes of local mode", (f"{JOBS}::test_the_bytes_of_local_mode[network",)),
    ("minimum-cuts by Karger's trials on the cluster: same bytes", (f"{JOBS}::test_the_bytes_of_local_mode[minimum",)),
    ("range-histograms, executor killed: same bytes", (f"{JOBS}::test_the_same_bytes_with_an_executor_killed[range",)),
    ("minimum-cuts, executor killed: same bytes", (f"{JOBS}::test_the_same_bytes_with_an_executor_killed[minimum",)),
    ("k-means on the cluster, an executor killed too: same bytes", (f"{KMEANS}::",)),
    ("consistent-histograms by plain spark-submit and by the script; exit codes passed on", ("test_submit::",)),
    ("packed environment: runs in a root folder that holds nothing else", ("test_package::test_the_packed_",)),
    ("packed environment: executors run its Python, same bytes", ("test_package::test_executors_",)),
)
"""Claim, and the beginnings of the names of its tests."""


def on_the_cluster() -> Iterator[Result]:
    """All tests on the standalone cluster, in one run that shares it."""
    outcomes = _outcomes("-m", "cluster", "tests/cluster")
    for claim, names in ON_THE_CLUSTER:
        found = {name: good for name, good in outcomes.items() if name.startswith(names)}
        good = sum(found.values())
        yield Result(claim, "all tests pass", f"{good} of {len(found)} passed", bool(found) and good == len(found))


def _outcomes(*arguments: str) -> dict[str, bool]:
    """Whether each test passed, by module::name."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = re.findall(r"^(PASSED|FAILED|ERROR) \S*?(\w+)\.py::(\S+)", done.stdout, re.MULTILINE)
    outcomes = {f"{module}::{name}": outcome == "PASSED" for outcome, module, name in lines}
    if not outcomes or not all(outcomes.values()):
        console.print(done.stdout[-3000:], markup=False)
    return outcomes


def settings() -> Iterator[Result]:
    """Files of conf/spark."""
    where = "tests/cluster/test_spark_confs.py"
    yield from tests_pass(
        "every setting for local, standalone, YARN and Kubernetes is one of this Spark's register, not deprecated",
        where,
        "-k",
        "one_of_this_spark or wrong_and_old",
    )
    yield from tests_pass("every setting is explained by a sentence", where, "-k", "explained")
    yield from tests_pass("what keeps rows private stands in all four files alike", where, "-k", "private_is_alike")
    yield from tests_pass("scripts/submit.sh chooses by --master, or refuses", where, "-k", "script or packed or image")


def wheel() -> Iterator[Result]:
    """What --py-files takes."""
    yield from tests_pass(
        "the wheel has the same bytes whenever it is built",
        "tests/cluster/test_package.py::test_the_same_sources_give_the_same_wheel",
    )


def paths() -> Iterator[Result]:
    """Local paths, file:// URLs, other systems."""
    yield from tests_pass(
        "file:// URLs name input, lists and releases; releases on s3a:// or hdfs:// are refused with the reason; input"
        " of a file system that Spark lacks is one sentence",
        "tests/unit/test_paths.py",
        "tests/jobs/test_paths_of_jobs.py",
    )
    yield Result(
        "S3A against a local server", "a run", "hadoop-aws cannot be installed here: documented as untested", None
    )


def image() -> Iterator[Result]:
    """The container image's recipe."""
    yield from tests_pass(
        "recipe: sources exist, base pinned, no secret can enter, user is not root, entry point fits Spark's executor;"
        " what the build lays out runs a job whose release verifies",
        "tests/cluster/test_image.py",
    )
    yield Result("the image is built", "a build", "no builder of images here: not built", None)


CHECKS: tuple[Check, ...] = (settings, wheel, paths, image, on_the_cluster)
