"""The fields of a manifest that every job fills in the same way."""

import platform
from pathlib import Path
from typing import Any

import numpy as np

import dplib
from dplib.errors import IntegrityError
from dplib.ledger.runs import Run
from dplib.mechanisms.tree_counts import SAMPLER_FORMAT
from dplib.metrics.faint_totals import FaintTotals
from dplib.page.notices import FAINT
from dplib.privacy.accountant import totals
from dplib.privacy.budget import Currency
from dplib.release.files import MANIFEST
from dplib.release.manifest import Manifest, build_manifest, write_manifest
from dplib.validate import require
from dplib.workflow.design import JobDesign, delta_of
from dplib.workflow.quality import QUALITY, quality_events, quality_report
from dplib.workflow.settings import publish_hash


def write_release_manifest(
    directory: Path,
    design: JobDesign,
    run: Run,
    currency: Currency,
    job_fields: dict[str, Any],
    faint: FaintTotals | None = None,
) -> None:
    """Write ``manifest.json``, the last file of the release.

    Args:
        directory: the staging directory, all other files written.
        design: the design.
        run: the ledger's run, with its measurement.
        currency: of the account that paid.
        job_fields: invariants, sensitivities, mechanisms, solver, constraints, domain and details.
        faint: series that do not stand out from their noise; noted among the details where there are any.
    """
    assert run.measurement is not None
    config = design.config
    shared = {
        "release_id": run.release_id,
        "dataset": config.dataset,
        "job": config.job,
        "logical_date": run.key.logical_date,
        "privacy_unit": config.privacy.unit,
        "neighbors": config.privacy.neighbors,
        "currency": currency.value,
        "cost": str(run.cost),
        "totals": {total.accountant: total.to_dict() for total in totals(design.events, delta_of(design))},
        "versions": {
            "dplib": dplib.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "sampler_format": str(SAMPLER_FORMAT),
        },
        "key_id": run.measurement.key_id,
        "reservation": run.nonce or "",
        "settings_hash": run.key.settings_hash,
        "publish_hash": publish_hash(design, run.key.settings_hash),
    }
    noted = {FAINT: faint.to_dict()} if faint is not None and faint.names else {}
    quality = quality_report(directory, config)
    noted |= {} if quality is None else {QUALITY: quality.to_dict()}
    more = {"details": job_fields["details"] | noted, "mechanisms": _mechanisms(job_fields, design)}
    write_manifest(directory, build_manifest(directory, shared | job_fields | more))


def _mechanisms(job_fields: dict[str, Any], design: JobDesign) -> list[dict[str, Any]]:
    """The job's mechanisms, and those of the quality of the input if they are not among them."""
    found = list(job_fields["mechanisms"])
    known = {each["statistic"] for each in found if "statistic" in each}
    return found + [event.to_dict() for event in quality_events(design.config) if event.statistic not in known]


def public_design(manifest: Manifest, job: str) -> dict[str, Any]:
    """The public settings of a release, from which its job builds the design again.

    Raises:
        ConfigError: if the release is of another job.
    """
    require(manifest.job == job, "release", f"be one of {job}", manifest.job)
    design: dict[str, Any] = dict(manifest.details["design"])  # type: ignore[arg-type]  # JSON: written as a mapping
    _require_own_names(design)
    return design


def _require_own_names(value: Any) -> None:
    """Refuse a manifest that leads to a file of the reader's machine: a release holds its lists itself.

    Raises:
        IntegrityError: if it does.
    """
    if isinstance(value, dict):
        place = value.get("file")
        if isinstance(place, str) and set(value) <= {"file", "column"}:
            raise IntegrityError(f"{MANIFEST} must hold the names of its release, got a reference to the file {place}")
        # The keys of coefficients are items, one of which may be called file.
        _require_own_names([inner for key, inner in value.items() if key != "coefficients"])
    elif isinstance(value, list):
        for inner in value:
            _require_own_names(inner)
