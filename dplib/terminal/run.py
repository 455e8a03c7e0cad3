"""What ``dplib run`` asks before and prints after."""

from contextlib import ExitStack
from functools import partial

import typer

from dplib.errors import ConfigError
from dplib.ledger.repricing import Pricing
from dplib.release.files import REPORT
from dplib.release.manifest import load_manifest
from dplib.terminal.notices import show_quality, tried, warn_of
from dplib.terminal.output import consent, err, out, show, someone_there
from dplib.terminal.progress import log
from dplib.workflow.changed_settings import changed_settings
from dplib.workflow.design import AnyDesign, JobDesign
from dplib.workflow.inspected import is_inspected
from dplib.workflow.job import PreparedJob
from dplib.workflow.prepared import Prepared
from dplib.workflow.run import run_job


def require_inspected(run: Prepared[JobDesign]) -> None:
    """Ask on a terminal, and warn elsewhere, before rules measure that nobody ever inspected.

    Which settings make the run a new one is said first.

    Raises:
        ConfigError: if the answer is no.
    """
    changed = changed_settings(run)
    if changed is not None and changed.same_date:
        log.warning(f"a new release, which is paid for: {changed.text}")
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


def run_and_show(
    prepared: PreparedJob[AnyDesign],
    stage: str,
    release_id: str | None,
    again: bool,
    pricing: Pricing,
    kept: ExitStack | None = None,
) -> None:
    """Run a job and print what it made; the last line is the release alone (its id after ``measure``)."""
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
        show=partial(tried, prepared.job),
        pricing=pricing,
        kept=kept,
    )
    if release is not None:
        manifest = load_manifest(release)
        show(prepared.job.show(release, manifest))
        show_quality(manifest)
        warn_of(manifest)
        out.print(f"Report: {release / REPORT}", markup=False)
    log.final("finished", 0, release_id=found.release_id)
    # Nothing may come after: schedulers read the last line.
    print(found.release_id if release is None else release)
