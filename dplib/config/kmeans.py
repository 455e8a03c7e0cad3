"""Configuration of the job ``kmeans``.

*Measurement settings* (``input``, ``privacy``, ``clustering``) decide the points, the method and the noise, and
changing one of them spends anew; *publish settings* (``publish``, ``ledger``, ``secret``, ``spark``) only shape what is
made of the stored measurement and never spend.
"""

from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from dplib.config.sections import Exact, JobConfig, Publication, RowPrivacy, Section, Source, require_unit_column

NAME = "kmeans"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into points changes its result."""
MAX_DIMENSION = 1 << 12
MAX_CLUSTERS = 1 << 12
FEW_DIMENSIONS = 3
"""Up to so many coordinates ``auto`` takes a grid or a quadtree."""

PURE_METHODS = ("grid", "quadtree", "local_search", "kvariates", "privgene")
"""Their noise is discrete Laplace and the exponential mechanism, whatever the budget."""
GAUSSIAN_METHODS = ("tree_coreset", "max_cover")
"""They need a budget with a delta, or in rho."""
EITHER_METHODS = ("lloyd", "sample_aggregate")
"""They follow `privacy.noise`."""
METHODS = ("auto", *PURE_METHODS, *GAUSSIAN_METHODS, *EITHER_METHODS)
REFUSED_METHODS = {
    "ghazi": "tree_coreset, the practical relative: Ghazi, Kumar and Manurangsi's algorithm (NeurIPS 2020) takes time "
    "poly(n) k^O(1/alpha) and has no implementation",
    "kvariates_paper": "kvariates: the noise of the paper on k-variates++ holds only for data sets of small spread, "
    "which nobody can check without spending",
    "dplloyd_skip_empty": "lloyd: leaving noise out for clusters without rows tells that they are empty",
}
"""Names that are refused, each with what to take instead and why."""
LARGEST_DIMENSIONS = {"grid": 20, "quadtree": 6, "max_cover": 3}
"""Coordinates that a method can have at most."""


class PointColumns(Section):
    """Which input columns hold a row's point."""

    coordinates: list[str] | None = None
    """One column of numbers a coordinate, in order; give these or `vector`."""
    vector: str | None = None
    """One column of arrays of numbers; a row whose array has another length counts as missing."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.coordinates is None) == (self.vector is None):
            got = "both" if self.vector else "neither"
            raise ValueError(f"input.columns must name either coordinates or vector, got {got}")
        return self

    @field_validator("coordinates")
    @classmethod
    def _different(cls, coordinates: list[str] | None) -> list[str] | None:
        if coordinates is not None and (not coordinates or len(set(coordinates)) < len(coordinates)):
            raise ValueError("must be one or more different columns, got others")
        return coordinates

    @property
    def names(self) -> dict[str, str]:
        """Role to input column, the roles that are mapped only."""
        found = {f"coordinates.{number}": name for number, name in enumerate(self.coordinates or ())}
        found |= {"vector": self.vector} if self.vector is not None else {}
        return found | ({"unit": self.unit} if self.unit is not None else {})


class PointInput(Source):
    """Where the rows are and how to read them."""

    columns: PointColumns


class ClusteringSettings(Section):
    """The public frame of the points, and how they are clustered."""

    bounds: list[tuple[Exact, Exact]] | None = None
    """The box: [low, high] of each coordinate, in order; numbers outside are clipped. Give these, or `radius`."""
    center: list[Exact] | None = None
    """Middle of the ball; 0 in every coordinate where absent."""
    radius: Exact | None = None
    """Radius of the ball; points outside are clipped along the ray to the middle."""
    scale: Literal["none", "bounds"] = "none"
    """bounds: distances are measured with every coordinate in half widths of its bounds; none: as they are."""
    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION, strict=True)] | None = None
    """Number of coordinates; needed where neither bounds, center nor input.columns.coordinates say it."""
    n_clusters: Annotated[int, Field(ge=1, le=MAX_CLUSTERS, strict=True)]
    """k: there are always exactly so many centers."""
    method: str = "auto"
    """auto: grid or quadtree up to 3 coordinates, above it tree_coreset, or local_search for a pure epsilon."""
    missing: Literal["drop"] | list[Exact] = "drop"
    """What a row without a readable number in some coordinate does: it is left out, or gets these public numbers."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63, strict=True)] = 0
    """Of the public randomness: starts, hyperplanes, projections, seedings. Never of the noise."""

    @field_validator("bounds")
    @classmethod
    def _increasing(cls, bounds: list[tuple[Fraction, Fraction]] | None) -> list[tuple[Fraction, Fraction]] | None:
        if bounds is not None and not (bounds and all(float(low) < float(high) for low, high in bounds)):
            raise ValueError("must be one or more pairs [low, high] with low below high, got others")
        return bounds

    @field_validator("radius")
    @classmethod
    def _positive(cls, radius: Fraction | None) -> Fraction | None:
        if radius is not None and not (isfinite(float(radius)) and float(radius) > 0):
            raise ValueError(f"must be a number above 0, got {radius}")
        return radius

    @field_validator("method")
    @classmethod
    def _known(cls, method: str) -> str:
        if method in REFUSED_METHODS:
            raise ValueError(f"must be another one, such as {REFUSED_METHODS[method]}; got {method}")
        if method not in METHODS:
            raise ValueError(f"must be one of {', '.join(METHODS)}, got {method}")
        return method

    @model_validator(mode="after")
    def _one_frame(self) -> Self:
        if (self.bounds is None) == (self.radius is None):
            got = "both" if self.bounds else "neither: they are never taken from the rows"
            raise ValueError(f"clustering must have either bounds or radius, got {got}")
        if self.bounds is not None and self.center is not None:
            raise ValueError("clustering.center must be absent where there are bounds, got one")
        if self.bounds is None and self.scale == "bounds":
            raise ValueError("clustering.scale must be none where there are no bounds, got bounds")
        return self


class Picture(Section):
    """Which two coordinates the report draws."""

    x: str | int = 0
    """Across: a coordinate's column, or its position from 0."""
    y: str | int = 1
    """Up."""


class KMeansPublish(Publication):
    """What is made of the stored measurement; never spends."""

    picture: Picture = Picture()


class KMeansConfig(JobConfig):
    """Centers of k clusters under one budget."""

    job: Literal["kmeans"]
    input: PointInput
    privacy: RowPrivacy
    clustering: ClusteringSettings
    publish: KMeansPublish = KMeansPublish()

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        require_unit_column(self.privacy.unit, self.input.columns.unit)
        self._require_dimensions()
        self._require_method()
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

    def _require_method(self) -> None:
        method, gaussian = self.method, self.privacy.mechanism == "discrete_gaussian"
        if method in GAUSSIAN_METHODS and not gaussian:
            fit = ", ".join(("auto", *PURE_METHODS, *EITHER_METHODS))
            raise ValueError(f"clustering.method must be one for a budget without delta ({fit}), got {method}")
        if method in PURE_METHODS and self.privacy.noise == "discrete_gaussian":
            raise ValueError(f"privacy.noise must be auto for the method {method}, got discrete_gaussian")
        most = LARGEST_DIMENSIONS.get(method, MAX_DIMENSION)
        if self.dimension > most:
            rule = f"one for {self.dimension} coordinates ({method} takes at most {most})"
            raise ValueError(f"clustering.method must be {rule}, got {method}")

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
    def method(self) -> str:
        """The method, ``auto`` decided as far as settings alone decide it: a grid or a quadtree are left to it."""
        if self.clustering.method != "auto" or self.dimension <= FEW_DIMENSIONS:
            return self.clustering.method
        return "tree_coreset" if self.privacy.mechanism == "discrete_gaussian" else "local_search"

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates: their columns, or positions in the array."""
        given = self.input.columns.coordinates
        return tuple(given) if given is not None else tuple(f"x{number}" for number in range(self.dimension))

    def measurement_settings(self, base: Path) -> dict[str, Any]:
        """The resolved settings that decide the points and the noise, as JSON values; paths enter as written."""
        del base  # every setting stands in the configuration itself
        dumped = self.model_dump(mode="json", include={"dataset", "job", "input", "privacy", "clustering"})
        return dumped | {"counting_version": COUNTING_VERSION}
