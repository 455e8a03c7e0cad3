"""The command ``dplib doctor``: one line a finding, how to fix it below, and an exit code for scripts."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.options import AsJson, LogicalDate
from dplib.errors import ConfigError, DplibError
from dplib.jobs.table import prepare_file
from dplib.spark.engine.doctor import Finding, Verdict
from dplib.terminal.output import exit_codes, out, table
from dplib.terminal.progress import log
from dplib.workflow.design import JobDesign
from dplib.workflow.doctor import examine
from dplib.workflow.prepared import Prepared


def doctor(
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Also check what this file names.")] = None,
    date: LogicalDate = "",
    compile_: Annotated[
        bool, typer.Option("--compile", help="Compile what first runs would wait for: a minute, once a version.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print what this machine lacks."""
    with exit_codes():
        if compile_:
            # Imported where it is needed: it brings every job.
            from dplib.jobs.kernels import compile_kernels

            with log.stage("compiling"):
                compile_kernels()
        prepare = None if config is None else lambda: prepare_file(config, date)
        look_around(prepare, as_json)


def look_around(prepare: Callable[[], Prepared[JobDesign]] | None, as_json: bool) -> None:
    """Examine the machine and what a configuration names, and print what was found.

    Args:
        prepare: loads and checks the configuration; None where none is given.
        as_json: print JSON instead of a table.

    Raises:
        DplibError: if something is bad.
    """
    found: list[Finding] = []
    prepared = None
    if prepare is not None:
        try:
            prepared = prepare()
            found.append(Finding("settings", Verdict.OK, f"{prepared.design.config.job} can be planned"))
        except ConfigError as error:
            found.append(Finding("settings", Verdict.BAD, str(error), "fix the configuration; dplib example JOB"))
    found = examine(prepared, log.progress) + found
    if as_json:
        print(json.dumps([asdict(finding) for finding in found], indent=2))
    else:
        out.print(table("", ["", "check", "what is found"], [_row(finding) for finding in found]))
    bad = sum(finding.verdict is Verdict.BAD for finding in found)
    if bad:
        raise DplibError(f"dplib doctor must find nothing bad, got {bad} of {len(found)} findings that are")
    if not as_json:
        out.print("\nReady." if prepare is not None else "\nThis machine is ready; --config FILE checks the rest.")


def _row(finding: Finding) -> list[str]:
    fix = f"\n-> {finding.fix}" if finding.fix else ""
    # Rich would take brackets of a path or a message for markup.
    return [finding.verdict.value, finding.name, f"{finding.detail}{fix}".replace("[", "\\[")]
