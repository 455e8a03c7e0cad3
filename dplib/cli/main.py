"""The console script ``dplib``: commands over all jobs (`dplib.cli.lazy_commands`)."""

import atexit
import gc
import sys
from typing import Annotated

import typer

from dplib.cli.help_texts import start
from dplib.cli.lazy_commands import LazyCommands
from dplib.cli.options import LogMode
from dplib.jobs.table import JOBS
from dplib.terminal import own_process
from dplib.terminal.output import consent, exit_codes
from dplib.terminal.progress import log
from dplib.version import __version__

NEW_OBJECTS = 400_000
"""After so many new objects cycles are looked for; start-up makes some 200,000 that stay, and the default is 700."""
app = typer.Typer(
    name="dplib",
    cls=LazyCommands,
    epilog=start(list(JOBS)),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
]


@app.callback()
def options(log_mode: LogMode = None, _version: Version = False) -> None:
    """Differentially private releases as batch jobs on Apache Spark: published numbers, with their errors."""
    with exit_codes():
        log.choose(log_mode)


def submit(job: str) -> None:
    """A file of ``jobs/``, which spark-submit starts: ``dplib run JOB`` with its options, and nobody there to ask."""
    # Help and errors of usage are those of the command that it is.
    app(["run", job, *sys.argv[1:]], prog_name="dplib")


def main() -> None:
    """Entry point of the console script."""
    consent.can_ask = own_process.ours = True
    gc.set_threshold(NEW_OBJECTS)
    # What ends with the process anyway is not looked at once more, for a fifth of a second.
    atexit.register(gc.freeze)
    app()


if __name__ == "__main__":
    main()
