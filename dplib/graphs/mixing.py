"""A public hash of vertices and pairs: the same number for the same vertices in every graph, on every machine.

Used where something must not depend on the graph (the order of the edges in a projection) or only must be spread evenly
(colours of vertices). It hides nothing.

References:
    Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014 (the mixing function).
"""

import numpy as np

from dplib.arrays import IntArray, WordArray
from dplib.validate import between

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_MOST_COLOURS = 1024


def mix_vertices(vertex: IntArray, salt: int = 0) -> WordArray:
    """Hash each vertex; shape (n,)."""
    start = np.full(1, salt % 2**64, dtype=np.uint64)
    return _mix(_mix(start) ^ np.asarray(vertex).astype(np.uint64))


def vertex_colours(vertex: IntArray, n_colours: int) -> IntArray:
    """The colour of each vertex, from 0 to ``n_colours - 1``; shape (n,)."""
    between("number of colours", n_colours, 0, _MOST_COLOURS)
    return (mix_vertices(vertex) % np.uint64(n_colours)).astype(np.int64)


def mix_pairs(source: IntArray, target: IntArray, salt: int = 0) -> WordArray:
    """Hash each pair of vertices, whichever way round; shape (m,)."""
    return _mix(mix_vertices(np.minimum(source, target), salt) ^ np.maximum(source, target).astype(np.uint64))


def _mix(word: WordArray) -> WordArray:
    # Arithmetic modulo 2^64: arrays wrap silently.
    word = word + _GOLDEN
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))
