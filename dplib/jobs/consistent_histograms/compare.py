"""What a division of the budget is worth: errors of each kind of answer beside those of other divisions.

A kind of answer is a query and a grouping. Compared at the same budget, on the same tree: the shares of this
configuration, those that serve its queries best (``measure: auto``), equal ones of all levels below the root and all
groupings, and the items alone. From settings alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray
from dplib.jobs.consistent_histograms.columns import target_groups
from dplib.jobs.consistent_histograms.config import Measure
from dplib.jobs.consistent_histograms.day_tree import query_ranges, share_text
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.page.number_text import number_text

WORTH_SAYING = 1.01
"""How much lower errors at other shares must be to be recommended."""
ROUNDING = 1e-6
"""Part of the largest error up to which an error is none."""


@dataclass(frozen=True)
class KindError:
    """Standard errors of one kind of answer, geometric means over its ranges and series.

    Attributes:
        query: day, month, ..., total.
        of: items, or which totals.
        weight: of the kind where shares are chosen.
        chosen: of this configuration.
        best: at the shares of ``measure: auto``.
        equal: at equal shares.
        items_only: where items alone are measured.
    """

    query: str
    of: str
    weight: float
    chosen: float
    best: float
    equal: float
    items_only: float


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
    found = [_by_kind(design, errors), *(_by_kind(each, Errors(each)) for each in (best, equal, items))]
    kinds = tuple(
        KindError(question.range, names[column], float(question.weight), *(float(each[row, column]) for each in found))
        for row, question in enumerate(design.config.questions)
        for column in range(n_groupings)
        if found[0][row, column] > 0
    )
    return kinds, (*_targets(design, kinds), *_advice(design, best, kinds))


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
        found = np.array([errors.range_std_error(lo, hi) for lo, hi in ranges])
        # Items off their days have no error but what rounding leaves.
        known = found > ROUNDING * found.max(initial=0.0)
        logs = np.log(np.where(known, found, 1.0)).sum(axis=0)
        sums, counts = np.bincount(grouping, logs), np.bincount(grouping, known.sum(axis=0))
        rows.append(np.where(counts > 0, np.exp(sums / np.maximum(counts, 1)), 0.0))
    return np.array(rows).reshape(len(rows), int(grouping.max(initial=0)) + 1)


def _mean(kinds: tuple[KindError, ...], name: str) -> float:
    logs = [np.log(getattr(each, name)) for each in kinds]
    return float(np.exp(np.average(logs, weights=[each.weight for each in kinds])))


def _targets(design: Design, kinds: tuple[KindError, ...]) -> Iterator[str]:
    """Whether the targets of the queries are met; errors fall with the budget by the noise's exponent."""
    known = {(each.query, each.of): each.chosen for each in kinds}
    groups = target_groups(design.config, design.constraints)
    for question, of in zip(design.config.questions, groups, strict=True):
        if (target := question.target) is None:
            continue
        found = known.get((question.range, of), 0.0)
        most = float(target.count * target.relative_error)
        wanted = f"a {question.range} of {of}: {share_text(target.relative_error)} of {float(target.count):g}"
        if found <= most:
            yield f"Met: {wanted} is {number_text(most, 3)}, its standard error {number_text(found, 3)}."
        else:
            times = (found / most) ** (2 / design.config.privacy.mechanism.exponent)
            yield (
                f"Missed: {wanted} is {number_text(most, 3)}, its standard error {number_text(found, 3)}; "
                f"{number_text(times, 3)} times the budget would meet it."
            )


def _advice(design: Design, best: Design, kinds: tuple[KindError, ...]) -> tuple[str, ...]:
    if not kinds:
        return ()
    now, then = _mean(kinds, "chosen"), _mean(kinds, "best")
    if now < WORTH_SAYING * then:
        return ()
    levels = ", ".join(
        f"{name} {share_text(share)}" for name, share in zip(best.days.names, best.days.shares, strict=True)
    )
    columns = ", ".join(
        f"{name} {share_text(share)}" for name, share in zip(best.columns.names, best.columns.shares, strict=True)
    )
    return (
        f"The shares of this configuration answer its queries with a geometric mean of {number_text(now, 3)}; "
        f"measure: auto would reach {number_text(then, 3)}, {now / then:.2f} times lower, with {levels} of "
        f"the tree and {columns}. Other shares are another measurement, which spends.",
    )
