"""Answers from a released noisy graph and from choices: is there an edge, how many in a block, which candidate."""

import numpy as np

from dplib.errors import ConfigError
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.noisy_graph_tables import (
    ADJACENCY,
    CHOICES,
    VERTICES,
    WHOLE_GRAPH,
    passing_of,
    read_whole_graph,
)
from dplib.jobs.network_statistics.tables import PUBLISHED, Tables
from dplib.release.tables import read_table
from dplib.validate import require

PartAnswer = tuple[str, float, float, int, str]
"""What it is of, estimate, standard error, published integer, note."""


def pair_answer(tables: Tables, start: str | None, end: str | None) -> PartAnswer:
    """Is there an edge between two vertices? The bit, and with which probability it is wrong.

    The estimate (bit - p0) / (p1 - p0) is without bias; its standard error is the larger one of the two that the truth
    could give.

    Raises:
        ConfigError: if the two are not two declared vertices.
    """
    for option, given in (("--from", start), ("--to", end)):
        require(given is not None, option, "name a vertex where the other one is named", "nothing")
    places = [place_of(tables, "--from", str(start)), place_of(tables, "--to", str(end))]
    low, high = sorted(places)
    require(low < high, "--from and --to", "name two vertices", f"{start} and {end}")
    parts = read_whole_graph(tables)
    assert parts.graph is not None
    graph, shown = parts.graph, f"edge {start} - {end}"
    if low in parts.silent(Statistic.ADJACENCY):
        raise ConfigError("--from and --to", "name a pair that was reported", f"{start} and {end}")
    there = bool(((graph.edges.source == low) & (graph.edges.target == high)).any())
    passing = passing_of(graph.law)
    pair = np.ones(1)
    value = float(passing.estimate(pair * there, pair)[0])
    error = float(np.sqrt(max(passing.variance(pair * 0, pair)[0], passing.variance(pair, pair)[0])))
    note = (
        f"{'an edge' if there else 'no edge'} in the noisy graph; an edge is missing there with probability "
        f"{1 - passing.edge:.4g}, a pair without one appears with probability {passing.other:.4g}; "
        "one bit has no 95 % interval"
    )
    return shown, value, error, int(there), note


def block_answers(tables: Tables) -> list[PartAnswer]:
    """Edges and density of the whole graph and of the declared blocks."""
    rows = read_table(tables.directory / PUBLISHED / ADJACENCY, blocks=("blocks",)).to_pylist()
    found = []
    for row in rows:
        one, other = row["one"], row["other"]
        shown = "all" if row["key"] == 0 else f"inside {one}" if one == other else f"{one} - {other}"
        most, error, pairs = row["pairs"], row["std_error"], max(row["pairs"], 1)
        note = f"density {row['density']:.4g}, standard error {error / pairs:.3g}, of {most} pairs"
        whole = int(np.clip(np.rint(row["edges"]), 0, most))
        found.append((shown if one != WHOLE_GRAPH else "all", row["edges"], error, whole, note))
    return found


def choice_answers(tables: Tables, statistic: Statistic) -> list[tuple[str, str]]:
    """The chosen candidate, and where its members are."""
    rows = read_table(tables.directory / PUBLISHED / CHOICES, blocks=(CHOICES,)).to_pylist()
    note = f"members in {PUBLISHED}/{CHOICES}/members"
    return [(row["candidate"], note) for row in rows if row["statistic"] == statistic]


def place_of(tables: Tables, option: str, vertex: str) -> int:
    """Position of a declared vertex, from the release.

    Raises:
        ConfigError: if it is none.
    """
    folder = tables.directory / PUBLISHED / VERTICES
    if folder.is_dir():
        table = read_table(folder, ["vertex"], where=[("name", "==", vertex)])
        place = table.column("vertex")[0].as_py() if table.num_rows else None
    else:
        place = tables.design.vertices.place_of_number(vertex)
    if place is None:
        raise ConfigError(option, "name a declared vertex", vertex)
    return int(place)


def vertex_name(tables: Tables, place: int) -> str:
    """The name, or the number, of a vertex."""
    folder = tables.directory / PUBLISHED / VERTICES
    if not folder.is_dir():
        return tables.design.vertices.shown(place)
    table = read_table(folder, ["name"], where=[("vertex", "==", place)])
    return str(table.column("name")[0].as_py())
