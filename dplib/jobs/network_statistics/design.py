"""Everything that the settings decide before a row is read: statistics, sensitivities, noise.

Guarantee. Neighbours are two graphs on the declared vertices that differ in one edge (`privacy.neighbors: edge`) or in
all edges of one vertex (`vertex`). The budget is split exactly in proportion to the weights, and each statistic spends
its part:

* Laplace noise of scale L1 / epsilon_i, or Gaussian noise of sigma^2 = L2^2 / (2 rho_i), in every cell, with the
  sensitivities of `dplib.graphs.statistics.network_sensitivity`.
* A noisy graph and choices among declared candidates: `dplib.jobs.network_statistics.parts`.
* Triangles between edge neighbours: the ladder mechanism or smooth sensitivity at epsilon_i, pure; their scales depend
  on the graph and are withheld. Stars too come by the ladder, where the settings say that it lowers the error
  (`dplib.jobs.network_statistics.measurements`; rungs and proof: `dplib.graphs.statistics.ladder_rungs`). Of a budget
  in rho, epsilon_i is the largest with epsilon_i^2 / 8 (ladder, which has bounded range) or epsilon_i^2 / 2 (smooth
  sensitivity) at most rho_i.

The parts add up: basic composition for epsilon, addition of rho. Degrees above the last bin of a histogram count in it:
that merges bins, which no norm of a change outgrows.

In the *local* model (`privacy.model: local`) every vertex randomizes its own report and nobody sees the graph: see
`dplib.jobs.network_statistics.local`. The budget is split over what is reported; all other statistics are estimated
from it.

A *promised* degree bound makes the guarantee conditional on it. A *projected* one is enforced: the statistics are those
of the projected graph, and the sensitivities those of projection and statistic together.

Notation: n declared vertices, D the degree bound.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dplib.config.edge_input import EdgeInput, VertexDomain, reading_notes, require_fitting_vertices
from dplib.config.input_quality import quality_events
from dplib.config.network_releases import ReportInput
from dplib.errors import ConfigError
from dplib.graphs.statistics.network_sensitivity import Bounding, DegreeBound, Statistic
from dplib.jobs.network_statistics.config import COUNTING_VERSION, NetworkRelease, NetworkStatisticsConfig
from dplib.jobs.network_statistics.declared import Declared
from dplib.jobs.network_statistics.measurements import (
    LADDER,
    NOISE_FORMAT,
    WHOLE,
    Derived,
    Measurement,
    last_bin_of,
    measurements_of,
)
from dplib.jobs.network_statistics.parts import require_reported
from dplib.mechanisms.local.local_degrees import Counting, DegreeProtocol
from dplib.privacy.events import Event
from dplib.privacy.noise import SAMPLER_FORMAT
from dplib.validate import at_least, require


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
        vertices: the declared vertices.
        bound: what is known of the degrees.
        declared: candidates and blocks.
        measurements: one a statistic, in the order of `MEASURED`.
        noise_format: by which rules the noise was chosen: 1 where those of before choose the same.
        reported: what the rows tell, where they are reports that vertices made; None where they are edges.
        reading_notes: how a graph file is read where it could be read otherwise.
    """

    config: NetworkRelease
    vertices: VertexDomain
    bound: DegreeBound
    declared: Declared
    measurements: tuple[Measurement, ...]
    noise_format: int
    reported: frozenset[str] | None
    reading_notes: tuple[str, ...]

    @classmethod
    def resolve(cls, config: NetworkStatisticsConfig, base: Path) -> "Design":
        """Derive the design of a configuration; `ConfigError` names the setting that is wrong."""
        return cls.of(config.release(base), NOISE_FORMAT, config.input)

    @classmethod
    def of(cls, config: NetworkRelease, noise_format: int, source: EdgeInput | ReportInput | None = None) -> "Design":
        """Derive the design of a release, all names listed, or of a new one in today's ``noise_format``.

        ``source`` says what the rows are, None where nobody reads any. `ConfigError` names the setting that is wrong.
        """
        vertices, bound = _vertices(config, source), _bound(config)
        declared = Declared.resolve(config.graph, vertices, Path())
        measured = measurements_of(config, vertices.count, bound, declared, noise_format)
        if noise_format == NOISE_FORMAT:
            noise_format = _oldest_format(measured, config, vertices.count, bound, declared)
        reported = source.columns.reported if isinstance(source, ReportInput) else None
        if reported is not None:
            require_reported([each.statistic for each in measured], reported)
        notes = tuple(reading_notes(source)) if isinstance(source, EdgeInput) else ()
        found = cls(config, vertices, bound, declared, measured, noise_format, reported, notes)
        rule = "be driver or auto where degrees by vertex, a noisy graph, choices or reports are released"
        require(not found.needs_edges or config.counting.layout != "spark", "counting.layout", rule, "spark")
        return found

    @property
    def n_vertices(self) -> int:
        """The number of declared vertices."""
        return self.vertices.count

    @property
    def largest_degree(self) -> int:
        """The largest degree that a graph can have after the bound."""
        return self.bound.within(self.n_vertices)

    @property
    def last_bin(self) -> int:
        """Last bin of degree histograms."""
        return last_bin_of(self.config, self.largest_degree)

    @property
    def projected(self) -> bool:
        """Whether the graph is cut to the degree bound."""
        return self.bound.bounding is Bounding.PROJECTED

    @property
    def local(self) -> bool:
        """Whether vertices randomize their own reports."""
        return self.config.privacy.model == "local"

    @property
    def derived(self) -> tuple[Derived, ...]:
        """What is estimated besides what is measured: in the local model only."""
        if not self.local:
            return ()
        found = []
        names = {each.statistic for each in self.measurements}
        if Statistic.DEGREE_SEQUENCE in names:
            found.append(Derived(Statistic.EDGE_COUNT, 1))
            if self.config.graph.local.counting == "both_ends":
                found += [Derived(Statistic.DEGREE_HISTOGRAM, self.last_bin + 1), Derived(Statistic.K_STARS, 1)]
        if Statistic.ADJACENCY in names:
            found.append(Derived(Statistic.TRIANGLES, 1))
        return tuple(found)

    @property
    def released(self) -> tuple[Measurement | Derived, ...]:
        """What estimates and published numbers there are."""
        return (*self.measurements, *self.derived)

    @property
    def needs_edges(self) -> bool:
        """Whether some statistic needs the edges themselves in one process, not only `measure.ExactCounts`."""
        return any(each.statistic in WHOLE for each in self.measurements)

    def find(self, statistic: Statistic) -> Measurement | None:
        """The measurement of a statistic; None where it is not measured."""
        return next((each for each in self.measurements if each.statistic is statistic), None)

    @cached_property
    def degree_protocol(self) -> DegreeProtocol:
        """What vertices agree on before they report degrees, in the local model."""
        (epsilon,) = (each.epsilon for each in self.measurements if each.statistic is Statistic.DEGREE_SEQUENCE)
        return DegreeProtocol(epsilon, Counting(self.config.graph.local.counting))

    @property
    def events(self) -> tuple[Event, ...]:
        """What the release spends."""
        return (*(each.event for each in self.measurements), *quality_events(self.config))

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the numbers besides the settings."""
        return {"counting_version": COUNTING_VERSION, "sampler_format": SAMPLER_FORMAT} | self._noise_format

    @property
    def _noise_format(self) -> dict[str, int]:
        return {} if self.noise_format == 1 else {"noise_format": self.noise_format}

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.shaping() | {"publish_format": 1}

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `from_public` builds the design again."""
        found = self.config.measured() | self._noise_format
        graph = found["graph"] | {"vertices": {"count": self.n_vertices, "first": self.vertices.first}}
        # Names only: members can be as many as the vertices, and stand in the release's tables where readers need them.
        graph["adjacency"] = graph["adjacency"] | {"blocks": {name: [] for name in self.declared.blocks}}
        if self.declared.splits:
            graph["split"] = graph["split"] | {"candidates": {name: {} for name in self.declared.splits}}
        if self.declared.seeds:
            graph["coverage"] = graph["coverage"] | {"candidates": {name: [] for name in self.declared.seeds}}
        found["graph"] = graph
        return found

    @classmethod
    def from_public(cls, public: dict[str, Any]) -> "Design":
        """The design of a release, from its manifest's `public` settings."""
        given = dict(public)
        noise_format = given.pop("noise_format", 1)
        return cls.of(NetworkRelease.model_validate(given), noise_format)


def _oldest_format(
    measured: tuple[Measurement, ...],
    config: NetworkRelease,
    n: int,
    bound: DegreeBound,
    declared: Declared,
) -> int:
    """The oldest format with this noise: everything stays found under the settings that it had."""
    if any(each.statistic is Statistic.K_STARS and each.mechanism == LADDER for each in measured):
        return NOISE_FORMAT
    try:
        before = measurements_of(config, n, bound, declared, 1)
    except ConfigError:
        # A budget that is enough for a ladder now.
        return 2
    return 1 if [each.law for each in measured] == [each.law for each in before] else 2


def _vertices(config: NetworkRelease, source: EdgeInput | ReportInput | None) -> VertexDomain:
    domain = VertexDomain.declared(config.graph.vertices, Path())
    if isinstance(source, EdgeInput):
        require_fitting_vertices(source, config.graph.vertices, domain.names)
    at_least("graph.vertices", domain.count, 2)
    return domain


def _bound(config: NetworkRelease) -> DegreeBound:
    given = config.graph.degree_bound
    try:
        # The settings' texts: an unknown or refused bounding is told by its reason.
        return DegreeBound(given.bounding, given.largest)  # type: ignore[arg-type]
    except ConfigError as error:
        raise error.of("graph.degree_bound." + ("bounding" if "bounding" in error.name else "largest")) from None
