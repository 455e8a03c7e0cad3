"""Settings and points for tests of the job kmeans."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplib.arrays import FloatArray
from dplib.canonical import settings_hash
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.source import Blocks, Keyed, add_keyed
from dplib.config.load import check
from dplib.config.point_input import PointColumns, PointInput
from dplib.jobs.kmeans.config import KMeansConfig
from dplib.jobs.kmeans.design import Design
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.secret.secret import Secret
from dplib.spark.points.points import RowSummary
from dplib.workflow.run_keys import RunKeys
from tests.support.jobs import SECRET

GAUSSIAN = {"epsilon": "0.9", "delta": "1e-6"}
CENTRAL = [
    ("auto", {"epsilon": 1}), ("grid", {"epsilon": 1}), ("quadtree", {"epsilon": 1}), ("local_search", {"epsilon": 1}),
    ("kvariates", {"epsilon": 1}), ("privgene", {"epsilon": 1}), ("lloyd", {"epsilon": 1}), ("lloyd", {"rho": "0.1"}),
    ("sample_aggregate", {"epsilon": 1}), ("sample_aggregate", GAUSSIAN), ("tree_coreset", GAUSSIAN),
    ("max_cover", {"rho": "0.1"}), ("grid", {"rho": "0.1"}),
]  # fmt: skip
"""Every central method, with a budget."""


LOCAL = ("ldp_tree", "ldp_hash_rounds", "noisy_coordinates")


def local_settings_of(method: str, epsilon: str = "1", users: int = 1000, **clustering: Any) -> dict[str, Any]:
    settings = settings_of(method, {"epsilon": epsilon}, local={"expected_users": users}, **clustering)
    settings["privacy"] |= {"unit": "person", "neighbors": "local", "max_rows_per_unit": 1}
    settings["input"]["columns"]["unit"] = "who"
    return settings


def settings_of(method: str, budget: dict[str, Any], k: int = 4, d: int = 2, **clustering: Any) -> dict[str, Any]:
    frame = {"bounds": [[-1, 1]] * d, "n_clusters": k, "method": method}
    return {
        "config_version": 1,
        "job": "kmeans",
        "dataset": "places",
        "input": {"path": "none", "columns": {"coordinates": [f"c{axis}" for axis in range(d)]}},
        "privacy": {"unit": "event", "budget": budget},
        "clustering": frame | clustering,
    }


def design_of(settings: dict[str, Any]) -> Design:
    return Design.resolve(check(KMeansConfig, settings), Path())


def keys_of(design: Design, secret: bytes = SECRET) -> RunKeys:
    source = PointInput(path="none", columns=PointColumns(coordinates=list(design.coordinates)))
    settings = design.config.measured() | {"input": source.model_dump(mode="json")} | design.formats
    key = RunKey("places", "kmeans", "", settings_hash(settings))
    return RunKeys.derive(Secret(secret), Run(2, key, design.budget, RunState.RESERVED))


@dataclass(frozen=True)
class RowBlocks:
    """Rows in memory as `dplib.jobs.kmeans.measure.PointReader`, in blocks of (n, d) numbers."""

    blocks: tuple[FloatArray, ...]

    def distances(self, summary: RowSummary) -> Keyed:
        return add_keyed([summary(block) for block in self.blocks], summary.width)

    def within(self, frame: PointFrame) -> Blocks:
        return Blocks(*(frame.to_units(block[frame.given(block)]) for block in self.blocks))


def rows_in(*blocks: FloatArray) -> RowBlocks:
    return RowBlocks(blocks)
