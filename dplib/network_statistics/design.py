"""Everything that the settings decide before a row is read: statistics, sensitivities, noise.

Guarantee. Neighbours are two graphs on the declared vertices that differ in one edge (`privacy.neighbors: edge`) or in
all edges of one vertex (`vertex`). The budget is split exactly in proportion to the weights, and each statistic spends
its part:

* Laplace noise of scale L1 / epsilon_i, or Gaussian noise of sigma^2 = L2^2 / (2 rho_i), in every cell, with the
  sensitivities of `dplib.graphs.network_sensitivity`.
* Triangles between edge neighbours: the ladder mechanism or smooth sensitivity at epsilon_i, pure; their scales depend
  on the graph and are withheld. Of a budget in rho, epsilon_i is the largest with epsilon_i^2 / 2 at most rho_i.

The parts add up: basic composition for epsilon, addition of rho. Degrees above the last bin of a histogram count in it:
that merges bins, which no norm of a change outgrows.

A *promised* degree bound makes the guarantee conditional on it. A *projected* one is enforced: the statistics are those
of the projected graph, and the sensitivities those of projection and statistic together.

Notation: n declared vertices, D the degree bound.
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dplib.config.network_statistics import MAX_BINS, NetworkStatisticsConfig
from dplib.errors import ConfigError
from dplib.graphs.network_sensitivity import Bounding, DegreeBound, Sensitivity, Statistic, known_statistic, sensitivity
from dplib.mechanisms.tree_counts import SAMPLER_FORMAT
from dplib.privacy.budget import ApproxDP, PureDP
from dplib.privacy.calibration import rho_from_approx, split
from dplib.privacy.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, Event, PureEvent
from dplib.privacy.neighbors import Neighbors
from dplib.privacy.rounding import round_down, sqrt_above
from dplib.spark.edges import VertexDomain
from dplib.validate import at_least, require
from dplib.workflow.design import require_useful_noise

MEASURED = (
    Statistic.EDGE_COUNT,
    Statistic.LARGEST_DEGREE,
    Statistic.DEGREE_HISTOGRAM,
    Statistic.CUMULATIVE_HISTOGRAM,
    Statistic.SORTED_DEGREES,
    Statistic.K_STARS,
    Statistic.TRIANGLES,
)
"""What this job measures, in the order of its tables."""
MAX_PLACES = 1 << 24
"""Vertices of a sorted degree sequence at most."""
LADDER, SMOOTH = "ladder", "smooth_cauchy"
_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 1000), Fraction(1000)


@dataclass(frozen=True)
class Measurement:
    """How one statistic is measured.

    Attributes:
        statistic: which.
        size: how many numbers it has.
        share: of the budget.
        sensitivity: its largest change between neighbours.
        event: what it spends.
    """

    statistic: Statistic
    size: int
    share: Fraction
    sensitivity: Sensitivity
    event: Event

    @property
    def mechanism(self) -> str:
        """Name of its mechanism."""
        return self.event.to_dict()["mechanism"]

    @property
    def parameter(self) -> Fraction | None:
        """Scale (Laplace) or sigma^2 (Gaussian); None where it depends on the graph and is withheld."""
        match self.event:
            case DiscreteLaplaceEvent():
                return self.event.scale
            case DiscreteGaussianEvent():
                return self.event.sigma_squared
        return None

    @property
    def epsilon(self) -> Fraction:
        """Of a ladder or smooth mechanism."""
        assert isinstance(self.event, PureEvent)
        return self.event.epsilon


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the checked configuration.
        vertices: the declared vertices.
        bound: what is known of the degrees.
        measurements: one a statistic, in the order of `MEASURED`.
        settings: the resolved measurement settings.
    """

    config: NetworkStatisticsConfig
    vertices: VertexDomain
    bound: DegreeBound
    measurements: tuple[Measurement, ...]
    settings: dict[str, Any]

    @classmethod
    def resolve(cls, config: NetworkStatisticsConfig, base: Path) -> "Design":
        """Derive the design of a configuration.

        Args:
            config: the checked configuration.
            base: folder that its relative paths refer to.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        vertices, bound = _vertices(config, base), _bound(config)
        settings = config.measurement_settings(base) | {"sampler_format": SAMPLER_FORMAT}
        return cls(config, vertices, bound, _measurements(config, vertices.count, bound), settings)

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
        return _last_bin(self.config, self.largest_degree)

    @property
    def projected(self) -> bool:
        """Whether the graph is cut to the degree bound."""
        return self.bound.bounding is Bounding.PROJECTED

    @property
    def events(self) -> tuple[Event, ...]:
        """What the release spends."""
        return tuple(each.event for each in self.measurements)

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.model_dump(mode="json", include={"publish"}) | {"publish_format": 1}

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `from_public` builds the design again."""
        kept = {"dataset", "job", "privacy", "graph"}
        found = {key: value for key, value in self.settings.items() if key in kept}
        found["graph"] = found["graph"] | {"vertices": {"count": self.n_vertices, "first": self.vertices.first}}
        return found

    @classmethod
    def from_public(cls, public: dict[str, Any]) -> "Design":
        """The design of a release, from its manifest's `public` settings."""
        columns = {"source": "source", "target": "target"}
        unused = {"config_version": 1, "input": {"path": "none", "columns": columns}}
        return cls.resolve(NetworkStatisticsConfig.model_validate(public | unused), Path())


def _vertices(config: NetworkStatisticsConfig, base: Path) -> VertexDomain:
    domain = VertexDomain.declared(config.graph.vertices, base)
    at_least("graph.vertices", domain.count, 2)
    return domain


def _bound(config: NetworkStatisticsConfig) -> DegreeBound:
    given = config.graph.degree_bound
    try:
        # The settings' texts: an unknown or refused bounding is told by its reason.
        return DegreeBound(given.bounding, given.largest)  # type: ignore[arg-type]
    except ConfigError as error:
        text = str(error).removeprefix("degree ")
        setting, _, rule = text.partition(" ")
        key = "bounding" if setting == "bounding" else "largest"
        raise ConfigError(f"graph.degree_bound.{key} {rule}") from None


def _last_bin(config: NetworkStatisticsConfig, largest_degree: int) -> int:
    given = config.graph.last_bin
    return largest_degree if given is None else min(given, largest_degree)


def _measurements(config: NetworkStatisticsConfig, n: int, bound: DegreeBound) -> tuple[Measurement, ...]:
    weights = config.graph.statistics
    chosen = {_statistic(name): weight for name, weight in weights.items()}
    budget = config.privacy.budget.budget()
    if isinstance(budget, PureDP):
        total = budget.epsilon
    else:
        total = rho_from_approx(budget.epsilon, budget.delta) if isinstance(budget, ApproxDP) else budget.rho
    wanted = [statistic for statistic in MEASURED if statistic in chosen]
    parts = split(total, [chosen[statistic] for statistic in wanted])
    return tuple(
        _measurement(config, statistic, n, bound, part, part / total)
        for statistic, part in zip(wanted, parts, strict=True)
    )


def _statistic(name: str) -> Statistic:
    try:
        found = known_statistic(name)
    except ConfigError as error:
        raise ConfigError(f"graph.statistics.{name}{str(error).removeprefix('statistic')}") from None
    measured = ", ".join(MEASURED)
    require(found in MEASURED, f"graph.statistics.{name}", f"be one that this job measures ({measured})", name)
    return found


def _measurement(
    config: NetworkStatisticsConfig, statistic: Statistic, n: int, bound: DegreeBound, part: Fraction, share: Fraction
) -> Measurement:
    graph, name = config.graph, f"graph.statistics.{statistic}"
    try:
        moved = sensitivity(statistic, Neighbors(config.privacy.neighbors), n, bound, graph.stars)
    except ConfigError as error:
        raise ConfigError(f"{name}{str(error).removeprefix('statistic')}") from None
    require(moved.l1 > 0, name, "be able to differ between neighbours", "one that is always the same")
    size = _size(config, statistic, n, bound)
    if statistic is Statistic.SORTED_DEGREES:
        require(size <= MAX_PLACES, name, f"be of at most {MAX_PLACES} vertices", size)
    else:
        require(size <= MAX_BINS, "graph.last_bin", f"be below {MAX_BINS}", size - 1)
    event = _adaptive_event(config, statistic, part) or _noise_event(config, statistic, part, moved)
    return Measurement(statistic, size, share, moved, event)


def _noise_event(config: NetworkStatisticsConfig, statistic: Statistic, part: Fraction, moved: Sensitivity) -> Event:
    if config.privacy.mechanism == "discrete_laplace":
        scale = moved.l1 / part
        require_useful_noise(f"scale for {statistic}", scale)
        return DiscreteLaplaceEvent(statistic, Fraction(moved.l1), scale)
    sigma_squared = moved.l2_squared / (2 * part)
    require_useful_noise(f"sigma^2 for {statistic}", sigma_squared)
    return DiscreteGaussianEvent(statistic, Fraction(moved.l2_squared), sigma_squared)


def _size(config: NetworkStatisticsConfig, statistic: Statistic, n: int, bound: DegreeBound) -> int:
    last = _last_bin(config, bound.within(n))
    return {
        Statistic.DEGREE_HISTOGRAM: last + 1,
        Statistic.CUMULATIVE_HISTOGRAM: last,
        Statistic.SORTED_DEGREES: n,
    }.get(statistic, 1)


def _adaptive_event(config: NetworkStatisticsConfig, statistic: Statistic, part: Fraction) -> PureEvent | None:
    """The event of a mechanism whose noise follows the graph at hand; None for any other."""
    wanted = config.graph.triangles.mechanism
    if statistic is not Statistic.TRIANGLES or config.privacy.neighbors == "vertex" or wanted == "global":
        return None
    epsilon = part if config.privacy.mechanism == "discrete_laplace" else _epsilon_of_rho(part)
    inside = _LEAST_EPSILON <= epsilon <= _MOST_EPSILON
    rule = "give triangles an epsilon from 1/1000 to 1000"
    require(inside, "privacy.budget", rule, f"{float(epsilon):.3g}")
    return PureEvent(statistic, epsilon, SMOOTH if wanted == "smooth" else LADDER)


def _epsilon_of_rho(rho: Fraction) -> Fraction:
    """An epsilon, to 15 digits, whose epsilon^2 / 2 is at most rho."""
    above = sqrt_above(2 * rho)
    return above if above**2 / 2 <= rho else round_down(above * (1 - Fraction(1, 10**14)))
