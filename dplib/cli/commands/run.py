"""The command ``dplib run``."""

import datetime as dt
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.options import Assignments, JobName, LogicalDate, LogMode
from dplib.errors import ConfigError
from dplib.jobs.pricing import price
from dplib.jobs.table import job_named
from dplib.terminal.output import consent, day_option, exit_codes
from dplib.terminal.progress import log
from dplib.terminal.run import run_and_show
from dplib.validate import require


def run(
    job: JobName,
    config: Annotated[list[Path], typer.Option("--config", "-c", help="Configuration file (YAML); repeatable.")],
    assignments: Assignments = None,
    date: LogicalDate = "",
    dates: Annotated[
        str, typer.Option(help="FIRST..LAST: a run for each day, all in one session of Spark; stops at one that fails.")
    ] = "",
    stage: Annotated[str, typer.Option(help="measure, publish or all.")] = "all",
    release: Annotated[str | None, typer.Option(help="With --stage publish: which stored measurement.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure anew and spend again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Measure input rules that nobody inspected unasked.")] = False,
    log_mode: LogMode = None,
) -> None:
    """Run a job, once for each configuration and date."""
    with exit_codes(), ExitStack() as kept:
        if log_mode is not None:
            log.choose(log_mode)
        consent.given = yes
        days = days_between(dates) if dates else [date]
        require(not (date and dates), "--dates", "be given without --date", "both")
        one = len(days) == len(config) == 1
        require(one or release is None, "--release", "be given for one configuration and date", f"{len(days)} dates")
        # Settings that are wrong are found before the first run, not between runs.
        runs = [job_named(job).prepare(path, assignments or (), day) for day in days for path in config]
        shared = runs[0].config.spark
        rule = "be the same in all configurations of one call, which share a session"
        require(all(prepared.config.spark == shared for prepared in runs), "spark", rule, "another section")
        for prepared in runs:
            log.begin()
            run_and_show(prepared, stage, release, again, price, None if one else kept)


def days_between(dates: str) -> list[str]:
    """The days that ``--dates`` names.

    Raises:
        ConfigError: if it names none.
    """
    ends = [day_option("--dates", text or None) for text in dates.split("..")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        raise ConfigError("--dates", "be two days, FIRST..LAST, such as 2024-05-01..2024-05-31", dates)
    return [(ends[0] + dt.timedelta(days=day)).isoformat() for day in range((ends[1] - ends[0]).days + 1)]
