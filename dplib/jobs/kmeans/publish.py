"""From the stored measurement to the tables of a release and what its manifest says; sees no row and draws no noise."""

from collections import Counter
from pathlib import Path
from typing import Any

from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.estimate import Results, estimate_centers
from dplib.jobs.kmeans.methods import errors_text, method_text, reason_text
from dplib.jobs.kmeans.tables import Tables
from dplib.page.guarantee import Promise, rows_text


def write_tables(design: Design, directory: Path) -> Results:
    """Write ``estimates/`` from ``measurement/``."""
    tables = Tables(directory, design)
    results = estimate_centers(design, tables.read_records())
    tables.write_centers(results.centers, results.std_errors)
    tables.write_weights(results.weights, results.weight_errors)
    return results


def promise(design: Design) -> Promise:
    """What the release promises, in the job's own words."""
    privacy = design.config.privacy
    return Promise(
        caps=f"{rows_text(privacy.rows_per_unit, privacy.unit)}, each one point",
        invariants=invariants(design),
        public_settings="Bounds, number of clusters, method, caps and budget",
        change=f"change the row of any one {privacy.unit} in any way" if design.local else "",
    )


def invariants(design: Design) -> tuple[str, ...]:
    """The public facts on which the guarantee is conditional, in words."""
    if not design.local:
        return ()
    unit = design.config.privacy.unit
    return (
        f"Which units ({unit}) sent a report is public, and with it their number, which the release holds exactly.",
    )


def manifest_fields(design: Design, results: Results) -> dict[str, Any]:
    """What the manifest says besides the fields that every job has."""
    space, clustering = results.frame.space, results.clustering
    # Equal events stand once, with how many there are.
    times = Counter(tuple(event.to_dict().items()) for event in clustering.events)
    return {
        "sensitivities": {
            "points": design.rows,
            "count": {"l1": design.rows},
            "sum": {"l1": design.rows * space.l1, "l2_squared": design.rows**2 * space.norm_squared},
        },
        "mechanisms": [dict(event) | {"times": number} for event, number in times.items()],
        "solver": {"name": clustering.method, "what": method_text(clustering.method), "why": reason_text(design)},
        "domain": {
            "coordinates": list(design.coordinates),
            "n_clusters": design.problem.n_clusters,
            "center": [float(value) for value in results.frame.to_data(clustering.centers * 0)[0]],
            "unit": space.unit,
            "half_widths": list(space.half_widths),
            "ball": space.round,
            "scale": design.config.clustering.scale,
        },
        "details": {
            "method": clustering.method,
            "choices": dict(clustering.choices),
            "estimated_loss": results.loss,
            "estimated_loss_error": results.loss_error,
            "errors": errors_text(clustering),
            "model": "local" if design.local else "central",
        },
    }
