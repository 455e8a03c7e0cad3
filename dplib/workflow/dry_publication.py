"""A publication before anything is spent: whatever the settings alone decide fails here, at no privacy cost.

A release is made in a temporary folder from a measurement of no rows, with noise of a key that everybody knows, by the
very functions that publish the real one: tables, page, manifest, terminal text. Nothing of it depends on a row, on the
secret or on an entry of the ledger, so what is said of a failure may name whatever helps. What goes wrong here would go
wrong after the budget was spent, and again in every retry: a fault of the settings, or of this package.

Cost: that of post-processing, for designs up to the job's own bound (`dplib.workflow.job.Job`).
"""

import os
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from dplib.errors import ConfigError, DplibError, SolverError
from dplib.ledger.runs import MeasuredRun, RunState, StoredMeasurement
from dplib.page.account_state import AccountState
from dplib.progress import SILENT
from dplib.spark.engine.blocks import SparkSession
from dplib.workflow.design import AnyDesign
from dplib.workflow.job import PreparedJob, Resources
from dplib.workflow.run_keys import RunKeys

KEYS = RunKeys("0" * 16, bytes(32), bytes(32), bytes(32))
"""Known to everybody: no row is protected by them."""
Show = Callable[[Path], None]
"""Prints what a job shows of a release."""
_SEQUENCE, _DIGEST = 1, "0" * 64


def unseen(_: Path) -> None:
    """Show nothing."""


class _WithoutSpark(Resources[AnyDesign]):
    """The resources of a publication that is only tried: no progress is shown, nobody is told, Spark is not there."""

    dry = True

    def __init__(self, prepared: PreparedJob[AnyDesign]) -> None:
        super().__init__(prepared, SILENT)

    def spark(self) -> SparkSession:
        """Refuse: what needs Spark is not tried."""
        raise DplibError("a publication that is tried must run in this process, got a stage that asks for Spark")


def try_publication(
    prepared: PreparedJob[AnyDesign],
    show: Show,
    account: AccountState,
    keys: RunKeys = KEYS,
) -> bool:
    """Make a release of no rows in a temporary folder and throw it away.

    Args:
        prepared: the checked configuration.
        show: prints the job's table of a release, to nobody.
        account: what the page says of the account.
        keys: where the noise comes from.

    Returns:
        Whether the design was small enough to be tried.

    Raises:
        ConfigError: if these settings can never be published.
        DplibError: if there is no room for a temporary folder.
    """
    run = _unpaid_run(prepared, account.this)
    try:
        with TemporaryDirectory(prefix="dplib-dry-") as name:
            folder = Path(name) / run.release_id
            folder.mkdir()
            resources = _WithoutSpark(prepared)
            if not prepared.job.measure_nothing(resources, keys, folder):
                return False
            prepared.job.publish(resources, run, account, folder)
            show(folder)
    except ConfigError:
        raise
    except SolverError as error:
        name = f"publish.{error.name}" if error.name.startswith("solver") else error.name
        raise ConfigError(name, error.rule, error.got or "these settings") from error
    except (OSError, MemoryError) as error:
        raise DplibError(f"the folder of temporary files must have room for a release, got {error}") from error
    except Exception as error:  # whatever the settings make of the job's code
        raise ConfigError("the settings", "give a release that can be published", _shown(error)) from error
    return True


def _unpaid_run(prepared: PreparedJob[AnyDesign], cost: Fraction) -> MeasuredRun:
    """A run that no ledger knows, as if it were measured."""
    stored = StoredMeasurement("none", "none", _DIGEST, KEYS.key_id, _DIGEST, _DIGEST)
    return MeasuredRun(_SEQUENCE, prepared.key, cost, RunState.MEASURED, stored, key_id=KEYS.key_id)


def _shown(error: Exception) -> str:
    """The error whole, unlike other unexpected ones: no row was read."""
    if isinstance(error, DplibError):
        return f"this from the settings: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
    return f"{type(error).__name__} at {place}: {error}"
