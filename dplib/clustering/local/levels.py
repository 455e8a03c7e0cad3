"""The levels of a local tree, made consistent.

Each level has estimates of its own, from the users who were asked at it, scaled to all users. From below, a cube's own
estimate is mixed with the sum of its children's totals, by variances that are one number a level.

References:
    Hay, Rastogi, Miklau, Suciu: Boosting the accuracy of differentially private histograms through consistency. VLDB
    2010, theorem 3 (here with one variance a level).
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray
from dplib.clustering.local.questions import Estimate


@dataclass(frozen=True, eq=False)
class LevelTotals:
    """Estimates of one level of the tree, scaled to all users, and mixed with those of the levels below.

    Attributes:
        totals: of all cubes, shape (m,).
        variance: of a cube's total, one for all cubes: what weighs levels against each other.
    """

    totals: FloatArray
    variance: float

    @classmethod
    def measured(cls, estimate: Estimate, n_users: float) -> "LevelTotals":
        """The level's own estimates."""
        times = n_users / max(1, estimate.n_reports)
        # Of nobody's answers the variance is not 0 but unknown: then the level counts for hardly anything.
        raw = np.asarray(estimate.variance) if estimate.n_reports else 0 * estimate.counts + max(n_users, 1.0) ** 2
        return cls(estimate.counts * times, float(np.maximum(raw * times**2, 1e-9).mean()))

    def over(self, below: "LevelTotals", children: int) -> "LevelTotals":
        """Own estimates mixed with the sums of the totals below, by their variances."""
        sums, spread = below.totals.reshape(-1, children).sum(axis=1), children * below.variance
        own = spread / (spread + self.variance)
        return LevelTotals(own * self.totals + (1 - own) * sums, self.variance * own)
