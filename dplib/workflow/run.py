"""The whole flow of a run: open, reserve, read, draw the noise once, store, estimate, publish."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from dplib.config.sections import expand
from dplib.errors import ConfigError
from dplib.privacy.budget import Currency
from dplib.randomness.secret import load_secret
from dplib.release.ledger import Ledger
from dplib.release.lifecycle import MeasurementKeys, Request, measure_run, publish_run, run_to_publish
from dplib.release.run_keys import RunKeys, secret_of
from dplib.release.runs import Run, RunState, Terms
from dplib.report.account_state import AccountState
from dplib.spark.blocks import SparkSession
from dplib.spark.session import deploy_mode, open_session
from dplib.validate import one_of, require
from dplib.workflow.design import AnyDesign, cost_of, neighbors_of
from dplib.workflow.prepared import Prepared

REPORT = "report.html"
STAGES = ("measure", "publish", "all")
Stage = Callable[[str], AbstractContextManager[None]]
Notify = Callable[..., None]
"""Told of events: their name, and ``release_id=``."""


def _unheard(name: str, **_: object) -> None:
    """Nobody listens."""


class Resources(Generic[AnyDesign]):
    """What the stages of one run share: the prepared design, progress, and Spark once it is needed."""

    def __init__(self, prepared: Prepared[AnyDesign], stage: Stage, notify: Notify = _unheard) -> None:
        self.prepared = prepared
        self.stage = stage
        self.notify = notify
        self._spark: SparkSession | None = None
        self._resources = ExitStack()

    @property
    def design(self) -> AnyDesign:
        """The design."""
        return self.prepared.design

    def spark(self) -> SparkSession:
        """The session, started at the first call."""
        if self._spark is None:
            config = self.design.config
            with self.stage("starting Spark"):
                session = open_session(f"dplib {config.job}", config.spark)
                self._spark = self._resources.enter_context(session)
        return self._spark

    def close(self) -> None:
        """Stop Spark if this run started it."""
        self._resources.close()


@dataclass(frozen=True)
class Stages(Generic[AnyDesign]):
    """What a job does; the order and the books are the workflow's.

    Attributes:
        open_input: opens the input and checks its schema, before anything is reserved; reads a header line at most.
        measure: the private part: reads what ``open_input`` returned, draws the noise and writes ``measurement/`` into
            the staging directory.
        publish: the rest of the release from ``measurement/`` in the staging directory, manifest last.
    """

    open_input: Callable[[Resources[AnyDesign]], Any]
    measure: Callable[[Resources[AnyDesign], Any, RunKeys, Path], MeasurementKeys]
    publish: Callable[[Resources[AnyDesign], Run, AccountState, Path], None]


def run_job(
    prepared: Prepared[AnyDesign],
    stages: Stages[AnyDesign],
    *,
    stage: str = "all",
    release_id: str | None = None,
    again: bool = False,
    progress: Stage,
    notify: Notify = _unheard,
    before_measuring: Callable[[], None] = lambda: None,
) -> tuple[Run, Path | None]:
    """Run a job, or return what is already there.

    Args:
        prepared: the checked configuration.
        stages: the job's own part.
        stage: ``measure``, ``publish`` or ``all``.
        release_id: for ``publish``: which stored measurement.
        again: measure anew and spend although a measurement exists.
        progress: wraps each stage to show it.
        notify: told that a run is reserved, measured or published.
        before_measuring: called where rows are to be read, before Spark starts and anything is reserved; may refuse.

    Returns:
        The ledger's run, and the release's directory (None after ``measure``).
    """
    one_of("--stage", stage, STAGES)
    require(stage == "publish" or release_id is None, "--release", "stand with --stage publish only", release_id)
    require(
        stage != "publish" or not again, "--again", "not stand with --stage publish, which measures nothing", "both"
    )
    places = _table_places(prepared)
    ledger = prepared.open_ledger()
    resources = Resources(prepared, progress, notify)
    with ExitStack() as stack:
        stack.callback(resources.close)
        if stage == "publish":
            run = run_to_publish(ledger, prepared.key, release_id)
        else:
            run = _measured(resources, stages, ledger, again, before_measuring)
        if stage == "measure":
            return run, None
        release = _published(resources, stages, ledger, run)
        if places:
            from dplib.release.delta_tables import append_release

            with progress("writing tables"):
                written = append_release(release, places)
            for name in written:
                notify("appended", release_id=run.release_id, table=name)
        return run, release


def _table_places(prepared: Prepared[AnyDesign]) -> dict[str, str]:
    """Where the tables of the release go besides, checked before anything is spent."""
    tables = prepared.design.config.publish.output.tables
    if tables:
        # Imported where it is needed: it brings pyarrow's data sets.
        from dplib.release.delta_tables import require_library

        require_library()
    expanded = {name: expand("publish.output.tables", place) for name, place in tables.items()}
    return {name: place if "://" in place else str(prepared.base / place) for name, place in expanded.items()}


def _measured(
    resources: Resources[AnyDesign],
    stages: Stages[AnyDesign],
    ledger: Ledger,
    again: bool,
    before_measuring: Callable[[], None],
) -> Run:
    """The run with its stored measurement, made now only if there is none."""
    prepared, design = resources.prepared, resources.design
    account = ledger.account(design.config.dataset)
    terms = Terms(account.terms.currency, design.config.privacy.unit, neighbors_of(design))
    account.require_terms(terms)
    cost, plan = cost_of(design, account.terms.currency, account), prepared.plan_hash(account)
    found = ledger.find_run(prepared.key)
    if found is not None and found.state is not RunState.RESERVED and not again:
        return found
    # Before Spark starts; the reservation decides again.
    ledger.check_payable(prepared.key, cost, again, plan, prepared.window)
    ring = load_secret(design.config.secret, prepared.base)
    secret_of(ring, found if found is not None and found.state is RunState.RESERVED else None)
    before_measuring()
    if deploy_mode(resources.spark()) == "cluster" and ledger.address.startswith("sqlite"):
        raise ConfigError("ledger must be a PostgreSQL database in cluster deploy mode, got a SQLite file")
    opened = stages.open_input(resources)
    reason = "dplib run --again" if again else "dplib run"
    request = Request(prepared.key, terms, cost, reason, again, ring.current.key_id, plan, prepared.window)

    def measure(run: Run, directory: Path) -> MeasurementKeys:
        resources.notify("reserved", release_id=run.release_id)
        return stages.measure(resources, opened, RunKeys.derive(secret_of(ring, run), run), directory)

    run = measure_run(ledger, request, prepared.output, measure)
    resources.notify("measured", release_id=run.release_id)
    return run


def _published(resources: Resources[AnyDesign], stages: Stages[AnyDesign], ledger: Ledger, run: Run) -> Path:
    """The release of a measured run, made now only if these publish settings have none."""
    prepared = resources.prepared

    def publish(measured: Run, directory: Path) -> None:
        stages.publish(resources, measured, _account_around(ledger, measured), directory)

    release = publish_run(ledger, run, prepared.output, prepared.publish_hash, publish)
    resources.notify("published", release_id=run.release_id)
    return release


def _account_around(ledger: Ledger, run: Run) -> AccountState:
    account = ledger.account(run.key.dataset)
    before = ledger.balance(run.key.dataset, run.sequence, run.period).left + run.cost
    currency, spent = Currency(account.terms.currency), account.total - before
    return AccountState(currency, account.total, spent, run.cost, run.period)
