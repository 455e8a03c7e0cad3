"""How the minimum cuts of a graph lie to each other: crossing and parallel cuts, p-cuts, t-cuts, atoms.

Two cuts *cross* when all four corners, side with side, hold a vertex; else they are *parallel*. A minimum cut that is
parallel to every other one is a *p-cut*, all others are *t-cuts*. The *atoms* are the classes of vertices that no
minimum cut separates.

Notation: a set of cuts is a boolean matrix, one row a cut, True for the side without vertex 0; so a cut has one row.
Cost of `is_parallel_cut`: the search of a t-cut ends at the first cut that crosses it, and there are at most ``2n - 3``
p-cuts.

References: Dinitz, Karzanov, Lomonosov, "On the structure of the system of minimum edge cuts of a graph", 1976;
Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025, definitions
3.1.1 to 3.1.3 and 3.1.9.
"""

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.edges import pack_sides
from dplib.validate import require


def canonical_cuts(cuts: npt.ArrayLike) -> BoolArray:
    """Return a set of cuts in its one form: rows without vertex 0, sorted by size and then by vertices.

    Args:
        cuts: shape (n_cuts, n_vertices), True on one side of each cut; a cut may come more than once and by either
            side.

    Raises:
        ConfigError: the matrix has no two dimensions, or a side is empty.
    """
    given = np.asarray(cuts, dtype=np.bool_)
    require(given.ndim == 2 and given.shape[1] > 0, "cuts", "be a matrix with one column a vertex", given.shape)
    sides = given ^ given[:, :1]
    require(bool(sides.any(axis=1).all()), "cuts", "have a vertex on both sides", "a cut with an empty side")
    first = np.unique(np.packbits(sides, axis=1), axis=0, return_index=True)[1]
    sides = sides[first]
    # Big-endian bits sort a smaller vertex first; reversed keys make the size lead.
    order = np.lexsort((*np.packbits(~sides, axis=1).T[::-1], sides.sum(axis=1)))
    return np.ascontiguousarray(sides[order])


def is_parallel_cut(cuts: npt.ArrayLike) -> BoolArray:
    """Return which cuts are parallel to all others: the p-cuts where ``cuts`` are all minimum cuts.

    Args:
        cuts: shape (n_cuts, n_vertices).
    """
    return _parallel_to_all(pack_sides(cuts))


@compiled
def _parallel_to_all(words: WordArray) -> BoolArray:
    """``words``: rows of bits without vertex 0; two of them cross iff they meet and neither holds the other."""
    n_cuts, n_words = words.shape
    parallel = np.ones(n_cuts, dtype=np.bool_)
    for one in range(n_cuts):
        for other in range(n_cuts):
            both = only = rest = False
            for word in range(n_words):
                a, b = words[one, word], words[other, word]
                both = both or (a & b) != 0
                only = only or (a & ~b) != 0
                rest = rest or (b & ~a) != 0
            if both and only and rest:
                parallel[one] = False
                break
    return parallel
