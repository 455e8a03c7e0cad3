"""A publication before anything is spent: whatever the settings alone decide fails here, at no privacy cost.

A release is made in a temporary folder from a measurement of no rows, with noise of a key that everybody knows, by the
very functions that publish the real one: tables, page, manifest, terminal text, the layouts on Spark included, whose
blocks run in this process. Nothing of it depends on a row, on the secret or on an entry of the ledger, so what is said
of a failure may name whatever helps. What goes wrong here would go wrong after the budget was spent, and again in every
retry: a fault of the settings, or of this package.

The design is *thinned*: the same settings on few names, bins, days or vertices, on as few as leave what chooses code as
it is (`dplib.workflow.job.Trial`). What is done with every name of the whole is done with them besides. What so few
cannot stand for: the memory, time and disk that the whole takes, a fault in one of many blocks, and numbers that grow
with the data.

Cost: near-constant, well below a second, besides loading what draws.
"""

import hashlib
import html
import os
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dplib.canonical import canonical_json
from dplib.errors import ConfigError, DplibError, SolverError
from dplib.ledger.runs import MeasuredRun, RunState, StoredMeasurement
from dplib.page.account_state import AccountState
from dplib.page.drawn_text import clean_text
from dplib.page.few_pictures import few_of_a_kind
from dplib.progress import SILENT
from dplib.release.files import content_hash
from dplib.release.staging import MEASUREMENT
from dplib.release.stream_version import StreamVersion
from dplib.release.tables import shielded_text
from dplib.workflow.design import AnyDesign
from dplib.workflow.job import PreparedJob, Resources
from dplib.workflow.publication import without_page
from dplib.workflow.quality import assumed_input, measured_with_quality
from dplib.workflow.run_keys import RunKeys

if TYPE_CHECKING:
    from dplib.spark.engine.blocks import SparkSession

KEYS = RunKeys("0" * 16, bytes(32), bytes(32), bytes(32))
"""Known to everybody: no row is protected by them."""
SIZES = (2, 12, 100, 1000, 10_000, 100_000)
"""Names, bins or vertices of a thinned design; then the whole is tried."""
Show = Callable[[Path], None]
_SEQUENCE, _DIGEST = 1, "0" * 64
_sound: set[bytes] = set()
"""What this process found to be publishable."""


def unseen(_: Path) -> None:
    """Show nothing."""


class _InProcess(Resources[AnyDesign]):
    """The resources of a publication that is only tried: no progress is shown, nobody is told, Spark is not started."""

    def __init__(self, prepared: PreparedJob[AnyDesign]) -> None:
        super().__init__(prepared, SILENT)

    def spark(self) -> "SparkSession":
        """What stands in for the session."""
        # Imported where it is needed: a plan does without Spark.
        from dplib.spark.engine.in_process import session_in_process

        return session_in_process()


def require_publishable(prepared: PreparedJob[AnyDesign], show: Show, account: AccountState, page: bool = True) -> None:
    """Try a publication as `try_publication` does, unless this process has done so with the same settings.

    Runs of one call differ by their dates and by what was spent before, on which no step of a publication depends.
    """
    design, paid = prepared.design, (account.currency, account.total, account.this)
    settings = prepared.config.job, prepared.config.horizon, prepared.settings, design.config.model_dump()
    said = (settings, design.formats, design.public(), paid, show is unseen, page)
    key = hashlib.sha256(pickle.dumps(said)).digest()
    if key not in _sound:
        try_publication(prepared, show, account, page=page)
        _sound.add(key)


def try_publication(
    prepared: PreparedJob[AnyDesign],
    show: Show,
    account: AccountState,
    keys: RunKeys = KEYS,
    page: bool = True,
) -> None:
    """Make a release of no rows in a temporary folder and throw it away.

    Args:
        prepared: the checked configuration.
        show: prints the job's table of a release, to nobody.
        account: what the page says of the account.
        keys: where the noise comes from.
        page: draw the page too, which takes a second.

    Raises:
        ConfigError: if these settings can never be published.
        DplibError: if there is no room for a temporary folder.
    """
    publishing = prepared.job.publishing()
    trial = publishing.trial
    try:
        with TemporaryDirectory(prefix="dplib-dry-") as name:
            _try_names(prepared.settings, Path(name))
            few = thinned(prepared)
            run = _unpaid_run(few, account.this)
            folder = Path(name) / run.release_id
            folder.mkdir()
            measure = partial(trial.measure_nothing, few.design)
            measured_with_quality(
                few.design.config,
                partial(assumed_input, trial.rules),
                lambda own: measure(own, folder),
                keys,
                folder,
            )
            resources = _InProcess(few)
            if few.config.horizon is not None:
                days = {path.name: content_hash(path) for path in sorted((folder / MEASUREMENT).iterdir())}
                resources.version = StreamVersion(days, False, folder / MEASUREMENT)
            with few_of_a_kind() if page else without_page():
                publishing.publish(resources, run, account, folder)
            show(folder)
            _try_tables(prepared, folder)
    except ConfigError:
        raise
    except SolverError as error:
        name = f"publish.{error.name}" if error.name.startswith("solver") else error.name
        raise ConfigError(name, error.rule, error.got or "these settings") from error
    except (OSError, MemoryError) as error:
        raise DplibError(f"the folder of temporary files must have room for a release, got {error}") from error
    except Exception as error:  # any class: what fails is code that these settings choose, and it would fail once paid
        raise ConfigError("the settings", "give a release that can be published", _shown(error)) from error


def thinned(prepared: PreparedJob[AnyDesign]) -> PreparedJob[AnyDesign]:
    """The same settings on as few names, bins, days or vertices as the job can take for the whole."""
    for size in SIZES:
        # Settings that hold of the whole may not hold of few: noise too small for so few counts, shares without levels.
        with suppress(ConfigError):
            design = prepared.job.publishing().trial.thinned(prepared.design, size)
            if design is not None:
                return replace(prepared, design=design)
    return prepared


def _try_names(settings: Mapping[str, Any], folder: Path) -> None:
    """Do with every text of the settings what is done with names of items, groups and vertices.

    Raises:
        ValueError: if one cannot be written.
    """
    canonical_json(settings)
    names = list(_texts(settings))
    pa.array([*names, *map(shielded_text, names)])
    page = html.escape(clean_text("\n".join(names)))
    (folder / "names").write_text(page, encoding="utf-8")


def _try_tables(prepared: PreparedJob[AnyDesign], release: Path) -> None:
    """Look the tables up that are to be brought elsewhere.

    Raises:
        ConfigError: if releases of these settings have no such table.
    """
    tables = prepared.design.config.publish.output.tables
    if tables:
        # Imported where it is needed: it brings pyarrow's data sets.
        from dplib.release.delta_tables import require_tables

        require_tables(release, tables, prepared.job.publishing().trial.may_lack(prepared.design))


def _texts(value: object) -> Iterator[str]:
    """Every text of JSON values, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


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
