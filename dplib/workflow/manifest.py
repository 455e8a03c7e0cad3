"""The fields of a manifest that every job fills in the same way."""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dplib
from dplib.errors import IntegrityError
from dplib.ledger.runs import MeasuredRun
from dplib.mechanisms.tree_counts import SAMPLER_FORMAT
from dplib.metrics.faint_totals import FaintTotals
from dplib.page.guarantee import Guarantee
from dplib.page.notices import FAINT
from dplib.privacy.budget import Currency
from dplib.release.files import MANIFEST
from dplib.release.manifest import Manifest, build_manifest, write_manifest
from dplib.validate import require
from dplib.workflow.design import JobDesign
from dplib.workflow.quality import QUALITY, QualityReport, quality_events


def write_release_manifest(
    directory: Path,
    design: JobDesign,
    run: MeasuredRun,
    currency: Currency,
    guarantee: Guarantee,
    job_fields: Mapping[str, Any],
    faint: FaintTotals,
    quality: QualityReport | None,
) -> None:
    """Write ``manifest.json``, the last file of the release.

    Args:
        directory: the staging directory, all other files written.
        design: the design.
        run: the ledger's run.
        currency: of the account that paid.
        guarantee: as the page states it.
        job_fields: what the job says (`dplib.workflow.publication.Made`), and the hashes of the settings.
        faint: series that do not stand out from their noise; noted among the details where there are any.
        quality: of the input, same shape.
    """
    config = design.config
    details = {"design": design.public()} | job_fields["details"]
    details |= {FAINT: faint.to_dict()} if faint.names else {}
    details |= {} if quality is None else {QUALITY: quality.to_dict()}
    shared = {
        "release_id": run.release_id,
        "dataset": config.dataset,
        "job": config.job,
        "logical_date": run.key.logical_date,
        "privacy_unit": guarantee.unit,
        "neighbors": guarantee.neighbors,
        "invariants": list(guarantee.promise.invariants),
        "currency": currency.value,
        "cost": str(run.cost),
        "totals": {total.accountant: total.to_dict() for total in guarantee.totals},
        "mechanisms": _mechanisms(job_fields, design),
        "constraints": job_fields.get("constraints", []),
        "details": details,
        "versions": {
            "dplib": dplib.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "sampler_format": str(SAMPLER_FORMAT),
        },
        "key_id": guarantee.key_id,
        "reservation": run.nonce or "",
    }
    write_manifest(directory, build_manifest(directory, dict(job_fields) | shared))


def _mechanisms(job_fields: Mapping[str, Any], design: JobDesign) -> list[dict[str, Any]]:
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


_LISTS = {"file", "column", "columns", "attributes", "first_day", "last_day", "table"}
"""Keys of a reference to a file of names."""


def _require_own_names(value: Any) -> None:
    """Refuse a manifest that leads to a file of the reader's machine: a release holds its lists itself.

    Raises:
        IntegrityError: if it does.
    """
    if isinstance(value, dict):
        place = value.get("file")
        if isinstance(place, str) and set(value) <= _LISTS:
            raise IntegrityError(f"{MANIFEST} must hold the names of its release, got a reference to the file {place}")
        # The keys of coefficients are items, one of which may be called file.
        _require_own_names([inner for key, inner in value.items() if key != "coefficients"])
    elif isinstance(value, list):
        for inner in value:
            _require_own_names(inner)
