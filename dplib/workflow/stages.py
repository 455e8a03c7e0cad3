"""What a job hands to the life of a run, and what the run's stages share."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.engine.session import open_session
from dplib.spark.rows.quality import JudgedRows
from dplib.workflow.design import AnyDesign
from dplib.workflow.lifecycle import MeasurementKeys
from dplib.workflow.prepared import Prepared
from dplib.workflow.run_keys import RunKeys

Stage = Callable[[str], AbstractContextManager[None]]
Notify = Callable[..., None]
"""Told of events: their name, and ``release_id=``."""


def unheard(name: str, **_: object) -> None:
    """Nobody listens."""


class Resources(Generic[AnyDesign]):
    """What the stages of one run share: the prepared design, progress, and Spark once it is needed.

    Attributes:
        dry: whether a publication is only tried (`dplib.workflow.dry_publication`), without Spark.
    """

    dry = False

    def __init__(self, prepared: Prepared[AnyDesign], stage: Stage, notify: Notify = unheard) -> None:
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
        publish: the rest of the release from ``measurement/`` in the staging directory, its end by
            `dplib.workflow.publication.finish_release`.
        measure_nothing: writes ``measurement/`` as of an input without rows, in this process; False, and nothing is
            written, where the design is too large for that (`dplib.workflow.dry_publication`).
        judge: what ``open_input`` returned after its rules, for the quality of the input.
    """

    open_input: Callable[[Resources[AnyDesign]], Any]
    measure: Callable[[Resources[AnyDesign], Any, RunKeys, Path], MeasurementKeys]
    publish: Callable[[Resources[AnyDesign], MeasuredRun, AccountState, Path], None]
    measure_nothing: Callable[[Resources[AnyDesign], RunKeys, Path], bool]
    judge: Callable[[Resources[AnyDesign], Any], JudgedRows]
