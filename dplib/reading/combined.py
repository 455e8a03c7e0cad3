"""One answer from several releases of the same thing: each estimate weighs what its precision is worth.

With standard errors s_i of independent noise, ``sum(x_i / s_i^2) / sum(1 / s_i^2)`` has the least variance of all
weighted means, ``1 / sum(1 / s_i^2)``. The noise is independent where no two releases publish one measurement. The
estimates are of the same number where releases count the same rows under the same caps.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dplib.privacy.noise import Law
from dplib.privacy.noise_quantile import DrawLaw, factor95
from dplib.reading.release import Askable, Release
from dplib.release.answers import row_of
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.validate import require

COMBINED = ("consistent-histograms", "network-statistics", "range-histograms")
"""Jobs whose answers are numbers with standard errors."""
_NUMBERS = ("estimate", "std_error", "low", "high", "published", "note")
_SPENT = ("budget", "noise", "quality_share")
_SAME = ("job", "dataset", "domain", "histogram", "graph", "constraints", "statistics", "rows_are_packages")


@dataclass(frozen=True, eq=False)
class Combined(Askable):
    """Several releases that are asked together.

    Attributes:
        releases: at least two.
    """

    releases: tuple[Release, ...]

    @property
    def cost(self) -> Fraction:
        """What all took from the account."""
        return sum((each.cost for each in self.releases), Fraction(0))

    def answers(self, asked: Question) -> list[dict[str, Any]]:
        """The combined answers, a dictionary each.

        Raises:
            ConfigError: as of `Release.query`, if an error is not stated, or if answers are of different days.
        """
        of_each = [[row_of(answer) for answer in release.answers(asked)] for release in self.releases]
        asked_for = [[_key(row) for row in rows] for rows in of_each]
        # Streams answer for their newest days where none are named.
        rule = "answer for the same items and days, which start and end can name"
        require(all(each == asked_for[0] for each in asked_for), "releases", rule, "others")
        factor = factor95(law for each in self.releases for law in _laws(each.manifest))
        return [_mean(rows, factor) for rows in zip(*of_each, strict=True)]

    def answer_table(self, asked: Question) -> pa.Table:
        """The combined answers, a row each."""
        return pa.Table.from_pylist(self.answers(asked))


def _laws(manifest: Manifest) -> set[DrawLaw]:
    """The laws of the noise that a release says it has."""
    keys = {Law.LAPLACE.value: "scale", Law.GAUSSIAN.value: "sigma_squared"}
    parts = (part for part in manifest.mechanisms if part.get("mechanism") in keys)
    return {
        DrawLaw(name, float(Fraction(str(part[keys[name]])))) for part in parts for name in [str(part["mechanism"])]
    }


def _key(row: dict[str, Any]) -> dict[str, Any]:
    """What an answer is of."""
    return {name: value for name, value in row.items() if name not in _NUMBERS}


def _mean(rows: Sequence[dict[str, Any]], factor: float) -> dict[str, Any]:
    """One answer of all; half of its interval is ``factor`` standard errors, a bound for any sum of such draws."""
    for row in rows:
        require(bool(row["std_error"]), "releases", "state the standard error of what is combined", "one that does not")
    weights = [row["std_error"] ** -2.0 for row in rows]
    error = math.fsum(weights) ** -0.5
    estimate = math.fsum(w * row["estimate"] for w, row in zip(weights, rows, strict=True)) * error**2
    half = factor * error
    return _key(rows[0]) | {"estimate": estimate, "std_error": error, "low": estimate - half, "high": estimate + half}


def combine(releases: Sequence[Release]) -> Combined:
    """Several releases of the same thing as one, each answer weighed by its precision.

    Args:
        releases: of one job, data set, domain and logical date, under the same caps, each with noise of its own.

    Raises:
        ConfigError: if there are fewer than two, they are of different things or caps, or two share a measurement.
    """
    first, *others = releases or (None,)
    require(first is not None and bool(others), "releases", "be at least two", len(releases))
    assert first is not None
    require(first.job in COMBINED, "releases", f"be of {', '.join(COMBINED)}", first.job)
    for other in others:
        for name in _SAME:
            same = _without_shares(first.settings.get(name)) == _without_shares(other.settings.get(name))
            require(same, "releases", f"have the same {name}", "others")
        caps, own = (
            {key: value for key, value in each.settings["privacy"].items() if key not in _SPENT}
            for each in (first, other)
        )
        for key in sorted(caps.keys() | own.keys()):
            rule = f"have the same privacy.{key}, since it decides what is counted"
            require(caps.get(key) == own.get(key), "releases", rule, f"{caps.get(key)} and {own.get(key)}")
        dates = first.manifest.logical_date, other.manifest.logical_date
        require(dates[0] == dates[1], "releases", "have the same logical date", f"{dates[0]} and {dates[1]}")
    known: dict[str, Release] = {}
    for each in releases:
        for mark in _measurement(each):
            got = f"{known.get(mark, each).manifest.release_id} and {each.manifest.release_id}"
            require(mark not in known, "releases", "have measurements of their own", got)
            known[mark] = each
    return Combined(tuple(releases))


def _without_shares(settings: Any) -> Any:
    """Settings without what only divides a budget."""
    if isinstance(settings, dict):
        return {key: _without_shares(value) for key, value in settings.items() if key not in ("measured", "share")}
    return [_without_shares(each) for each in settings] if isinstance(settings, list) else settings


def _measurement(release: Release) -> list[str]:
    """What tells a measurement: its reservation, its run, its noisy numbers."""
    manifest = release.manifest
    names = (each for each in manifest.files if re.fullmatch(r"measurement/[^/]+\.parquet", each.path))
    return [mark for mark in (manifest.reservation, manifest.release_id, *(each.sha256 for each in names)) if mark]
