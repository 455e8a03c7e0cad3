"""The command ``dplib report``."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.options import ReleaseDir
from dplib.errors import ConfigError
from dplib.release.files import REPORT, require_release
from dplib.terminal.output import exit_codes
from dplib.validate import require


def report(
    release: ReleaseDir,
    to: Annotated[Path | None, typer.Option(help="Write a copy of the page here.")] = None,
) -> None:
    """Print where the page is."""
    with exit_codes():
        page = require_release(release) / REPORT
        require(page.is_file(), "RELEASE", f"hold {page.name}", release)
        if to is not None:
            try:
                shutil.copyfile(page, to)
            except OSError:
                raise ConfigError("--to", "be a file that can be written", to) from None
        print(to or page)
