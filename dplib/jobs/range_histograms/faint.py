"""Histograms whose total over all bins is no larger than its noise; from noisy values and settings alone."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors, range_draws
from dplib.jobs.range_histograms.publish import Summary
from dplib.jobs.range_histograms.tables import Tables
from dplib.metrics.faint_totals import FaintTotals, NoisyTotal, find_faint
from dplib.privacy.noise_quantile import Draws, std_error
from dplib.trees.strategies import TreeStrategy


def faint_groups(design: Design, summary: Summary, directory: Path) -> FaintTotals:
    """Hold every histogram's total against its noise.

    Args:
        design: the design.
        summary: of the tables.
        directory: holds ``measurement/``.
    """
    totals, whole = [], (np.zeros(1, dtype=np.int64), np.array([design.bins.n_bins]))
    # Of sums the draws give the law up to a factor: linking histograms only adds draws, which brings it closer to the
    # normal one, so the quantile is too high if anything.
    errors = Errors(design).by_series(*whole, np.arange(len(design.series)))[:, 0] if design.sums else np.zeros(0)
    for group, draws in enumerate(_laws(design, directory)):
        name = design.series[group] or "all bins"
        error = std_error(draws) if design.sums is None else float(errors[group])
        totals.append(NoisyTotal(name, float(summary.totals[group]), error, draws))
    return find_faint(totals)


def _laws(design: Design, directory: Path) -> Iterator[tuple[Draws, ...]]:
    """The draws of each group's total."""
    if design.total_is_public:
        yield from [()] * len(design.series)
        return
    if not design.adaptive:
        yield from [_draws(design, design.strategy)] * len(design.series)
        return
    by_size = lru_cache(maxsize=None)(lambda n_buckets: _draws(design, design.bucket_strategy(n_buckets)))
    for block in range(design.n_blocks):
        for edges, _ in Tables(directory, design).read_buckets(block):
            yield by_size(len(edges) - 1)


def _draws(design: Design, strategy: TreeStrategy) -> tuple[Draws, ...]:
    """The draws of the least-squares total of one tree."""
    return range_draws(design, strategy, design.node_variance(strategy), 0, strategy.tree.n_leaves)
