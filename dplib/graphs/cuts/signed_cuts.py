"""Small cuts of a graph whose weights may be negative, as noisy ones are: a search, without a proof of the least.

The minimum cut of signed weights is as hard as the maximum cut, so nothing here claims to find it. What is found are
cuts that no move of one vertex makes smaller, from several starts, and single vertices. A noisy pair tells little, so
the search looks at pairs all together:

1. *Windows.* Noise is symmetric, so a weight cut to ``[-t, t]`` has the mean 0 where the pair's true weight is 0, and a
   mean that grows with it: unlike weights cut at 0 from below, which gain something on each absent pair and make every
   even cut of a sparse graph large. Small windows keep the tails of the noise out, large ones tell weights apart; the
   windows are quantiles of the weights themselves, the last one holds them all.
2. *Spectral parts.* The vertices are split again and again where the mean weight between two sides is least, among the
   beginnings of the orders that leading eigenvectors give (a ratio cut by a sweep).
3. *All cuts between parts* are looked at, the smallest kept.
4. *Descent.* A vertex changes sides while that makes the cut smaller. Beside the weakest cuts stand those in which one
   or two vertices are moved that the noise may have put on the wrong side.

Everything is exact: eigenvectors are found by orthogonal iteration in whole numbers below 2^53, which no order of
addition changes, so that the same weights give the same cuts on every machine.

Cost: O(n^2) a step; some seconds for 2,000 vertices.

Notation: ``weights`` is a symmetric matrix of whole numbers with zeros on the diagonal, shape (n, n); ``side`` True on
the side without vertex 0.

References: Fiedler, "Algebraic connectivity of graphs", Czechoslovak Math. J. 23 (1973); Hagen, Kahng, "New spectral
methods for ratio cut partitioning and clustering", IEEE Trans. CAD 11 (1992); McSherry, "Spectral partitioning of
random graphs", FOCS 2001 (why leading eigenvectors see planted parts through noise); Fiduccia, Mattheyses, "A
linear-time heuristic for improving network partitions", DAC 1982 (moves of single vertices).
"""

from collections.abc import Iterator
from functools import lru_cache
from math import isqrt

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.compiled import compiled
from dplib.graphs.cuts.contraction import stream_of, uniform
from dplib.graphs.cuts.exhaustive import all_cut_values, numbered_sides

_SHARES = (0.0, 0.5, 0.9, 1.0)
_MAX = 1 << 20  # of an entry in the iteration: sums of 2^11 products stay below 2^53
_VECTORS, _TURNS = 4, 24
_PARTS = 12
_KEPT, _WEAKEST, _DOUBTFUL = 40, 3, 12
_EXACT = 2**52
_SEED = 0x5EED


def small_cuts(weights: IntArray) -> BoolArray:
    """Different small cuts, shape (n_cuts, n), in an order that depends on the weights alone.

    The weights are symmetric, of any sign, with zeros on the diagonal, shape (n, n) with n from 2 to 2,048; row sums of
    absolute values fit 64 bits.
    """
    n = len(weights)
    found = [np.eye(n, dtype=np.bool_)]
    for window in _windows(weights):
        within = np.clip(weights, -window, window)
        starts = different(np.concatenate(list(_starts(within, weights))))
        rows = np.ascontiguousarray(within)
        low = different(np.array([_descended(rows, side) for side in starts]))
        found += [starts, low, _beside(within, low)]
    return different(np.concatenate(found))


def different(sides: BoolArray) -> BoolArray:
    """Cuts, each once, from the side without vertex 0; sides without a vertex, or with all, left out."""
    own = sides ^ sides[:, :1]
    return np.unique(own[own.any(axis=1)], axis=0)


def _beside(within: IntArray, low: BoolArray) -> BoolArray:
    """Cuts that differ from one of the weakest by vertices whose side the noise leaves open, shape (n_cuts, n).

    One such vertex of each of the weakest cuts is moved, and two of the most doubtful ones of the weakest cut.
    """
    n = len(within)
    size = low.sum(axis=1)
    mean = cut_sums(within, low) / (size * (n - size))
    weakest = np.argsort(np.where(np.minimum(size, n - size) > 1, mean, np.inf), kind="stable")[:_WEAKEST]
    # All squares, those of the edges too, bound the noise of a sum of n - 1 weights from above.
    open_below = 2 * isqrt(int((within.astype(np.float64) ** 2).sum()) // n)
    moved = np.eye(n, dtype=np.bool_)
    found = [np.zeros((0, n), dtype=np.bool_)]
    for rank, side in enumerate(low[weakest]):
        inside = np.where(side, 1, -1)
        growth = inside * (within @ inside)
        found.append(side ^ moved[growth < open_below])
        if rank == 0:
            doubtful = np.argsort(growth, kind="stable")[:_DOUBTFUL]
            one, other = np.triu_indices(int((growth[doubtful] < open_below).sum()), 1)
            found.append(side ^ moved[doubtful[one]] ^ moved[doubtful[other]])
    return np.concatenate(found)


def cut_sums(weights: IntArray, sides: BoolArray) -> IntArray:
    """The weight across each cut, shape (n_cuts,), exactly while all weights together stay within 64 bits."""
    if float(np.abs(weights).sum(dtype=np.float64)) < _EXACT:  # products of floats are exact, and far faster
        inside = sides.astype(np.float64)
        return np.asarray(((inside @ weights.astype(np.float64)) * (1 - inside)).sum(axis=1), dtype=np.int64)
    return np.array([weights[np.ix_(side, ~side)].sum() for side in sides], dtype=np.int64)


def _windows(weights: IntArray) -> list[int]:
    size = np.sort(np.abs(weights[np.triu_indices(len(weights), 1)]))
    return sorted({max(1, int(size[int(share * (len(size) - 1))])) for share in _SHARES})


def _starts(within: IntArray, weights: IntArray) -> Iterator[BoolArray]:
    """Splits in two by each vector, and the smallest cuts between parts, by the window's weights and by all."""
    n = len(within)
    yield np.array([side for _, side in _splits(within)])
    label = _parts(within)
    n_parts = int(label.max()) + 1
    if n_parts < 2:
        return
    for each in (within, weights):
        member = np.zeros((n_parts, n), dtype=np.int64)
        member[label, np.arange(n)] = 1
        between = member @ each @ member.T
        source, target = np.triu_indices(n_parts, 1)
        values = all_cut_values(n_parts, source, target, between[source, target])[1:]
        number = np.argsort(values, kind="stable")[:_KEPT] + 1
        yield numbered_sides(number, n_parts)[:, label]


def _parts(within: IntArray) -> IntArray:
    """The part of each vertex: the part whose best split has the least mean weight between its sides is split next."""
    n = len(within)
    label = np.zeros(n, dtype=np.int64)
    best = [min(_splits(within), key=lambda split: split[0])]
    while len(best) < min(_PARTS, n):
        part = min(range(len(best)), key=lambda number: best[number][0])
        if best[part][0] == np.inf:
            break
        vertices = np.flatnonzero(label == part)
        label[vertices[best[part][1]]] = len(best)
        best.append((np.inf, np.zeros(0, dtype=np.bool_)))
        for number in (part, len(best) - 1):
            own = np.flatnonzero(label == number)
            inner = within[np.ix_(own, own)]
            best[number] = min(_splits(inner), key=lambda split: split[0], default=(np.inf, np.zeros(0, np.bool_)))
    return label


def _splits(within: IntArray) -> Iterator[tuple[float, BoolArray]]:
    """Splits in two along each leading vector: the mean weight between the sides, and a side."""
    n = len(within)
    if n < 2:
        return
    for vector in leading_vectors(within, min(_VECTORS, n)).T:
        order = np.argsort(vector, kind="stable")
        sorted_weights = within[np.ix_(order, order)]
        inner = np.tril(sorted_weights, -1).sum(axis=1)
        value = np.cumsum(sorted_weights.sum(axis=1) - 2 * inner)[:-1]
        size = np.arange(1, n)
        mean = value / (size * (n - size))
        cut = int(np.argmin(mean))
        side = np.zeros(n, dtype=np.bool_)
        side[order[: cut + 1]] = True
        yield float(mean[cut]), side


def leading_vectors(matrix: IntArray, count: int) -> FloatArray:
    """Whole numbers near the eigenvectors of the largest eigenvalues, shape (n, count), the same on every machine.

    The matrix is symmetric, shape (n, n), n up to 2,048.
    """
    n = len(matrix)
    largest = int(np.abs(matrix).max(initial=0))
    scaled = np.rint(matrix / max(1, -(-largest // _MAX)))
    # Adding about the radius of the noise's spectrum to all eigenvalues leaves the negative ones behind.
    shift = min(_MAX, 2 * isqrt(int((scaled.astype(np.int64) ** 2).sum()) // n))
    scaled += shift * np.eye(n)
    vectors = _first_vectors(n, count)
    for _ in range(_TURNS):
        vectors = _orthogonal(np.ascontiguousarray(scaled @ _whole(vectors)))
    return _whole(vectors)


@lru_cache(maxsize=32)
def _first_vectors(n: int, count: int) -> FloatArray:
    state = stream_of(np.uint64(_SEED), n)
    return np.array([[uniform(state) - 0.5 for _ in range(count)] for _ in range(n)])


def _whole(vectors: FloatArray) -> FloatArray:
    """Columns scaled to whole numbers of at most 2^20."""
    largest = np.abs(vectors).max(axis=0)
    return np.asarray(np.rint(vectors * (_MAX / np.where(largest > 0, largest, 1.0))))


@compiled
def _orthogonal(vectors: FloatArray) -> FloatArray:
    """Columns made orthogonal one after the other; every sum is one of whole numbers and exact."""
    n, count = vectors.shape
    made, left = np.empty((n, count)), np.empty(n)
    for column in range(count):
        left[:] = vectors[:, column]
        _make_whole(left)
        for other in range(column):
            product, square = 0.0, 0.0
            for row in range(n):
                product += left[row] * made[row, other]
                square += made[row, other] * made[row, other]
            factor = product / max(square, 1.0)
            for row in range(n):
                left[row] -= factor * made[row, other]
            _make_whole(left)
        made[:, column] = left
    return made


@compiled
def _make_whole(column: FloatArray) -> None:
    """The same as `_whole` of one column, in place."""
    largest = np.abs(column).max()
    factor = _MAX / (largest if largest > 0 else 1.0)
    for row in range(len(column)):
        column[row] = np.rint(column[row] * factor)


@compiled
def _descended(weights: IntArray, side: BoolArray) -> BoolArray:
    """Move the vertex that lowers the cut most until none does; each side keeps a vertex."""
    n = len(weights)
    side = side.copy()
    # What the cut grows by if a vertex changes sides.
    growth = np.zeros(n, dtype=np.int64)
    n_inside = 0
    for one in range(n):
        n_inside += side[one]
        for other in range(n):
            growth[one] += weights[one, other] if side[one] == side[other] else -weights[one, other]
    for _ in range(16 * n):
        least, chosen = 0, -1
        for vertex in range(n):
            alone = n_inside == 1 if side[vertex] else n - n_inside == 1
            if not alone and growth[vertex] < least:
                least, chosen = growth[vertex], vertex
        if chosen < 0:
            break
        n_inside += -1 if side[chosen] else 1
        side[chosen] = not side[chosen]
        growth[chosen] = -growth[chosen]
        for other in range(n):
            if other != chosen:
                change = 2 * weights[chosen, other]
                growth[other] += change if side[chosen] == side[other] else -change
    return side
