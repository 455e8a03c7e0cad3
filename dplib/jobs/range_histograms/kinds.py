"""Errors of each kind of answer beside those at other divisions of the same budget, from settings alone.

A kind is a question (a law of ranges) and the groups, or a kind of their totals. Compared are this configuration, the
tree and the shares that serve the questions best (``tree: auto``, ``measure: auto``), equal shares of the groups and
each kind of totals, and the groups alone. Errors are root mean squares over the ranges of a question and geometric
means over histograms.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray
from dplib.config.measure import Measure
from dplib.consistency.known_errors import KnownErrors
from dplib.jobs.range_histograms.config import TreeSettings
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors
from dplib.jobs.range_histograms.stream_parts import level_weights
from dplib.jobs.range_histograms.sums import GROUPS, target_names
from dplib.jobs.range_histograms.workload import question_text, ranges_of
from dplib.privacy.noise import Noise
from dplib.workflow.kind_errors import KindError, advice, chosen_errors, judged_targets, shares_text


def kind_errors(design: Design) -> tuple[tuple[KindError, ...], tuple[str, ...]]:
    """Errors of every kind of answer, and what the plan says about them; nothing where neither is declared."""
    config, sums = design.config, design.sums
    if design.adaptive or design.stream is not None or (sums is None and config.queries is None):
        return (), ()
    names = (GROUPS,) if sums is None else sums.names
    best, others = best_design(design), [design, design]
    if sums is not None:
        shares = ([1] * len(names), [1] + [0] * (len(names) - 1))
        others = [Design.of(design.config, design.strategy, Measure(shares=list(each))) for each in shares]
    found = [errors_by_kind(each, len(names)) for each in (design, best, *others)]
    kinds = tuple(
        KindError(question_text(each.range), names[kind], float(each.weight), *(float(one[row, kind]) for one in found))
        for row, each in enumerate(config.questions)
        for kind in range(len(names))
        if found[0][row, kind] > 0
    )
    of = target_names(config, sums)
    asked = [(question_text(each.range), name, each.target) for each, name in zip(config.questions, of, strict=True)]
    said = judged_targets(asked, chosen_errors(kinds), config.privacy.mechanism)
    by = "tree: auto" if sums is None else "tree: auto and measure: auto"
    return kinds, (*said, *advice(kinds, by, _chosen(best)))


@dataclass(frozen=True)
class RecentError:
    """Mean standard error of a question to a stream, over its ranges and the histograms of a kind.

    Attributes:
        query: day, last 7 days, month to date, ..., each as it is known on its last day.
        of: groups, or which totals.
        days: of the longest range.
        error: of this stream.
        days_only: of releases of days of the groups alone, for the same budget.
    """

    query: str
    of: str
    days: int
    error: float
    days_only: float


def recent_errors(design: Design) -> tuple[tuple[RecentError, ...], tuple[str, ...]]:
    """Errors of a stream's answers as they are known on the day, and which targets these meet; settings only."""
    config, bins, sums = design.config, design.bins, design.sums
    if design.stream is None:
        return (), ()
    names, kind = (GROUPS,) if sums is None else sums.names, np.zeros(len(design.series), dtype=np.int64)
    adds = np.ones(len(design.series))
    if sums is not None:
        kind, adds = sums.constraints.series_grouping, sums.constraints.incidence[0].power(2).sum(axis=1)
    whole = Errors(design).std_errors(0, bins.n_bins, np.arange(len(design.series)))
    known = KnownErrors(design.strategy.tree, level_weights(design), whole, bins.first_day, bins.last_day)
    law, neighbors = config.privacy.mechanism, 2 if config.privacy.neighbors == "replace_one" else 1
    sensitivity = Fraction(law.sensitivity(neighbors, neighbors))
    day = Noise(law, law.parameter(sensitivity, design.budget), sensitivity).variance
    found = []
    for question in config.questions:
        errors, days = known.of(str(question.range))
        for number, name in enumerate(names):
            own = kind == number
            flat = float(np.sqrt(np.outer(days, adds[own]) * day).mean())
            found.append(RecentError(str(question.range), name, int(days.max()), float(errors[own].mean()), flat))
    of = target_names(config, sums)
    asked = [(str(each.range), name, each.target) for each, name in zip(config.questions, of, strict=True)]
    said = judged_targets(asked, {(each.query, each.of): each.error for each in found}, law)
    return tuple(found), tuple(said)


def best_design(design: Design) -> Design:
    """The design with the tree and the shares that serve the questions best."""
    config = design.config
    if config.tree.method == "auto" and (design.sums is None or config.measure == "auto"):
        return design
    strategy = design.strategy if config.tree.method == "auto" else None
    update = {"tree": TreeSettings(queries=config.tree.queries)}
    return Design.of(config.model_copy(update=update | ({"measure": "auto"} if design.sums else {})), strategy)


def errors_by_kind(design: Design, n_kinds: int) -> FloatArray:
    """Errors by question and kind of histograms, 0 where no answer has one."""
    grouping = np.zeros(len(design.series), dtype=np.int64)
    if design.sums is not None:
        grouping = design.sums.constraints.series_grouping
    errors, found = Errors(design), np.zeros((len(design.asked), n_kinds))
    for row, (_, law) in enumerate(design.asked):
        lo, hi, weights = ranges_of(law, design.bins.n_bins)
        means = errors.mean_squares(lo, hi, weights)
        known = means > 0
        counts = np.bincount(grouping[known], minlength=n_kinds)
        logs = np.bincount(grouping[known], np.log(means[known]) / 2, n_kinds)
        found[row] = np.where(counts > 0, np.exp(logs / np.maximum(counts, 1)), 0.0)
    return found


def shares_of_levels(design: Design) -> tuple[tuple[str, float], ...]:
    """Largest share of the budget of a node on each level that is measured."""
    tree, shares = design.strategy.tree, design.strategy.shares / 2**40
    most = [float(shares[tree.level_slice(level)].max()) for level in range(tree.n_levels)]
    return tuple((f"level {level}", share) for level, share in enumerate(most) if share > 0)


def _chosen(design: Design) -> str:
    tree = design.strategy.tree
    levels = ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares_of_levels(design))
    found = f"a tree of {tree.n_levels} levels ({levels})"
    return found if design.sums is None else f"{found} and {shares_text(design.sums.names, design.sums.columns.shares)}"
