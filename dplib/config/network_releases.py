"""Settings of what network statistics release besides numbers: a noisy graph, choices among candidates, local reports.

Candidates and blocks are public and made without the graph. They are listed in the configuration, or in a public CSV
file with a header line:

    blocks                  columns block, vertex
    coverage.candidates     columns candidate, vertex
    split.candidates        columns candidate, vertex, group
"""

import csv
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dplib.config.names import BLANKS, MAX_BYTES
from dplib.config.paths import local_path, read_text
from dplib.config.sections import Exact, MappedColumns, Section, Source
from dplib.errors import ConfigError

Vertices = list[int | str]
"""Vertices by their numbers or names."""
MAX_CANDIDATES = 10_000
"""Candidates of one choice at most."""
MAX_BLOCKS = 64
"""Blocks of vertices at most: the edges of every two of them are estimated."""


class MemberFile(Section):
    """A public CSV file, one vertex a line; see the module's text for its columns."""

    file: str
    """Path relative to the configuration; `${NAME}` is an environment variable."""

    def rows(self, base: Path, setting: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Its lines as texts without blanks at their ends.

        Raises:
            ConfigError: if the file cannot be read or lacks a column.
        """
        path = local_path(f"{setting}.file", self.file, base)
        reader = csv.DictReader(read_text(f"{setting}.file", path, MAX_BYTES, self.file).splitlines())
        try:
            for column in columns:
                if column not in (reader.fieldnames or ()):
                    raise ConfigError(f"{setting}.file", f"have a column {column}", f"{self.file} without it")
            return [tuple((row[column] or "").strip(BLANKS) for column in columns) for row in reader]
        except csv.Error as error:
            raise ConfigError(f"{setting}.file", "be a CSV file", f"{self.file}: {error}") from error


class AdjacencySettings(Section):
    """How the noisy adjacency matrix becomes a graph again. Noise is discrete Laplace on steps of 1 / `steps`."""

    threshold: Literal["match_edges"] | Annotated[int, Field(ge=1, strict=True)] = "match_edges"
    """A pair is kept where its noisy entry is at least this many steps. match_edges: the smallest threshold at which no
    more edges are expected than a noisy count says, which takes a tenth of this statistic's budget. 1 with `steps: 1`
    is randomized response on every pair."""
    steps: Annotated[int, Field(ge=1, le=4096, strict=True)] = 64
    """Steps of noise that an edge counts."""
    blocks: dict[str, Vertices] | MemberFile = Field(default_factory=dict)
    """Disjoint sets of vertices, by name: the edges inside each and between every two are estimated."""

    def resolved_blocks(self, base: Path) -> dict[str, list[str]]:
        """Vertices by block, as texts."""
        return _members(self.blocks, base, "graph.adjacency.blocks", "block")


class SplitSettings(Section):
    """A choice among splits of the vertices into groups, by the edges inside groups (constant Potts quality)."""

    candidates: dict[str, dict[str, Vertices]] | MemberFile
    """Splits by name: group to vertices. A vertex in no group of a split stands alone in it."""
    resolution: Exact = Fraction(0)
    """Density of edges above which two groups are worth merging; at 0 larger groups always win."""

    def resolved(self, base: Path) -> dict[str, dict[str, list[str]]]:
        """Vertices by candidate and group, as texts."""
        setting = "graph.split.candidates"
        if not isinstance(self.candidates, MemberFile):
            return {
                name: {group: [str(vertex) for vertex in vertices] for group, vertices in groups.items()}
                for name, groups in self.candidates.items()
            }
        found: dict[str, dict[str, list[str]]] = {}
        for name, vertex, group in self.candidates.rows(base, setting, ("candidate", "vertex", "group")):
            found.setdefault(name, {}).setdefault(group, []).append(vertex)
        return found


class CoverageSettings(Section):
    """A choice among sets of seed vertices, by the vertices that they are or are next to."""

    candidates: dict[str, Vertices] | MemberFile
    """Sets of seeds by name."""

    def resolved(self, base: Path) -> dict[str, list[str]]:
        """Vertices by candidate, as texts."""
        return _members(self.candidates, base, "graph.coverage.candidates", "candidate")


def _members(given: dict[str, Vertices] | MemberFile, base: Path, setting: str, column: str) -> dict[str, list[str]]:
    if not isinstance(given, MemberFile):
        return {name: [str(vertex) for vertex in vertices] for name, vertices in given.items()}
    found: dict[str, list[str]] = {}
    for name, vertex in given.rows(base, setting, (column, "vertex")):
        found.setdefault(name, []).append(vertex)
    return found


class LocalSettings(Section):
    """What every vertex reports in the local model."""

    counting: Literal["both_ends", "one_end"] = "both_ends"
    """Of a reported degree. both_ends: all neighbours, so that an edge moves two reports and each of them gets noise
    for half of the budget; one_end: the neighbours that are declared later, so that an edge moves one report."""


class ReportColumns(MappedColumns):
    """Which input column holds what."""

    vertex: str
    """Whose report it is."""
    degree: str | None = None
    """The reported noisy degree, a whole number."""
    bits: str | None = None
    """The reported bits: a text of 0 and 1, one for each vertex declared after this one, in order."""

    @property
    def reported(self) -> frozenset[str]:
        """What a report tells: degree, bits."""
        return frozenset(self.names) - {"vertex"}


class ReportInput(Source):
    """Where the reports are that vertices made themselves, one row each, and how to read them."""

    columns: ReportColumns
