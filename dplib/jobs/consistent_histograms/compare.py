"""What a division of the budget is worth: errors of each kind of answer beside those of other divisions.

A kind of answer is a query and a grouping. Compared at the same budget, on the same tree: the shares of this
configuration, those that serve its queries best (``measure: auto``), equal ones of all levels below the root and all
groupings, and the items alone. From settings alone.
"""

import numpy as np

from dplib.arrays import FloatArray
from dplib.config.measure import Measure
from dplib.jobs.consistent_histograms.columns import target_groups
from dplib.jobs.consistent_histograms.day_tree import query_ranges
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.workflow.kind_errors import KindError, advice, chosen_errors, judged_targets, shares_text

ROUNDING = 1e-6
"""Part of the largest error up to which an error is none."""


def kind_errors(design: Design, errors: Errors) -> tuple[tuple[KindError, ...], tuple[str, ...]]:
    """Errors of every kind of answer, and what the plan says about them.

    Args:
        design: the design.
        errors: its errors.
    """
    best, names = best_shares_of(design), design.group_names
    n_groupings = len(names)
    plain = design.days.shape.model_copy(update={"root": False, "shares": None})
    equal = design.as_measured(plain, Measure(shares=[1] * n_groupings))
    items = design.as_measured(plain, Measure(shares=[1] + [0] * (n_groupings - 1)))
    found = [_by_kind(design, errors)]
    found += [found[0] if each is design else _by_kind(each, Errors(each)) for each in (best, equal, items)]
    kinds = tuple(
        KindError(question.range, names[column], float(question.weight), *(float(each[row, column]) for each in found))
        for row, question in enumerate(design.config.questions)
        for column in range(n_groupings)
        if found[0][row, column] > 0
    )
    groups = target_groups(design.config, design.constraints)
    asked = [(each.range, of, each.target) for each, of in zip(design.config.questions, groups, strict=True)]
    levels = shares_text(best.days.names, best.days.shares)
    advised = f"{levels} of the tree and {shares_text(best.columns.names, best.columns.shares)}"
    said = judged_targets(asked, chosen_errors(kinds), design.config.privacy.mechanism)
    return kinds, (*said, *advice(kinds, "measure: auto", advised))


def best_shares_of(design: Design) -> Design:
    """The design on the same tree with the shares that serve its queries best."""
    shape = design.days.shape.model_copy(update={"root": False, "shares": None})
    if design.config.measure == "auto" and design.config.shape.shares is None:
        return design
    return design.as_measured(shape, "auto")


def _by_kind(design: Design, errors: Errors) -> FloatArray:
    """Geometric means by query and grouping, 0 where no answer has an error."""
    grouping, rows = design.constraints.series_grouping, []
    for question in design.config.questions:
        ranges = query_ranges(design.config, question.range)
        found = np.array(errors.range_std_errors(ranges))
        # Items off their days have no error but what rounding leaves.
        known = found > ROUNDING * found.max(initial=0.0)
        logs = np.log(np.where(known, found, 1.0)).sum(axis=0)
        sums, counts = np.bincount(grouping, logs), np.bincount(grouping, known.sum(axis=0))
        rows.append(np.where(counts > 0, np.exp(sums / np.maximum(counts, 1)), 0.0))
    return np.array(rows).reshape(len(rows), int(grouping.max(initial=0)) + 1)
