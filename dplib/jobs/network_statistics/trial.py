"""How a publication is tried before anything is spent: few vertices and candidates, no edges.

Mechanisms and noise are those of the whole, and so are the names of blocks and of the candidates that are kept, whose
members are few.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.config import NetworkVertexCount
from dplib.jobs.network_statistics.declared import Declared
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measure import measure_edges
from dplib.jobs.network_statistics.measurements import LADDER, NOISE_FORMAT
from dplib.jobs.network_statistics.reports import store_reports
from dplib.spark.graphs.edges import EDGE_RULES
from dplib.spark.graphs.reports import Reports
from dplib.workflow.job import Trial
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

VERTICES = 64
"""Vertices that are tried whole."""


def thinned(design: Design, size: int) -> Design | None:
    """The design on about ``size`` vertices, `VERTICES` at least, and candidates."""
    n = min(design.n_vertices, max(size, VERTICES))
    whole = design.declared
    if n == design.n_vertices and max(len(whole.splits), len(whole.seeds)) <= size:
        return design
    config, domain, stars = design.config, design.vertices, design.find(Statistic.K_STARS)
    declared = _few(whole, n, size)
    named = domain.names
    vertices = NetworkVertexCount(count=n, first=domain.first) if named is None else list(named[:n])
    changes: dict[str, Any] = {"vertices": vertices} | _only_names(design, declared)
    if stars is not None:
        changes["star_mechanism"] = "ladder" if stars.mechanism == LADDER else "global"
    fewer = config.model_copy(update={"graph": config.graph.model_copy(update=changes)})
    found = Design.of(fewer, NOISE_FORMAT)
    pairs = list(zip(found.measurements, design.measurements, strict=True))
    if any(few.mechanism != many.mechanism for few, many in pairs):
        return None
    measured = tuple(replace(few, sensitivity=many.sensitivity, event=many.event) for few, many in pairs)
    return replace(found, declared=declared, measurements=measured, reported=design.reported)


def _few(declared: Declared, n: int, size: int) -> Declared:
    """The first candidates on the first vertices; seeds that are none of these stand for some that are."""
    splits = {name: _numbered(groups[:n]) for name, groups in list(declared.splits.items())[:size]}
    seeds = {name: sorted({place % n for place in places}) for name, places in list(declared.seeds.items())[:size]}
    return Declared(splits, seeds, declared.blocks, declared.block_of[:n])


def _numbered(groups: IntArray) -> IntArray:
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _only_names(design: Design, declared: Declared) -> dict[str, Any]:
    """The sections of candidates and blocks without members, as the manifest has them."""
    graph = design.config.graph
    changes: dict[str, Any] = {
        "adjacency": graph.adjacency.model_copy(update={"blocks": {name: [] for name in declared.blocks}})
    }
    if graph.split is not None:
        changes["split"] = graph.split.model_copy(update={"candidates": {name: {} for name in declared.splits}})
    if graph.coverage is not None:
        changes["coverage"] = graph.coverage.model_copy(update={"candidates": {name: [] for name in declared.seeds}})
    return changes


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of a graph without edges, or store that nobody reported."""
    nobody = np.zeros(0, dtype=np.int64)
    if design.reported is not None:
        told = design.reported
        reports = Reports(nobody, nobody if "degree" in told else None, [] if "bits" in told else None)
        return store_reports(design, reports, keys, directory)
    return measure_edges(design, SimpleGraph(design.n_vertices, nobody, nobody), keys, directory)


TRIAL = Trial(thinned, measure_nothing, EDGE_RULES[:-1])
"""How the job's publication is tried."""
