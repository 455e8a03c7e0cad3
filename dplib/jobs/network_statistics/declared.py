"""Declared candidates and blocks of vertices, checked against the declared vertices; public, made without the graph.

A set of candidates that depended on the graph would break the exponential mechanism; blocks that did would break the
post-processing of a noisy graph. Both stand in the configuration, or in files that enter it with their contents.

Candidates, groups and blocks are numbered in the order of their names, whatever the order in the file: the hash of the
settings does not see that order, and what was drawn is stored by number.
"""

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.config.edge_input import VertexDomain
from dplib.config.network_releases import MAX_BLOCKS, MAX_CANDIDATES
from dplib.errors import ConfigError
from dplib.jobs.network_statistics.config import GraphSettings
from dplib.validate import require

MAX_GROUPED = 1 << 26
"""Vertices times candidate splits at most: their groups are held at once."""


@dataclass(frozen=True, eq=False)
class Declared:
    """What the settings declare besides the vertices.

    Attributes:
        splits: candidate splits by name, the group of every vertex, shape (n,).
        seeds: candidate sets of seeds by name, positions of vertices.
        blocks: names of the blocks.
        block_of: block of every vertex, -1 for none, shape (n,).
    """

    splits: dict[str, IntArray]
    seeds: dict[str, list[int]]
    blocks: tuple[str, ...]
    block_of: IntArray

    @classmethod
    def resolve(cls, graph: GraphSettings, domain: VertexDomain, base: Path) -> "Declared":
        """Resolve names and numbers of vertices.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        find = _Finder(domain)
        splits = {}
        if graph.split is not None:
            declared = graph.split.resolved(base)
            _require_candidates("graph.split.candidates", declared, domain.count * len(declared))
            for name, groups in sorted(declared.items()):
                listed = [groups[group] for group in sorted(groups)]
                splits[name] = _groups_of(f"graph.split.candidates.{name}", listed, find, domain.count)
        seeds = {}
        if graph.coverage is not None:
            sets = graph.coverage.resolved(base)
            _require_candidates("graph.coverage.candidates", sets, 0)
            seeds = {
                name: find.places(f"graph.coverage.candidates.{name}", each) for name, each in sorted(sets.items())
            }
        blocks = graph.adjacency.resolved_blocks(base)
        require(len(blocks) <= MAX_BLOCKS, "graph.adjacency.blocks", f"be at most {MAX_BLOCKS}", len(blocks))
        block_of = np.full(domain.count if blocks else 0, -1, dtype=np.int64)
        for number, (name, vertices) in enumerate(sorted(blocks.items())):
            setting = f"graph.adjacency.blocks.{name}"
            places = np.array(find.places(setting, vertices), dtype=np.int64)
            require(bool((block_of[places] < 0).all()), setting, "share no vertex with another block", "one that does")
            block_of[places] = number
        return cls(splits, seeds, tuple(sorted(blocks)), block_of)


class _Finder:
    """From the text of a vertex to its position."""

    def __init__(self, domain: VertexDomain) -> None:
        self._domain = domain
        self._by_name = None if domain.names is None else {name: place for place, name in enumerate(domain.names)}

    def places(self, setting: str, vertices: Iterable[str]) -> list[int]:
        """Positions of vertices, each named once."""
        found = [self._place(setting, vertex) for vertex in vertices]
        require(len(set(found)) == len(found), setting, "name each vertex once", "one that stands twice")
        return found

    def _place(self, setting: str, vertex: str) -> int:
        place = self._domain.place_of_number(vertex) if self._by_name is None else self._by_name.get(vertex)
        if place is None:
            raise ConfigError(setting, "name declared vertices", vertex)
        return place


def _require_candidates(setting: str, declared: Sized, held: int) -> None:
    require(len(declared) >= 1, setting, "declare at least one candidate", "none")
    require(len(declared) <= MAX_CANDIDATES, setting, f"be at most {MAX_CANDIDATES}", len(declared))
    require(held <= MAX_GROUPED, setting, f"times the vertices be at most {MAX_GROUPED}", held)


def _groups_of(setting: str, listed: list[list[str]], find: _Finder, n: int) -> IntArray:
    """Groups numbered from 0; a vertex in none is a group of its own."""
    members = find.places(setting, [vertex for each in listed for vertex in each])
    found = np.arange(len(listed), len(listed) + n, dtype=np.int64)
    found[members] = np.repeat(np.arange(len(listed)), [len(each) for each in listed])
    return found
