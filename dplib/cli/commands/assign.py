"""The command ``dplib assign``."""

from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.options import Assignments, ConfigFile, LogicalDate, ReleaseDir
from dplib.errors import ConfigError
from dplib.jobs.table import job_named
from dplib.progress import Progress
from dplib.release.files import require_release
from dplib.release.manifest import load_manifest
from dplib.terminal.output import exit_codes, out, stage
from dplib.validate import require


def assign(
    release: ReleaseDir,
    config: ConfigFile,
    to: Annotated[Path, typer.Option(help="New folder for the rows; never inside a release.")],
    assignments: Assignments = None,
    date: LogicalDate = "",
) -> None:
    """Write input rows as a release sorts them; the last line is the folder. Not private."""
    with exit_codes():
        job = job_named(load_manifest(require_release(release)).job)
        write = job.stages().assign
        if write is None:
            raise ConfigError("RELEASE", "be of a job that assigns rows (kmeans)", job.name)
        require(not to.resolve().is_relative_to(release.resolve()), "--to", "lie outside the release", to)
        write(job.prepare(config, assignments or (), date), release, to, Progress(stage))
        out.print("NOT PRIVATE, for the data's owner only: input rows with their nearest center.")
        print(to)
