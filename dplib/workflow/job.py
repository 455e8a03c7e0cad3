"""What a job is: one value of typed functions. The order of things and the books are the workflow's.

Who takes a job from the table of jobs knows of its design only that it is one (`JobDesign`): a `Job` is covariant in
its design. Its functions get a design that the job itself resolved, which `PreparedJob` holds beside it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from dplib.config.job_config import JobConfig
from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.progress import Progress
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.release.stream_version import StreamVersion
from dplib.release.verify import Check
from dplib.workflow.design import AnyDesign, JobDesign
from dplib.workflow.plan import JobPlan
from dplib.workflow.prepared import Design_co, Prepared, Resolve, prepare
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from dplib.workflow.shown import Shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from dplib.spark.engine.blocks import DataFrame, SparkSession
    from dplib.spark.rows.inspection import Inspection
    from dplib.spark.rows.quality import JudgedRows


Assign = Callable[[Prepared[AnyDesign], Path, Path, Progress], None]
"""Writes the input's rows as a release sorts them into a folder."""


def _whole(_: JobDesign) -> frozenset[str]:
    """Releases lack no table."""
    return frozenset()


@dataclass(frozen=True)
class Trial(Generic[Design_co]):
    """What a job says so that its publication can be tried (`dplib.workflow.dry_publication`).

    Attributes:
        thinned: the design of the same settings on about this many of its names, bins, days or vertices; the design
            itself where it has no more. None, or a `ConfigError`, where settings that hold of the whole would not
            hold of so few.
        measure_nothing: writes ``measurement/`` as of an input without rows, in this process.
        rules: names of the rules that rows are judged by.
        may_lack: tables of a release that are there or not by its noisy numbers.
    """

    thinned: Callable[[Design_co, int], Design_co | None]
    measure_nothing: Callable[[Design_co, RunKeys, Path], MeasurementKeys]
    rules: tuple[str, ...]
    may_lack: Callable[[Design_co], frozenset[str]] = _whole


@dataclass(frozen=True)
class Publishing(Generic[Design_co]):
    """How releases of a job come from stored measurements: Spark is loaded where a release is made on it.

    Attributes:
        publish: the rest of the release from ``measurement/`` in the staging directory, its end by
            `dplib.workflow.publication.finish_release`.
        trial: how the publication is tried before anything is spent.
    """

    publish: "Callable[[Resources[Design_co], MeasuredRun, AccountState, Path], None]"
    trial: Trial[Design_co]


@dataclass(frozen=True)
class Stages(Generic[Design_co]):
    """What runs of a job are made of besides: all that needs Spark or looks at rows.

    Attributes:
        open_input: opens the input and checks its schema, before anything is reserved; reads a header line at most.
        measure: the private part: reads what ``open_input`` returned, draws the noise and writes ``measurement/`` into
            the staging directory.
        judge: what ``open_input`` returned after its rules, for the quality of the input.
        inspect: counts what each rule and cap does to the rows. Not private: for the data's owner.
        rehearse: runs the job on this many generated rows (None: its own number) from a seed; what is shown of it.
        assign: writes input rows as a release sorts them into a folder. Not private; None where a job sorts no rows.
    """

    open_input: "Callable[[Resources[Design_co]], DataFrame]"
    measure: "Callable[[Resources[Design_co], DataFrame, RunKeys, Path], MeasurementKeys]"
    judge: "Callable[[Resources[Design_co], DataFrame], JudgedRows]"
    inspect: "Callable[[SparkSession, Prepared[Design_co]], Inspection]"
    rehearse: "Callable[[PreparedJob[Design_co], int | None, int, Progress], Iterable[Shown]]"
    assign: Assign[Design_co] | None = None


@dataclass(frozen=True)
class Job(Generic[Design_co]):
    """A job.

    Attributes:
        name: as configurations and the command line have it.
        example: a commented configuration to start from.
        config: the model of its configuration.
        resolve: from settings, the folder of their relative paths and a date to a checked configuration and its design.
        plan: the plan of a design with this hash of its settings, and what of it is shown between guarantee and totals.
        show: what of a release is shown where it was made.
        query: answers a question from a release; also what of them is shown.
        verify: checks a release's numbers.
        publishing: loads how its releases are made, which a question to a release does without.
        stages: loads what its runs are made of besides, which a plan does without.
        errors: the errors that the plan states, where they take much less than the plan.
    """

    name: str
    example: str
    config: type[JobConfig]
    resolve: Resolve[Design_co]
    plan: Callable[[Design_co, str], tuple[JobPlan, Iterable[Shown]]]
    show: Callable[[Path, Manifest], Iterable[Shown]]
    query: "Callable[[Path, Manifest, Question], tuple[Sequence[DataclassInstance], Iterable[Shown]]]"
    verify: Callable[[Path, Manifest], list[Check]]
    publishing: Callable[[], Publishing[Design_co]]
    stages: Callable[[], Stages[Design_co]]
    errors: Callable[[Design_co], dict[str, float]] | None = None

    def prepare(self, path: Path, assignments: Sequence[str] = (), date: str = "") -> "PreparedJob[Design_co]":
        """Load, check and resolve a configuration (`dplib.workflow.prepared.prepare`)."""
        found = prepare(self.resolve, path, assignments, date)
        return PreparedJob(found.design, found.config, found.base, found.date, self)


@dataclass(frozen=True)
class PreparedJob(Prepared[Design_co]):
    """A checked configuration and the job that it is of."""

    job: Job[Design_co]


def publishing_of(module: str) -> Callable[[], Publishing[AnyDesign]]:
    """Loads the `PUBLISHING` of a module where a release is made or tried."""

    def publishing() -> Publishing[AnyDesign]:
        found: Publishing[AnyDesign] = import_module(module).PUBLISHING
        return found

    return publishing


def stages_of(module: str) -> Callable[[], Stages[AnyDesign]]:
    """Loads the `STAGES` of a module where a run needs them: they bring Spark."""

    def stages() -> Stages[AnyDesign]:
        found: Stages[AnyDesign] = import_module(module).STAGES
        return found

    return stages


class Resources(Generic[AnyDesign]):
    """What the stages of one run share: the prepared job, progress, and Spark once it is needed.

    Args:
        prepared: the job and its configuration.
        progress: told of the stages.
        kept: ends what must outlast this run: a session that is started for it and those after it; None where there are
            no others.
    """

    def __init__(self, prepared: PreparedJob[AnyDesign], progress: Progress, kept: ExitStack | None = None) -> None:
        self.prepared = prepared
        self.progress = progress
        self.stage = progress.stage
        self.version: StreamVersion
        """Of a stream alone: what is measured of it already."""
        self._spark: SparkSession | None = None
        self._resources = ExitStack()
        self._kept = kept or self._resources

    @property
    def design(self) -> AnyDesign:
        """The design."""
        return self.prepared.design

    def spark(self) -> "SparkSession":
        """The session, started at the first call."""
        if self._spark is None:
            # Imported where it is needed: most commands start no Spark.
            from dplib.spark.engine.session import open_session

            config = self.prepared.config
            with self.stage("starting Spark"):
                session = open_session(f"dplib {config.job}", config.spark)
                self._spark = self._kept.enter_context(session)
        return self._spark

    def close(self) -> None:
        """Stop Spark if this run started it."""
        self._resources.close()
