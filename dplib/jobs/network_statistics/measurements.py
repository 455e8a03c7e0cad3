"""What is measured: each statistic with its size, its part of the budget, its sensitivity and its mechanism.

The budget is split exactly in proportion to the weights (`dplib.privacy.calibration.split`). Guarantees and
sensitivities: `dplib.jobs.network_statistics.design`, `dplib.jobs.network_statistics.parts`.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, isqrt

from dplib.errors import ConfigError
from dplib.graphs.statistics.network_sensitivity import (
    Bounding,
    DegreeBound,
    Sensitivity,
    Statistic,
    known_statistic,
    sensitivity,
)
from dplib.graphs.statistics.star_rungs import largest_star_rung
from dplib.jobs.network_statistics.config import MAX_BINS, NetworkRelease
from dplib.jobs.network_statistics.declared import Declared
from dplib.jobs.network_statistics.parts import (
    NOISY_GRAPH,
    REPORTED_BITS,
    reported_degrees,
    require_local,
    require_noisy_graph,
    require_split,
)
from dplib.privacy.budget import ZCDP, PureDP, epsilon_or_rho
from dplib.privacy.calibration import pure_epsilon_from_rho, split
from dplib.privacy.events import BoundedRangeEvent, Event, PureEvent
from dplib.privacy.neighbors import Neighbors
from dplib.privacy.noise import Law, Noise, NoiseEvent, require_useful_noise
from dplib.validate import require

MEASURED = (
    Statistic.EDGE_COUNT,
    Statistic.LARGEST_DEGREE,
    Statistic.DEGREE_HISTOGRAM,
    Statistic.CUMULATIVE_HISTOGRAM,
    Statistic.DEGREE_SEQUENCE,
    Statistic.SORTED_DEGREES,
    Statistic.K_STARS,
    Statistic.TRIANGLES,
    Statistic.ADJACENCY,
    Statistic.SPLIT,
    Statistic.COVERAGE,
)
"""What this job measures, in the order of its tables."""
WHOLE = (Statistic.DEGREE_SEQUENCE, Statistic.ADJACENCY, Statistic.SPLIT, Statistic.COVERAGE)
"""Those that need the edges themselves; all others are functions of `measure.ExactCounts`."""
MAX_PLACES = 1 << 24
"""Vertices of a degree sequence at most."""
LADDER, SMOOTH = "ladder", "smooth_cauchy"
NOISE_FORMAT = 3
"""Raised when a statistic gets other noise than before from the same settings. 1: rho paid for a ladder as for any pure
mechanism, epsilon^2 / 2, and stars had noise for the worst graph. 2: stars had rungs with two steps an edit."""
MAX_RUNG = 1 << 53
"""Cap of a ladder at most: errors of the plan are then exact numbers, and draws fit 64 bits."""
_MIN_EPSILON, _MAX_EPSILON = Fraction(1, 1000), Fraction(1000)


@dataclass(frozen=True)
class Measurement:
    """How one statistic is measured.

    Attributes:
        statistic: which.
        size: how many numbers it has; 0 for a choice.
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
    def noise(self) -> Noise | None:
        """On every number; None where it depends on the graph and is withheld."""
        return self.event.noise if isinstance(self.event, NoiseEvent) else None

    @property
    def law(self) -> tuple[str, Fraction]:
        """The mechanism, and the scale, sigma^2 or epsilon that decides it."""
        return self.mechanism, self.epsilon if self.noise is None else self.noise.parameter

    @property
    def epsilon(self) -> Fraction:
        """Of a mechanism that has one."""
        assert self.event.epsilon is not None
        return self.event.epsilon


@dataclass(frozen=True)
class Derived:
    """A statistic that is estimated from what others measured.

    Attributes:
        statistic: which.
        size: how many numbers it has.
    """

    statistic: Statistic
    size: int


def last_bin_of(config: NetworkRelease, largest_degree: int) -> int:
    """Last bin of degree histograms."""
    given = config.graph.last_bin
    return largest_degree if given is None else min(given, largest_degree)


def measurements_of(
    config: NetworkRelease,
    n: int,
    bound: DegreeBound,
    declared: Declared,
    noise_format: int = NOISE_FORMAT,
) -> tuple[Measurement, ...]:
    """What is measured, in the order of `MEASURED`; ``noise_format`` is an older one to open an older release.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    weights = config.graph.statistics
    chosen = {_statistic(name): weight for name, weight in weights.items()}
    total = epsilon_or_rho(config.privacy.main_budget)
    wanted = [statistic for statistic in MEASURED if statistic in chosen]
    parts = split(total, [chosen[statistic] for statistic in wanted])
    if config.privacy.model == "local":
        require_local(config, bound, wanted)
    return tuple(
        _measurement(config, statistic, n, bound, declared, part, part / total, noise_format)
        for statistic, part in zip(wanted, parts, strict=True)
    )


def _statistic(name: str) -> Statistic:
    try:
        found = known_statistic(name)
    except ConfigError as error:
        raise error.of(f"graph.statistics.{name}") from None
    measured = ", ".join(MEASURED)
    require(found in MEASURED, f"graph.statistics.{name}", f"be one that this job measures ({measured})", name)
    return found


def _measurement(
    config: NetworkRelease,
    statistic: Statistic,
    n: int,
    bound: DegreeBound,
    declared: Declared,
    part: Fraction,
    share: Fraction,
    noise_format: int,
) -> Measurement:
    graph, name = config.graph, f"graph.statistics.{statistic}"
    try:
        moved = sensitivity(statistic, Neighbors(config.privacy.neighbors), n, bound, graph.stars)
    except ConfigError as error:
        raise error.of(name) from None
    if statistic is Statistic.DEGREE_SEQUENCE and config.privacy.model == "local":
        moved = reported_degrees(config.graph.local)
    require(moved.l1 > 0, name, "be able to differ between neighbours", "one that is always the same")
    size = _size(config, statistic, n, bound, len(declared.blocks))
    if statistic in (Statistic.SORTED_DEGREES, Statistic.DEGREE_SEQUENCE):
        require(size <= MAX_PLACES, name, f"be of at most {MAX_PLACES} vertices", size)
    else:
        require(size <= MAX_BINS, "graph.last_bin", f"be below {MAX_BINS}", size - 1)
    event = (
        _adaptive_event(config, statistic, n, bound, part, noise_format)
        or _part_event(config, statistic, n, part, moved)
        or _noise_event(config, statistic, part, moved)
    )
    return Measurement(statistic, size, share, moved, event)


def _part_event(
    config: NetworkRelease, statistic: Statistic, n: int, part: Fraction, moved: Sensitivity
) -> PureEvent | BoundedRangeEvent | None:
    """The event of a noisy graph or a choice; None for any other."""
    pure = config.privacy.mechanism is Law.LAPLACE
    if statistic is Statistic.SPLIT:
        require_split(config, n)
    if statistic in (Statistic.SPLIT, Statistic.COVERAGE):
        # epsilon^2 / 8 is at most rho where epsilon^2 / 2 is at most 4 rho.
        return BoundedRangeEvent(statistic, part if pure else pure_epsilon_from_rho(4 * part))
    if statistic is not Statistic.ADJACENCY:
        return None
    epsilon = part if pure else pure_epsilon_from_rho(part)
    require_noisy_graph(config, n, epsilon, moved.l1)
    return PureEvent(statistic, epsilon, REPORTED_BITS if config.privacy.model == "local" else NOISY_GRAPH)


def _noise_event(config: NetworkRelease, statistic: Statistic, part: Fraction, moved: Sensitivity) -> Event:
    budget = PureDP(part) if config.privacy.mechanism is Law.LAPLACE else ZCDP(part)
    noise = Noise.within(budget, moved.l1, moved.l2_squared)
    require_useful_noise(f"{noise.law.parameter_name} for {statistic}", noise.parameter)
    return noise.event(statistic)


def _size(config: NetworkRelease, statistic: Statistic, n: int, bound: DegreeBound, blocks: int) -> int:
    last = last_bin_of(config, bound.within(n))
    return {
        Statistic.DEGREE_HISTOGRAM: last + 1,
        Statistic.CUMULATIVE_HISTOGRAM: last,
        Statistic.SORTED_DEGREES: n,
        Statistic.DEGREE_SEQUENCE: n,
        Statistic.ADJACENCY: 1 + blocks * (blocks + 1) // 2,
        Statistic.SPLIT: 0,
        Statistic.COVERAGE: 0,
    }.get(statistic, 1)


def _adaptive_event(
    config: NetworkRelease,
    statistic: Statistic,
    n: int,
    bound: DegreeBound,
    part: Fraction,
    noise_format: int,
) -> PureEvent | BoundedRangeEvent | None:
    """The event of a mechanism whose noise follows the graph at hand; None for any other."""
    if statistic is Statistic.TRIANGLES:
        return _triangle_event(config, part, noise_format)
    if statistic is not Statistic.K_STARS:
        return None
    wanted, epsilon = config.graph.star_mechanism, _ladder_epsilon(config, part)
    by_rule = wanted == "auto" and noise_format > 1 and _stars_by_ladder(config, n, bound, epsilon)
    if wanted != "ladder" and not by_rule:
        return None
    name, rule = "graph.star_mechanism", "be auto or global"
    require(bound.bounding is not Bounding.PROJECTED, name, f"{rule} after a projection", wanted)
    largest = largest_star_rung(bound.within(n), config.graph.stars)
    require(largest <= MAX_RUNG, name, f"{rule} where one edge can change more than 2^53 stars", wanted)
    return BoundedRangeEvent(statistic, _require_epsilon(statistic, epsilon), LADDER)


def _triangle_event(config: NetworkRelease, part: Fraction, noise_format: int) -> PureEvent | BoundedRangeEvent | None:
    wanted, statistic = config.graph.triangles.mechanism, Statistic.TRIANGLES
    if config.privacy.neighbors == "vertex" or wanted == "global":
        return None
    if wanted != "smooth" and noise_format > 1:
        return BoundedRangeEvent(statistic, _require_epsilon(statistic, _ladder_epsilon(config, part)), LADDER)
    epsilon = part if config.privacy.mechanism is Law.LAPLACE else pure_epsilon_from_rho(part)
    return PureEvent(statistic, _require_epsilon(statistic, epsilon), SMOOTH if wanted == "smooth" else LADDER)


def _ladder_epsilon(config: NetworkRelease, part: Fraction) -> Fraction:
    """A ladder has bounded range: epsilon^2 / 8 is at most rho where epsilon^2 / 2 is at most 4 rho."""
    return part if config.privacy.mechanism is Law.LAPLACE else pure_epsilon_from_rho(4 * part)


def _require_epsilon(statistic: Statistic, epsilon: Fraction) -> Fraction:
    inside = _MIN_EPSILON <= epsilon <= _MAX_EPSILON
    require(inside, "privacy.budget", f"give {statistic} an epsilon from 1/1000 to 1000", f"{float(epsilon):.3g}")
    return epsilon


def _stars_by_ladder(config: NetworkRelease, n: int, bound: DegreeBound, epsilon: Fraction) -> bool:
    """Whether a ladder halves the noise, or more, of stars of a graph whose largest degrees are about sqrt(n).

    On rung t an integer has a probability of e^(-epsilon t / 2): the error is at most about twice the rung's width at t
    = 2 / epsilon over epsilon, that of noise for the worst graph the cap over epsilon. Whole numbers decide.
    """
    outside = not _MIN_EPSILON <= epsilon <= _MAX_EPSILON
    if config.privacy.neighbors == "vertex" or bound.bounding is Bounding.PROJECTED or outside:
        return False
    most, arms = bound.within(n) - 1, config.graph.stars - 1
    reached = min(isqrt(n) + ceil(2 / epsilon), most)
    cap = largest_star_rung(most + 1, arms + 1)
    return 4 * 2 * comb(reached, arms) <= cap <= MAX_RUNG
