"""What every command shares: exit codes, messages, options and tables. `progress` shows its work.

A command ends with the exit code of its error (`dplib.errors`) after one sentence on standard error. An error nobody
foresaw ends with 1 and names its class and place only, since its message could hold a value of an input row;
``DPLIB_DEBUG=1`` shows the whole traceback to anyone who may see the data.
"""

import datetime as dt
import json
import math
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.table import Table

from dplib.errors import ConfigError, DplibError
from dplib.ledger.repricing import Pricing
from dplib.page.account_state import AccountState
from dplib.page.notices import caps_caveat, faint_warning
from dplib.progress import Progress
from dplib.release.manifest import load_manifest
from dplib.terminal.progress import err as err
from dplib.terminal.progress import log
from dplib.terminal.text import Terminal, cell
from dplib.workflow.design import AnyDesign, JobDesign, cost_of, natural_terms
from dplib.workflow.dry_publication import try_publication
from dplib.workflow.inspected import is_inspected
from dplib.workflow.job import Assign, Job, PreparedJob, Question
from dplib.workflow.plan import JobPlan
from dplib.workflow.prepared import Prepared, ledger_state, require_payable
from dplib.workflow.publication import REPORT
from dplib.workflow.quality import QUALITY
from dplib.workflow.run import run_job
from dplib.workflow.shown import Shown

LogMode = Annotated[str | None, typer.Option("--log", help="auto, plain or json; else what DPLIB_LOG says.")]
out = Terminal()
stage = log.stage


def fail(error: BaseException) -> NoReturn:
    """Print one sentence for ``error`` and exit with its code."""
    if os.environ.get("DPLIB_DEBUG") == "1":
        traceback.print_exception(error)
    code, sentence = _ending(error)
    log.ended(code, sentence)
    sys.exit(code)


def _ending(error: BaseException) -> tuple[int, str]:
    if isinstance(error, DplibError):
        return error.exit_code, f"dplib: {error}"
    if isinstance(error, KeyboardInterrupt):
        return 130, "dplib: interrupted"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "an unknown place"
    withheld = "its message may hold data and is withheld (DPLIB_DEBUG=1 shows it)"
    return 1, f"dplib: unexpected {type(error).__name__} at {place}; {withheld}"


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn every error of the block into its sentence and exit code."""
    log.begin()
    try:
        yield
    except BrokenPipeError:
        # Anyone who read the output has enough, as `| head` has; Python would complain once more at its end.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as error:  # the last place that can keep values off the screen
        fail(error)


def day_option(name: str, text: str | None) -> dt.date | None:
    """The day that an option names, None where it is absent.

    Raises:
        ConfigError: if it is no day.
    """
    try:
        return None if text is None else dt.date.fromisoformat(text)
    except ValueError:
        raise ConfigError(name, "be a day YYYY-MM-DD", text) from None


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str] = frozenset()
) -> Table:
    """A plain table; the columns named in ``right`` are aligned to the right."""
    shown = Table(title=cell(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(cell(column), justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(cell, row))
    return shown


class Consent:
    """What was said about runs of input rules that nobody inspected.

    Attributes:
        given: ``--yes``.
        can_ask: whether the command may ask: never a program that a scheduler or spark-submit starts.
    """

    given = False
    can_ask = False


consent = Consent()


def someone_there() -> bool:
    """Whether a person sits at standard input."""
    return sys.stdin.isatty()


def answer_of(name: str, default: str) -> str:
    """What a person answers; empty where nothing is said and there is no default."""
    return str(typer.prompt(name, default=default or None))


def require_inspected(run: Prepared[JobDesign]) -> None:
    """Ask on a terminal, and warn elsewhere, before rules measure that nobody ever inspected.

    Raises:
        ConfigError: if the answer is no.
    """
    if consent.given or is_inspected(run):
        return
    job = run.design.config.job
    why = (
        f"the input rules of this configuration were never inspected; dplib inspect {job} --config FILE shows what "
        "they drop before it costs a budget"
    )
    if not (consent.can_ask and someone_there() and err.is_terminal):
        log.warning(why)
        return
    if not typer.confirm(f"{why[0].upper()}{why[1:]}. Measure and spend now?", err=True):
        raise ConfigError("run", "be confirmed where its input rules were never inspected", "no: nothing was spent")


def json_text(value: Any) -> str:
    """JSON as its standard has it: null in place of NaN and infinity, other values as texts."""
    return json.dumps(_finite(value), indent=2, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(shown: Iterable[Shown]) -> None:
    """Print what a job has to say."""
    for each in shown:
        out.print(each if isinstance(each, str) else table(each.title, each.columns, each.rows, each.right))


def show_plan(prepared: PreparedJob[AnyDesign], as_json: bool) -> None:
    """Print the plan of a configuration with what the ledger says about it: reads no rows, spends nothing.

    Raises:
        ConfigError: before it, if such a release could never be published; after it, if the account has other terms.
        BudgetError: after it, if the account cannot pay for it.
    """
    terms = natural_terms(prepared.design)
    cost = cost_of(prepared.design, terms.currency)
    try_publication(prepared, partial(_tried, prepared.job), AccountState(terms.currency, cost, Fraction(0), cost))
    plan, shown = prepared.job.plan(prepared.design, prepared.key.settings_hash)
    ledger = ledger_state(prepared)
    if as_json:
        print(json_text(plan.to_dict() | {"ledger": ledger}))
    else:
        _print_plan(plan, ledger, shown)
    # Said last, so that the plan is read all the same.
    require_payable(prepared)


def _print_plan(plan: JobPlan, ledger: dict[str, Any], shown: Iterable[Shown]) -> None:
    frame = plan.frame
    out.print(
        f"[bold]Plan of {frame.job} for the account {frame.dataset}[/bold] (no row is read, nothing is spent)\n",
        markup=True,
    )
    out.print(f"Guarantee: {frame.budget}; {frame.neighbors}.", markup=False)
    out.print(f"Caps: {', '.join(f'{name} at most {value}' for name, value in frame.caps.items())}.", markup=False)
    show(shown)
    rows = [[each.accountant, f"{each.epsilon:.4g}", f"{each.delta:.1g}", each.note] for each in frame.totals]
    out.print(table("\nThe release by each accountant", ["accountant", "epsilon", "delta", "note"], rows))
    out.print("")
    for note in frame.notes:
        out.print(f"Note: {note}", markup=False)
    if ledger["account"] is None:
        out.print(f"Ledger: {ledger['problem']}.", markup=False)
    elif ledger["existing_run"]:
        out.print(
            f"Ledger: {ledger['existing_run']} is {ledger['existing_state']}; running again spends nothing.",
            markup=False,
        )
    else:
        when = f" in {ledger['period']}" if ledger["period"] else ""
        out.print(
            f"Ledger: costs {ledger['cost']} of {ledger['left']} left{when} ({ledger['currency']}).", markup=False
        )
        if ledger["approval"]["required"]:
            left = ledger["approval"]["runs_left"]
            shown = f"approved for {left} more runs" if left else "not approved (dplib ledger approve)"
            out.print(f"Plan: {ledger['plan_hash']}, {shown}.", markup=False)


def run_and_show(
    prepared: PreparedJob[AnyDesign], stage: str, release_id: str | None, again: bool, pricing: Pricing
) -> None:
    """Run a job and print what it made; the last line is the release alone (its id after ``measure``).

    Args:
        prepared: the job and its configuration.
        stage: measure, publish or all.
        release_id: with ``publish``, which stored measurement.
        again: measure anew and spend again.
        pricing: works the costs of the account's reservations out again.
    """
    config = prepared.design.config
    log.about(job=config.job, dataset=config.dataset, logical_date=prepared.date)
    log.event("started", stage=stage)
    found, release = run_job(
        prepared,
        stage=stage,
        release_id=release_id,
        again=again,
        progress=log.progress,
        before_measuring=partial(require_inspected, prepared),
        show=partial(_tried, prepared.job),
        pricing=pricing,
    )
    if release is not None:
        show(prepared.job.show(release, load_manifest(release)))
        show_quality(release)
        warn_of(release)
        out.print(f"Report: {release / REPORT}", markup=False)
    log.final("finished", 0, release_id=found.release_id)
    # Nothing may come after: schedulers read the last line.
    print(found.release_id if release is None else release)


def _tried(job: Job[AnyDesign], release: Path) -> None:
    """Print a release to nobody."""
    with out.capture():
        show(job.show(release, load_manifest(release)))


def rehearse_and_show(prepared: PreparedJob[AnyDesign], rows: int | None, seed: int) -> None:
    """Run a job on generated rows and print predicted and measured errors."""
    show(prepared.job.rehearse(prepared, rows, seed, Progress(log.stage)))


def assign_and_show(assign: Assign[AnyDesign], prepared: Prepared[AnyDesign], release: Path, to: Path) -> None:
    """Write input rows as a release sorts them; the last line is the folder. Not private."""
    assign(prepared, release, to, Progress(log.stage))
    out.print("NOT PRIVATE, for the data's owner only: input rows with their nearest center.")
    print(to)


def warn_of(release: Path) -> None:
    """Say on standard error what must not be missed about a release."""
    warning = faint_warning(load_manifest(release).details)
    if warning:
        log.warning(warning)


def show_quality(release: Path) -> None:
    """Say how much of the input was counted, where the release knows it."""
    quality: Any = load_manifest(release).details.get(QUALITY)
    for sentence in quality["sentences"] if quality else ():
        out.print(sentence, markup=False)


def show_answers(job: Job[JobDesign], release: Path, asked: Question, as_json: bool) -> None:
    """Print the answers of a release, as JSON or as the job does; what to know of them on standard error."""
    manifest = load_manifest(release)
    answers, shown = job.query(release, manifest, asked)
    if as_json:
        print(json_text([asdict(answer) for answer in answers]))
    else:
        show(shown)
        caveat = caps_caveat(manifest.details["design"])  # type: ignore[arg-type]  # written as a mapping
        if caveat:
            out.print(caveat, markup=False)
        show_quality(release)
    warn_of(release)
