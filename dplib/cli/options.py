"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from dplib.jobs.table import JOBS

JobName = Annotated[str, typer.Argument(help=f"Job: {', '.join(JOBS)}.", metavar="JOB")]
ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="Configuration file (YAML).")]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="Replace a setting: a.b=value; repeatable.")]
LogicalDate = Annotated[str, typer.Option("--date", help="Logical date that fills {date}; never today by itself.")]
LogMode = Annotated[str | None, typer.Option("--log", help="auto, plain or json; else what DPLIB_LOG says.")]
ReleaseDir = Annotated[Path, typer.Argument(help="Directory of a release.", metavar="RELEASE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
