"""Configuration of the job ``kmeans``.

*Measurement settings* (``privacy``, ``clustering``, and how the ``input`` is read) decide the points, the method and
the noise, and changing one of them spends anew; *publish settings* (``publish``) only shape what is made of the stored
measurement and never spend. The file says besides where things are (`dplib.config.job_config.Surroundings`).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from dplib.config.job_config import JobConfig, Publication, ReleaseSettings, require_unit_column
from dplib.config.point_input import PointInput
from dplib.config.sections import Exact, RowPrivacySettings, Section
from dplib.privacy.noise import Law

NAME = "kmeans"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into points changes its result."""
MAX_DIMENSION = 1 << 12
MAX_CLUSTERS = 1 << 12
MAX_NUMBER = 10**100
"""Largest magnitude of a coordinate in the settings; its inverse is the smallest width. Their squares, and sums of
squares over all rows there can be, are finite numbers."""
FINEST_WIDTH = Fraction(1, 10**9)
"""Smallest half width or radius as a part of the magnitudes around it: a double cannot tell much finer places apart."""
MAX_UNEVEN = 1 << 16
"""Largest ratio of widths without scaling: a coordinate that is narrower has a single step."""
LOCAL_METHODS = ("ldp_tree", "ldp_hash_rounds", "noisy_coordinates")
"""Methods of the local model; its ``auto`` is the first."""


class LocalSettings(Section):
    """What users report in the local model."""

    oracle: Literal["auto", "generalized_response", "unary_encoding", "hadamard_response", "local_hashing"] = "auto"
    """How an answer is randomized; auto: the shortest report among those with about the least variance."""
    expected_users: Annotated[int, Field(ge=1, le=10**12, strict=True)] = 100_000
    """A public guess, from which the number of levels follows; with others errors are larger than need be."""


class ClusteringSettings(Section):
    """The public frame of the points, and how they are clustered."""

    bounds: list[tuple[Exact, Exact]] | None = None
    """The box: [low, high] of each coordinate, in order; numbers outside are clipped. Give these, or `radius`."""
    center: list[Exact] | None = None
    """Middle of the ball; 0 in every coordinate where absent."""
    radius: Exact | Literal["private"] | None = None
    """Radius of the ball; points outside are clipped along the ray to the middle. private: found from the rows for
    `radius_share` of the budget, as the smallest of half octaves that holds 99 % of a noisy histogram of distances."""
    radius_share: Annotated[Exact, Field(gt=0, lt=1)] = Fraction(1, 20)
    """Of the budget, for a private radius."""
    scale: Literal["none", "bounds"] = "none"
    """bounds: distances are measured with every coordinate in half widths of its bounds; none: as they are."""
    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION, strict=True)] | None = None
    """Number of coordinates; needed where neither bounds, center nor input.columns.coordinates say it."""
    n_clusters: Annotated[int, Field(ge=1, le=MAX_CLUSTERS, strict=True)]
    """k: there are always exactly k centers."""
    method: str = "auto"
    """auto: grid up to 3 coordinates, above it tree_coreset, or local_search for a pure epsilon; ldp_tree
    in the local model."""
    missing: Literal["drop"] | list[Exact] = "drop"
    """What a row without a readable number in some coordinate does: it is left out, or gets these public numbers."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63, strict=True)] = 0
    """Of the public randomness: starts, hyperplanes, projections, seedings. Never of the noise."""
    local: LocalSettings = LocalSettings()

    @field_validator("bounds")
    @classmethod
    def _increasing(cls, bounds: list[tuple[Fraction, Fraction]] | None) -> list[tuple[Fraction, Fraction]] | None:
        if bounds is None:
            return None
        if not (bounds and all(low < high for low, high in bounds)):
            raise ValueError("must be one or more pairs [low, high] with low below high, got others")
        for low, high in bounds:
            _require_magnitude((low, high))
            _require_width((high - low) / 2, max(abs(low), abs(high)), f"[{float(low):g}, {float(high):g}]")
        return bounds

    @field_validator("center", "missing")
    @classmethod
    def _moderate(cls, given: list[Fraction] | str | None) -> list[Fraction] | str | None:
        if isinstance(given, list):
            _require_magnitude(given)
        return given

    @field_validator("radius")
    @classmethod
    def _positive(cls, radius: Fraction | str | None) -> Fraction | str | None:
        if isinstance(radius, Fraction):
            if radius <= 0:
                raise ValueError(f"must be a number above 0, got {radius}")
            _require_magnitude((radius,))
            _require_width(radius, Fraction(0), f"{float(radius):g}")
        return radius

    @model_validator(mode="after")
    def _one_frame(self) -> Self:
        if (self.bounds is None) == (self.radius is None):
            got = "both" if self.bounds else "neither: they are never taken from the rows"
            raise ValueError(f"clustering must have either bounds or radius, got {got}")
        if self.bounds is not None and self.center is not None:
            raise ValueError("clustering.center must be absent where there are bounds, got one")
        if self.bounds is None and self.scale == "bounds":
            raise ValueError("clustering.scale must be none where there are no bounds, got bounds")
        self._require_resolution()
        return self

    def _require_resolution(self) -> None:
        """The steps of the public space are those of the coordinates, and doubles can tell them apart."""
        if self.bounds is not None and self.scale == "none":
            widths = [high - low for low, high in self.bounds]
            ratio = max(widths) / min(widths)
            if ratio > MAX_UNEVEN:
                rule = f"differ in width by at most {MAX_UNEVEN:,} times where clustering.scale is none"
                raise ValueError(f"clustering.bounds must {rule}, got {float(ratio):.3g} times")
        radius = self.radius if isinstance(self.radius, Fraction) else Fraction(1)
        farthest = max(map(abs, self.center or [Fraction(0)]))
        if radius < FINEST_WIDTH * farthest:
            rule = f"be at most {float(1 / FINEST_WIDTH):g} {'radii' if self.radius != 'private' else ''}".rstrip()
            raise ValueError(f"clustering.center must {rule} from 0, got {float(farthest):g}")


def _require_magnitude(numbers: Sequence[Fraction]) -> None:
    for number in numbers:
        if abs(number) > MAX_NUMBER:
            shown = f"{float(number):g}" if abs(number) < 10**300 else "one of more than 300 digits"
            raise ValueError(f"must be numbers of at most {float(MAX_NUMBER):g}, got {shown}")


def _require_width(half: Fraction, farthest: Fraction, shown: str) -> None:
    """Refuse what is too narrow for doubles."""
    if half < Fraction(1, MAX_NUMBER) or half < FINEST_WIDTH * farthest:
        rule = f"be wider than {float(1 / Fraction(MAX_NUMBER)):g}, and than a {float(1 / FINEST_WIDTH):g}th of "
        raise ValueError(f"must {rule}the distance from 0, got {shown}")


class KMeansPrivacy(RowPrivacySettings):
    """Whose presence is protected, at which budget, and in which model."""

    neighbors: Literal["add_remove", "replace_one", "local"] = "add_remove"  # type: ignore[assignment]  # one more
    """add_remove: one unit more or less; replace_one: one unit exchanged; local: every unit randomizes its own report
    before anybody sees it, and any two values of one unit are neighbours."""


class Picture(Section):
    """Which two coordinates the report draws."""

    x: str | int = 0
    """Across: a coordinate's column, or its position from 0."""
    y: str | int = 1
    """Up."""


class KMeansPublish(Publication):
    """What is made of the stored measurement; never spends."""

    picture: Picture = Picture()


class ClustersRelease(ReleaseSettings):
    """Centers of k clusters under one budget."""

    job: Literal["kmeans"]
    privacy: KMeansPrivacy
    clustering: ClusteringSettings
    publish: KMeansPublish = KMeansPublish()

    @property
    def local(self) -> bool:
        """Whether users randomize their own reports."""
        return self.privacy.neighbors == "local"


class KMeansConfig(ClustersRelease, JobConfig):
    """A configuration of the job."""

    input: PointInput

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        require_unit_column(self.privacy.unit, self.input.columns.unit)
        self._require_dimensions()
        self._require_model()
        return self

    def _require_dimensions(self) -> None:
        """Every list has an entry a coordinate."""
        frame, coordinates = self.clustering, self.input.columns.coordinates
        lengths = {
            "input.columns.coordinates": coordinates,
            "clustering.bounds": frame.bounds,
            "clustering.center": frame.center,
            "clustering.missing": None if isinstance(frame.missing, str) else frame.missing,
        }
        known = {name: len(given) for name, given in lengths.items() if given is not None}
        known |= {"clustering.dimension": frame.dimension} if frame.dimension is not None else {}
        if set(known) <= {"clustering.missing"}:
            raise ValueError("clustering.dimension must be set where nothing else says it, got nothing")
        first, dimension = next(iter(known.items()))
        for name, found in known.items():
            if found != dimension:
                raise ValueError(f"{name} must have one entry for each of {first} ({dimension}), got {found}")
        if dimension > MAX_DIMENSION:
            raise ValueError(f"{first} must have at most {MAX_DIMENSION} entries, got {dimension}")

    def _require_model(self) -> None:
        method, privacy = self.clustering.method, self.privacy
        if self.input.columns.report is not None and not self.local:
            raise ValueError(
                f"input.columns.report must be absent but in the local model, got {self.input.columns.report}"
            )
        if self.local and self.clustering.radius == "private":
            raise ValueError("clustering.radius must be a number in the local model, got private")
        if not self.local:
            if method in LOCAL_METHODS:
                raise ValueError(f"privacy.neighbors must be local for {method}, got {privacy.neighbors}")
            return
        if privacy.unit == "event":
            raise ValueError("privacy.unit must be whose report it is in the local model, got event")
        if privacy.rows_per_unit != 1:
            raise ValueError(
                f"privacy.max_rows_per_unit must be 1 in the local model: one report each, got {privacy.rows_per_unit}"
            )
        if privacy.budget.epsilon is None:
            raise ValueError("privacy.budget must be an epsilon in the local model, got rho")
        if privacy.law is Law.GAUSSIAN:
            raise ValueError("privacy.noise must be auto in the local model, got discrete_gaussian")

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        frame = self.clustering
        for given in (self.input.columns.coordinates, frame.bounds, frame.center):
            if given is not None:
                return len(given)
        assert frame.dimension is not None
        return frame.dimension

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates: their columns, or positions in the array."""
        given = self.input.columns.coordinates
        return tuple(given) if given is not None else tuple(f"x{number}" for number in range(self.dimension))
