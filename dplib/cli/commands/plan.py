"""The command ``dplib plan``."""

from typing import Annotated

import typer

from dplib.cli.options import AsJson, Assignments, ConfigFile, JobName, LogicalDate
from dplib.jobs.table import job_named
from dplib.terminal.output import exit_codes
from dplib.terminal.plan import show_needed, show_plan
from dplib.validate import require
from dplib.workflow.wanted_error import Wanted


def plan(
    job: JobName,
    config: ConfigFile,
    assignments: Assignments = None,
    date: LogicalDate = "",
    as_json: AsJson = False,
    error: Annotated[
        str | None, typer.Option(help="Which budget gives this standard error: 5, or 5% of --count.", metavar="ERROR")
    ] = None,
    count: Annotated[str | None, typer.Option(help="With --error 5%: a public guess of the count.")] = None,
    answer: Annotated[str, typer.Option(help="With --error: how the answer's name begins, such as week.")] = "",
) -> None:
    """Show the plan of a configuration, or the budget that an error needs."""
    with exit_codes():
        given = tuple(assignments or ())
        if error is not None:
            wanted = Wanted.of(error, count, answer)
            show_needed(lambda more: job_named(job).prepare(config, (*given, *more), date), wanted, as_json)
            return
        require(count is None and not answer, "--count and --answer", "be given with --error", "it missing")
        show_plan(job_named(job).prepare(config, given, date), as_json)
