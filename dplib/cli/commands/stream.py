"""The commands ``dplib stream``: what of a stream is measured, and its end."""

import datetime as dt
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.help_texts import SUMMARIES, example_of
from dplib.cli.options import AsJson, ConfigFile
from dplib.errors import ConfigError
from dplib.jobs.table import prepare_file
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Run
from dplib.release.manifest import STREAM
from dplib.release.stream_version import holes
from dplib.terminal.output import exit_codes, out
from dplib.terminal.progress import log
from dplib.workflow.design import JobDesign
from dplib.workflow.job import PreparedJob
from dplib.workflow.run import run_job
from dplib.workflow.stream import chosen_state, end_stream, version_of

stream = typer.Typer(help=SUMMARIES["stream"], epilog=example_of("stream"), no_args_is_help=True, add_completion=False)
SHOWN = 10
"""Missing days that are named."""


@dataclass(frozen=True)
class StreamSummary:
    """What of a stream is measured.

    Attributes:
        stream: its release id.
        horizon: first and last day.
        n_days: days of the horizon.
        n_measured: those that are measured.
        newest: the last of them; None before the first run.
        missing: days before it that are not measured.
        final_days: days whose numbers change no more.
        closed: whether no day is measured any more.
        cost: what the account paid, once.
        chosen_rows: the private table of chosen rows, where units span days: kept, lost or deleted; None elsewhere.
        version: folder of the newest version; None before the first.
    """

    stream: str
    horizon: tuple[str, str]
    n_days: int
    n_measured: int
    newest: str | None
    missing: list[str]
    final_days: int
    closed: bool
    cost: str
    chosen_rows: str | None
    version: str | None

    @classmethod
    def of(cls, output: Path, run: Run) -> "StreamSummary":
        """Of a stream that was started."""
        assert run.horizon is not None
        version, (first, last) = version_of(output, run), map(dt.date.fromisoformat, run.horizon)
        stated = {} if version.before is None else version.before.details[STREAM]
        final = stated.get("final_days", 0) if isinstance(stated, dict) else 0
        return cls(
            stream=run.release_id,
            horizon=run.horizon,
            n_days=(last - first).days + 1,
            n_measured=len(version.dates),
            newest=version.dates[-1] if version.dates else None,
            missing=holes(version.dates, run.horizon),
            final_days=final if isinstance(final, int) else 0,
            closed=run.is_closed,
            cost=str(run.cost),
            chosen_rows=chosen_state(output, run),
            version=None if version.previous is None else str(version.previous),
        )


@stream.command("show")
def stream_show(config: ConfigFile, as_json: AsJson = False) -> None:
    """What is measured, missing and final, and what it cost."""
    with exit_codes():
        prepared, _, run = _found(config)
        found = StreamSummary.of(prepared.output, run)
        if as_json:
            print(json.dumps(asdict(found), indent=2))
            return
        n_missing, missing = len(found.missing), ", ".join(found.missing[:SHOWN])
        out.print(f"{found.stream}, {found.horizon[0]} to {found.horizon[1]}", markup=False)
        out.print(f"  measured   {found.n_measured} of {found.n_days} days, the newest {found.newest or '-'}")
        out.print(f"  missing    {missing or 'none'}{f' ... ({n_missing} in all)' if n_missing > SHOWN else ''}")
        out.print(f"  final      {found.final_days} days{', closed' if found.closed else ''}")
        out.print(f"  cost       {found.cost}, paid once for the horizon")
        if found.chosen_rows is not None:
            end = "; close the stream, it cannot go on" if found.chosen_rows == "lost" else ""
            out.print(f"  chosen     table of chosen rows {found.chosen_rows}{end}")
        out.print(f"  version    {found.version or 'none'}", markup=False)


@stream.command("close")
def stream_close(config: ConfigFile, why: Annotated[str, typer.Option("--why", help="Why, for the record.")]) -> None:
    """End a stream: no day is measured any more, and its last version says that all is final; again, the same."""
    with exit_codes():
        prepared, ledger, run = _found(config)
        end_stream(ledger, run, prepared.output, why)
        _, version = run_job(prepared, stage="publish", progress=log.progress)
        print(version)


def _found(config: Path) -> tuple[PreparedJob[JobDesign], Ledger, Run]:
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
