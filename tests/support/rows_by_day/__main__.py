"""The console script where the table of jobs has one line more: ``python -m tests.support.rows_by_day run ...``."""

from dplib.cli.main import main
from dplib.jobs.table import JOBS
from tests.support.rows_by_day.config import NAME


def register() -> None:
    """Add the line."""
    JOBS[NAME] = "tests.support.rows_by_day.job"


if __name__ == "__main__":
    register()
    main()
