"""The command ``dplib rehearse``."""

from typing import Annotated

import typer

from dplib.cli.options import Assignments, ConfigFile, JobName, LogicalDate
from dplib.jobs.table import job_named
from dplib.progress import Progress
from dplib.terminal.output import exit_codes, show, stage


def rehearse(
    job: JobName,
    config: ConfigFile,
    assignments: Assignments = None,
    date: LogicalDate = "",
    rows: Annotated[
        int | None,
        typer.Option("--rows", "--rows-per-day", help="Mean number of generated rows a day, or a histogram.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the generated rows.")] = 0,
) -> None:
    """Run a job on generated rows and print predicted and measured errors."""
    with exit_codes():
        prepared = job_named(job).prepare(config, assignments or (), date)
        show(prepared.job.stages().rehearse(prepared, rows, seed, Progress(stage)))
