"""Ready strategies for range counts: a tree, exact shares of the budget for its nodes, and what is expected of them.

| name | tree | shares |
|---|---|---|
| `dwork` | star: bins only | all to the bins |
| `regular` | binary | equal, answers without least squares |
| `struct_construct_strategy` | SC | equal, answers without least squares |
| `boost` | k-ary (Hay et al.) | equal |
| `boost_un` | k-ary | by level, in proportion to (sum of p)^(1/3) |
| `hierarchical_bins` | HB's number of children (Qardaji et al.) | equal |
| `lue_dptree` | any tree, any law of queries | conclusion 3.5, node by node |
| `blue` | mixed radices searched | by level, least error after least squares; the default |

All but two are followed by least squares. A strategy depends on settings only, so it costs no privacy, is computed
once for any number of histograms, and its error is known before any data is read.

References:
    Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006.
    Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms through consistency",
    PVLDB 3(1), 2010. Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private histograms",
    PVLDB 6(14), 2013, section 4 (HB). The thesis on range-count histograms, chapter 3, algorithms 3.1 and 3.8.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.trees.budgets import (
    SHARE_BITS,
    WHOLE,
    LawName,
    coverage_level_shares,
    equal_level_shares,
    exact_level_shares,
    exact_shares,
    non_uniform_budget_distribution,
    unit_variance,
)
from dplib.trees.complete import kary_tree, mixed_radix_tree
from dplib.trees.coverage import RangeQueries, UniformRanges, node_coverage_probabilities
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.struct_construct import struct_construct
from dplib.trees.structure_search import best_design
from dplib.validate import at_least

_NODE_DIGITS = 7


@dataclass(frozen=True, eq=False)
class TreeStrategy:
    """How range counts are measured and answered.

    Attributes:
        name: as in the table of the module.
        tree: the tree.
        shares: exact shares of the budget, shape (n_nodes,).
        noise: which law they feed.
        least_squares: whether answers are sums of least-squares estimates, or of the noisy counts of the cover.
    """

    name: str
    tree: IntervalTree
    shares: IntArray
    noise: LawName
    least_squares: bool = True

    @property
    def measures_every_bin(self) -> bool:
        """Whether every bin has a share, so that every range has an answer with a stated error."""
        return bool((self.shares[self.tree.leaf_nodes] > 0).all())

    @cached_property
    def unit_variances(self) -> FloatArray:
        """Noise variances at epsilon = 1 or rho = 1/2, by the continuous laws, shape (n_nodes,)."""
        return unit_variance(self.shares / WHOLE, self.noise)


def _by_level(name: str, tree: IntervalTree, level_shares: FloatArray, noise: LawName) -> TreeStrategy:
    return TreeStrategy(name, tree, exact_level_shares(tree, level_shares), noise)


def _same_for_all(name: str, tree: IntervalTree, noise: LawName) -> TreeStrategy:
    """As in equation 3.2: the same noise at every node, also where a path is shorter; raw answers."""
    shares = exact_shares(tree, np.full(tree.n_nodes, 1.0 / tree.n_levels))
    return TreeStrategy(name, tree, shares, noise, least_squares=False)


def dwork(n_bins: int, noise: LawName = "laplace") -> TreeStrategy:
    """Every bin by itself."""
    tree = kary_tree(n_bins, max(n_bins, 2))
    return _by_level("dwork", tree, equal_level_shares(tree.n_levels, root=False), noise)


def regular(n_bins: int, noise: LawName = "laplace") -> TreeStrategy:
    """The regular 2-range tree: binary, equal budgets, raw answers."""
    tree = kary_tree(n_bins, 2)
    return _same_for_all("regular", tree, noise)


def struct_construct_strategy(n_bins: int, noise: LawName = "laplace") -> TreeStrategy:
    """The SC tree, equal budgets, raw answers."""
    tree = struct_construct(n_bins)
    return _same_for_all("struct_construct", tree, noise)


def boost(n_bins: int, k: int = 2, noise: LawName = "laplace") -> TreeStrategy:
    """Boost: k-ary tree, equal budgets, least squares."""
    tree = kary_tree(n_bins, k)
    return _by_level("boost", tree, equal_level_shares(tree.n_levels), noise)


def boost_un(n_bins: int, k: int = 2, noise: LawName = "laplace") -> TreeStrategy:
    """Boost-UN: Boost with the level budgets that are best for raw answers to uniform queries."""
    tree = kary_tree(n_bins, k)
    coverage = node_coverage_probabilities(tree, UniformRanges(n_bins))
    return _by_level("boost_un", tree, coverage_level_shares(tree, coverage, noise), noise)


def hierarchical_bins_arity(n_bins: int) -> int:
    """HB's number of children: the b with the least (b - 1) h^3 - 2 (b + 1) h^2 / 3, h = ceil(log_b n)."""
    at_least("n_bins", n_bins, 1)

    def score(b: int) -> tuple[float, int]:
        height = 1
        while b**height < n_bins:
            height += 1
        return (b - 1) * height**3 - 2 * (b + 1) * height**2 / 3, b

    # With h = 1 the best b is n itself, with h >= 2 it is at most ceil(sqrt n).
    widest = int(np.ceil(np.sqrt(n_bins)))
    arities: list[int] = [*range(2, max(widest, 2) + 1), max(n_bins, 2)]
    return min(arities, key=score)


def hierarchical_bins(n_bins: int, root: bool = True) -> TreeStrategy:
    """HB: the formula's tree with equal budgets; ``root=False`` leaves the root out, which is better."""
    tree = kary_tree(n_bins, hierarchical_bins_arity(n_bins))
    return _by_level("hierarchical_bins", tree, equal_level_shares(tree.n_levels, root), "laplace")


def lue_dptree(
    tree: IntervalTree, noise: LawName = "laplace", queries: RangeQueries | None = None, digits: int = _NODE_DIGITS
) -> TreeStrategy:
    """LUE-DPTree (algorithm 3.8): budgets node by node for a law of queries, then least squares.

    Args:
        tree: any tree (TSC).
        noise: which law.
        queries: their law; None for uniform.
        digits: binary digits of a node's share: few digits mean few different scales and fast noise.
    """
    coverage = node_coverage_probabilities(tree, queries or UniformRanges(tree.n_leaves))
    shares = non_uniform_budget_distribution(tree, coverage, noise)
    return TreeStrategy("lue_dptree", tree, exact_shares(tree, shares, min(digits, SHARE_BITS)), noise)


def blue(n_bins: int, noise: LawName = "laplace", arity: int | None = None) -> TreeStrategy:
    """The default: radices and level budgets with the least error after least squares."""
    design = best_design(n_bins, noise, arity)
    tree = mixed_radix_tree(n_bins, design.radices)
    return _by_level("blue", tree, design.shares[: tree.n_levels], noise)
