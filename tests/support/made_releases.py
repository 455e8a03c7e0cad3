"""Whole releases by the functions that a run calls, from exact statistics in memory: no Spark, no ledger.

What a run does around them, from the rows to these statistics and from its entries to the folder's name, is tested by
runs of whole jobs.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dplib.jobs.table import job_named
from dplib.ledger.runs import MeasuredRun, Run, RunState, StoredMeasurement
from dplib.page.account_state import AccountState
from dplib.privacy.budget import Currency
from dplib.progress import SILENT
from dplib.secret.secret import Secret
from dplib.workflow.job import Resources
from dplib.workflow.quality import assumed_input, measured_with_quality
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from tests.support.jobs import SECRET, Shop

Measure = Callable[[Any, RunKeys, Path], MeasurementKeys]
"""Takes a design, the sub-keys and the staging directory, as `dplib.workflow.job.Trial.measure_nothing` does."""


def made_release(place: Shop, measure: Measure | None = None, entry: int = 2) -> Path:
    """A release below a place's folder, of the statistics that ``measure`` writes; of no rows where it is None.

    ``entry`` is the number of its reservation in the ledger, which its noise depends on.

    The counters of the input's quality, where the settings ask for them, are far above their noise.
    """
    prepared = job_named(place.job).prepare(place.config)
    publishing, design = prepared.job.publishing(), prepared.design
    keys = RunKeys.derive(Secret(SECRET), Run(entry, prepared.key, Fraction(1), RunState.RESERVED))
    stored = StoredMeasurement("none", "none", "0" * 64, keys.key_id, "0" * 64, "0" * 64)
    run = MeasuredRun(entry, prepared.key, Fraction(1), RunState.MEASURED, stored, key_id=keys.key_id)
    folder = place.folder / "made" / run.release_id
    folder.mkdir(parents=True)
    count = partial(assumed_input, publishing.trial.rules)
    own = measure or publishing.trial.measure_nothing
    measured_with_quality(design.config, count, lambda given: own(design, given, folder), keys, folder)
    account = AccountState(Currency.PURE, Fraction(10), Fraction(0), Fraction(1))
    publishing.publish(Resources(prepared, SILENT), run, account, folder)
    return folder
