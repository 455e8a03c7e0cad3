"""How a publication is tried before anything is spent: few vertices, no edges.

More than the 24 whose cuts are all looked at, where the settings have more; fewer are tried whole. Noise is that of the
whole; random trials list no cut of a graph without edges.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from dplib.config.edge_input import VertexCount
from dplib.graphs.cuts.cut_list import CutList
from dplib.graphs.edges import Graph, canonical, word_count
from dplib.jobs.minimum_cuts.design import SAMPLED, SYNTHETIC, TOP, Design
from dplib.jobs.minimum_cuts.measure import measure_graph
from dplib.mechanisms.cuts.pair_weights import EXACT_CUTS
from dplib.spark.graphs.weighted_edges import WEIGHT_RULES
from dplib.workflow.job import Trial
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def thinned(design: Design, size: int) -> Design:
    """The design on about ``size`` vertices, 26 at least."""
    n, domain, config = max(size, EXACT_CUTS + 2), design.vertices, design.config
    if domain.count <= n:
        return design
    named = domain.names
    few = VertexCount(count=n, first=domain.first) if named is None else list(named[:n])
    found = Design.of(config.model_copy(update={"graph": config.graph.model_copy(update={"vertices": few})}))
    measured = tuple(
        fewer if fewer.release == SAMPLED else replace(fewer, noise=whole.noise, events=whole.events)
        for fewer, whole in zip(found.measurements, design.measurements, strict=True)
    )
    return replace(found, measurements=measured)


def measure_nothing(design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise and the choices of a graph without edges."""
    nobody = np.zeros(0, dtype=np.int64)
    trials = design.enumeration.trials(design.n_vertices) if design.asks(SAMPLED) else None
    empty = canonical(design.n_vertices, nobody, nobody, nobody)
    return measure_graph(design, empty, keys, directory, None if trials is None else _no_cuts)


def _no_cuts(graph: Graph, _bound: int, _seed: int) -> CutList:
    n, none = graph.n_vertices, np.zeros(0, dtype=np.int64)
    return CutList(np.arange(n), np.zeros((0, word_count(n)), dtype=np.uint64), none)


def may_lack(design: Design) -> frozenset[str]:
    """Tables of cuts, where some may be found, and of the cactus, where one may be made."""
    names = ["cuts", "members"] if design.asks(SYNTHETIC, TOP, SAMPLED) else []
    names += ["cactus_nodes", "cactus_edges"] if design.asks(SYNTHETIC) else []
    return frozenset(f"estimates/{name}" for name in names)


TRIAL = Trial(thinned, measure_nothing, WEIGHT_RULES, may_lack)
"""How the job's publication is tried."""
