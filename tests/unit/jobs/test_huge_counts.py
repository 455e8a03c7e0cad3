"""Counts at the end of 64 bits go through measurement and publication: no number of rows ends a run, in any job."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.config.load import check
from dplib.config.selection import select
from dplib.jobs.consistent_histograms import measure as consistent_measure
from dplib.jobs.consistent_histograms import publish as consistent_publish
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design as ConsistentDesign
from dplib.jobs.consistent_histograms.query import sums_of
from dplib.jobs.range_histograms import measure as range_measure
from dplib.jobs.range_histograms import publish as range_publish
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design as RangeDesign
from dplib.jobs.range_histograms.tables import write_strategy
from dplib.release.tables import read_table
from dplib.workflow.settings import measurement_settings
from tests.support.golden import golden_keys

BITS = (40, 53, 58, 61)
CONSTRAINTS: dict[str, list[dict[str, Any]]] = {
    "few": [{"packages": {"p": {"a": 1, "b": 1}, "q": {"b": 1, "c": 1}}}],
    "many pieces": [{"packages": {"p": {"a": 1_000_000, "b": 1}, "q": {"b": 1, "c": 1}}}],
    "dependent": [{"packages": {"p": {"a": 1}, "q": {"b": 1}, "r": {"a": 1, "b": 2}, "s": {"a": 2, "b": 1, "c": 1}}}],
    "totals": [{"totals": {"all": ["a", "b", "c"]}, "measured": True}],
    "equations": [{"equations": {"balance": {"coefficients": {"a": 1, "b": -1}, "value": 3}}}],
}


def _design(folder: Path, constraints: str) -> tuple[ConsistentHistogramsConfig, ConsistentDesign]:
    given = CONSTRAINTS[constraints]
    column = "package" if "packages" in given[0] else "item"
    neighbors = "replace_one" if constraints == "equations" else "add_remove"
    settings = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "huge",
        "input": {"path": "none", "columns": {"day": "day", column: "name"}},
        "privacy": {"unit": "event", "budget": {"rho": "1000000"}, "neighbors": neighbors},
        "domain": {"items": ["a", "b", "c"], "first_day": "2024-01-01", "last_day": "2024-01-08"},
        "constraints": given,
        "tree": {"branching": 2, "root": True},
    }
    if constraints != "many pieces":
        settings["privacy"]["budget"] = {"rho": "1"}  # type: ignore[index]
    config = check(ConsistentHistogramsConfig, settings)
    return config, ConsistentDesign.resolve(config, folder)


def _consistent(folder: Path, constraints: str, bits: int) -> FloatArray:
    config, design = _design(folder, constraints)
    kinds = len(design.constraints.row_types)
    counts = np.random.default_rng(bits).integers(1 << bits, 1 << (bits + 1), (8, kinds))
    keys = golden_keys("consistent-histograms", measurement_settings(config, design))
    consistent_measure.measure_on_driver(design, counts, keys, folder)
    consistent_publish.write_tables(design, consistent_publish.results_on_driver(design, folder), folder)
    return read_table(folder / "published", ["count"]).column("count").to_numpy()


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_consistent_histograms(constraints: str, bits: int, tmp_path: Path) -> None:
    found = _consistent(tmp_path, constraints, bits)
    assert len(found)
    if bits == BITS[0] and constraints == "few":
        assert found.max() >= 8 << bits


TREES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "laplace": ({"epsilon": 1}, {"method": "boost", "branching": 4}),
    "gaussian": ({"rho": "0.1"}, {"method": "boost", "branching": 2}),
    "adaptive": ({"epsilon": "0.5"}, {"method": "adaptive"}),
}


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("tree", TREES)
def test_range_histograms(tree: str, bits: int, tmp_path: Path) -> None:
    budget, shape = TREES[tree]
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "huge",
        "input": {"path": "none", "columns": {"value": "v", "group": "g"}},
        "privacy": {"unit": "event", "budget": budget},
        "histogram": {"edges": {"start": 0, "stop": 16, "width": 1}, "groups": ["b", "a"]},
        "tree": shape,
    }
    config = check(RangeHistogramsConfig, settings)
    design = RangeDesign.resolve(config, tmp_path)
    write_strategy(tmp_path, design)
    counts = np.random.default_rng(bits).integers(1 << bits, 1 << (bits + 1), (2, 16))
    keys = golden_keys("range-histograms", measurement_settings(config, design))
    range_measure.measure_on_driver(design, counts, keys, tmp_path)
    range_publish.write_tables(design, range_publish.results_on_driver(design, tmp_path), tmp_path)
    published = read_table(tmp_path / "published", ["count"]).column("count").to_numpy()
    assert published.min() >= 0


def test_answers_of_huge_published_counts_are_exact(tmp_path: Path) -> None:
    _consistent(tmp_path, "totals", 58)
    _, design = _design(tmp_path, "totals")
    wanted = select(design.names, ("a", "b"), (), add_up=True)
    ((found,),) = sums_of(tmp_path / "published", "count", design, wanted, [design.tree.cover(1, 7)])
    table = read_table(tmp_path / "published", ["item", "node", "count"])
    cells = zip(*(table.column(name).to_pylist() for name in ("item", "node", "count")), strict=True)
    days = design.tree.leaf_nodes[1:7].tolist()
    assert found == sum(count for item, node, count in cells if item in ("a", "b") and node in days)
    assert isinstance(found, int)
    assert found > 2**53
