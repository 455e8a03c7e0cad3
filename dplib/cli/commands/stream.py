"""The commands ``dplib stream``: what of a stream is measured, and its end."""

import datetime as dt
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dplib.cli.help_texts import SUMMARIES, example_of
from dplib.cli.options import AsJson, ConfigFile
from dplib.errors import ConfigError
from dplib.jobs.table import prepare_file
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Run
from dplib.release.manifest import STREAM, load_manifest
from dplib.release.stream_version import holes
from dplib.terminal.output import exit_codes, out
from dplib.terminal.progress import log
from dplib.workflow.job import PreparedJob
from dplib.workflow.run import run_job
from dplib.workflow.stream import version_of

stream = typer.Typer(help=SUMMARIES["stream"], epilog=example_of("stream"), no_args_is_help=True, add_completion=False)
SHOWN = 10
"""Missing days that are named."""


@stream.command("show")
def stream_show(config: ConfigFile, as_json: AsJson = False) -> None:
    """What is measured, missing and final, and what it cost."""
    with exit_codes():
        prepared, _, run = _found(config)
        state = _state(prepared, run)
        if as_json:
            print(json.dumps(state, indent=2))
            return
        n_missing, missing = len(state["missing"]), ", ".join(state["missing"][:SHOWN])
        out.print(f"{state['stream']}, {state['horizon'][0]} to {state['horizon'][1]}", markup=False)
        out.print(f"  measured   {state['n_measured']} of {state['n_days']} days, the newest {state['newest'] or '-'}")
        out.print(f"  missing    {missing or 'none'}{f' ... ({n_missing} in all)' if n_missing > SHOWN else ''}")
        out.print(f"  final      {state['final_days']} days{', closed' if state['closed'] else ''}")
        out.print(f"  cost       {state['cost']}, paid once for the horizon")
        out.print(f"  version    {state['version'] or 'none'}", markup=False)


@stream.command("close")
def stream_close(
    config: ConfigFile,
    why: Annotated[str, typer.Option("--why", help="Why, for the record.")],
) -> None:
    """End a stream: no day is measured any more, and its last version says that all is final."""
    with exit_codes():
        prepared, ledger, run = _found(config)
        ledger.end_stream(run, why)
        _, version = run_job(prepared, stage="publish", progress=log.progress)
        print(version)


def _found(config: Path) -> tuple[PreparedJob[Any], Ledger, Run]:
    """The stream of a configuration.

    Raises:
        ConfigError: if the configuration, or its ledger, has none.
    """
    prepared = prepare_file(config)
    if prepared.config.horizon is None:
        raise ConfigError("--config", "have a section stream", "one without")
    ledger = prepared.open_ledger()
    run = ledger.find_run(prepared.key)
    if run is None:
        raise ConfigError("--config", "name a stream that was started (dplib run --date)", "one that was not")
    return prepared, ledger, run


def _state(prepared: PreparedJob[Any], run: Run) -> dict[str, Any]:
    """As JSON values."""
    horizon = prepared.config.horizon
    assert horizon is not None
    version = version_of(prepared.output, run)
    details: Any = {} if version.previous is None else load_manifest(version.previous).details[STREAM]
    first, last = map(dt.date.fromisoformat, horizon)
    return {
        "stream": run.release_id,
        "horizon": list(horizon),
        "n_days": (last - first).days + 1,
        "n_measured": len(version.dates),
        "newest": version.dates[-1] if version.dates else None,
        "missing": holes(version.dates, horizon),
        "final_days": details.get("final_days", 0),
        "closed": run.is_closed,
        "cost": str(run.cost),
        "version": None if version.previous is None else str(version.previous),
    }
