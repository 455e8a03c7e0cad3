"""The command ``dplib plan``."""

from dplib.cli.options import AsJson, Assignments, ConfigFile, JobName, LogicalDate
from dplib.jobs.table import job_named
from dplib.terminal.output import exit_codes
from dplib.terminal.plan import show_plan


def plan(
    job: JobName, config: ConfigFile, assignments: Assignments = None, date: LogicalDate = "", as_json: AsJson = False
) -> None:
    """Show the plan of a configuration."""
    with exit_codes():
        show_plan(job_named(job).prepare(config, assignments or (), date), as_json)
