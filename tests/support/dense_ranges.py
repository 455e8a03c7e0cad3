"""Range histograms whose groups add up by dense least squares: one equation a measured node and histogram."""

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.jobs.range_histograms.design import Design


class DenseRanges:
    """Least squares over the bins of all groups with a design's weights and the variances of its noise."""

    def __init__(self, made: Design) -> None:
        assert made.sums is not None
        tree, bins = made.strategy.tree, np.arange(made.bins.n_bins)
        self._adds: FloatArray = made.sums.constraints.incidence[0].toarray().astype(np.float64)
        self._inside = (tree.lo[:, None] <= bins) & (bins < tree.hi[:, None])
        self._cells = np.kron(self._inside, self._adds)
        shape = (tree.n_nodes, len(made.series))
        noise = np.where(made.measured, made.noise_variance[made.column_of].T, np.inf)
        weigh = np.where(made.measured, made.weights[:, None] * made.plan.item_variance, np.inf)
        self._shape, self._known = shape, np.isfinite(noise.reshape(-1))
        # A public root is a count of hardly any noise.
        weights = np.maximum(weigh.reshape(-1)[self._known], 1e-5)
        weighted = self._cells[self._known] / weights[:, None]
        self._gain = np.linalg.solve(weighted.T @ self._cells[self._known], weighted.T)
        self._covariance = (self._gain * noise.reshape(-1)[self._known]) @ self._gain.T

    def estimates(self, noisy: FloatArray) -> FloatArray:
        """All histograms and nodes of noisy counts of shape (n_histograms, n_nodes), in that shape."""
        found = self._cells @ (self._gain @ noisy.T.reshape(-1)[self._known])
        return np.asarray(found.reshape(self._shape).T)

    def error(self, lo: int, hi: int, series: IntArray) -> float:
        """Standard error of the sum of histograms over the bins ``[lo, hi)``."""
        bins = np.arange(self._inside.shape[1])
        asked = np.kron((bins >= lo) & (bins < hi), self._adds[series].sum(axis=0))
        return float(np.sqrt(asked @ self._covariance @ asked))
