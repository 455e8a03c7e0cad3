"""Acceptance of operations: Spark Connect, tables, logs, plans as JSON, versions of settings and help, by tests."""

import functools
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from scripts.accept.claims import Check, Result, console

ROOT = Path(__file__).resolve().parents[2]
FILES = (
    "tests/connect",
    "tests/unit/test_delta_tables.py",
    "tests/unit/test_progress.py",
    "tests/spark/test_delta.py",
    "tests/spark/test_read.py",
    "tests/jobs/test_delta_jobs.py",
    "tests/jobs/test_help_and_plans.py",
)
JOBS = ("consistent-histograms", "kmeans", "minimum-cuts", "network-statistics", "range-histograms")
BYTES = "a_release_has_the_bytes_of_local_mode"
CONNECT = {
    **{
        f"Connect: {job}, a server without this project: the bytes of local mode, spent once": (f"{BYTES}[{job}]",)
        for job in JOBS
    },
    "Connect: projection of graphs and rounds of local search in a session that is there": (
        f"{BYTES}[network-statistics projected]",
        f"{BYTES}[kmeans by local search]",
    ),
    "Connect: spark.remote with a variable, and SPARK_REMOTE, each in a process of its own": ("a_process_of_its_own",),
    "Connect: no server, no address, no variable: one sentence without the token, nothing spent": (
        "an_address_without_a_server",
    ),
    "Connect: a setting that only the server's start has: exit 2, nothing spent": ("a_setting_of_the_server",),
    "Connect: workers without packages are found before a reservation; a web page is a warning": (
        "workers_without_the_packages",
    ),
}
TABLES = {
    "Delta in: live rows of the newest and of a pinned version, partitioned or not, odd names": ("a_version_has",),
    "Delta in: what is written after opening is not read": ("what_is_written_after",),
    "Delta in: an empty table, a column that came later": ("an_empty_table",),
    "Delta in: no table, a missing column: exit 3; a missing version: exit 2": (
        "what_cannot_be_opened_is_a_schema_error",
    ),
    "Delta in: deletion vectors and column mapping are refused by name": ("tables_that_only_the_connector",),
    "Delta in: a pinned version is a measurement setting, wrong ones are refused": ("a_pinned_version",),
    "Delta in and out: a whole job; no table leaves the release complete, a retry completes it": (
        "delta_tables_in_and_out",
        "a_table_that_cannot_be_written",
    ),
    "Delta out: each release once, by its id, however often it runs": ("each_release_is_there_once",),
    "Delta out: published anew replaces its own rows only, in one commit": ("a_release_published_anew",),
    "Delta out: writers at once leave each release once": ("writers_at_once",),
    "Delta out: a log that forgot the commit doubles nothing": ("rows_of_a_commit",),
    "Delta out: other columns and unknown tables are wrong settings": ("another_schema", "tables_side_by_side"),
    "a managed table of the session's catalogue: the counts of the same rows as text": ("a_table_of_the_sessions",),
}
LOGS = {
    "plain lines have a time and no colour": ("plain_lines",),
    "JSON lines: events, release, dataset, job, exit code, seconds": ("json_lines", "the_end_says"),
    "a terminal shows a moving line": ("people_see",),
    "--log and DPLIB_LOG choose; anything else is refused": ("the_environment_chooses",),
    "a refusal is an event with its exit code, for every job, and names no secret": ("a_refusal_is_an_event",),
    "plan --json: the schema of version 1, for every job": ("a_plan_as_json",),
    "plan: people and machines are told the same, for every job": ("the_plan_for_people",),
    "config_version newer, older, odd or missing: one sentence that says what to do, exit 2, for every job": (
        "another_version_of_settings",
    ),
    "every command's help fits 80 columns, with an example and the exit codes": ("help_fits",),
    "examples and first steps name commands and options that exist": ("examples_name", "the_first_steps"),
    "a pipe that is cut off is no error to look into": ("the_rest_of_a_pipe",),
}


@functools.cache
def outcomes() -> dict[str, bool]:
    """Whether each test passed, from one run."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-p", "no:cacheprovider", f"--junitxml={report}", *FILES]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            console.print(done.stdout[-4000:], markup=False)
        if not report.exists():
            return {}
        # Our own file, written by pytest a moment ago.
        cases = ET.parse(report).iter("testcase")  # noqa: S314
        return {case.attrib["name"]: len(case) == 0 for case in cases}


def _by_tests(claims: dict[str, tuple[str, ...]]) -> Iterator[Result]:
    for claim, beginnings in claims.items():
        named = {f"test_{beginning}" for beginning in beginnings}
        found = {name: ok for name, ok in outcomes().items() if any(name.startswith(each) for each in named)}
        complete = all(any(name.startswith(each) for name in found) for each in named)
        passed = sum(found.values())
        yield Result(claim, "all tests pass", f"{passed} of {len(found)} pass", complete and passed == len(found) > 0)


def connect() -> Iterator[Result]:
    """Spark Connect."""
    return _by_tests(CONNECT)


def tables() -> Iterator[Result]:
    """Tables as input and output."""
    return _by_tests(TABLES)


def logs_plans_and_help() -> Iterator[Result]:
    """Logs, plans as JSON, versions of settings, help."""
    return _by_tests(LOGS)


CHECKS: list[Check] = [connect, tables, logs_plans_and_help]
