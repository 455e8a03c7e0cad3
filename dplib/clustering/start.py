"""Public centers that know nothing of the points: where methods start, and what fills up what they cannot find.

Sphere packing (Su et al.): centers uniform in the space, any two at least 2a apart and each at least a from the border,
for the largest a of a halving search.

References:
    Su, Cao, Li, Bertino, Jin: Differentially private k-means clustering. CODASPY 2016, section 4.1 (sphere packing).
"""

from functools import lru_cache

import numpy as np

from dplib.arrays import FloatArray
from dplib.clustering.space import UNITS, Space

Generator = np.random.Generator

_TRIES = 60
_HALVINGS = 12


def spread_centers(space: Space, k: int, seed: int) -> FloatArray:
    """Draw k centers, shape (k, d), well apart and inside the space; the same for the same settings."""
    return _spread_centers(space, k, seed).copy()


@lru_cache(maxsize=64)
def _spread_centers(space: Space, k: int, seed: int) -> FloatArray:
    generator = np.random.default_rng([seed, k, space.dimension])
    low, high = 0.0, float(UNITS)
    best = uniform_centers(space, k, generator)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        packed = _pack(space, k, middle, generator)
        if packed is None:
            high = middle
        else:
            low, best = middle, packed
    return best


def _pack(space: Space, k: int, apart: float, generator: Generator) -> FloatArray | None:
    if apart >= min(space.half_widths):
        return None
    packed = np.empty((k, space.dimension))
    for j in range(k):
        tries = uniform_centers(space, _TRIES, generator, apart)
        gaps = ((tries[:, np.newaxis] - packed[np.newaxis, :j]) ** 2).sum(axis=2)
        fine = np.flatnonzero((gaps >= 4 * apart**2).all(axis=1))
        if not len(fine):
            return None
        packed[j] = tries[fine[0]]
    return packed


def uniform_centers(space: Space, k: int, generator: Generator, margin: float = 0.0) -> FloatArray:
    """Centers drawn uniformly from the space, this far from its border, shape (k, d)."""
    if not space.round:
        half = np.maximum(np.array(space.half_widths, dtype=np.float64) - margin, 0.0)
        return np.asarray(generator.uniform(-half, half, (k, space.dimension)))
    directions = generator.normal(size=(k, space.dimension))
    directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
    radii = generator.random((k, 1)) ** (1 / space.dimension)
    return np.asarray(directions * radii * (UNITS - margin))
