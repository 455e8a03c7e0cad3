"""The fields of a manifest that every job fills in the same way."""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dplib.config.input_quality import quality_events
from dplib.ledger.runs import MeasuredRun
from dplib.metrics.faint_totals import FaintTotals
from dplib.page.guarantee import Guarantee
from dplib.page.notices import FAINT
from dplib.privacy.budget import Currency
from dplib.privacy.noise import SAMPLER_FORMAT
from dplib.release.manifest import build_manifest, write_manifest
from dplib.version import __version__
from dplib.workflow.design import JobDesign
from dplib.workflow.quality import QUALITY, QualityReport


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
    """Write ``manifest.json``, the last file of the release, into the staging directory with all other files.

    ``job_fields`` is what the job says (`dplib.workflow.publication.Made`), and the hashes of the settings.
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
            "dplib": __version__,
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
