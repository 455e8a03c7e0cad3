"""The measurement of a tree of counts where every node has a budget of its own (non-uniform budgets, LUE-DPTree).

Privacy statement. One privacy unit changes one bin's count by at most D, hence each count on that bin's path to the
root by at most D and no other. With discrete Laplace noise of scale b_x = D / (s_x epsilon) at node x and path sums of
the shares s of at most 1, the release is epsilon-differentially private; with discrete Gaussian noise of parameter
sigma_x^2 = D^2 / (2 s_x rho), rho-zCDP. The path sums are checked in exact integers before any noise is drawn. Nodes
of share 0 are not measured: they are returned as 0 with an infinite variance.

Proof. Noise is independent between nodes. For neighbours that differ in bin t the log-likelihood ratio of any output is
at most the sum of D / b_x = s_x epsilon over the path of t, which is at most epsilon; every Renyi divergence of
order alpha is at most alpha times the sum of D^2 / (2 sigma_x^2) = s_x rho over the path, at most alpha rho (Canonne,
Kamath, Steinke 2020, theorem 14, composed over independent coordinates). A unit that meets several bins is not covered:
the caller bounds it first and states D for the sum over all bins it meets.

Nodes of equal share draw from one stream, in order of position; the stream's name holds the share, so it depends on
settings only. As with `tree_counts`, the key must depend on the counts.

Cost: the samplers' per draw, plus opening one sampler for each different share.

References:
    The thesis on range-count histograms, chapter 3, conclusions 3.4 and 3.9.
    Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy. NeurIPS 2020, theorem 14.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.tree_counts import SAMPLERS, add_exactly
from dplib.privacy.noise import Law
from dplib.randomness.keyed import Key, KeyedStream
from dplib.trees.budgets import LawName, distinct_shares, law_of, noise_parameter, require_within_budget
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import positive, require


@dataclass(frozen=True)
class NodeMechanism:
    """Exact noise for the nodes of interval trees: call it with a tree, its counts and its exact shares.

    Attributes:
        key: the measurement key, which must depend on the counts; at least 32 bytes.
        statistic: what is counted; part of the streams' names.
        noise: which law.
        budget: epsilon (Laplace) or rho (Gaussian) of the whole tree.
        sensitivity: change of one count by one privacy unit: L1, or the square of L2 for Gaussian noise.
    """

    key: Key
    statistic: str
    noise: LawName
    budget: Fraction
    sensitivity: Fraction = Fraction(1)

    def variances(self, shares: IntArray) -> FloatArray:
        """Noise variance at each share, in counts squared, ``inf`` at share 0; known before any count is read."""
        distinct, place = distinct_shares(shares)
        found = [self._law.variance(self._parameter(int(share))) if share else np.inf for share in distinct]
        return np.asarray(np.array(found)[place])

    def __call__(self, tree: IntervalTree, counts: IntArray, shares: IntArray) -> IntArray:
        """Measure a tree.

        Args:
            tree: the tree.
            counts: exact counts of its nodes, int64, shape (n_nodes,).
            shares: exact shares (`dplib.trees.budgets.exact_shares`), shape (n_nodes,).

        Returns:
            Noisy counts, shape (n_nodes,); 0 where the share is 0.

        Raises:
            ConfigError: if a path spends more than the budget or the counts do not fit.
        """
        positive("budget", self.budget)
        positive("sensitivity", self.sensitivity)
        fits = counts.dtype == np.int64 and counts.shape == (tree.n_nodes,)
        require(fits, "counts", f"be {tree.n_nodes} 64-bit integers", f"{counts.shape} of {counts.dtype}")
        require_within_budget(tree, shares)
        draw = SAMPLERS[self._law]
        noise = np.zeros(tree.n_nodes, dtype=np.int64)
        distinct, position = distinct_shares(shares)
        # Sixteen bits sort by radix.
        order = np.argsort(position.astype(np.uint16) if len(distinct) < 1 << 16 else position, kind="stable")
        times = np.bincount(position)
        start = 0
        for share, size in zip(distinct.tolist(), times.tolist(), strict=True):
            if share:
                stream = KeyedStream(self.key, self.statistic, "nodes", share)
                noise[order[start : start + size]] = draw(stream, self._parameter(share), size)
            start += size
        measured = shares > 0
        return np.where(measured, add_exactly(counts, noise), 0)

    @property
    def _law(self) -> Law:
        return law_of(self.noise)

    def _parameter(self, share: int) -> Fraction:
        return noise_parameter(share, self.budget, self.sensitivity, self.noise)
