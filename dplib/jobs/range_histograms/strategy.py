"""The tree and the shares of its nodes that a configuration asks for; settings only."""

from dplib.consistency.question_tree import Asked, question_tree
from dplib.estimates.workload_aware import workload_aware
from dplib.jobs.range_histograms.config import RangesRelease
from dplib.jobs.range_histograms.workload import question_law
from dplib.trees.budgets import LawName, name_of
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import RangeQueries
from dplib.trees.strategies import (
    TreeStrategy,
    blue,
    boost,
    boost_un,
    dwork,
    hierarchical_bins,
    lue_dptree,
)
from dplib.validate import require

LUE_BRANCHING = {"laplace": 16, "gaussian": 2}
"""Children of a node for `lue_dptree` where none are given: near the best of its table of errors."""


def asked_of(config: RangesRelease, n_bins: int) -> Asked:
    """The questions' weights and laws."""
    if config.queries is None:
        return [(1.0, question_law(config.tree.queries, n_bins))]
    return [
        (float(each.weight), question_law(each.range, n_bins, f"queries.{place}.range"))
        for place, each in enumerate(config.queries)
    ]


def noise_of(config: RangesRelease) -> LawName:
    """Which law the noise has."""
    return name_of(config.privacy.mechanism)


def choose_strategy(config: RangesRelease, n_bins: int, law: RangeQueries) -> TreeStrategy:
    """The strategy of the configured method; settings only."""
    noise, k = noise_of(config), config.tree.branching
    match config.method:
        case "questions":
            strategy = question_tree(n_bins, asked_of(config, n_bins), noise)
        case "blue" | "adaptive":
            strategy = blue(n_bins, noise, k)
        case "workload_aware":
            strategy = workload_aware(n_bins, law, noise)
        case "lue_dptree":
            strategy = lue_dptree(kary_tree(n_bins, k or LUE_BRANCHING[noise]), noise, law)
        case "boost":
            strategy = boost(n_bins, k or 2, noise)
        case "boost_un":
            strategy = boost_un(n_bins, k or 2, noise)
        case "hierarchical_bins":
            strategy = hierarchical_bins(n_bins)
        case _:
            strategy = dwork(n_bins, noise)
    rule = "be one that measures every bin under these queries"
    require(strategy.measures_every_bin, "tree.method", rule, config.method)
    return strategy
