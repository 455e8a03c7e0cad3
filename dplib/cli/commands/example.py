"""The command ``dplib example``."""

from dplib.cli.options import JobName
from dplib.jobs.table import job_named
from dplib.terminal.output import exit_codes


def example(job: JobName) -> None:
    """Print a job's commented configuration."""
    with exit_codes():
        print(job_named(job).example, end="")
