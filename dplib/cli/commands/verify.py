"""The command ``dplib verify``."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.options import AsJson, Assignments, LogicalDate
from dplib.errors import ConfigError, DplibError
from dplib.jobs.pricing import price
from dplib.jobs.table import job_named, prepare_file
from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.release.files import require_release
from dplib.release.manifest import load_manifest
from dplib.release.verify import Check, verify_against_ledger, verify_content, verify_files
from dplib.terminal.output import exit_codes, out, table
from dplib.validate import require


def verify(
    release: Annotated[Path | None, typer.Argument(help="Directory of a release.", metavar="RELEASE")] = None,
    ledger: Annotated[str | None, typer.Option(help="Also check against this ledger.")] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="In place of RELEASE: the one of these settings, against their ledger."),
    ] = None,
    assignments: Assignments = None,
    date: LogicalDate = "",
    as_json: AsJson = False,
) -> None:
    """Print what was checked of a release."""
    with exit_codes():
        opened = None
        if config is not None:
            require(release is None and ledger is None, "--config", "be given without RELEASE and --ledger", "both")
            release, opened = _released(config, date, assignments or ())
        if release is None:
            raise ConfigError("RELEASE", "be given, or --config", "neither")
        release = release if config is not None else require_release(release)
        checks = verify_files(release)
        if all(check.ok for check in checks):
            manifest = load_manifest(release)
            checks += verify_content(lambda: job_named(manifest.job).verify(release, manifest))
            if ledger is not None:
                opened = Ledger.open(resolve_ledger_url(ledger, Path.cwd()))
            if opened is not None:
                checks += verify_against_ledger(manifest, opened, price)
        _print_checks(checks, as_json)


def _released(config: Path, date: str, assignments: Sequence[str]) -> tuple[Path, Ledger]:
    """The release of a configuration and date, and their ledger."""
    prepared = prepare_file(config, date, assignments)
    opened = prepared.open_ledger()
    run = opened.find_run(prepared.key)
    publication = None if run is None or (date and not run.is_measured(date)) else run.publication
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
