"""Estimates with their errors from a stored measurement; sees no row and draws no noise.

Numbers are as they were drawn, unbiased, with the standard deviation of their noise; counts are turned from their
logarithm and have no standard error. Cuts have the noisy values that were measured for them, or, in a synthetic graph,
the sum of the noisy pairs across them.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.jobs.minimum_cuts.design import (
    COUNT,
    SAMPLED,
    SAMPLED_PADDING,
    SAMPLED_VALUE,
    SOFT,
    SYNTHETIC,
    TOP,
    VALUE,
    Design,
)
from dplib.jobs.minimum_cuts.synthetic import Synthetic, side_pairs, synthesise, with_cuts
from dplib.jobs.minimum_cuts.tables import StoredReleases
from dplib.mechanisms.cuts.cut_statistics import GRID, count_estimate

SYNTHETIC_VALUE, SYNTHETIC_CUTS = f"{SYNTHETIC}_value", f"{SYNTHETIC}_cuts"
SAMPLED_REFUSED = f"{SAMPLED}_refused"


@dataclass(frozen=True)
class Number:
    """One number of a release; ``std_error`` is NaN where it is not known."""

    statistic: str
    estimate: float
    std_error: float = float("nan")


@dataclass(frozen=True, eq=False)
class FoundCuts:
    """The cuts of one release.

    Attributes:
        sides: True on the side without the first vertex, shape (n_cuts, n_vertices).
        value: noisy values, NaN where they were not measured, shape (n_cuts,).
        std_error: of each, NaN in the same case.
    """

    sides: BoolArray
    value: FloatArray
    std_error: FloatArray

    @property
    def side_size(self) -> IntArray:
        """Vertices on the side without the first vertex, shape (n_cuts,)."""
        return np.asarray(self.sides.sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Results:
    """What is made of a measurement.

    Attributes:
        numbers: single numbers, in the order of the releases.
        cuts: by release.
        synthetic: where a synthetic graph was measured.
    """

    numbers: tuple[Number, ...]
    cuts: dict[str, FoundCuts]
    synthetic: Synthetic | None


def make_results(design: Design, stored: StoredReleases, listed: BoolArray | None = None) -> Results:
    """Make numbers and cuts of all releases; ``listed`` cuts, (n_cuts, n_vertices), spare the synthetic graph's."""
    synthetic, cuts = None, {}
    if SYNTHETIC in stored.noisy:
        publish = design.config.publish
        noisy = stored.noisy[SYNTHETIC]
        variance = design.variance_of(SYNTHETIC)
        if listed is None:
            synthetic = synthesise(design.n_vertices, noisy, publish.factor, publish.most_cuts, variance)
        else:
            synthetic = with_cuts(design.n_vertices, noisy, listed)
        error = np.sqrt(side_pairs(synthetic.sides) * variance)
        cuts[SYNTHETIC] = FoundCuts(synthetic.sides, synthetic.values.astype(np.float64), error)
    for name in (TOP, SAMPLED):
        if name in stored.chosen:
            cuts[name] = _chosen(design, stored, name)
    return Results(_numbers(design, stored, synthetic), cuts, synthetic)


def _chosen(design: Design, stored: StoredReleases, name: str) -> FoundCuts:
    sides = stored.chosen[name]
    if name not in stored.noisy:
        unknown = np.full(len(sides), np.nan)
        return FoundCuts(sides, unknown, unknown)
    error = np.full(len(sides), np.sqrt(design.variance_of(name)))
    return FoundCuts(sides, stored.noisy[name].astype(np.float64), error)


def refused(design: Design, stored: StoredReleases) -> bool:
    """Whether sampled_cuts refused: its noisy value was below the gate."""
    plan = design.sampler
    return plan is not None and plan.when_small == "refuse" and int(stored.noisy[SAMPLED_VALUE][0]) < plan.gate


def _numbers(design: Design, stored: StoredReleases, synthetic: Synthetic | None) -> tuple[Number, ...]:
    found = []
    for each in design.measurements:
        name = each.release
        deviation = float(np.sqrt(design.variance_of(SAMPLED_VALUE if name == SAMPLED else name)))
        if name == VALUE:
            found.append(Number(name, float(stored.noisy[name][0]), deviation))
        elif name == COUNT:
            found.append(Number(name, count_estimate(int(stored.noisy[name][0]), design.n_vertices)))
        elif name == SOFT:
            found.append(Number(name, int(stored.noisy[name][0]) / GRID, deviation / GRID))
        elif name == SAMPLED:
            found.append(Number(SAMPLED_VALUE, float(stored.noisy[SAMPLED_VALUE][0]), deviation))
            found.append(Number(SAMPLED_REFUSED, float(refused(design, stored)), 0.0))
            if SAMPLED_PADDING in stored.noisy:
                found.append(Number(SAMPLED_PADDING, float(stored.noisy[SAMPLED_PADDING][0]), 0.0))
        elif synthetic is not None and name == SYNTHETIC:
            found.append(Number(SYNTHETIC_VALUE, float(synthetic.values.min())))
            found.append(Number(SYNTHETIC_CUTS, float(len(synthetic.sides))))
    return tuple(found)
