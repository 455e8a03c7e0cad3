"""Configuration of the job ``network-statistics``.

*Measurement settings* (``privacy``, ``graph``, and how the ``input`` is read) decide the statistics and the noise, and
changing one of them spends anew; *publish settings* (``publish``) only shape what is made of the stored measurement and
never spend, and ``counting`` changes no release. The file says besides where things are
(`dplib.config.job_config.Surroundings`).
"""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from dplib.config.edge_input import MAX_VERTICES, EdgeInput, VertexCount, vertex_names
from dplib.config.job_config import JobConfig, ReleaseSettings
from dplib.config.names import ListFile
from dplib.config.network_releases import AdjacencySettings, CoverageSettings, LocalSettings, ReportInput, SplitSettings
from dplib.config.sections import Exact, PrivacySettings, Section

NAME = "network-statistics"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into statistics changes its result."""
MAX_BINS = 1 << 20
"""Bins of a degree histogram at most."""


class NetworkPrivacy(PrivacySettings):
    """What neighbouring graphs differ by, and the budget."""

    unit: str = Field(default="edge", pattern=r"^[a-z][a-z0-9_ -]*$")
    """What an edge, or a vertex with its edges, stands for: friendship, person, ..."""
    neighbors: Literal["edge", "vertex"] = "edge"
    """edge: one edge more or less; vertex: all edges of one vertex more or less."""
    model: Literal["central", "local"] = "central"
    """central: anyone who runs the job sees the graph; local: every vertex randomizes its own report first."""


class NetworkVertexCount(VertexCount):
    """Vertices that are named by whole numbers."""

    count: Annotated[int, Field(ge=2, le=MAX_VERTICES, strict=True)]
    """How many."""


def _kind_of_input(given: object) -> str:
    columns = given.get("columns") if isinstance(given, dict) else getattr(given, "columns", None)
    reports = "vertex" in columns if isinstance(columns, dict) else hasattr(columns, "vertex")
    return "reports" if reports else "edges"


NetworkInput = Annotated[
    Annotated[EdgeInput, Tag("edges")] | Annotated[ReportInput, Tag("reports")], Discriminator(_kind_of_input)
]
"""Rows that are edges, or (with `columns.vertex`) rows that are reports."""


class DegreeBoundSettings(Section):
    """Why no vertex has more than `largest` edges."""

    bounding: str = "none"
    """none; promised: by the way the graph was collected; projected: cut by the greedy ordered projection."""
    largest: Annotated[int, Field(ge=1, strict=True)] | None = None
    """D."""
    salt: Annotated[int, Field(ge=0, lt=1 << 63, strict=True)] = 0
    """Of the public order in which the projection goes through the pairs of vertices."""


class TriangleSettings(Section):
    """How triangles are measured."""

    mechanism: Literal["auto", "ladder", "smooth", "global"] = "auto"
    """auto: ladder between edge neighbours, global (noise of the worst graph) between vertex neighbours."""
    rungs: Literal["second_degree", "common_neighbors", "exact"] = "second_degree"
    """Of ladder and smooth, from the quickest to the least noise."""


class GraphSettings(Section):
    """The public frame of the graph, and what is measured of it."""

    directed: Literal[False] = False
    """Edges have no direction: both orientations of a pair are one edge."""
    vertices: NetworkVertexCount | list[str] | ListFile
    """All vertices, isolated ones included: {count}, a list of names, or {file}. They are public."""
    statistics: dict[str, Exact]
    """What is measured, each with its weight in the split of the budget."""
    last_bin: Annotated[int, Field(ge=1, lt=MAX_BINS, strict=True)] | None = None
    """Last bin of degree histograms, with all higher degrees; the largest possible degree where absent."""
    degree_bound: DegreeBoundSettings = DegreeBoundSettings()
    stars: Annotated[int, Field(ge=2, le=20, strict=True)] = 2
    """Edges of the stars that `k_stars` counts."""
    star_mechanism: Literal["auto", "ladder", "global"] = Field(default="auto", exclude_if=lambda name: name == "auto")
    """ladder: noise that follows the largest degrees of the graph; global: noise of the worst graph; auto: ladder
    between edge neighbours where it at least halves the noise of a graph with largest degrees of about sqrt(n)."""
    triangles: TriangleSettings = TriangleSettings()
    adjacency: AdjacencySettings = AdjacencySettings()
    split: SplitSettings | None = None
    coverage: CoverageSettings | None = None
    local: LocalSettings = LocalSettings()

    @field_validator("statistics")
    @classmethod
    def _weights(cls, statistics: dict[str, Fraction]) -> dict[str, Fraction]:
        if not statistics or not all(weight > 0 for weight in statistics.values()):
            raise ValueError("must give each of one or more statistics a weight above 0, got others")
        return statistics


class CountingSettings(Section):
    """Where the exact statistics are counted: never changes a number."""

    layout: Literal["auto", "driver", "spark"] = "auto"
    """driver: the edges fit one process; spark: they stay in blocks with the executors; auto: by expected_edges."""
    expected_edges: Annotated[int, Field(ge=1, strict=True)] | None = None
    """A public guess, 16 a vertex where absent; a graph with more takes longer and more memory, nothing else."""


class NetworkRelease(ReleaseSettings):
    """Statistics of one graph under one budget."""

    unhashed = frozenset({"counting"})
    job: Literal["network-statistics"]
    privacy: NetworkPrivacy
    graph: GraphSettings
    counting: CountingSettings = CountingSettings()


class NetworkStatisticsConfig(NetworkRelease, JobConfig):
    """A configuration of the job."""

    input: NetworkInput

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        mechanism = self.graph.triangles.mechanism
        if self.privacy.neighbors == "vertex" and mechanism in ("ladder", "smooth"):
            raise ValueError(f"graph.triangles.mechanism must be auto or global between vertices, got {mechanism}")
        if self.privacy.neighbors == "vertex" and self.graph.star_mechanism == "ladder":
            raise ValueError("graph.star_mechanism must be auto or global between vertices, got ladder")
        if isinstance(self.input, ReportInput) and self.privacy.model == "central":
            raise ValueError("privacy.model must be local where the rows are reports, got central")
        for name, found in (("split", self.graph.split), ("coverage", self.graph.coverage)):
            if name in self.graph.statistics and found is None:
                raise ValueError(f"graph.{name}.candidates must be declared where {name} is released, got nothing")
        return self

    def release(self, base: Path) -> NetworkRelease:
        """The settings of the release, with the contents of listed files."""
        given, names = self.graph, vertex_names(self.graph.vertices, base)
        read: dict[str, object] = {
            "adjacency": given.adjacency.model_copy(update={"blocks": given.adjacency.resolved_blocks(base)})
        }
        if names is not None:
            read["vertices"] = list(names)
        if given.split is not None:
            read["split"] = given.split.model_copy(update={"candidates": given.split.resolved(base)})
        if given.coverage is not None:
            read["coverage"] = given.coverage.model_copy(update={"candidates": given.coverage.resolved(base)})
        return NetworkRelease.of(self, graph=given.model_copy(update=read))
