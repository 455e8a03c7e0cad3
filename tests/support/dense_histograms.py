"""Counts by item and day by dense least squares: one equation a measured node and series."""

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.jobs.consistent_histograms.design import Design


class DenseHistograms:
    """Least squares over the days on which items exist, with a design's weights and the variances of its noise."""

    def __init__(self, made: Design) -> None:
        tree, table = made.tree, made.table
        day = np.arange(tree.n_leaves)
        self._days = day
        self._series = made.constraints.incidence[0].toarray().astype(np.float64)
        exists = np.ones((len(day), self._series.shape[1]), dtype=bool)
        if made.rows_are_packages:
            daily = made.constraints.day_constraints
            exists = np.repeat(made.constraints.valid, [each.end - each.first for each in daily], axis=0)
            self._series = np.max([each.toarray() for each in made.constraints.incidence], axis=0).astype(np.float64)
        elif table is not None and table.days is not None:
            exists = (day[:, None] >= table.days[:, 0]) & (day[:, None] < table.days[:, 1])
        self._exists = exists.reshape(-1)
        inside = (tree.lo[:, None] <= day) & (day < tree.hi[:, None])
        self._nodes = np.kron(inside, self._series)[:, self._exists]
        weigh = made.variance.reshape(-1)
        self._known = np.isfinite(weigh)
        weighted = self._nodes[self._known] / weigh[self._known, None]
        self._gain = np.linalg.solve(weighted.T @ self._nodes[self._known], weighted.T)
        noise = made.noise_variance[tree.level][:, made.columns.of].reshape(-1)[self._known]
        self._covariance = (self._gain * noise) @ self._gain.T
        found = np.einsum("ij,jk,ik->i", self._nodes, self._covariance, self._nodes)
        self.node_errors: FloatArray = np.sqrt(found).reshape(made.variance.shape)

    def estimates(self, noisy: FloatArray) -> FloatArray:
        """All nodes and series, shape (n_nodes, n_series)."""
        return np.asarray(self._nodes @ (self._gain @ noisy.reshape(-1)[self._known])).reshape(noisy.shape)

    def sum_error(self, lo: int, hi: int, series: IntArray) -> float:
        """Standard error of a sum of series over the days ``lo <= t < hi``."""
        days = (self._days >= lo) & (self._days < hi)
        asked = np.kron(days, self._series[series].sum(axis=0))[self._exists]
        return float(np.sqrt(asked @ self._covariance @ asked))
