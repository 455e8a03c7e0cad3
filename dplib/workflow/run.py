"""The whole flow of a run: open, reserve, read, draw the noise once, store, estimate, publish."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

from dplib.config.sections import expand
from dplib.errors import ConfigError, IntegrityError
from dplib.ledger.ledger import Ledger
from dplib.ledger.repricing import Pricing
from dplib.ledger.runs import MeasuredRun, Run, RunState, Terms
from dplib.page.account_state import AccountState
from dplib.privacy.budget import Currency
from dplib.progress import Progress
from dplib.secret.places import shown_place, variable_of
from dplib.secret.secret import load_secret
from dplib.spark.engine.session import deploy_mode, java_holds
from dplib.spark.rows.input_files import require_input_here
from dplib.validate import one_of, require
from dplib.workflow.design import AnyDesign, cost_of, neighbors_of
from dplib.workflow.dry_publication import Show, try_publication, unseen
from dplib.workflow.job import PreparedJob, Resources
from dplib.workflow.lifecycle import MeasurementKeys, Request, measure_run, publish_run, run_to_publish
from dplib.workflow.quality import measured_with_quality
from dplib.workflow.run_keys import RunKeys, secret_of

STAGES = ("measure", "publish", "all")


def run_job(
    prepared: PreparedJob[AnyDesign],
    *,
    stage: str = "all",
    release_id: str | None = None,
    again: bool = False,
    progress: Progress,
    before_measuring: Callable[[], None] = lambda: None,
    show: Show = unseen,
    pricing: Pricing | None = None,
) -> tuple[MeasuredRun, Path | None]:
    """Run a job, or return what is already there.

    Args:
        prepared: the checked configuration and its job.
        stage: ``measure``, ``publish`` or ``all``.
        release_id: for ``publish``: which stored measurement.
        again: measure anew and spend although a measurement exists.
        progress: told of the stages, and that a run is reserved, measured or published.
        before_measuring: called where rows are to be read, before anything is reserved; may refuse.
        show: prints the job's table of a release; tried before anything is spent, shown by the caller.
        pricing: works the costs of the account's other reservations out again before this one is made; they are taken
            as stated where None.

    Returns:
        The ledger's run, and the release's directory (None after ``measure``).
    """
    one_of("--stage", stage, STAGES)
    require(stage == "publish" or release_id is None, "--release", "stand with --stage publish only", release_id)
    require(
        stage != "publish" or not again, "--again", "not stand with --stage publish, which measures nothing", "both"
    )
    _require_unseen(prepared.design.config.secret)
    places = _table_places(prepared)
    ledger = prepared.open_ledger()
    resources = Resources(prepared, progress)
    with ExitStack() as stack:
        stack.callback(resources.close)
        if stage == "publish":
            run = run_to_publish(ledger, prepared.key, release_id)
        else:
            run = _measured(resources, ledger, again, before_measuring, show, pricing)
        if stage == "measure":
            return run, None
        release = _published(resources, ledger, run)
        if places:
            from dplib.release.delta_tables import append_release

            with progress.stage("writing tables"):
                written = append_release(release, places)
            for name in written:
                progress.event("appended", release_id=run.release_id, table=name)
        return run, release


def _require_unseen(secret: str) -> None:
    """Refuse a secret in an environment variable that Java, and with it every worker, already has.

    Raises:
        ConfigError: saying what to do instead.
    """
    variable = variable_of(secret)
    if variable is not None and java_holds(variable):
        raise ConfigError(
            "secret",
            (
                "be file:PATH or command:WORDS where Java runs before dplib does, as under spark-submit: Java "
                "and every Python worker got the environment with the secret in it; put it into a file of mode "
                "0600, and take the variable away"
            ),
            shown_place(f"env:{variable}"),
        )


def _table_places(prepared: PreparedJob[AnyDesign]) -> dict[str, str]:
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
    ledger: Ledger,
    again: bool,
    before_measuring: Callable[[], None],
    show: Show,
    pricing: Pricing | None,
) -> MeasuredRun:
    """The run with its stored measurement, made now only if there is none."""
    prepared, design, job = resources.prepared, resources.design, resources.prepared.job
    account = ledger.account(design.config.dataset)
    terms = Terms(account.terms.currency, design.config.privacy.unit, neighbors_of(design))
    account.require_terms(terms)
    cost, plan = cost_of(design, account.terms.currency, account), prepared.plan_hash(account)
    found = ledger.find_run(prepared.key)
    if found is not None and found.state is not RunState.RESERVED and not again:
        return MeasuredRun.of(found)
    # Before Spark starts; the reservation decides again.
    ledger.check_payable(prepared.key, cost, again, plan, prepared.window)
    open_run = found if found is not None and found.state is RunState.RESERVED else None
    plans = {None, plan, prepared.former_plan_hash(account)}
    if open_run is not None:
        _require_own_price(open_run, cost, plans)
    if pricing is not None:
        own = None if open_run is None else open_run.sequence
        ledger.require_priced(account.dataset, account.period_of(prepared.window), pricing, own)
    ring = load_secret(design.config.secret, prepared.base)
    secret_of(ring, open_run)
    require_input_here(design.config.input, prepared.base, design.config.spark)
    balance = ledger.balance(account.dataset, period=account.period_of(prepared.window))
    around = AccountState(terms.currency, account.total, account.total - balance.left, cost)
    # While Java starts, which takes longer.
    with ThreadPoolExecutor(1) as beside:
        tried = beside.submit(try_publication, prepared, show, around)
        spark = resources.spark()
        tried.result()
    if deploy_mode(spark) == "cluster" and ledger.address.startswith("sqlite"):
        raise ConfigError("ledger", "be a PostgreSQL database in cluster deploy mode", "a SQLite file")
    opened = job.open_input(resources)
    before_measuring()
    reason = "dplib run --again" if again else "dplib run"
    now = (again, ring.current.key_id, plan, prepared.window, prepared.plan_settings)
    request = Request(prepared.key, terms, cost, reason, *now)

    def measure(run: Run, directory: Path) -> MeasurementKeys:
        _require_own_price(run, cost, plans)
        resources.progress.event("reserved", release_id=run.release_id)
        return measured_with_quality(
            design.config,
            lambda: job.judge(resources, opened),
            lambda keys: job.measure(resources, opened, keys, directory),
            RunKeys.derive(secret_of(ring, run), run),
            directory,
        )

    run = measure_run(ledger, request, prepared.output, measure)
    resources.progress.event("measured", release_id=run.release_id)
    return run


def _require_own_price(run: Run, cost: Fraction, plans: set[str | None]) -> None:
    """Refuse an open reservation that was made for less than its settings cost, or under another plan's approval.

    Raises:
        IntegrityError: saying which.
    """
    if run.cost < cost:
        raise IntegrityError(
            f"{run.release_id} must be reserved at what its settings cost, {cost}, got {run.cost}: forged "
            "(dplib ledger audit; dplib ledger void gives it back)"
        )
    if run.plan not in plans:
        raise IntegrityError(
            f"{run.release_id} must be reserved under the plan of its own settings, got another one's: forged "
            "(dplib ledger audit; dplib ledger void gives it back)"
        )


def _published(resources: Resources[AnyDesign], ledger: Ledger, run: MeasuredRun) -> Path:
    """The release of a measured run, made now only if these publish settings have none."""
    prepared = resources.prepared

    def publish(measured: MeasuredRun, directory: Path) -> None:
        prepared.job.publish(resources, measured, _account_around(ledger, measured), directory)

    release = publish_run(ledger, run, prepared.output, prepared.publish_hash(run), publish)
    resources.progress.event("published", release_id=run.release_id)
    return release


def _account_around(ledger: Ledger, run: Run) -> AccountState:
    account = ledger.account(run.key.dataset)
    before = ledger.balance(run.key.dataset, run.sequence, run.period).left + run.cost
    currency, spent = Currency(account.terms.currency), account.total - before
    return AccountState(currency, account.total, spent, run.cost, run.period)
