"""Which cells of a noisy grid hold points: those that stand out from the noise, alone or with their neighbours.

Most cells of a fine grid are empty, and together they hold more noise than small clusters hold points. A cell is kept
if its noisy count is above ``b ln(M / 2)``: among M empty cells with Laplace noise of scale b one passes on average.
Thin outskirts of clusters do not pass by themselves; a cell is kept as well if the block of cells within a reach of 1,
2, ... cells around it has a noisy count above ``b sqrt(4 c ln(M / 2))``, c the cells of the block, the same by the
normal law. Reaches are added one after the other until the kept cells hold `MAX_OF_ALL` of the noisy total; if no
reach is enough (points spread evenly, of which no cell stands out), all cells are kept.

What is kept is a function of noisy counts alone: it costs nothing.

Constants: `scripts/experiments/kmeans_rules.py`, on generated sets that no published figure uses.

References:
    Cormode, Procopiuc, Srivastava, Tran: Differentially private summaries for sparse data. ICDT 2012 (thresholds).
"""

import numpy as np

from dplib.arrays import BoolArray, FloatArray

REACHES = (0, 1, 2, 4, 8)
MAX_OF_ALL = 0.98


def occupied_cells(noisy: FloatArray, inside: BoolArray, scale: float, total: float, n_cells: int) -> BoolArray:
    """Which cells to keep, shape (n_cells^d,); only cells inside.

    Args:
        noisy: noisy counts of all cells, in the order of their keys, shape (n_cells^d,).
        inside: which cells the space meets, shape (n_cells^d,).
        scale: of the Laplace noise in each cell.
        total: noisy number of points.
        n_cells: cells an axis.
    """
    d = round(np.log(len(noisy)) / np.log(n_cells))
    shape = (n_cells,) * d
    counts = np.where(inside, noisy, 0.0).reshape(shape)
    cells = inside.astype(np.float64).reshape(shape)
    rarity = max(float(np.log(max(int(inside.sum()), 2) / 2)), 1.0)
    kept = np.zeros(shape, dtype=np.bool_)
    for reach in REACHES:
        if reach == 0:
            kept |= counts > scale * rarity
            continue
        if 2 * reach + 1 > n_cells:
            break
        kept |= _blocks(counts, reach) > scale * np.sqrt(4.0 * _blocks(cells, reach) * rarity)
        kept &= cells > 0
        if kept.any() and counts[kept].sum() >= MAX_OF_ALL * total:
            return np.asarray(kept.ravel())
    return inside


def _blocks(values: FloatArray, reach: int) -> FloatArray:
    """Sums over the block of cells within a reach of each, cut at the edges; exact for integers."""
    for axis in range(values.ndim):
        n = values.shape[axis]
        zero = np.zeros_like(np.take(values, [0], axis=axis))
        running = np.concatenate([zero, np.cumsum(values, axis=axis)], axis=axis)
        ends, starts = np.minimum(np.arange(n) + reach + 1, n), np.maximum(np.arange(n) - reach, 0)
        values = np.take(running, ends, axis=axis) - np.take(running, starts, axis=axis)
    return values
