"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from dplib.jobs.table import JOBS


def _jobs(incomplete: str) -> list[str]:
    """What completes a job's name on a shell."""
    return [name for name in JOBS if name.startswith(incomplete)]


JobName = Annotated[str, typer.Argument(help=f"Job: {', '.join(JOBS)}.", metavar="JOB", autocompletion=_jobs)]
ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="Configuration file (YAML).")]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", help="Replace a setting: a.b=value, or a.0.b=value in a list; repeatable.")
]
LogicalDate = Annotated[str, typer.Option("--date", help="Logical date that fills {date}; never today by itself.")]
LogMode = Annotated[str | None, typer.Option("--log", help="auto, plain or json; else what DPLIB_LOG says.")]
ReleaseDir = Annotated[Path, typer.Argument(help="Directory of a release.", metavar="RELEASE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
