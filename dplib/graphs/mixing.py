"""Public hashes of vertices and pairs: the same number for the same vertices in every graph, on every machine.

Used where something must not depend on the graph (the order of the edges in a projection) or only must be spread evenly
(colours of vertices). They hide nothing.
"""

import numpy as np

from dplib.arrays import IntArray, WordArray
from dplib.hashing import hash_columns, hashed
from dplib.validate import between

_MAX_COLOURS = 1024


def vertex_colours(vertex: IntArray, n_colours: int) -> IntArray:
    """The colour of each vertex, from 0 to ``n_colours - 1``; shape (n,)."""
    between("number of colours", n_colours, 0, _MAX_COLOURS)
    return (hash_columns([vertex], _start(0)) % np.uint64(n_colours)).astype(np.int64)


def mix_pairs(source: IntArray, target: IntArray, salt: int = 0) -> WordArray:
    """Hash each pair of vertices, whichever way round; shape (m,)."""
    return hash_columns([np.minimum(source, target), np.maximum(source, target)], _start(salt))


def _start(salt: int) -> WordArray:
    return hashed(np.full(1, salt % 2**64, dtype=np.uint64))
