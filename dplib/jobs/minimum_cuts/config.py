"""Configuration of the job ``minimum-cuts``.

*Measurement settings* (``privacy``, ``graph``, ``cuts``, and how the ``input`` is read) decide what is measured and the
noise, and changing one of them spends anew; *publish settings* (``publish``) only shape what is made of the stored
measurement and never spend, and ``plan`` changes no release. The file says besides where things are
(`dplib.config.job_config.Surroundings`).
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from dplib.config.edge_input import (
    DeclaredVertices,
    WeightedEdgeInput,
    WeightSettings,
    require_fitting_weights,
    vertex_names,
)
from dplib.config.job_config import JobConfig, Publication, ReleaseSettings
from dplib.config.sections import Exact, PrivacySettings, Section

NAME = "minimum-cuts"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into a graph or a graph into statistics changes its result."""
MAX_DRAWN = 1_000
"""Cuts that one release draws at most."""


def _within(rule: str, holds: Callable[[Fraction], bool]) -> AfterValidator:
    """The bounds of an exact number, and how they are told."""

    def check(value: Fraction) -> Fraction:
        if not holds(value):
            raise ValueError(f"must be {rule}, got {value}")
        return value

    return AfterValidator(check)


class CutPrivacy(PrivacySettings):
    """What neighbouring graphs differ by, and the budget."""

    unit: str = Field(default="edge", pattern=r"^[a-z][a-z0-9_ -]*$")
    """What changes the weight of one pair of vertices: contact, message, friendship, ..."""
    neighbors: Literal["edge"] = "edge"
    """Two graphs are neighbours if the weight of one pair of vertices differs by at most `weight_cap`."""
    weight_cap: Annotated[int, Field(ge=1, le=10**9, strict=True)] = 1
    """W: the most that one unit changes the weight of its pair. All noise grows with it."""


class CutGraph(Section):
    """The public frame of the graph."""

    directed: Literal[False] = False
    """Edges have no direction: both orientations of a pair are one edge."""
    vertices: DeclaredVertices
    """All vertices, isolated ones included: {count}, a list of names, or {file}. They are public."""
    weights: WeightSettings = WeightSettings()


class CutReleaseSettings(Section):
    """One release about the cuts."""

    share: Annotated[Exact, _within("above 0", lambda share: share > 0)] = Fraction(1)
    """Its weight in the split of the budget."""


class _ChosenCuts(CutReleaseSettings):
    """Cuts that a mechanism chooses."""

    k: Annotated[int, Field(ge=1, le=MAX_DRAWN, strict=True)]
    """How many are drawn."""
    values_share: Annotated[Exact, _within("from 0 to below 1", lambda share: 0 <= share < 1)] = Fraction(1, 2)
    """Part of its budget for the values of the chosen cuts, from 0 (values stay private) to below 1."""


class TopCutsSettings(_ChosenCuts):
    """The k smallest of all cuts."""

    method: Literal["peeling", "oneshot"] = "peeling"
    """peeling: k exponential mechanisms without replacement; oneshot: one round of Laplace noise, for comparison."""


class SampledCutsSettings(_ChosenCuts):
    """Draws from all cuts, the smaller the likelier."""

    when_small: Literal["refuse", "pad"] = "refuse"
    """Where the noisy minimum cut value is too small to list the cuts: refuse, or pad the graph with public edges."""


class SoftCountSettings(CutReleaseSettings):
    """A soft count of near-minimum cuts."""

    eta: Annotated[Exact, _within("from 1e-6 to 1e6", lambda eta: Fraction(1, 10**6) <= eta <= 10**6)] = Fraction(1)
    """ln of the sum over all cuts of e^(-eta (value - minimum)): about the number of cuts within 1 / eta of it."""


class CutReleases(Section):
    """What is released; leave out what is not needed."""

    # Names of releases that are not private are refused by the design, which knows the reasons.
    model_config = ConfigDict(extra="allow")

    minimum_cut_value: CutReleaseSettings | None = None
    """The minimum cut value with noise."""
    synthetic_graph: CutReleaseSettings | None = None
    """Noisy weights of all pairs of vertices, and all that follows from them."""
    top_cuts: TopCutsSettings | None = None
    """At most 24 vertices: the k smallest of all cuts."""
    sampled_cuts: SampledCutsSettings | None = None
    """Draws from all cuts; needs a budget with delta."""
    minimum_cut_count: CutReleaseSettings | None = None
    """The number of minimum cuts; noise of the worst graph, hardly ever of use."""
    soft_cut_count: SoftCountSettings | None = None
    """At most 24 vertices: about how many cuts are near the minimum."""

    def asked(self) -> dict[str, CutReleaseSettings]:
        """The settings of the releases that are asked for, by name."""
        return {name: found for name in type(self).model_fields if (found := getattr(self, name)) is not None}


class CutSettings(Section):
    """What is released about the cuts of the graph, and how they are found."""

    releases: CutReleases
    method: Literal["auto", "packing", "karger", "karger-stein"] = "auto"
    """How sampled_cuts lists near-minimum cuts: auto and packing never miss one; the others do with a probability of at
    most `failure`, which delta pays for."""
    failure: Annotated[Exact, _within("above 0 and below 1", lambda p: 0 < p < 1)] = Fraction(1, 10**12)
    """Of karger and karger-stein."""


class CutPublication(Publication):
    """What is made of the stored measurement; never spends."""

    factor: Annotated[Exact, _within("from 1 to 2", lambda factor: 1 <= factor <= 2)] = Fraction(11, 10)
    """Cuts of the synthetic graph are listed up to this multiple of its minimum cut value; above 24 vertices those that
    were found and whose value less two standard errors is no larger."""
    most_cuts: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 1_000
    """Cuts that are listed at most, the smallest first."""


class PlanSettings(Section):
    """For which graphs the plan says what to expect; reads nothing, spends nothing."""

    minimum_cut_values: list[Annotated[int, Field(ge=1, le=10**12, strict=True)]] = Field(
        default=[10, 40, 160, 640], min_length=1, max_length=20
    )
    """Assumed minimum cut values."""


class CutsRelease(ReleaseSettings):
    """Releases about the minimum cuts of one graph under one budget."""

    unhashed = frozenset({"plan"})
    job: Literal["minimum-cuts"]
    privacy: CutPrivacy
    graph: CutGraph
    cuts: CutSettings
    publish: CutPublication = CutPublication()
    plan: PlanSettings = PlanSettings()

    @property
    def row_cap(self) -> int:
        """The most that one row adds to the weight of its pair."""
        largest = self.graph.weights.largest
        return min(largest, self.privacy.weight_cap) if self.graph.weights.capped == "row" else largest

    @property
    def pair_cap(self) -> int | None:
        """The largest weight of a pair; None where the rows of a pair are not bounded together."""
        return self.privacy.weight_cap if self.graph.weights.capped == "pair" else None


class MinimumCutsConfig(CutsRelease, JobConfig):
    """A configuration of the job."""

    input: WeightedEdgeInput

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        require_fitting_weights(self.input, self.graph.weights)
        return self

    @property
    def caps_change_nothing(self) -> bool:
        """Whether the settings alone say that no weight is cut to the weight cap, whatever the rows are."""
        weights, weighted = self.graph.weights, self.input.columns.weight is not None
        if weights.capped == "pair":
            return weights.repeats == "once"
        return weights.capped == "promised" or not weighted or weights.largest <= self.privacy.weight_cap

    def release(self, base: Path) -> CutsRelease:
        """The settings of the release, with the contents of listed files."""
        names = vertex_names(self.graph.vertices, base)
        read = {} if names is None else {"vertices": list(names)}
        return CutsRelease.of(self, graph=self.graph.model_copy(update=read))

    def with_input(self, measured: dict[str, Any]) -> dict[str, Any]:
        """The settings that decide the graph and the noise, with how the input is read, as they are hashed."""
        if self.caps_change_nothing:
            # The counts are those of releases that were made before there was this setting: they stay found.
            del measured["graph"]["weights"]["capped"]
        return super().with_input(measured)
