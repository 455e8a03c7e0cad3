"""`privgene`: a genetic search whose parents are chosen by the exponential mechanism. Pure epsilon.

A population of sets of k centers starts public. In each generation m' parents are chosen one after the other, without
replacement, by their cost on the points; pairs of parents exchange centers (crossover) and one center moves by a
public random step that shrinks from generation to generation (mutation). After the last generation one set is chosen.

Privacy. A row's cost lies between 0 and the squared diameter of the space, L in steps: costs are monotone, and a choice
at rate r moves by at most r L for each row that is added or removed (`dplib.mechanisms.exponential`); replacing m rows
counts as 2 m, whose moves lie in [-m L, m L]. With g generations of m' choices and one last choice each spends
``epsilon / (g m' + 1)``. The number of generations follows from a noisy number of points for which a stated share
pays: ``max(8, n epsilon / (800 m'))``.

Centers are sets chosen whole: nothing is measured of any one, so that weights and errors are unknown.

The paper sharpens the choice by the range of the scores; this is the plain exponential mechanism. Slow and weak: one
pass with 200 k distances a point for every generation.

References:
    Zhang, Xiao, Yang, Zhang, Winslett: PrivGene, differentially private model fitting using genetic algorithms.
    SIGMOD 2013.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.grid import COUNT_SHARE, measure_count
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.projection import largest_squared_distance
from dplib.clustering.source import Keyed, NoiseSource, PointSource, dense
from dplib.clustering.start import uniform_centers
from dplib.clustering.sums import rounded, squared_distances
from dplib.privacy.events import BoundedRangeEvent, Event
from dplib.validate import positive, require

Generator = np.random.Generator

_STEPS = 1 << 24  # of the cost of one row: its largest squared distance
_LEVELS = 8
_MIN, _MAX = 8, 40
_POINTS_A_CHOICE = 800.0
_FIRST_STEP, _SHRINKING = 0.3, 0.85  # of a mutation, in radii; from generation to generation
_BLOCK = 1 << 14


@dataclass(frozen=True)
class SetCosts:
    """Summary by set of centers: sum over rows of the squared distance to the nearest center, in steps.

    Attributes:
        sets: integers, shape (n_sets, k, d).
        step: squared units to one step.
        most: largest cost of a row, in steps.
    """

    sets: IntArray
    step: int
    most: int
    width = 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        costs = np.zeros((len(self.sets), 1), dtype=np.int64)
        for start in range(0, len(points), _BLOCK):
            block = points[start : start + _BLOCK]
            for number, centers in enumerate(self.sets):
                nearest = squared_distances(block, centers).min(axis=1)
                costs[number, 0] += np.minimum(nearest // self.step, self.most).sum()
        return np.arange(len(costs)), costs


def privgene(
    source: PointSource,
    noise: NoiseSource,
    problem: Problem,
    epsilon: Fraction,
    population: int = 200,
    n_parents: int = 10,
) -> Clustering:
    """Cluster by genetic search: ``population`` sets in a generation, ``n_parents`` (m') at least 2."""
    positive("epsilon", epsilon)
    require(
        2 <= n_parents < population <= 1000, "n_parents", "lie between 2 and a population of at most 1000", n_parents
    )
    n, counted = measure_count(source, noise, problem, epsilon * COUNT_SHARE)
    epsilon *= 1 - COUNT_SHARE
    n_generations = int(np.clip(n * float(epsilon) / problem.rows / _POINTS_A_CHOICE / n_parents, _MIN, _MAX))
    step = -(-largest_squared_distance(problem.space) // _STEPS)
    choice = BoundedRangeEvent("choice of a set of centers", epsilon / (n_generations * n_parents + 1))
    rate = choice.epsilon / (_LEVELS * problem.rows)
    generator = np.random.default_rng([problem.seed, 3])
    sets = np.stack([uniform_centers(problem.space, problem.n_clusters, generator) for _ in range(population)])
    for number in range(n_generations):
        losses = _losses(source, sets, step)
        parents = _choose(noise, losses, rate, n_parents, number)
        sets = _children(problem, sets[parents], population, _FIRST_STEP * _SHRINKING**number, generator)
    last = noise.choose(_losses(source, sets, step), rate, "last choice")
    events: tuple[Event, ...] = (counted, *(choice for _ in range(n_generations * n_parents + 1)))
    sizes = {"generations": n_generations, "population": population, "parents": n_parents}
    return Clustering.unmeasured("privgene", sets[last], events, **sizes)


def _losses(source: PointSource, sets: FloatArray, step: int) -> IntArray:
    whole = np.stack([rounded(centers) for centers in sets])
    costs = dense(source.total(SetCosts(whole, step, _STEPS)), len(sets))[:, 0]
    return np.asarray(costs // (_STEPS // _LEVELS))


def _choose(noise: NoiseSource, losses: IntArray, rate: Fraction, n_parents: int, generation: int) -> IntArray:
    left = np.arange(len(losses))
    parents = []
    for number in range(n_parents):
        place = noise.choose(losses[left], rate, "parent", generation, number)
        parents.append(int(left[place]))
        left = np.delete(left, place)
    return np.array(parents)


def _children(problem: Problem, parents: FloatArray, population: int, step: float, generator: Generator) -> FloatArray:
    """The parents themselves, then crossovers of random pairs with one mutated center each."""
    n_children, k, d = population - len(parents), problem.n_clusters, problem.space.dimension
    pairs = generator.integers(len(parents), size=(2, n_children))
    from_first = generator.random((n_children, k, 1)) < 0.5
    children = np.where(from_first, parents[pairs[0]], parents[pairs[1]])
    radius = np.sqrt(problem.space.norm_squared)
    moves = generator.normal(size=(n_children, d)) * step * radius / np.sqrt(d)
    children[np.arange(n_children), generator.integers(k, size=n_children)] += moves
    clipped = problem.space.clip(children.reshape(-1, d)).reshape(children.shape)
    return np.concatenate([parents, clipped])
