"""The whole flow of a run: open, reserve, count, draw the noise once, store, estimate, publish."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from dplib.config.consistent_histograms import NAME, ConsistentHistogramsConfig
from dplib.config.load import load
from dplib.config.sections import expand
from dplib.consistent_histograms.blocks import measure_in_blocks
from dplib.consistent_histograms.content import page_content
from dplib.consistent_histograms.design import Design
from dplib.consistent_histograms.layouts import results_in_layout
from dplib.consistent_histograms.measure import RunKeys, measure_on_driver
from dplib.consistent_histograms.page_content import Account
from dplib.consistent_histograms.publish import (
    Results,
    publish_settings,
    results_on_driver,
    write_release_manifest,
    write_tables,
)
from dplib.consistent_histograms.rows import row_domain
from dplib.consistent_histograms.tables import read_tree, write_tree
from dplib.errors import ConfigError
from dplib.inference.problem import OnRound
from dplib.randomness.secret import Secret, load_secret
from dplib.release.canonical import settings_hash
from dplib.release.ledger import Ledger
from dplib.release.ledger_schema import resolve_ledger_url
from dplib.release.lifecycle import MeasurementKeys, Request, measure_run, publish_run, run_to_publish
from dplib.release.runs import Run, RunKey, RunState, Terms
from dplib.spark.blocks import DataFrame, SparkSession
from dplib.spark.contributions import bound_rows
from dplib.spark.counts import count_cells
from dplib.spark.read import open_rows
from dplib.spark.resolve import resolve_rows
from dplib.spark.session import deploy_mode, open_session
from dplib.validate import one_of, require

DRIVER_CELLS = 1 << 26
"""Cells (nodes x series) up to which `layout: auto` stays in one process: 512 MB an array."""
REPORT = "report.html"
STAGES = ("measure", "publish", "all")
Stage = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class Prepared:
    """A checked configuration, ready to run.

    Attributes:
        design: the design.
        base: folder that relative paths refer to.
        date: logical date, empty where there is none.
    """

    design: Design
    base: Path
    date: str

    @property
    def config(self) -> ConsistentHistogramsConfig:
        """The configuration."""
        return self.design.config

    @property
    def output(self) -> Path:
        """Folder of all releases."""
        return (self.base / expand("publish.output.path", self.config.publish.output.path)).resolve()

    @property
    def key(self) -> RunKey:
        """What makes two runs the same run."""
        return RunKey(self.config.dataset, NAME, self.date, settings_hash(self.design.settings))

    @property
    def publish_hash(self) -> str:
        """Hash of the publish settings."""
        return settings_hash(publish_settings(self.design))

    def open_ledger(self) -> Ledger:
        """The ledger of the configuration."""
        return Ledger.open(resolve_ledger_url(self.config.ledger, self.base))


def prepare(path: Path, assignments: tuple[str, ...] = (), date: str = "") -> Prepared:
    """Load, check and resolve a configuration.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    config = load(ConsistentHistogramsConfig, path, assignments=assignments, date=date)
    base = path.resolve().parent
    prepared = Prepared(Design.resolve(config, base), base, date)
    # Environment variables that paths name are missed here, not when something was spent.
    config.input.paths(base)
    _ = prepared.output
    return prepared


def layout_of(prepared: Prepared) -> str:
    """Where the run's work is done; settings only."""
    layout = prepared.config.publish.solver.layout
    if layout != "auto":
        return layout
    cells = prepared.design.tree.n_nodes * len(prepared.design.series)
    return "driver" if cells <= DRIVER_CELLS else "blocks"


class Job:
    """One run's resources: the ledger, and Spark and the secret only when they are needed."""

    def __init__(self, prepared: Prepared, stage: Stage, on_round: OnRound | None = None) -> None:
        self.prepared = prepared
        self._stage = stage
        self._on_round = on_round
        self._spark: SparkSession | None = None
        self._resources = ExitStack()

    def close(self) -> None:
        """Stop Spark if this job started it."""
        self._resources.close()

    def spark(self) -> SparkSession:
        """The session, started at the first call."""
        if self._spark is None:
            with self._stage("starting Spark"):
                session = open_session(f"dplib {NAME}", self.prepared.config.spark)
                self._spark = self._resources.enter_context(session)
        return self._spark

    def measure(self, ledger: Ledger, again: bool) -> Run:
        """The run with its stored measurement, made now only if there is none."""
        prepared, design = self.prepared, self.prepared.design
        account = ledger.account(prepared.config.dataset)
        terms = Terms(account.terms.currency, prepared.config.privacy.unit, design.neighbors)
        account.require_terms(terms)
        cost = design.cost(account.terms.currency)
        found = ledger.find_run(prepared.key)
        if found is not None and found.state is not RunState.RESERVED and not again:
            return found
        # Before Spark starts; the reservation decides again.
        ledger.check_payable(prepared.key, cost, again)
        secret = load_secret(prepared.config.secret, prepared.base)
        rows = self._open_rows()
        request = Request(prepared.key, terms, cost, "dplib run --again" if again else "dplib run", again)

        def measure(run: Run, directory: Path) -> MeasurementKeys:
            return self._measure(secret, rows, run, directory)

        return measure_run(ledger, request, prepared.output, measure)

    def _open_rows(self) -> DataFrame:
        """Open the input and check its schema; reads a header line at most."""
        spark, config = self.spark(), self.prepared.config
        if deploy_mode(spark) == "cluster" and config.ledger.startswith("sqlite"):
            raise ConfigError("ledger must be a PostgreSQL database in cluster deploy mode, got a SQLite file")
        return open_rows(spark, config.input, self.prepared.base)

    def _measure(self, secret: Secret, rows: DataFrame, run: Run, directory: Path) -> MeasurementKeys:
        design, privacy = self.prepared.design, self.prepared.config.privacy
        keys = RunKeys.derive(secret, design, run)
        write_tree(directory, design)
        domain = row_domain(design)
        resolved = resolve_rows(rows, self.prepared.config.input, privacy, domain)
        bounded = bound_rows(resolved, privacy.rows_per_unit, privacy.rows_per_day, keys.bounding)
        if layout_of(self.prepared) == "driver":
            with self._stage("counting"):
                counts = count_cells(bounded, domain.n_days, domain.n_row_types)
            with self._stage("drawing noise"):
                return measure_on_driver(design, counts, keys, directory)
        with self._stage("counting and drawing noise in blocks"):
            return measure_in_blocks(bounded, design, keys, directory)

    def publish(self, ledger: Ledger, run: Run) -> Path:
        """The release of a measured run, made now only if these publish settings have none."""
        prepared = self.prepared
        return publish_run(
            ledger, run, prepared.output, prepared.publish_hash, lambda r, d: self._publish(ledger, r, d)
        )

    def _results(self, design: Design, directory: Path) -> Results:
        layout = layout_of(self.prepared)
        if layout == "driver":
            return results_on_driver(design, directory, self._on_round)
        return results_in_layout(self.spark(), design, directory, layout, self._on_round)

    def _publish(self, ledger: Ledger, run: Run, directory: Path) -> None:
        prepared = self.prepared
        design = Design.resolve(prepared.config, prepared.base, read_tree(directory))
        account = ledger.account(run.key.dataset)
        with self._stage("estimating"):
            results = self._results(design, directory)
        with self._stage("writing"):
            write_tables(design, results, directory)
            before = ledger.balance(run.key.dataset, at=run.sequence).left + run.cost
            around = Account(account.terms.currency, account.total, account.total - before, run.cost)
            # Imported where it is needed: drawing takes seconds to load, and most commands draw nothing.
            from dplib.consistent_histograms.page import build_page

            page = build_page(page_content(design, results, run, around))
            (directory / REPORT).write_text(page, encoding="utf-8")
            write_release_manifest(design, results, run, account.terms.currency, directory)


def run_job(
    prepared: Prepared,
    *,
    stage: str = "all",
    release_id: str | None = None,
    again: bool = False,
    progress: Stage,
    on_round: OnRound | None = None,
) -> tuple[Run, Path | None]:
    """Run a job, or return what is already there.

    Args:
        prepared: from `prepare`.
        stage: ``measure``, ``publish`` or ``all``.
        release_id: for ``publish``: which stored measurement.
        again: measure anew and spend although a measurement exists.
        progress: wraps each stage to show it.
        on_round: called after each round of an iterative solver.

    Returns:
        The ledger's run, and the release's directory (None after ``measure``).
    """
    one_of("--stage", stage, STAGES)
    require(stage == "publish" or release_id is None, "--release", "stand with --stage publish only", release_id)
    require(
        stage != "publish" or not again, "--again", "not stand with --stage publish, which measures nothing", "both"
    )
    ledger = prepared.open_ledger()
    with ExitStack() as stack:
        job = Job(prepared, progress, on_round)
        stack.callback(job.close)
        run = run_to_publish(ledger, prepared.key, release_id) if stage == "publish" else job.measure(ledger, again)
        return run, None if stage == "measure" else job.publish(ledger, run)
