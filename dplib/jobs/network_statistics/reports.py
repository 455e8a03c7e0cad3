"""The server side of the local model: reports that vertices made become the stored measurement, and nothing is drawn.

Guarantee and formats: `dplib.jobs.network_statistics.local`, `dplib.spark.graphs.reports`. What is stored is what was
sent: a vertex's degree under its position, the pairs whose bit is 1, and who did not respond.
"""

from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.noisy_graph_tables import write_whole_graph
from dplib.jobs.network_statistics.tables import Tables
from dplib.jobs.network_statistics.whole_graph import NoisyGraph, WholeGraph, block_counts
from dplib.mechanisms.noisy_adjacency import ThresholdLaw
from dplib.release.digest import block_digest, combine_digests
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.graphs.reports import Reports, collect_reports
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def measure_reports(design: Design, judged: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Collect the reports (`dplib.spark.graphs.reports.judge_reports`) and store them as ``measurement/``."""
    assert design.reported is not None
    return store_reports(design, collect_reports(judged), keys, directory)


def store_reports(design: Design, reports: Reports, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Store collected reports as the measurement."""
    parts = whole_graph_of_reports(design, reports)
    stored = [(str(name), block_digest(keys.digest, str(name), numbers)) for name, numbers in parts.numbers.items()]
    if parts.graph is not None:
        pairs = np.stack([parts.graph.edges.source, parts.graph.edges.target])
        stored.append(("pairs", block_digest(keys.digest, "pairs", pairs)))
    Tables(directory, design).write_measurement(parts.numbers)
    write_whole_graph(directory, parts)
    return keys.recorded(combine_digests(keys.digest, stored))


def whole_graph_of_reports(design: Design, reports: Reports) -> WholeGraph:
    """What vertices reported, in the form of a measurement."""
    n = design.n_vertices
    non_respondents = np.setdiff1d(np.arange(n), reports.vertex)
    numbers: dict[Statistic, IntArray] = {}
    graph = None
    for each in design.measurements:
        if each.statistic is Statistic.DEGREE_SEQUENCE:
            assert reports.degree is not None
            degrees = np.zeros(n, dtype=np.int64)
            degrees[reports.vertex] = reports.degree
            numbers[each.statistic] = degrees
        else:
            assert reports.bits is not None
            graph = NoisyGraph(_ones(n, reports.vertex, reports.bits), ThresholdLaw(each.epsilon), 0)
            numbers[each.statistic] = block_counts(design, graph.edges)
    # The last vertex has no later one: it has nothing to say about pairs.
    talkers = {
        Statistic.DEGREE_SEQUENCE: non_respondents,
        Statistic.ADJACENCY: non_respondents[non_respondents < n - 1],
    }
    return WholeGraph(numbers, graph, {}, {each.statistic: talkers[each.statistic] for each in design.measurements})


def _ones(n: int, vertices: IntArray, bits: list[str]) -> SimpleGraph:
    """The pairs whose bit is 1."""
    first, second = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for vertex, text in zip(vertices.tolist(), bits, strict=True):
        ones = np.flatnonzero(np.frombuffer(text.encode("ascii"), dtype=np.uint8) == ord("1"))
        first.append(np.full(len(ones), vertex, dtype=np.int64))
        second.append(ones + vertex + 1)
    return SimpleGraph(n, np.concatenate(first), np.concatenate(second))
