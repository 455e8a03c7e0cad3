"""Acceptance of the documentation: every command of the README runs, its example is what the commands print."""

from collections.abc import Iterator

from dplib.guide import titles
from scripts.accept.claims import Check, Result, tests_pass

PAGES = frozenset(
    [
        "airflow",
        "cluster",
        "connect",
        "consistent-histograms",
        "device-reports",
        "extending",
        "kmeans",
        "known-vulnerabilities",
        "ledger",
        "minimum-cuts",
        "network-statistics",
        "proofs",
        "range-histograms",
        "recovery",
        "secrets",
        "sizing",
        "tables",
        "threat-model",
    ]
)


def readme() -> Iterator[Result]:
    """The README."""
    yield from tests_pass(
        "every dplib command of the README runs; its plan is today's",
        "tests/docs/test_readme_commands.py",
        "-m",
        "not slow",
    )
    yield from tests_pass(
        "the README's example is what its commands print, noise included",
        "tests/docs/test_readme_commands.py",
        "-m",
        "slow",
    )
    yield from tests_pass("every configuration of conf/ loads", "tests/docs/test_configurations.py")


def guide() -> Iterator[Result]:
    """The pages of `dplib guide`."""
    missing = PAGES - set(titles())
    yield Result("pages of the guide", "none missing", f"{', '.join(sorted(missing)) or 'none'} missing", not missing)
    yield from tests_pass(
        "every mechanism and job has its proof; commands, options, targets and files that pages name exist",
        "tests/docs/test_guide.py",
    )
    yield from tests_pass("figures of the pages are computed again", "tests/docs/test_guide_figures.py")


CHECKS: list[Check] = [readme, guide]
