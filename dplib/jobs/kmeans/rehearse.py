"""A rehearsal: the whole job on generated clusters in the declared space, against k-means without privacy.

Nothing private is touched (`dplib.workflow.rehearsal`). The result says which loss to expect at this number of points
if they form clusters as the generated ones do, and that the pipeline from rows to tables works with these settings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dplib.arrays import FloatArray
from dplib.clustering.space import UNITS
from dplib.clustering.start import spread_centers, uniform_centers
from dplib.clustering.sums import nearest, rounded
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.tables import Tables
from dplib.page.number_text import terminal_number
from dplib.progress import Progress
from dplib.workflow.job import PreparedJob
from dplib.workflow.rehearsal import on_generated_rows
from dplib.workflow.run import run_job
from dplib.workflow.shown import Shown, TextTable

REHEARSED_POINTS = 100_000
"""Points that a rehearsal generates."""

MAX_COMPARED = 20_000
"""Points on which losses are compared."""
_SPREAD = 1 / 8
"""Standard deviation of a cluster, all coordinates together, in radii."""


@dataclass(frozen=True)
class RehearsedLoss:
    """Mean squared distance to the nearest center, in square radii of the space, and as a ratio to plain k-means."""

    centers: str
    loss: float
    ratio: float


def rehearse(prepared: PreparedJob[Design], n_points: int, seed: int, progress: Progress) -> list[RehearsedLoss]:
    """Generate points, run the job on them and compare losses; nothing of the configuration's places is touched."""
    design = prepared.design
    units = generated_points(design, n_points, seed)
    with TemporaryDirectory(prefix="dplib-rehearsal-") as name:
        folder = Path(name)
        rehearsed = _prepare(prepared, folder)
        _write_rows(design, units, folder / "rows.parquet")
        _, release = run_job(rehearsed, progress=progress)
        assert release is not None
        released, _ = Tables(release, rehearsed.design).read_centers()
    space, k = design.frame.space, design.problem.n_clusters
    private = (design.frame.scaled(released) - np.array(space.center)) / space.unit
    seen = units[:MAX_COMPARED]
    plain = weighted_kmeans(seen, np.ones(len(seen)), spread_centers(space, k, 0), seed).centers
    everywhere = seen.mean(axis=0, keepdims=True)
    losses = [(name, _loss(seen, centers)) for name, centers in (("plain k-means", plain), ("this job", private))]
    losses += [("one center", _loss(seen, everywhere)), ("public start", _loss(seen, spread_centers(space, k, seed)))]
    least = max(losses[0][1], 1e-12)
    return [RehearsedLoss(name, loss, loss / least) for name, loss in losses]


def generated_points(design: Design, n_points: int, seed: int) -> FloatArray:
    """Points of k clusters of random size with some rows spread over the whole space, in units, shape (n, d)."""
    space, k = design.frame.space, design.problem.n_clusters
    generator = np.random.default_rng(seed)
    middles = 0.875 * uniform_centers(space, k, generator)
    of = generator.choice(k, size=n_points, p=generator.dirichlet(np.full(k, 5.0)))
    noise = generator.normal(size=(n_points, space.dimension)) * _SPREAD * UNITS / np.sqrt(space.dimension)
    points = middles[of] + noise
    spread = generator.random(n_points) < 0.01
    points[spread] = uniform_centers(space, int(spread.sum()), generator)
    return space.clip(points)


def _loss(points: FloatArray, centers: FloatArray) -> float:
    labels = nearest(rounded(points), rounded(centers))
    return float(((points - centers[labels]) ** 2).sum(axis=1).mean()) / UNITS**2


def _write_rows(design: Design, units: FloatArray, path: Path) -> None:
    """Write generated rows, one a unit so that no cap cuts."""
    rows = design.frame.to_data(units)
    columns = {f"x{axis}": pa.array(rows[:, axis]) for axis in range(rows.shape[1])}
    pq.write_table(pa.table(columns | {"unit": pa.array(np.arange(len(rows)))}), path)


def _prepare(prepared: PreparedJob[Design], folder: Path) -> PreparedJob[Design]:
    """The same job on the generated rows."""
    config = prepared.design.config
    columns: dict[str, Any] = {"coordinates": [f"x{axis}" for axis in range(len(prepared.design.coordinates))]}
    columns |= {"unit": "unit"} if config.privacy.unit != "event" else {}
    source = {"path": "rows.parquet", "format": "parquet", "columns": columns}
    # A picture may name columns, which have other names here.
    changed: dict[str, Any] = {"input": source, "publish": {}}
    if prepared.design.radius_is_private:
        changed["clustering"] = config.clustering.model_dump(mode="json", by_alias=True) | {"radius": "private"}
    return on_generated_rows(prepared, changed, folder)


def shown_rehearsal(prepared: PreparedJob[Design], rows: int | None, seed: int, progress: Progress) -> Iterator[Shown]:
    """Run the whole job on generated clusters and compare its loss with that of k-means without privacy."""
    found = rehearse(prepared, rows or REHEARSED_POINTS, seed, progress)
    shown = [[each.centers, terminal_number(each.loss), f"{each.ratio:.3f}"] for each in found]
    columns = ["centers", "mean squared distance (square radii)", "ratio"]
    title = f"Rehearsal on {rows or REHEARSED_POINTS:,} generated points (no ledger, no private data)"
    yield TextTable(title, columns, shown, frozenset(columns[1:]))
