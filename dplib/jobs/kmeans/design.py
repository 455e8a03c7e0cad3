"""Everything that the settings decide before a row is read: the points' space, the method, the budget.

Guarantee. A privacy unit keeps at most m rows, each one point of the public box or ball. Every method asks questions
about the points one after the other, each with noise of its own, and each may depend on the noisy answers before it.
Its questions together spend at most the budget: epsilon (discrete Laplace noise, the exponential mechanism: pure), or
rho (discrete Gaussian noise: zero-concentrated). How the budget is divided among questions may depend on noisy numbers;
the sum is fixed beforehand, and that is what the account is charged. Replacing a unit removes its rows and adds others:
2 m points differ.

*Which budget a method gets.* Pure methods: the setting's epsilon, with or without a delta; of a budget in rho the
largest epsilon with ``epsilon^2 / 2 <= rho``. Gaussian methods: rho, or the largest rho that implies the setting's
epsilon and delta.

*Local model* (`privacy.neighbors: local`). Every unit sends one report, epsilon-private by itself: see
`dplib.jobs.kmeans.local`.

References:
    Dwork, Rothblum, Vadhan: Boosting and differential privacy. FOCS 2010 (adaptive composition).
    Whitehouse, Ramdas, Rogers, Wu: Fully-adaptive composition in differential privacy. ICML 2023 (parameters that
    depend on answers).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dplib.clustering.choose import FEW_DIMENSIONS, plan_method
from dplib.clustering.choose import Plan as MethodPlan
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.problem import FORMAT, Problem
from dplib.clustering.rejected_methods import refuse
from dplib.clustering.space import Space
from dplib.config.input_quality import quality_events
from dplib.errors import ConfigError
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.config import (
    COUNTING_VERSION,
    LOCAL_METHODS,
    ClusteringSettings,
    ClustersRelease,
    KMeansConfig,
)
from dplib.privacy.events import ConcentratedEvent, Event, PureEvent
from dplib.privacy.noise import MAX_NOISE, SAMPLER_FORMAT, USEFUL_NOISE, Law, require_useful_noise
from dplib.validate import one_of, require

STATISTIC = "centers and weights"
CHOICE_FORMAT = 2
"""Raised when the exponential mechanism of `privgene` and `local_search` changes its law: old choices are made anew."""
_FINEST_PART = 1000
"""No question of a method gets less than this part of the budget (per center where centers share it)."""


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
        frame: bounds and scales of the points.
        central: which method runs and why; None in the local model.
        coordinates: names of the coordinates.
        from_reports: whether rows are reports that units made themselves.
        rules: format of the rules by which the measurement is made.
    """

    config: ClustersRelease
    frame: PointFrame
    central: MethodPlan | None
    coordinates: tuple[str, ...]
    from_reports: bool
    rules: int = FORMAT

    @classmethod
    def resolve(cls, config: KMeansConfig, base: Path, rules: int = FORMAT) -> "Design":
        """Derive the design of a configuration; `ConfigError` names the setting that is wrong."""
        del base  # every setting stands in the configuration itself
        release = ClustersRelease.of(config)
        return cls.of(release, config.coordinate_names, config.input.columns.report is not None, rules)

    @classmethod
    def of(cls, config: ClustersRelease, coordinates: Sequence[str], from_reports: bool, rules: int) -> "Design":
        """Derive the design of a release; `ConfigError` names the setting that is wrong.

        Args:
            config: its settings.
            coordinates: their names.
            from_reports: whether rows are reports that units made themselves.
            rules: format of the rules by which the measurement is made or was made.
        """
        frame = _frame(config, len(coordinates))
        method = _method_plan(config, frame, rules)
        found = cls(config, frame, method, tuple(coordinates), from_reports, rules)
        found._check_noise()
        found._check_reports()
        _ = found.picture
        return found

    @property
    def local(self) -> bool:
        """Whether users randomize their own reports."""
        return self.central is None

    @property
    def method(self) -> str:
        """The method; ``grid or quadtree`` in format 1, where a noisy number of points decides."""
        if self.central is not None:
            return self.central.method
        named = self.config.clustering.method
        return LOCAL_METHODS[0] if named == "auto" else named

    @cached_property
    def collection(self) -> Collection:
        """What the users of the local model are asked."""
        local, clustering = self.config.clustering.local, self.config.clustering
        return Collection(
            method=self.method,
            oracle=local.oracle,
            epsilon=self.budget,
            n_clusters=clustering.n_clusters,
            seed=clustering.seed,
            expected_users=local.expected_users,
            frame=self.frame,
        )

    @property
    def gaussian(self) -> bool:
        """Whether the budget is spent as rho."""
        return self.central is not None and self.central.noise is Law.GAUSSIAN

    @property
    def chooses(self) -> bool:
        """Whether the exponential mechanism takes part: in two methods, one of which can start a third."""
        few = self.frame.space.dimension <= FEW_DIMENSIONS
        started = self.method == "sample_aggregate" and not self.gaussian and not few
        return self.method in ("local_search", "privgene") or started

    @property
    def ruled(self) -> bool:
        """Whether format 2 made a difference: the grid has other cells, simulated reports have other noise."""
        few = self.frame.space.dimension <= FEW_DIMENSIONS
        started = self.method == "sample_aggregate" and not self.gaussian and few
        return self.method == "grid" or started or (self.local and not self.from_reports)

    @property
    def radius_is_private(self) -> bool:
        """Whether the radius is found from the rows; that of `frame` is then 1."""
        return self.config.clustering.radius == "private"

    @property
    def problem(self) -> Problem:
        """What all methods share."""
        return _problem(self.config, self.frame, self.rules)

    @property
    def rows(self) -> int:
        """Most points that differ between neighbours."""
        return self.problem.rows

    @cached_property
    def budget(self) -> Fraction:
        """Epsilon of a pure method, rho of a Gaussian one; epsilon of a report in the local model."""
        if self.central is not None:
            return self.central.amount
        epsilon = self.config.privacy.budget.epsilon
        assert epsilon is not None
        return epsilon

    @property
    def events(self) -> tuple[Event, ...]:
        """What the release spends: one event for all questions of the method."""
        quality = quality_events(self.config)
        if self.gaussian:
            return (ConcentratedEvent(STATISTIC, self.budget, self.method), *quality)
        return (PureEvent("one report of each unit" if self.local else STATISTIC, self.budget, self.method), *quality)

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the numbers besides the settings."""
        found = {"counting_version": COUNTING_VERSION, "sampler_format": SAMPLER_FORMAT}
        found |= {"choice_format": CHOICE_FORMAT} if self.chooses else {}
        return found | ({"clustering_format": self.rules} if self.rules > 1 and self.ruled else {})

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.shaping() | {"publish_format": 1}

    @property
    def picture(self) -> tuple[int, int]:
        """Positions of the two coordinates that the report draws; the first twice where there is one only."""
        return self._place("x"), self._place("y")

    def _place(self, axis: str) -> int:
        wanted, names = getattr(self.config.publish.picture, axis), self.coordinates
        if isinstance(wanted, str):
            return names.index(one_of(f"publish.picture.{axis}", wanted, names))
        if axis == "y" and wanted == 1 and len(names) == 1:
            return 0
        require(0 <= wanted < len(names), f"publish.picture.{axis}", f"be below {len(names)}", wanted)
        return int(wanted)

    def _check_noise(self) -> None:
        """Refuse a budget whose noise is too small or too large to be drawn and used.

        Raises:
            ConfigError: naming `privacy.budget`.
        """
        if self.local:
            require_useful_noise("scale", 1 / self.budget)
            return
        require(self.budget > 0, "privacy.budget", USEFUL_NOISE.format("scale"), "next to nothing")
        space, sharing = self.frame.space, 4 * self.config.clustering.n_clusters**2
        spendable = self.budget
        if self.radius_is_private:
            spendable = self._check_radius_share()
        if self.gaussian:
            require_useful_noise("sigma^2", Fraction(self.rows**2) / (2 * spendable))
            largest = Fraction(space.norm_squared * sharing * self.rows**2 * _FINEST_PART) / spendable
            rule = "give noise that fits 64 bits in every coordinate"
            require(largest <= 2**78, "privacy.budget", rule, f"a sigma^2 of up to {float(largest):.3g}")
            return
        require_useful_noise("scale", self.rows / spendable)
        finest = 2 * self.config.clustering.n_clusters if self.method in ("kvariates", "sample_aggregate") else 16
        require_useful_noise("scale", Fraction(2 * space.l1 * self.rows * finest) / spendable)

    def _check_radius_share(self) -> Fraction:
        """Refuse a share that cannot pay for the radius, or leaves nothing; what is left of the budget."""
        share = self.config.clustering.radius_share
        for part in (share, 1 - share):
            # Squares, since rho pays for a squared scale.
            squared = Fraction(self.rows**2) / (self.budget * part * 2 if self.gaussian else (self.budget * part) ** 2)
            rule = "leave both the radius and the rest enough for noise with a scale of at most 2^39"
            require(squared <= MAX_NOISE**2 / 4, "clustering.radius_share", rule, f"{float(share):.3g}")
        return self.budget * (1 - share)

    def _check_reports(self) -> None:
        """Refuse what a method of the local model cannot ask.

        Raises:
            ConfigError: naming the setting.
        """
        if not self.local:
            return
        try:
            if self.method != "noisy_coordinates":
                self.collection.rounds.question_names(0)
        except ConfigError as error:
            if error.name == "n_values":
                raise ConfigError(
                    "clustering.local.oracle",
                    "take as many answers as clustering.local.expected_users and the dimension lead to",
                    self.config.clustering.local.oracle,
                ) from None
            raise error.of(f"clustering.{error.name}") from None
        if self.from_reports and not self.collection.in_one_round:
            raise ConfigError(
                "input.columns.report",
                (
                    "be absent for a method with rounds: what is asked in a later round depends on what the server "
                    "published of the one before"
                ),
                f"{self.method} in {self.collection.dimension} dimensions",
            )

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs, from which `from_public` builds the design again."""
        found = {"coordinates": list(self.coordinates), "from_reports": self.from_reports}
        rules = {key: value for key, value in self.formats.items() if key == "clustering_format"}
        return self.config.measured() | rules | found

    @classmethod
    def from_public(cls, public: dict[str, Any]) -> "Design":
        """The design of a release, from its manifest's `public` settings."""
        given = dict(public)
        coordinates, from_reports = given.pop("coordinates"), given.pop("from_reports")
        rules = int(given.pop("clustering_format", 1))
        return cls.of(ClustersRelease.model_validate(given), coordinates, from_reports, rules)


def _problem(config: ClustersRelease, frame: PointFrame, rules: int) -> Problem:
    privacy, clustering = config.privacy, config.clustering
    rows = privacy.rows_per_unit * (2 if privacy.neighbors == "replace_one" else 1)
    return Problem(frame.space, clustering.n_clusters, rows, clustering.seed, rules)


def _method_plan(config: ClustersRelease, frame: PointFrame, rules: int) -> MethodPlan | None:
    """Which central method runs, None in the local model; errors name the settings of the file."""
    keys = {"dimension": "clustering.dimension", "budget": "privacy.budget", "noise": "privacy.noise"}
    privacy, clustering = config.privacy, config.clustering
    try:
        if config.local:
            refuse(clustering.method)
            one_of("method", clustering.method, ("auto", *LOCAL_METHODS))
            return None
        return plan_method(_problem(config, frame, rules), privacy.main_budget, clustering.method, privacy.law)
    except ConfigError as error:
        raise error.of(keys.get(error.name, f"clustering.{error.name}")) from None


def _frame(config: ClustersRelease, d: int) -> PointFrame:
    clustering = config.clustering
    constant = None if isinstance(clustering.missing, str) else tuple(map(float, clustering.missing))
    frame = _bounded(clustering, d, constant)
    if config.local and constant is None:
        # Who has no usable point reports for the middle: silence would tell.
        middle = frame.to_data(np.zeros((1, d)))[0]
        return replace(frame, constant=tuple(map(float, middle)))
    return frame


def _bounded(clustering: ClusteringSettings, d: int, constant: tuple[float, ...] | None) -> PointFrame:
    zeros, ones = (0.0,) * d, (1.0,) * d
    if clustering.bounds is None:
        # Of a private radius only the middle is known: everything but the way to and from units is in radii.
        radius = 1.0 if isinstance(clustering.radius, str | None) else float(clustering.radius)
        center = zeros if clustering.center is None else tuple(map(float, clustering.center))
        return PointFrame(Space.ball(center, radius), zeros, ones, constant)
    lows, highs = zip(*((float(low), float(high)) for low, high in clustering.bounds), strict=True)
    if clustering.scale == "none":
        return PointFrame(Space.box(lows, highs), zeros, ones, constant)
    shifts = tuple(low / 2 + high / 2 for low, high in zip(lows, highs, strict=True))
    halves = tuple(high / 2 - low / 2 for low, high in zip(lows, highs, strict=True))
    return PointFrame(Space.box([-1.0] * d, [1.0] * d), shifts, halves, constant)
