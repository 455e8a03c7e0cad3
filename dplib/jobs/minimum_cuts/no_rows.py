"""What the job stores of an input without rows: a publication is tried with it before anything is spent."""

from pathlib import Path

import numpy as np

from dplib.graphs.cuts.cut_list import CutList
from dplib.graphs.edges import Graph, canonical, word_count
from dplib.jobs.minimum_cuts.design import SAMPLED, SYNTHETIC, Design
from dplib.jobs.minimum_cuts.measure import measure_graph
from dplib.workflow.job import Resources
from dplib.workflow.run_keys import RunKeys

TRIED_VERTICES, TRIED_PAIRED_VERTICES = 4096, 256
"""Vertices up to which a publication is tried before it is paid; with a synthetic graph, whose cuts are all found."""


def measure_nothing(job: Resources[Design], keys: RunKeys, directory: Path) -> bool:
    """Draw the noise and the choices of a graph without edges; random trials list no cut of it."""
    design = job.design
    paired = design.measured(SYNTHETIC) is not None
    if design.n_vertices > (TRIED_PAIRED_VERTICES if paired else TRIED_VERTICES):
        return False
    nobody = np.zeros(0, dtype=np.int64)
    trials = design.enumeration.trials(design.n_vertices) if design.measured(SAMPLED) is not None else None
    empty = canonical(design.n_vertices, nobody, nobody, nobody)
    measure_graph(design, empty, keys, directory, None if trials is None else _no_cuts)
    return True


def _no_cuts(graph: Graph, _bound: int, _seed: int) -> CutList:
    n, none = graph.n_vertices, np.zeros(0, dtype=np.int64)
    return CutList(np.arange(n), np.zeros((0, word_count(n)), dtype=np.uint64), none)
