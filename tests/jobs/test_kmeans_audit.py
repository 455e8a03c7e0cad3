"""Audit of the job kmeans: empirical epsilon on worst-case neighbours, with planted faults that it must catch.

Every trial is a run of the job's private part under a key of its own, on rows as they are read. What is judged is
everything that the run stores, in the order of drawing, and with it everything that a release is made of. The
distinguisher is the best there is: the log-likelihood ratio of the stored answers, the questions being those that the
job would have asked of either input after the same answers. Answers that one input could not have led to tell all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from dplib.arrays import FloatArray
from dplib.clustering.central.bounds import RadiusClasses
from dplib.clustering.problem import Problem
from dplib.clustering.record import Record
from dplib.clustering.source import NoiseSource, PointSource, dense
from dplib.clustering.space import UNITS, Space
from dplib.clustering.sums import PointCount
from dplib.errors import ConfigError
from dplib.jobs.kmeans import measure as measuring
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.methods import cluster_points
from dplib.jobs.kmeans.radius import find_bounds
from dplib.jobs.kmeans.tables import Draw, Tables
from dplib.mechanisms.clustering_noise import KeyedNoise
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.noise import Law, Noise, NoiseEvent
from dplib.randomness.keyed import derive_key
from dplib.workflow.run_keys import RunKeys
from tests.support.clustering import Asked, Weak, Witness, lloyd_without_noise_for_empty_clusters
from tests.support.goodness_of_fit import epsilon_between
from tests.support.kmeans import design_of, rows_in, settings_of

Pair = tuple[FloatArray, FloatArray]
Patch = pytest.MonkeyPatch
DELTA = Fraction(1, 100)
KEY = bytes(range(11, 43))
CORNER = np.array([[2.0, 9.0]])
"""Outside the bounds: it counts as their corner, the point that moves sums the most."""
FAR, NEAR = np.repeat(-CORNER, 20, axis=0), np.repeat(CORNER, 400, axis=0)
TRIALS = 800


@dataclass(frozen=True)
class Case:
    """A configuration, the rows of others, and the rows that one unit adds to them."""

    method: str
    budget: dict[str, Any]
    others: FloatArray = field(default_factory=lambda: FAR)
    unit: FloatArray = field(default_factory=lambda: CORNER)
    settings: dict[str, Any] = field(default_factory=dict)
    """Of `clustering`."""
    noise: str = "auto"
    least: float = 0.1
    """Part of the claim that the audit must find; negative where only a planted fault shows that it sees anything."""

    def design(self) -> Design:
        """The design, with as many rows a unit as the unit has."""
        made = settings_of(self.method, self.budget, k=2, d=self.unit.shape[1], **self.settings)
        made["privacy"]["noise"] = self.noise
        if len(self.unit) > 1:
            made["privacy"] |= {"unit": "person", "max_rows_per_unit": len(self.unit)}
            made["input"]["columns"]["unit"] = "who"
        return design_of(made)

    @property
    def pair(self) -> Pair:
        """Inputs without and with the unit."""
        return self.others, np.concatenate([self.others, self.unit])


PURE: dict[str, Case] = {
    "auto": Case("auto", {"epsilon": 4}, NEAR),
    "grid": Case("grid", {"epsilon": 1}, FAR[:0]),
    "quadtree": Case("quadtree", {"epsilon": 4}, NEAR),
    "lloyd": Case("lloyd", {"epsilon": 2}, least=0.05),
    "lloyd of many coordinates": Case(
        "lloyd", {"epsilon": 2}, np.full((20, 16), -9.0), np.full((1, 16), 9.0), least=-1
    ),
    "local search": Case("local_search", {"epsilon": 6}, NEAR),
    "six rows a person": Case("lloyd", {"epsilon": 2}, unit=np.repeat(CORNER, 6, axis=0), least=-1),
    "private radius": Case("grid", {"epsilon": 1}, settings={"bounds": None, "radius": "private"}),
}
GAUSSIAN: dict[str, Case] = {
    "tree coreset": Case("tree_coreset", {"rho": "0.5"}, NEAR),
    "lloyd": Case("lloyd", {"rho": "0.5"}, settings={"bounds": None, "radius": 1}, noise="discrete_gaussian"),
}


def stored_answers(design: Design, rows: FloatArray, trial: int, monkeypatch: Patch) -> list[Record]:
    """What one run stores, before it is written."""
    written: list[Draw] = []
    monkeypatch.setattr(Tables, "write_draws", lambda _, draws: written.extend(draws))
    keys = RunKeys("audit", b"", derive_key(KEY, "digest", trial), derive_key(KEY, "parent", trial))
    measuring.measure_points(design, rows_in(rows), keys, Path())
    return [(draw.statistic, draw.noisy) for draw in written]


def asked_of(design: Design, rows: FloatArray, answers: list[Record]) -> list[Asked] | None:
    """The questions about rows after the same answers, with their exact answers; None where others would be asked."""
    witness, reader = Witness(answers), rows_in(rows)
    counted = (np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.int64))
    if design.radius_is_private:
        counted = reader.distances(RadiusClasses(design.frame.space.center))
    try:
        bounded = find_bounds(design, counted, witness)
        cluster_points(design, bounded, reader.within(bounded.frame), witness)
    except ConfigError:
        return None
    return witness.asked if len(witness.asked) == len(answers) else None


def log_mass(asked: list[Asked], answers: list[Record]) -> float:
    """Log of the probability of all answers under the noise in use, up to what depends on the noise alone."""
    total = 0.0
    for (mechanism, exact, parameter), (_, noisy) in zip(asked, answers, strict=True):
        gap = np.abs(noisy - exact).astype(np.float64) if mechanism != "choose" else None
        if gap is None:
            losses = -float(parameter) * (exact - exact.min()).astype(np.float64)
            total += float(losses[int(noisy[0])] - logsumexp(losses))
        elif mechanism == "laplace":
            total -= float(gap.sum() / float(parameter))
        else:
            total -= float((gap**2).sum() / (2 * float(parameter)))
    return total


def empirical_epsilon(design: Design, pair: Pair, trials: int, delta: float, monkeypatch: Patch) -> float:
    """Lower bound of the epsilon of what runs of a design store, whatever it claims."""
    scores = np.empty((2, trials))
    for side, rows in enumerate(pair):
        for trial in range(trials):
            answers = stored_answers(design, rows, 2 * trial + side, monkeypatch)
            masses = []
            for each in pair:
                asked = asked_of(design, each, answers)
                masses.append(-1e9 if asked is None else log_mass(asked, answers))
            scores[side, trial] = masses[0] - masses[1]
    return epsilon_between(scores[0], scores[1], delta, error=1e-4)


def found_in(case: Case, monkeypatch: Patch, trials: int = TRIALS, delta: float = 0.0) -> float:
    """The bound for a case's pair of inputs."""
    return empirical_epsilon(case.design(), case.pair, trials, delta, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", PURE)
def test_a_run_keeps_its_epsilon_and_uses_it(name: str, monkeypatch: Patch) -> None:
    claim = float(PURE[name].design().budget)
    assert PURE[name].least * claim < found_in(PURE[name], monkeypatch) <= claim


@pytest.mark.slow
@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_run_keeps_its_rho_and_uses_it(name: str, monkeypatch: Patch) -> None:
    assert GAUSSIAN[name].design().gaussian
    claim = float(epsilon_from_rho(GAUSSIAN[name].design().budget, DELTA))
    found = found_in(GAUSSIAN[name], monkeypatch, delta=float(DELTA))
    assert GAUSSIAN[name].least * claim < found <= claim


class LittleNoise(Weak):
    """Planted: a quarter of the noise in everything."""

    def __init__(self, key: bytes) -> None:
        super().__init__(Weak(KeyedNoise(key)))


def little_noise(monkeypatch: Patch) -> None:
    monkeypatch.setattr(measuring, "KeyedNoise", LittleNoise)


def one_row_a_unit(monkeypatch: Patch) -> None:
    """Planted: noise for one row where a person has six."""
    planted = property(lambda design: Problem(design.frame.space, design.config.clustering.n_clusters))
    monkeypatch.setattr(Design, "problem", planted)


def largest_coordinate(monkeypatch: Patch) -> None:
    """Planted: the sensitivity of a sum is that of one coordinate."""
    monkeypatch.setattr(Space, "l1", property(lambda space: UNITS))


def true_number_of_points(monkeypatch: Patch) -> None:
    """Planted: sizes follow from the true number of points, which costs nothing and tells it."""

    def count(source: PointSource, noise: NoiseSource, problem: Problem, epsilon: Fraction) -> tuple[int, NoiseEvent]:
        exact = int(dense(source.total(PointCount()), 1)[0, 0])
        noise.add(np.zeros(1, dtype=np.int64), Noise(Law.LAPLACE, Fraction(1), Fraction(1)), "number of points")
        return 1000 * exact, problem.laplace_event("number of points", 1, epsilon)

    monkeypatch.setattr("dplib.clustering.central.grid.measure_count", count)


def no_noise_for_empty_clusters(monkeypatch: Patch) -> None:
    """Planted: what a widely used library does."""
    monkeypatch.setattr("dplib.clustering.choose.lloyd_laplace", lloyd_without_noise_for_empty_clusters)


FAULTS: list[tuple[str, Callable[[Patch], None], int]] = [
    ("grid", little_noise, TRIALS),
    ("private radius", little_noise, TRIALS),
    ("six rows a person", one_row_a_unit, TRIALS),
    ("lloyd of many coordinates", largest_coordinate, TRIALS),
    ("grid", true_number_of_points, 200),
    ("lloyd", no_noise_for_empty_clusters, 200),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "plant", "trials"), FAULTS, ids=[f"{name}-{plant.__name__}" for name, plant, _ in FAULTS]
)
def test_a_planted_fault_is_caught(name: str, plant: Callable[[Patch], None], trials: int, monkeypatch: Patch) -> None:
    plant(monkeypatch)
    assert found_in(PURE[name], monkeypatch, trials) > PURE[name].design().budget


@pytest.mark.slow
@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_quarter_of_the_deviation_is_caught(name: str, monkeypatch: Patch) -> None:
    little_noise(monkeypatch)
    claim = float(epsilon_from_rho(GAUSSIAN[name].design().budget, DELTA))
    assert found_in(GAUSSIAN[name], monkeypatch, delta=float(DELTA)) > claim
