"""Tables of what is no list of numbers: the noisy graph, what was chosen, who did not report, names of vertices.

    measurement/adjacency/   edges: source, target (positions of vertices)    law: threshold, noisy_edges
    measurement/choices/     statistic, draw, candidate (position)
    measurement/silent/      statistic, vertex: who sent no report            only where rows are reports
    published/adjacency/     edges: source, target (as declared)    blocks: one, other, pairs, edges, std_error, density
    published/choices/       choices: statistic, candidate          members: statistic, vertex, part
    published/vertices/      vertex, name                     only where vertices have names and keys are vertices

The noisy graph, like any noisy number, is free to use. Candidates, blocks and names are public settings.
"""

from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.noisy_graph import Passing, block_pairs
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.parts import threshold_law
from dplib.jobs.network_statistics.tables import PUBLISHED, Tables
from dplib.jobs.network_statistics.whole_graph import NoisyGraph, WholeGraph
from dplib.mechanisms.noisy_adjacency import ThresholdLaw
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import read_table, write_table

ADJACENCY, CHOICES, NON_RESPONDENTS, VERTICES = "adjacency", "choices", "silent", "vertices"
WHOLE_GRAPH = "all"
"""The name of the whole graph among the blocks."""


def write_whole_graph(directory: Path, parts: WholeGraph) -> None:
    """Write the noisy graph, choices and non-respondents into ``measurement/``."""
    measurement = directory / MEASUREMENT
    if parts.graph is not None:
        graph, edges, folder = parts.graph, parts.graph.edges, measurement / ADJACENCY
        write_table(folder, "edges", {"source": edges.source, "target": edges.target}, sort_by=("source", "target"))
        law = {"threshold": np.array([graph.law.threshold]), "noisy_edges": np.array([graph.noisy_edges])}
        write_table(folder, "law", law, sort_by=("threshold",))
    if parts.choices:
        names = [str(statistic) for statistic in parts.choices]
        drawn = {
            "statistic": names,
            "draw": np.zeros(len(names), dtype=np.int64),
            "candidate": np.array(list(parts.choices.values()), dtype=np.int64),
        }
        write_table(measurement / CHOICES, CHOICES, drawn, sort_by=("statistic", "draw"))
    for statistic, vertices in parts.non_respondents.items():
        write_table(measurement / NON_RESPONDENTS, str(statistic), {"vertex": vertices}, sort_by=("vertex",))


def read_whole_graph(tables: Tables) -> WholeGraph:
    """Read back what `write_whole_graph` wrote; its ``numbers`` are empty."""
    design, measurement = tables.design, tables.directory / MEASUREMENT
    graph, choices, non_respondents = None, {}, {}
    adjacency = design.find(Statistic.ADJACENCY)
    if adjacency is not None:
        pairs = read_table(measurement / ADJACENCY, ["source", "target"], blocks=("edges",))
        told = read_table(measurement / ADJACENCY, ["threshold", "noisy_edges"], blocks=("law",)).to_pylist()[0]
        law = threshold_law(
            design.config, design.n_vertices, adjacency.epsilon, adjacency.sensitivity.l1, told["noisy_edges"]
        )
        edges = SimpleGraph(design.n_vertices, *(pairs.column(end).to_numpy() for end in ("source", "target")))
        # As it was drawn, whatever a later version would choose.
        graph = NoisyGraph(edges, ThresholdLaw(law.epsilon, told["threshold"], law.steps), told["noisy_edges"])
    if any(each.size == 0 for each in design.measurements):
        rows = read_table(measurement / CHOICES, ["statistic", "candidate"]).to_pylist()
        choices = {Statistic(row["statistic"]): int(row["candidate"]) for row in rows}
    for each in design.measurements:
        if (measurement / NON_RESPONDENTS / f"{each.statistic}.parquet").is_file():
            table = read_table(measurement / NON_RESPONDENTS, ["vertex"], blocks=(str(each.statistic),))
            non_respondents[each.statistic] = table.column("vertex").to_numpy()
    return WholeGraph({}, graph, choices, non_respondents)


def passing_of(law: ThresholdLaw) -> Passing:
    """The probabilities with which pairs appear."""
    return Passing(float(law.edge_passes), float(law.other_passes))


def pairs_of_blocks(design: Design) -> IntArray:
    """Pairs of vertices in all and of every two blocks, in the order of the keys of ``adjacency``."""
    n, declared = design.n_vertices, design.declared
    total = np.array([n * (n - 1) // 2], dtype=np.int64)
    if not declared.blocks:
        return total
    sizes = np.bincount(declared.block_of[declared.block_of >= 0], minlength=len(declared.blocks))
    return np.concatenate([total, block_pairs(sizes.astype(np.int64))])


def reported_pairs(design: Design, non_respondents: IntArray) -> IntArray:
    """Of `pairs_of_blocks`, those whose earlier end reported; ``silent`` are the vertices that did not."""
    if len(non_respondents) == 0:
        return pairs_of_blocks(design)
    n, declared = design.n_vertices, design.declared
    told = np.ones(n, dtype=np.bool_)
    told[non_respondents] = False
    total = np.array([int((n - 1 - np.arange(n))[told].sum())], dtype=np.int64)
    if not declared.blocks:
        return total
    own = declared.block_of[:, np.newaxis] == np.arange(len(declared.blocks))
    later = own.sum(axis=0) - np.cumsum(own, axis=0)
    between = (own & told[:, np.newaxis]).astype(np.int64).T @ later
    between = between + np.tril(between, -1).T
    return np.concatenate([total, between[np.triu_indices(len(declared.blocks))]]).astype(np.int64)


def block_names(design: Design) -> list[tuple[str, str]]:
    """Names of the two blocks of every key of ``adjacency``; twice the whole graph's first."""
    blocks = design.declared.blocks
    first, second = np.triu_indices(len(blocks))
    named = [(blocks[one], blocks[other]) for one, other in zip(first.tolist(), second.tolist(), strict=True)]
    return [(WHOLE_GRAPH, WHOLE_GRAPH), *named]


def write_published_graph(
    tables: Tables, parts: WholeGraph, edges: FloatArray | None, std_error: FloatArray | None
) -> None:
    """Write the published tables, with estimates and errors by key of ``adjacency``, None where it is not measured."""
    design, published = tables.design, tables.directory / PUBLISHED
    csv = design.config.publish.output.csv
    if parts.graph is not None and edges is not None and std_error is not None:
        graph = parts.graph.edges
        ends = {"source": as_declared(design, graph.source), "target": as_declared(design, graph.target)}
        write_table(published / ADJACENCY, "edges", ends, sort_by=("source", "target"), csv=csv)
        names, pairs = block_names(design), pairs_of_blocks(design)
        blocks = {
            "key": np.arange(len(names)),
            "one": [one for one, _ in names],
            "other": [other for _, other in names],
            "pairs": pairs,
            "edges": edges,
            "std_error": std_error,
            "density": edges / np.maximum(pairs, 1),
        }
        write_table(published / ADJACENCY, "blocks", blocks, sort_by=("key",), csv=csv)
    if parts.choices:
        _write_choices(published / CHOICES, design, parts.choices, csv)
    needs_names = {Statistic.ADJACENCY, Statistic.DEGREE_SEQUENCE} & {each.statistic for each in design.measurements}
    if design.vertices.names is not None and needs_names:
        table = {"vertex": np.arange(design.n_vertices), "name": list(design.vertices.names)}
        write_table(published / VERTICES, VERTICES, table, sort_by=("vertex",), csv=csv)


def as_declared(design: Design, positions: IntArray) -> IntArray | list[str]:
    """Vertices as they are declared: numbers, or names."""
    domain = design.vertices
    if domain.names is None:
        return positions + domain.first
    return [domain.shown(place) for place in positions.tolist()]


def chosen_name(design: Design, statistic: Statistic, place: int) -> str:
    """The name of a candidate."""
    declared = design.declared.splits if statistic is Statistic.SPLIT else design.declared.seeds
    return list(declared)[place]


def _write_choices(folder: Path, design: Design, choices: dict[Statistic, int], csv: bool) -> None:
    statistics, parts, vertices = [], [], []
    for statistic, place in choices.items():
        name = chosen_name(design, statistic, place)
        if statistic is Statistic.SPLIT:
            members = np.arange(design.n_vertices)
            own = design.declared.splits[name]
        else:
            members = np.array(design.declared.seeds[name], dtype=np.int64)
            own = np.zeros(len(members), dtype=np.int64)
        statistics += [str(statistic)] * len(members)
        parts.append(own)
        vertices.append(members)
    shown = {
        "statistic": [str(statistic) for statistic in choices],
        "candidate": [chosen_name(design, statistic, place) for statistic, place in choices.items()],
    }
    write_table(folder, CHOICES, shown, sort_by=("statistic",), csv=csv)
    table = {
        "statistic": statistics,
        "vertex": as_declared(design, np.concatenate(vertices)),
        "part": np.concatenate(parts),
    }
    write_table(folder, "members", table, sort_by=("statistic", "vertex"), csv=csv)
