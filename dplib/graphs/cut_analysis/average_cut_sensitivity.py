"""The average change in the number of minimum cuts when one unit of weight is added somewhere. NOT PRIVATE.

The average is over pairs of different vertices, each as likely, among those that leave the minimum cut value; the
change is ``|M - M'|``. Every pair's change is read off the cactus, no cut is computed again.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
definition 4.3.1 with the absolute difference as the distance, which it leaves open.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dplib.graphs.cactus.cactus import Cactus
from dplib.graphs.cut_analysis.cut_count_sensitivity import MARKING, EdgeEffects
from dplib.validate import at_least


@dataclass(frozen=True)
class AverageSensitivity:
    """An average over pairs of vertices, of the graph itself and hence not private.

    Attributes:
        mean: average of ``|M - M'|``; NaN where no pair leaves the minimum cut value.
        std_error: of ``mean`` by sampling; 0 for all pairs.
        n_pairs: pairs looked at that leave the minimum cut value.
        n_rising: pairs looked at that raise it, which are left out.
        marking: goes with every output.
    """

    mean: float
    std_error: float
    n_pairs: int
    n_rising: int
    marking: str = MARKING


def average_sensitivity(cactus: Cactus) -> AverageSensitivity:
    """Return the average over all pairs.

    Args:
        cactus: any valid cactus of the graph, at least two vertices.
    """
    pairs = np.array(list(itertools.combinations(range(cactus.n_vertices), 2)), dtype=np.int64)
    found = _over(cactus, pairs)
    return AverageSensitivity(found.mean, 0.0, found.n_pairs, found.n_rising)


def sampled_average_sensitivity(cactus: Cactus, n_samples: int, seed: int) -> AverageSensitivity:
    """Return the average over pairs drawn with replacement.

    Args:
        cactus: any valid cactus of the graph, at least two vertices.
        n_samples: number of pairs, at least 2.
        seed: of the draws; the same seed gives the same pairs.
    """
    at_least("n_samples", n_samples, 2)
    at_least("n_vertices", cactus.n_vertices, 2)
    rng = np.random.default_rng(seed)
    one = rng.integers(cactus.n_vertices, size=n_samples)
    other = (one + rng.integers(1, cactus.n_vertices, size=n_samples)) % cactus.n_vertices
    return _over(cactus, np.column_stack([one, other]))


def _over(cactus: Cactus, pairs: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> AverageSensitivity:
    at_least("n_vertices", cactus.n_vertices, 2)
    effects = EdgeEffects(cactus)
    # Only the nodes of the two vertices matter.
    nodes, count = np.unique(np.sort(cactus.node_of[pairs], axis=1), axis=0, return_counts=True)
    held = {int(node): int(vertex) for vertex, node in enumerate(cactus.node_of)}
    lost, weight, n_rising = [], [], 0
    for (one, other), times in zip(nodes.tolist(), count.tolist(), strict=True):
        effect = effects.between(held[one], held[other]) if one != other else None
        if effect is not None and effect.value_rises:
            n_rising += times
        else:
            lost.append(effect.lost_cuts if effect is not None else 0)
            weight.append(times)
    total = sum(weight)
    if total == 0:
        return AverageSensitivity(math.nan, math.nan, 0, n_rising)
    mean = float(np.dot(lost, weight) / total)
    spread = float(np.dot((np.array(lost) - mean) ** 2, weight) / total)
    return AverageSensitivity(mean, math.sqrt(spread / total), total, n_rising)
