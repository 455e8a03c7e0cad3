"""The life of a run, the same for every job; a function a stage, in this order.

    find -> [published: return it] -> [measured: publish from it] -> check -> open -> reserve -> measure -> publish

What can be refused is refused before Java starts; whether the account pays is decided once, in `Ledger.reserve`. A
second run reads no rows and spends nothing: each stage returns what exists (`dplib.workflow.storing`).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from dplib.config.paths import expand
from dplib.config.sections import Source
from dplib.errors import ConfigError
from dplib.ledger.ledger import Ledger
from dplib.ledger.repricing import Pricing
from dplib.ledger.runs import MeasuredRun, Run
from dplib.page.account_state import AccountState
from dplib.privacy.budget import Currency
from dplib.progress import Progress
from dplib.secret.places import shown_place, variable_of
from dplib.secret.secret import KeyRing, load_secret
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.engine.session import deploy_mode, java_holds
from dplib.spark.rows.input_files import require_input_here
from dplib.validate import one_of, require
from dplib.workflow.design import AnyDesign
from dplib.workflow.dry_publication import Show, require_publishable, unseen
from dplib.workflow.job import PreparedJob, Resources
from dplib.workflow.offer import Offer, require_open
from dplib.workflow.quality import count_input, measured_with_quality
from dplib.workflow.run_keys import MeasurementKeys, RunKeys, secret_of
from dplib.workflow.storing import measure_run, publish_run, require_sound_output, run_to_publish
from dplib.workflow.stream import measure_day, publish_version, require_same_stream, version_of

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
    kept: ExitStack | None = None,
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
        kept: ends what outlasts this run, where others follow in this process: Spark.

    Returns:
        The ledger's run, and the release's directory (None after ``measure``).
    """
    one_of("--stage", stage, STAGES)
    require(stage == "publish" or release_id is None, "--release", "be given only with --stage publish", release_id)
    require(
        stage != "publish" or not again, "--again", "not be given with --stage publish, which measures nothing", "both"
    )
    _require_unseen(prepared.config.secret)
    places = _table_places(prepared)
    if prepared.config.horizon is not None:
        require(bool(prepared.date) or stage == "publish", "--date", "name the day of the stream to measure", "none")
        require(not again, "--again", "not be given for a stream, which measures each day once", "it")
    ledger = prepared.open_ledger()
    resources = Resources(prepared, progress, kept)
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
                written = append_release(release, places, prepared.job.publishing().trial.may_lack(prepared.design))
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
    prepared, config = resources.prepared, resources.design.config
    offer, horizon = Offer(prepared, ledger.account(config.dataset)), prepared.config.horizon
    offer.account.require_terms(offer.terms)
    found = ledger.find_run(prepared.key)
    if found is not None and found.is_measured(prepared.date) and not again:
        return MeasuredRun.of(found)
    open_run = found if found is not None and not found.is_measured(prepared.date) else None
    require_open(found, prepared.date)
    if found is None and horizon is not None:
        require_same_stream(ledger, prepared.key, prepared.plan_settings, horizon)
    ring = _payable(prepared, ledger, offer, again, open_run, pricing)
    opened = _opened(resources, ledger, offer, show)
    before_measuring()
    require_sound_output(ledger, config.dataset, prepared.output)
    run = ledger.reserve(
        prepared.key,
        offer.terms,
        offer.cost,
        "dplib run --again" if again else "dplib run",
        again,
        key_id=ring.current.key_id,
        plan=offer.plan,
        window=prepared.window,
        settings=prepared.plan_settings,
        horizon=horizon,
    )

    def measure(reserved: Run, directory: Path) -> MeasurementKeys:
        offer.require_own_price(reserved)
        resources.progress.event("reserved", release_id=reserved.release_id)
        if horizon is not None:
            resources.version = version_of(prepared.output, reserved)
        keys = RunKeys.derive(secret_of(ring, reserved), reserved)
        stages = prepared.job.stages()
        return measured_with_quality(
            config,
            lambda quality: count_input(stages.judge(resources, opened), quality, keys.bounding),
            lambda own: stages.measure(resources, opened, own, directory),
            keys,
            directory,
        )

    if horizon is None:
        measured = measure_run(ledger, run, prepared.output, measure)
    else:
        measured = measure_day(ledger, run, prepared.output, prepared.date, measure)
    resources.progress.event("measured", release_id=measured.release_id)
    return measured


def _payable(
    prepared: PreparedJob[AnyDesign],
    ledger: Ledger,
    offer: Offer,
    again: bool,
    open_run: Run | None,
    pricing: Pricing | None,
) -> KeyRing:
    """Refuse early what could not be reserved or measured, before Spark starts; returns the secret's keys.

    The ledger's reservation decides again; ``open_run`` is one that a first attempt left behind.
    """
    config, account = prepared.config, offer.account
    ledger.check_payable(prepared.key, offer.cost, again, offer.plan, prepared.window)
    if open_run is not None:
        offer.require_own_price(open_run)
    if pricing is not None:
        own = None if open_run is None else open_run.sequence
        ledger.require_priced(account.dataset, offer.period, pricing, own)
    ring = load_secret(config.secret, prepared.base)
    secret_of(ring, open_run)
    require_input_here(prepared.source(Source), prepared.base, config.spark)
    return ring


def _opened(resources: Resources[AnyDesign], ledger: Ledger, offer: Offer, show: Show) -> DataFrame:
    """The input, opened once a publication of no rows has worked and Spark runs."""
    prepared, account = resources.prepared, offer.account
    balance = ledger.balance(account.dataset, period=offer.period)
    around = AccountState(offer.terms.currency, account.total, account.total - balance.left, offer.cost)
    # While Java starts and looks at the input, which takes longer.
    with ThreadPoolExecutor(1) as beside:
        tried = beside.submit(require_publishable, prepared, show, around)
        spark = resources.spark()
        try:
            if deploy_mode(spark) == "cluster" and ledger.address.startswith("sqlite"):
                raise ConfigError("ledger", "be a PostgreSQL database in cluster deploy mode", "a SQLite file")
            return prepared.job.stages().open_input(resources)
        finally:
            # Settings that cannot be published are said before an input that cannot be opened.
            tried.result()


def _published(resources: Resources[AnyDesign], ledger: Ledger, run: MeasuredRun) -> Path:
    """The release of a measured run, made now only if these publish settings have none."""
    prepared = resources.prepared

    def publish(measured: MeasuredRun, directory: Path) -> None:
        prepared.job.publishing().publish(resources, measured, _account_around(ledger, measured), directory)

    if run.horizon is None:
        release = publish_run(ledger, run, prepared.output, prepared.publish_hash(run), publish)
    else:
        resources.version = version_of(prepared.output, run, prepared.shaping_hash(run))
        release = publish_version(ledger, run, prepared.output, prepared.publish_hash(run), publish)
    resources.progress.event("published", release_id=run.release_id)
    return release


def _account_around(ledger: Ledger, run: Run) -> AccountState:
    account = ledger.account(run.key.dataset)
    before = ledger.balance(run.key.dataset, run.sequence, run.period).left + run.cost
    currency, spent = Currency(account.terms.currency), account.total - before
    return AccountState(currency, account.total, spent, run.cost, run.period)
