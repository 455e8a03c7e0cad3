"""The command ``dplib inspect``."""

from dplib.cli.options import Assignments, ConfigFile, JobName, LogicalDate
from dplib.jobs.table import job_named
from dplib.terminal.inspection import show_inspection
from dplib.terminal.output import exit_codes


def inspect(job: JobName, config: ConfigFile, assignments: Assignments = None, date: LogicalDate = "") -> None:
    """Show what each rule and cap does to the rows."""
    with exit_codes():
        show_inspection(job_named(job).prepare(config, assignments or (), date))
