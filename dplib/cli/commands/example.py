"""The command ``dplib example``."""

from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.options import JobName
from dplib.config.file_start import example_for
from dplib.jobs.table import job_named
from dplib.terminal.output import exit_codes


def example(
    job: JobName,
    start: Annotated[
        Path | None,
        typer.Option("--from", help="A CSV file: names of its columns and formats are filled in, no value is shown."),
    ] = None,
) -> None:
    """Print a job's commented configuration, for a file where one is named."""
    with exit_codes():
        text = job_named(job).example
        print(text if start is None else example_for(text, start), end="")
