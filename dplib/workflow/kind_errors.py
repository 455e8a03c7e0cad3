"""Errors of each kind of answer at several divisions of one budget, and what a plan says of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.config.measure import Target
from dplib.page.number_text import number_text
from dplib.privacy.noise import Law
from dplib.privacy.rounding import share_text

WORTH_SAYING = 1.01
"""How much lower errors at other shares must be to be recommended."""


@dataclass(frozen=True)
class KindError:
    """Standard errors of one kind of answer, geometric means over its ranges and series.

    Attributes:
        query: day, month, ..., total.
        of: items, groups, or which totals.
        weight: of the kind where shares are chosen.
        chosen: of this configuration.
        best: at the shares of ``measure: auto``.
        equal: at equal shares.
        items_only: where items, or groups, alone are measured.
    """

    query: str
    of: str
    weight: float
    chosen: float
    best: float
    equal: float
    items_only: float


def mean_error(kinds: Sequence[KindError], name: str = "chosen") -> float:
    """Weighted geometric mean over all kinds."""
    logs = [np.log(getattr(each, name)) for each in kinds]
    return float(np.exp(np.average(logs, weights=[each.weight for each in kinds])))


def chosen_errors(kinds: Sequence[KindError]) -> dict[tuple[str, str], float]:
    """The configuration's errors by (query, of what)."""
    return {(each.query, each.of): each.chosen for each in kinds}


def judged_targets(
    asked: Sequence[tuple[str, str, Target | None]], known: Mapping[tuple[str, str], float], law: Law
) -> Iterator[str]:
    """Whether the targets of (query, of what, target) are met by the ``known`` errors of (query, of what).

    Errors fall with the budget by the noise's exponent.
    """
    for query, of, target in asked:
        if target is None:
            continue
        found = known.get((query, of), 0.0)
        most = float(target.count * target.relative_error)
        wanted = f"a {query} of {of}: {share_text(target.relative_error)} of {float(target.count):g}"
        if found <= most:
            yield f"Met: {wanted} is {number_text(most, 3)}, its standard error {number_text(found, 3)}."
        else:
            times = (found / most) ** (2 / law.exponent)
            yield (
                f"Missed: {wanted} is {number_text(most, 3)}, its standard error {number_text(found, 3)}; "
                f"{number_text(times, 3)} times the budget would meet it."
            )


def advice(kinds: Sequence[KindError], by: str, shares: str) -> tuple[str, ...]:
    """What would make the errors lower, where anything would.

    Args:
        kinds: the kinds of answers.
        by: the settings that would.
        shares: those that they would choose, in words.
    """
    if not kinds:
        return ()
    now, then = mean_error(kinds), mean_error(kinds, "best")
    if now < WORTH_SAYING * then:
        return ()
    return (
        f"The shares of this configuration answer its queries with a geometric mean of {number_text(now, 3)}; "
        f"{by} would reach {number_text(then, 3)}, {now / then:.2f} times lower, with {shares}. "
        "Other shares are another measurement, which spends.",
    )


def shares_text(names: Sequence[str], shares: Sequence[Fraction]) -> str:
    """Names with their shares of the budget."""
    return ", ".join(f"{name} {share_text(share)}" for name, share in zip(names, shares, strict=True))
