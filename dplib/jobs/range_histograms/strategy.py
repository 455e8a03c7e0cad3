"""The tree and the shares of its nodes that a configuration asks for; settings only."""

import datetime as dt
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dplib.config.stream import Stream, StreamTree
from dplib.consistency.question_tree import Asked, question_tree
from dplib.consistency.stream_levels import ChosenLevels, calendar_tree, choose_levels
from dplib.estimates.workload_aware import workload_aware
from dplib.jobs.range_histograms.config import RangesRelease
from dplib.jobs.range_histograms.workload import question_law
from dplib.privacy.noise import Law
from dplib.trees.budgets import LawName, exact_level_shares, name_of
from dplib.trees.calendar import calendar_levels
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
    """The questions' weights and laws; of all ranges in a stream, whose questions are of days."""
    if config.queries is None or config.stream is not None:
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


def stream_tree(config: RangesRelease, stream: Stream) -> StreamTree:
    """The tree that the section ``stream`` asks for; settings only.

    Raises:
        ConfigError: if the shares do not fit the levels.
    """
    first, last = stream.horizon
    if stream.levels == "auto":
        asked = tuple((str(each.range), float(each.weight)) for each in config.questions)
        chosen = _chosen_levels(first, last, asked, config.privacy.mechanism)
        root = chosen.shares[0] > 0
        return StreamTree(levels=list(chosen.levels), root=root, shares=list(chosen.shares[0 if root else 1 :]))
    found = calendar_levels(first, last, stream.levels)
    own = {found.level_of[level]: level for level in reversed(stream.levels)}
    shares = stream.shares or [Fraction(1)] * len(own)
    rule = f"have one share for each of the {len(own)} levels with nodes of their own"
    require(len(shares) == len(own), "stream.shares", rule, len(shares))
    below = [own[level] for level in sorted(own) if level] or ["day"]
    return StreamTree(levels=below, root=0 in own, shares=[share / sum(shares) for share in shares])


@lru_cache(maxsize=64)
def _chosen_levels(first: dt.date, last: dt.date, asked: tuple[tuple[str, float], ...], law: Law) -> ChosenLevels:
    """Those of ``levels: auto``: every day of a run over many dates asks for them."""
    return choose_levels(first, last, asked, law, lambda tree: np.ones(tree.n_levels))


def calendar_strategy(config: RangesRelease, stream: Stream, tree: StreamTree) -> TreeStrategy:
    """The strategy of a stream's tree; equal ones are one in a process, which each of its days asks for."""
    return _calendar_strategy(*stream.horizon, tuple(tree.levels), tuple(tree.shares), noise_of(config))


@lru_cache(maxsize=16)
def _calendar_strategy(
    first: dt.date, last: dt.date, levels: tuple[str, ...], given: tuple[Fraction, ...], noise: LawName
) -> TreeStrategy:
    found = calendar_tree(first, last, levels)
    shares = [0.0] * (found.n_levels - len(given)) + [float(share) for share in given]
    return TreeStrategy("calendar", found, exact_level_shares(found, shares), noise)
