"""The console script ``dplib``: commands over all jobs."""

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.commands.doctor import look_around
from dplib.cli.commands.guide import guide
from dplib.cli.commands.init import init
from dplib.cli.commands.ledger import ledger_app
from dplib.cli.commands.secret import secret_app
from dplib.cli.help_texts import example_of, start
from dplib.errors import ConfigError, DplibError
from dplib.jobs.pricing import price
from dplib.jobs.table import JOBS, job_named, prepare_file
from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.release.files import MANIFEST
from dplib.release.manifest import load_manifest
from dplib.release.verify import Check, verify_against_ledger, verify_content, verify_files
from dplib.terminal.inspection import show_inspection
from dplib.terminal.output import (
    LogMode,
    assign_and_show,
    consent,
    exit_codes,
    out,
    rehearse_and_show,
    run_and_show,
    show_answers,
    show_plan,
    table,
)
from dplib.terminal.progress import log
from dplib.validate import require
from dplib.workflow.job import Question
from dplib.workflow.publication import REPORT

app = typer.Typer(
    name="dplib",
    epilog=start(list(JOBS)),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(ledger_app, name="ledger", epilog=example_of("ledger"))
app.add_typer(secret_app, name="secret", epilog=example_of("secret"))
app.command("init", epilog=example_of("init"))(init)
app.command("guide", epilog=example_of("guide"))(guide)

JobName = Annotated[str, typer.Argument(help=f"Job: {', '.join(JOBS)}.", metavar="JOB")]
ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="Configuration file (YAML).")]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="Replace a setting: a.b=value; repeatable.")]
LogicalDate = Annotated[str, typer.Option("--date", help="Logical date that fills {date}; never today by itself.")]
ReleaseDir = Annotated[Path, typer.Argument(help="Directory of a release.", metavar="RELEASE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def options(log_mode: LogMode = None) -> None:
    """Differentially private releases as batch jobs on Apache Spark: published numbers, with their errors."""
    with exit_codes():
        log.choose(log_mode)


@app.command(epilog=example_of("example"))
def example(job: JobName) -> None:
    """Write a commented configuration to start from."""
    with exit_codes():
        print(job_named(job).example, end="")


@app.command(epilog=example_of("inspect"))
def inspect(job: JobName, config: ConfigFile, assignments: Assignments = None, date: LogicalDate = "") -> None:
    """For the data's owner only: what each rule and cap does to the rows. Not private; exits 3 if all are dropped."""
    with exit_codes():
        show_inspection(job_named(job).prepare(config, assignments or (), date))


@app.command(epilog=example_of("plan"))
def plan(
    job: JobName, config: ConfigFile, assignments: Assignments = None, date: LogicalDate = "", as_json: AsJson = False
) -> None:
    """Noise, expected errors, cost and balance, from settings alone: reads no rows, spends nothing."""
    with exit_codes():
        show_plan(job_named(job).prepare(config, assignments or (), date), as_json)


@app.command(epilog=example_of("run"))
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
    """Measure and publish; a run whose release exists returns it and spends nothing."""
    with exit_codes():
        if log_mode is not None:
            log.choose(log_mode)
        consent.given = yes
        run_and_show(job_named(job).prepare(config, assignments or (), date), stage, release, again, price)


@app.command(epilog=example_of("rehearse"))
def rehearse(
    job: JobName,
    config: ConfigFile,
    assignments: Assignments = None,
    date: LogicalDate = "",
    rows: Annotated[
        int | None,
        typer.Option("--rows", "--rows-per-day", help="Mean number of generated rows a day, or a histogram.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the generated rows.")] = 0,
) -> None:
    """The whole job on generated rows of the declared domain: errors to expect; no ledger, no private data."""
    with exit_codes():
        rehearse_and_show(job_named(job).prepare(config, assignments or (), date), rows, seed)


@app.command(epilog=example_of("assign"))
def assign(
    release: ReleaseDir,
    config: ConfigFile,
    to: Annotated[Path, typer.Option(help="New folder for the rows; never inside a release.")],
    assignments: Assignments = None,
    date: LogicalDate = "",
) -> None:
    """For the data's owner only: input rows with their nearest center of a k-means release. Not private."""
    with exit_codes():
        job = job_named(load_manifest(_release(release)).job)
        if job.assign is None:
            raise ConfigError("RELEASE", "be of a job that assigns rows (kmeans)", job.name)
        require(not to.resolve().is_relative_to(release.resolve()), "--to", "lie outside the release", to)
        assign_and_show(job.assign, job.prepare(config, assignments or (), date), release, to)


@app.command(epilog=example_of("query"))
def query(
    release: ReleaseDir,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            "--group",
            help="Item, total, group, statistic, vertex or center of the release; repeatable; all if absent.",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="First day (or category), lower edge, or a point x,y,...")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Last day (or category), inclusive, or upper edge.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a range with its standard error and 95 % interval; free."""
    with exit_codes():
        job = job_named(load_manifest(_release(release)).job)
        show_answers(job, release, Question(name or (), start, end), as_json)


@app.command(epilog=example_of("verify"))
def verify(
    release: Annotated[Path | None, typer.Argument(help="Directory of a release.", metavar="RELEASE")] = None,
    ledger: Annotated[str | None, typer.Option(help="Also check against this ledger.")] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="In place of RELEASE: the one of these settings, against their ledger."),
    ] = None,
    date: LogicalDate = "",
    as_json: AsJson = False,
) -> None:
    """Check a release: files, constraints, and with --ledger or --config the books; exits 1 if a check fails."""
    with exit_codes():
        opened = None
        if config is not None:
            require(release is None and ledger is None, "--config", "be given without RELEASE and --ledger", "both")
            release, opened = _released(config, date)
        if release is None:
            raise ConfigError("RELEASE", "be given, or --config", "neither")
        checks = verify_files(release if config is not None else _release(release))
        if all(check.ok for check in checks):
            manifest = load_manifest(release)
            checks += verify_content(lambda: job_named(manifest.job).verify(release, manifest))
            if ledger is not None:
                opened = Ledger.open(resolve_ledger_url(ledger, Path.cwd()))
            if opened is not None:
                checks += verify_against_ledger(manifest, opened, price)
        _print_checks(checks, as_json)


def _release(directory: Path) -> Path:
    """A directory that holds a release.

    Raises:
        ConfigError: if it does not.
    """
    require((directory / MANIFEST).is_file(), "RELEASE", f"be a directory with a {MANIFEST}", directory)
    return directory


def _released(config: Path, date: str) -> tuple[Path, Ledger]:
    """The release of a configuration and date, and their ledger."""
    prepared = prepare_file(config, date)
    opened = prepared.open_ledger()
    run = opened.find_run(prepared.key)
    publication = None if run is None else run.publication
    if publication is None:
        raise DplibError(f"--config must name settings whose release exists, got none for {date or 'no date'}")
    return Path(publication.location), opened


def _print_checks(checks: list[Check], as_json: bool) -> None:
    rows = [["ok" if check.ok else "FAILED", check.name, check.detail] for check in checks]
    if as_json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        out.print(table("", ["", "check", "detail"], rows))
    failed = sum(not check.ok for check in checks)
    if failed:
        raise DplibError(f"release must pass every check, got {failed} that failed")


@app.command(epilog=example_of("report"))
def report(
    release: ReleaseDir,
    to: Annotated[Path | None, typer.Option(help="Write a copy of the page here.")] = None,
) -> None:
    """Print where the page of a release is, or write a copy of it."""
    with exit_codes():
        page = _release(release) / REPORT
        require(page.is_file(), "RELEASE", f"hold {page.name}", release)
        if to is not None:
            try:
                shutil.copyfile(page, to)
            except OSError:
                raise ConfigError("--to", "be a file that can be written", to) from None
        print(to or page)


@app.command(epilog=example_of("doctor"))
def doctor(
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Also check what this file names.")] = None,
    date: LogicalDate = "",
    as_json: AsJson = False,
) -> None:
    """Java, Spark, packages, secret, ledger, disk: what is wrong and how to fix it; exits 1 if something is bad."""
    with exit_codes():
        prepare = None if config is None else lambda: prepare_file(config, date)
        look_around(prepare, as_json)


def submit(job: str) -> None:
    """A file of ``jobs/``, which spark-submit starts: ``dplib run JOB`` with its options, and nobody there to ask."""
    # Help and errors of usage are those of the command that it is.
    app(["run", job, *sys.argv[1:]], prog_name="dplib")


def main() -> None:
    """Entry point of the console script."""
    consent.can_ask = True
    app()


if __name__ == "__main__":
    main()
