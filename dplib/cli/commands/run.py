"""The command ``dplib run``."""

from typing import Annotated

import typer

from dplib.cli.options import Assignments, ConfigFile, JobName, LogicalDate, LogMode
from dplib.jobs.pricing import price
from dplib.jobs.table import job_named
from dplib.terminal.output import consent, exit_codes
from dplib.terminal.progress import log
from dplib.terminal.run import run_and_show


def run(
    job: JobName,
    config: ConfigFile,
    assignments: Assignments = None,
    date: LogicalDate = "",
    stage: Annotated[str, typer.Option(help="measure, publish or all.")] = "all",
    release: Annotated[str | None, typer.Option(help="With --stage publish: which stored measurement.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure anew and spend again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Measure input rules that nobody inspected unasked.")] = False,
    log_mode: LogMode = None,
) -> None:
    """Run a job."""
    with exit_codes():
        if log_mode is not None:
            log.choose(log_mode)
        consent.given = yes
        run_and_show(job_named(job).prepare(config, assignments or (), date), stage, release, again, price)
