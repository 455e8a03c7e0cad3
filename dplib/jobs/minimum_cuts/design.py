"""Everything that the settings decide before a row is read: the releases, their mechanisms and their noise.

Guarantee. Neighbours are two graphs on the declared vertices in which the weight of one pair differs by at most the
public weight cap W (0 and absent are the same, so one of them may be disconnected). The budget is split exactly in
proportion to the shares, in one of three ways, which the settings alone decide:

* *pure*: a budget in epsilon. Laplace noise of scale W / epsilon_i; draws by the exponential mechanism.
* *concentrated*: a budget in rho, or in epsilon and delta where no release needs a delta of its own. Gaussian noise;
  k draws cost k eps0^2 / 8.
* *approximate*: a budget in epsilon and delta with sampled_cuts, or top_cuts by oneshot: those two get delta, in
  proportion to their shares; everything else is pure. Basic composition: epsilons and deltas add up.

The minimum cut value is always computed by a deterministic exact method. A randomised one may miss the minimum, and a
noisy value of a wrong number would cost a delta for no gain: exact is quicker as well.

A graph with fewer than two vertices has no cut: a setting error, since the vertices are public. With two vertices there
is one cut; its value may be asked for, which cut is the smallest may not.

Notation: n declared vertices, W the weight cap.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from dplib.config.edge_input import EdgeInput, VertexDomain, reading_notes, require_fitting_vertices
from dplib.config.input_quality import quality_events
from dplib.errors import ConfigError
from dplib.jobs.minimum_cuts.config import (
    COUNTING_VERSION,
    CutReleaseSettings,
    CutsRelease,
    MinimumCutsConfig,
    TopCutsSettings,
)
from dplib.jobs.minimum_cuts.measurement_plan import CutMeasurement, Enumeration, Part, plan_release
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.mechanisms.cuts.pair_weights import EXACT_CUTS
from dplib.mechanisms.cuts.rejected_releases import REJECTED_RELEASES, refuse
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP, rho_of
from dplib.privacy.calibration import split
from dplib.privacy.events import AnyEvent
from dplib.privacy.noise import SAMPLER_FORMAT, Law, Noise
from dplib.validate import did_you_mean, require

CUT_SAMPLER_FORMAT = 2
"""Version of the draws of sampled_cuts: 1 drew from a list of the cuts. Another version is another measurement."""
VALUE, SYNTHETIC, TOP, SAMPLED = "minimum_cut_value", "synthetic_graph", "top_cuts", "sampled_cuts"
COUNT, SOFT = "minimum_cut_count", "soft_cut_count"
SAMPLED_VALUE, SAMPLED_PADDING = f"{SAMPLED}_value", f"{SAMPLED}_padding"
"""What a release of sampled_cuts holds besides its cuts."""


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
        vertices: the declared vertices, at least 2.
        measurements: one a release, in the order of `CutReleases`.
        enumeration: how sampled_cuts lists the cuts.
        reading_notes: how a graph file is read where it could be read otherwise.
    """

    config: CutsRelease
    vertices: VertexDomain
    measurements: tuple[CutMeasurement, ...]
    enumeration: Enumeration
    reading_notes: tuple[str, ...]

    @classmethod
    def resolve(cls, config: MinimumCutsConfig, base: Path) -> "Design":
        """Derive the design of a configuration; `ConfigError` names the setting that is wrong."""
        return cls.of(config.release(base), config.input)

    @classmethod
    def of(cls, config: CutsRelease, source: EdgeInput | None = None) -> "Design":
        """Derive the design of a release, all names listed; ``source`` says what the rows are, None where none is read.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        vertices = _vertices(config, source)
        random = config.cuts.method.startswith("karger")
        enumeration = Enumeration(config.cuts.method, config.cuts.failure if random else Fraction(0))
        notes = () if source is None else tuple(reading_notes(source))
        return cls(config, vertices, _measurements(config, vertices.count, enumeration), enumeration, notes)

    @property
    def n_vertices(self) -> int:
        """The number of declared vertices."""
        return self.vertices.count

    @property
    def weight_cap(self) -> int:
        """W."""
        return self.config.privacy.weight_cap

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """What the release spends."""
        own = (event for each in self.measurements for event in each.events)
        return (*own, *quality_events(self.config))

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the numbers besides the settings."""
        found = {"counting_version": COUNTING_VERSION, "sampler_format": SAMPLER_FORMAT}
        return found | ({"cut_sampler_format": CUT_SAMPLER_FORMAT} if self.asks(SAMPLED) else {})

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        # 2: cuts of larger synthetic graphs are searched by their signed weights.
        searched = self.asks(SYNTHETIC) and self.n_vertices > EXACT_CUTS
        return self.config.shaping() | {"publish_format": 2 if searched else 1}

    def asks(self, *names: str) -> bool:
        """Whether one of these releases is asked for."""
        return any(each.release in names for each in self.measurements)

    @cached_property
    def noises(self) -> dict[str, Noise]:
        """The noise of every released number, or of a release's numbers, by its name; of a choice none."""
        found = {each.release: each.noise for each in self.measurements if each.noise is not None}
        if self.sampler is not None:
            cap = Fraction(self.weight_cap)
            found[SAMPLED_VALUE] = Noise(Law.LAPLACE, cap / self.sampler.value_epsilon, cap)
        return found

    def variance_of(self, statistic: str) -> float:
        """Variance of a noisy number; NaN of one that is chosen, not noisy."""
        return self.noises[statistic].variance if statistic in self.noises else float("nan")

    @property
    def sampler(self) -> SamplerPlan | None:
        """The plan of sampled_cuts; None where it is not asked for."""
        plans = (each.choice for each in self.measurements)
        return next((plan for plan in plans if isinstance(plan, SamplerPlan)), None)

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `from_public` builds the design again."""
        found = self.config.measured()
        vertices = {"count": self.n_vertices, "first": self.vertices.first}
        graph = {"vertices": vertices, "weights": found["graph"]["weights"]}
        publish = self.config.publish.model_dump(mode="json", include={"factor", "most_cuts"})
        return found | {"graph": graph, "publish": publish}

    @classmethod
    def from_public(cls, public: dict[str, Any]) -> "Design":
        """The design of a release, from its manifest's `public` settings."""
        # Releases that say nothing of it were made when every cap was a promise.
        weights = {"capped": "promised"} | public["graph"]["weights"]
        public = public | {"graph": public["graph"] | {"weights": weights}}
        return cls.of(CutsRelease.model_validate(public))


def _vertices(config: CutsRelease, source: EdgeInput | None) -> VertexDomain:
    domain = VertexDomain.declared(config.graph.vertices, Path())
    if source is not None:
        require_fitting_vertices(source, config.graph.vertices, domain.names)
    require(domain.count >= 2, "graph.vertices", "be at least 2, since a smaller graph has no cut", domain.count)
    return domain


def _measurements(config: CutsRelease, n: int, enumeration: Enumeration) -> tuple[CutMeasurement, ...]:
    releases = config.cuts.releases
    for name in releases.model_extra or {}:
        _refuse(name, type(releases).model_fields)
    asked = releases.asked()
    require(bool(asked), "cuts.releases", "name at least one release", "none")
    if COUNT in asked:
        require(n >= 3, f"cuts.releases.{COUNT}", "be of 3 vertices or more, since two have one cut", n)
    parts = _parts(config, asked)
    whole = sum((each.share for each in asked.values()), Fraction(0))
    return tuple(
        plan_release(name, each, parts[name], each.share / whole, n, config.privacy.weight_cap, enumeration)
        for name, each in asked.items()
    )


def _refuse(name: str, known: Any) -> None:
    key = f"cuts.releases.{name}"
    if name in REJECTED_RELEASES:
        try:
            refuse(name)
        except ConfigError as error:
            raise error.of(key) from None
    raise ConfigError(key, f"be one of {', '.join(known)}", name + did_you_mean(name, map(str, known)))


def _needs_delta(name: str, settings: CutReleaseSettings) -> bool:
    return name == SAMPLED or (isinstance(settings, TopCutsSettings) and settings.method == "oneshot")


def _parts(config: CutsRelease, asked: dict[str, CutReleaseSettings]) -> dict[str, Part]:
    """Each release's part of the budget; see the module's three ways."""
    budget, shares = config.privacy.main_budget, [each.share for each in asked.values()]
    needy = {name: each.share for name, each in asked.items() if _needs_delta(name, each)}
    if SAMPLED in asked:
        approx = isinstance(budget, ApproxDP)
        require(approx, "privacy.budget", f"be epsilon with delta for {SAMPLED}", " and ".join(budget.to_dict()))
    if isinstance(budget, PureDP):
        return dict(zip(asked, map(PureDP, split(budget.epsilon, shares)), strict=True))
    if isinstance(budget, ApproxDP) and needy:
        if config.privacy.noise == "discrete_gaussian":
            raise ConfigError("privacy.noise", f"be auto with {' and '.join(needy)}", "discrete_gaussian")
        epsilons = dict(zip(asked, split(budget.epsilon, shares), strict=True))
        deltas = dict(zip(needy, split(budget.delta, list(needy.values())), strict=True))
        return {
            name: ApproxDP(epsilon, deltas[name]) if name in deltas else PureDP(epsilon)
            for name, epsilon in epsilons.items()
        }
    return dict(zip(asked, map(ZCDP, split(rho_of(budget), shares)), strict=True))
