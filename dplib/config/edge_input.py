"""Settings of jobs whose rows are the edges of one graph: where they are, the declared vertices, what a weight counts.

Formats besides Spark's own:

    snap    text, one edge a line, fields between blanks or tabs, lines that start with # left out
    metis   METIS graph files, plain or with edge weights; weights and sizes of vertices are passed over
    gml     GML, read record by record
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dplib.config.names import ListFile, declared_names
from dplib.config.sections import MappedColumns, Section, Source
from dplib.errors import ConfigError

GraphFormat = Literal["snap", "metis", "gml"]
GRAPH_FORMATS: tuple[GraphFormat, ...] = ("snap", "metis", "gml")
WHOLE_FILE_FORMATS = ("metis", "gml")
"""Formats of one file that names its vertices and ends itself."""
MAX_VERTICES = 1 << 28
"""Declared vertices at most: their degrees are held by one process."""
MAX_WEIGHT = 10**15
"""Cap of a row's weight at most: whole numbers up to it are exact as 64-bit floats."""
_GRAPH_OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "gml": {"label": ("label", "id")},
    "metis": {"first": ("0", "1")},
}
METIS_WEIGHT = "weight"
"""How `input.columns.weight` asks for the edge weights of a METIS file, whose fields have no names."""


class EdgeColumns(MappedColumns):
    """Which input column holds what."""

    source: str | None = None
    """One end of an edge. Columns of snap are _c0, _c1, ...; its ends are the first two where nothing else is said.
    metis and gml name the ends themselves."""
    target: str | None = None
    """The other end."""


class WeightedEdgeColumns(EdgeColumns):
    """Which input column holds what."""

    weight: str | None = None
    """The weight of a row, 1 where absent: a column, the attribute of a gml edge, or `weight` for those of metis."""


class EdgeInput(Source):
    """Where the list of edges is and how to read it."""

    extra_formats: ClassVar[tuple[str, ...]] = GRAPH_FORMATS
    format: str = "csv"
    """snap, metis, gml, csv, json (one record a line), parquet, orc or delta."""
    options: dict[str, str] = Field(default_factory=dict)
    """Options of Spark's reader, for example `header: "true"`; of gml `label: id` or `label: label`, which says what
    names a vertex, and must be said where vertices are numbers; of metis `first: "0"` where the file counts from 0."""
    columns: EdgeColumns = EdgeColumns()

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        graph_format = self.graph_format
        for role in ("source", "target"):
            column = self.columns.names.get(role)
            if graph_format is None and column is None:
                raise ValueError(f"input.columns.{role} must name a column of the input, got nothing")
            if graph_format in WHOLE_FILE_FORMATS and column is not None:
                raise ValueError(
                    f"input.columns.{role} must be absent where the format is {graph_format}, got {column}"
                )
        if graph_format is not None:
            self._require_file(graph_format)
        return self

    def _require_file(self, graph_format: GraphFormat) -> None:
        if self.table is not None:
            raise ValueError(f"input.table must be absent where the format is {graph_format}, got {self.table}")
        known = _GRAPH_OPTIONS.get(graph_format, {})
        for name, value in self.options.items():
            if value not in known.get(name, ()):
                absent = f"be absent where the format is {graph_format}"
                allowed = f"be {' or '.join(known[name])}" if name in known else absent
                raise ValueError(f"input.options.{name} must {allowed}, got {value}")
        weight = self.columns.names.get("weight")
        if graph_format == "metis" and weight not in (None, METIS_WEIGHT):
            raise ValueError(f"input.columns.weight must be absent or {METIS_WEIGHT} for a metis file, got {weight}")

    @property
    def graph_format(self) -> GraphFormat | None:
        """The format, where it is none of Spark's."""
        lower = self.format.lower()
        return next((name for name in GRAPH_FORMATS if name == lower), None)

    @property
    def reading_format(self) -> dict[str, int]:
        """METIS 2: an edge that stands on one line only counts."""
        return {"metis_format": 2} if self.graph_format == "metis" else {}


def reading_notes(source: EdgeInput) -> list[str]:
    """How a graph file is read where it could be read otherwise, in words for plan and page."""
    if source.graph_format == "metis":
        first = source.options.get("first", "1")
        return [f"The vertices of the METIS file are counted from {first} (input.options.first)."]
    if source.graph_format == "gml":
        label = source.options.get("label", "label")
        return [f"The vertices of the GML file are named by their {label} (input.options.label)."]
    return []


class WeightedEdgeInput(EdgeInput):
    """Where the list of weighted edges is and how to read it."""

    columns: WeightedEdgeColumns = WeightedEdgeColumns()


class VertexCount(Section):
    """Vertices that are named by whole numbers."""

    count: Annotated[int, Field(ge=0, le=MAX_VERTICES, strict=True)]
    """How many."""
    first: Annotated[int, Field(ge=0, le=1 << 60, strict=True)] = 0
    """The smallest one."""


DeclaredVertices = VertexCount | list[str] | ListFile
"""All vertices, isolated ones included. They are public."""


def vertex_names(given: DeclaredVertices, base: Path, setting: str = "graph.vertices") -> tuple[str, ...] | None:
    """The declared names; None where vertices are numbers.

    Raises:
        ConfigError: if a listed file cannot be read, or names are empty or stand twice.
    """
    return None if isinstance(given, VertexCount) else declared_names(given, base, setting)


def require_fitting_vertices(source: EdgeInput, vertices: DeclaredVertices, names: tuple[str, ...] | None) -> None:
    """Refuse vertices that a graph file cannot name, so that nothing would be counted; names are None for numbers.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    if source.graph_format == "gml" and names is None and "label" not in source.options:
        raise ConfigError(
            "input.options.label", "be label or id where the vertices of a gml file are numbers", "nothing"
        )
    if source.graph_format != "metis":
        return
    first = int(source.options.get("first", "1"))
    if isinstance(vertices, VertexCount):
        if vertices.first != first:
            raise ConfigError(
                "graph.vertices.first",
                f"be {first}, where a metis file counts from {first} (input.options.first)",
                vertices.first,
            )
    elif not all(name.isascii() and name.isdecimal() for name in names or ()):
        raise ConfigError("graph.vertices", "be whole numbers for a metis file, which has no names", "another name")


class WeightSettings(Section):
    """What the weight of a row counts as; weights are whole numbers."""

    largest: Annotated[int, Field(ge=1, le=MAX_WEIGHT, strict=True)] = 10**9
    """Public cap of one row's weight."""
    outside: Literal["clamp", "drop"] = "clamp"
    """What becomes of a weight that is no whole number from 0 to `largest`: clamp moves it there (negative ones to 0,
    fractions down); drop drops its row. A weight that is no number drops its row in either case."""
    repeats: Literal["sum", "once"] = "sum"
    """Rows that name the same two vertices, in either order: sum adds their weights, once counts one of them (of
    unweighted lists that hold every edge in both directions)."""
    capped: Literal["row", "pair", "promised"] = "row"
    """What is cut to `privacy.weight_cap` when it is read, so that the guarantee holds of it: row, the weight of each
    row (one unit is one row); pair, the weight of each pair (one unit is all rows of a pair); promised, nothing: it is
    promised that one unit changes the weight of its pair by no more, as where a row holds many units."""


def require_fitting_weights(source: WeightedEdgeInput, weights: WeightSettings) -> None:
    """Refuse to count one of several rows whose weights may differ.

    Raises:
        ValueError: as pydantic's validators raise it.
    """
    if weights.repeats == "once" and source.columns.weight is not None:
        raise ValueError("graph.weights.repeats must be sum where input.columns.weight is set, got once")


@dataclass(frozen=True)
class VertexDomain:
    """The declared vertices, in the job numbered from 0.

    Attributes:
        count: how many.
        first: the smallest, where they are numbers.
        names: in order; None where they are numbers.
    """

    count: int
    first: int = 0
    names: tuple[str, ...] | None = None

    @classmethod
    def declared(cls, given: DeclaredVertices, base: Path, setting: str = "graph.vertices") -> "VertexDomain":
        """The vertices of a setting.

        Args:
            given: the setting.
            base: folder that a listed file's path is relative to.
            setting: its name, for messages.

        Raises:
            ConfigError: if a listed file cannot be read, or names are empty or stand twice.
        """
        if isinstance(given, VertexCount):
            return cls(given.count, given.first)
        names = vertex_names(given, base, setting)
        assert names is not None
        return cls(len(names), 0, names)

    def shown(self, place: int) -> str:
        """The vertex at a position as it is declared: its name, or its number."""
        return str(place + self.first) if self.names is None else self.names[place]

    def place_of_number(self, text: str) -> int | None:
        """Position of a vertex that is a whole number; None where it is none of the declared ones."""
        if not (text.isdecimal() and text.isascii()):
            return None
        place = int(text) - self.first
        return place if 0 <= place < self.count else None
