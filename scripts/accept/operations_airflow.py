"""Acceptance of operations: the DAGs in a real Airflow in an environment of its own; every test runs once."""

import functools
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from scripts.accept.claims import Check, Result, at_most, console

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv-airflow" / "bin"
CLAIMS = {
    "DagBag loads without errors, one DAG for each entry of the schedule file": ("there_is_one_dag",),
    "tasks plan, measure, publish, verify in this order, each with its command for its day": (
        "tasks_follow",
        "each_task_runs",
    ),
    "loading a DAG file imports neither dplib nor Spark": ("loading_takes",),
    "one run of a DAG at a time, measure and publish in a pool; no run waits for the day before": (
        "runs_do_not_overlap",
    ),
    "retries on, later and later; they end": ("a_failure_is_retried", "tries_end"),
    "the run of a day starts when it is over; the logical date is the day, in the schedule's time zone": (
        "the_run_of_a_day",
        "the_day_is_the_logical_date",
        "a_day_is_released_once_its_period",
    ),
    "a day that is not over, a day inside a week, a run without a day: refused before anything starts": (
        "a_day_in_the_middle",
        "a_day_that_is_not_over",
    ),
    "no click measures anew: no parameters, a run's form reaches no job, new DAGs are paused": ("nothing_is_spent",),
    "a right schedule file is taken, the example too; each DAG says what it does": (
        "an_entry_takes_defaults",
        "the_example_is_right",
        "each_dag_says",
    ),
    "a wrong schedule file is one sentence, from the checker and as Airflow's import error": (
        "a_wrong_entry",
        "a_missing_key",
        "a_wrong_file",
        "the_file_can_be_checked",
        "what_the_file_says",
    ),
    "exit codes 2, 3, 4 of measure and publish: failed at the first try": (
        "a_refused_measurement",
        "a_refused_publication",
    ),
    "a plan that is refused starts no Spark; a run that is paid for needs no budget": (
        "a_refused_plan",
        "a_run_that_is_paid_for",
        "a_checkout_without",
    ),
    "exit code 1 and killed programs are tried again": ("other_failures",),
    "cluster mode: the stated exit code is believed, where it is hidden the ledger is asked": (
        "a_cluster_that_states",
        "where_a_cluster_hides",
    ),
    "a whole DAG through the real spark-submit: three days, three releases, one entry each": ("each_day_is_released",),
    "a second backfill: same bytes, nothing spent": ("a_second_backfill",),
    "a job of another kind": ("another_job",),
    "no budget: failed at the first try with exit code 4, from the plan and from spark-submit": (
        "spark_submit_s_refusal",
    ),
    "a real scheduler: a backfill and a catch-up in one pool release each day once, and no two submissions overlap": (
        "a_backfill_and_a_catch_up",
    ),
    "the guide's page: its commands parse, its keys, defaults and exit codes are those of the code": (
        "every_airflow_command",
        "the_keys_and_their_defaults",
        "the_exit_codes",
        "every_file_named",
    ),
    "spark-submit killed in measure and retried, then Airflow and Spark killed before publish: same bytes, one entry": (
        "a_run_that_is_killed",
    ),
}
"""Each claim with the beginnings of the names of its tests."""


def environment() -> Iterator[Result]:
    """The lock, the environment, and what stays apart."""
    lock = (ROOT / "requirements-airflow.lock").read_text(encoding="utf-8")
    version = re.search(r"^apache-airflow==(3\.\S+)", lock, re.MULTILINE)
    addresses = re.findall(r"https?://\S+", lock)
    pinned = len(re.findall(r"^\S+==", lock, re.MULTILINE))
    hashed = len(re.findall(r"^\S+==[^\n]*\\\n +--hash=sha256:", lock, re.MULTILINE))
    yield Result(
        "a lock of its own, with hashes and without addresses",
        "Airflow 3, every package",
        f"Airflow {version[1] if version else 'none'}, {hashed} of {pinned} packages, {len(addresses)} addresses",
        version is not None and hashed == pinned > 100 and not addresses,
    )
    done = subprocess.run([ROOT / "scripts" / "airflow.sh"], capture_output=True, text=True, check=False)
    yield Result("scripts/airflow.sh makes the environment", "exit 0", f"exit {done.returncode}", done.returncode == 0)
    words = [str(BIN / "mypy"), "--config-file=", "--strict", "--explicit-package-bases", "."]
    typed = subprocess.run(words, cwd=ROOT / "jobs" / "dags", capture_output=True, text=True, check=False)
    yield Result(
        "the DAGs' types, strict, against Airflow's own", "no issues", typed.stdout.strip(), typed.returncode == 0
    )
    with tempfile.TemporaryDirectory() as folder:
        wheel = subprocess.run(
            [ROOT / "scripts" / "package.sh", folder], capture_output=True, text=True, check=True
        ).stdout.strip()
        inside = [name for name in ZipFile(wheel).namelist() if "dags" in name]
    yield Result("the wheel holds no DAG", "0 files", f"{len(inside)} files", not inside)


@functools.cache
def outcomes() -> dict[str, bool]:
    """Whether each test of tests/dags passed; those with a real Spark run beside the others."""
    runs = "tests/dags/test_runs.py"
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / name for name in ("runs.xml", "others.xml")]
        beside = [_start([runs], reports[0]), _start([f"--ignore={runs}", "tests/dags"], reports[1])]
        found: dict[str, bool] = {}
        for process, report in zip(beside, reports, strict=True):
            said, _ = process.communicate()
            if process.returncode:
                console.print(said[-4000:], markup=False)
            if report.exists():
                # Our own file, written by pytest a moment ago.
                cases = ET.parse(report).iter("testcase")  # noqa: S314
                found |= {case.attrib["name"]: len(case) == 0 for case in cases}
        return found


def _start(words: list[str], report: Path) -> subprocess.Popen[str]:
    options = ["--confcutdir=tests/dags", "--disable-warnings", "-p", "no:cacheprovider", f"--junitxml={report}"]
    return subprocess.Popen(
        [str(BIN / "pytest"), *options, *words],
        cwd=ROOT,
        env=_without_ours(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _without_ours() -> dict[str, str]:
    """This environment without what names our own Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def real_airflow() -> Iterator[Result]:
    """The claims, each by its tests."""
    claimed: set[str] = set()
    for claim, beginnings in CLAIMS.items():
        starts = tuple(f"test_{beginning}" for beginning in beginnings)
        mine = {name: ok for name, ok in outcomes().items() if name.startswith(starts)}
        claimed |= set(mine)
        missing = [start for start in starts if not any(name.startswith(start) for name in mine)]
        failed = [name for name, ok in mine.items() if not ok]
        said = f"{len(mine) - len(failed)} of {len(mine)} passed" + (f", missing {missing}" if missing else "")
        yield Result(claim, "all tests pass", said, not failed and not missing)
    rest = sorted(set(outcomes()) - claimed)
    yield Result("every test belongs to a claim", "none left", ", ".join(rest) or "none left", not rest)


def loading() -> Iterator[Result]:
    """The time that a schedule costs the scheduler's parser."""
    code = (
        "import sys, time; sys.path.insert(0, 'jobs/dags'); import dplib_operators; started = time.process_time();"
        "import dplib_dags; print(1000 * (time.process_time() - started))"
    )
    done = subprocess.run(
        [BIN / "python", "-c", code], cwd=ROOT, env=_without_ours(), capture_output=True, text=True, check=True
    )
    yield at_most("parsing the DAG file, Airflow's own imports aside (CPU)", float(done.stdout.split()[-1]), 100, " ms")


CHECKS: list[Check] = [environment, loading, real_airflow]
