"""The page's section on privacy: what is promised, in sentences that can be checked, and the noise behind it.

References:
    Wasserman, Zhou, "A statistical framework for differential privacy", JASA 105(489), 2010 (the guarantee as a bound
    on what a test can tell);
    Dwork, Roth, "The algorithmic foundations of differential privacy", 2014 (odds, groups, post-processing).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dplib.errors import ConfigError
from dplib.page.blocks import (
    Block,
    Bullets,
    Callout,
    Column,
    DataTable,
    KeyValues,
    Paragraphs,
    Section,
    Strong,
    Text,
)
from dplib.page.number_text import bound_text, count_text, counted, exact_text, number_text
from dplib.privacy.accountant import Total
from dplib.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dplib.privacy.neighbors import Neighbors, group_privacy
from dplib.privacy.noise import Law, Noise
from dplib.privacy.rounding import as_fraction, exp_above, round_down, round_up

_LARGE = 20


@dataclass(frozen=True)
class Promise:
    """What a job promises of a release, beside what its settings say in the same way for all jobs.

    Attributes:
        caps: the public caps on what one unit contributes, a phrase.
        invariants: public facts the guarantee is conditional on, a sentence each.
        public_settings: what is public and was chosen without looking at the rows, an enumeration.
        relation: which two inputs are neighbours, in words, where the name of their kind does not say it all.
        change: from one neighbour to the other, an imperative phrase.
    """

    caps: str
    invariants: tuple[str, ...]
    public_settings: str
    relation: str = ""
    change: str = ""


@dataclass(frozen=True)
class Guarantee:
    """What is promised, to whom, and under which conditions.

    Attributes:
        budget: the release's budget.
        unit: name of the privacy unit, such as ``order``; ``event`` where it is a row.
        neighbors: which two inputs the guarantee compares.
        key_id: which key of the operator drew the noise.
        totals: what the measurements cost together, by each accountant; the one of zCDP states the guarantee in
            epsilon and delta where the budget is in rho.
        promise: the job's own words.
    """

    budget: Budget
    unit: str
    neighbors: Neighbors
    key_id: str
    totals: tuple[Total, ...]
    promise: Promise


@dataclass(frozen=True)
class NoiseRow:
    """The noise of one group of counts, such as a level of a tree.

    Attributes:
        label: its name.
        n_counts: how many counts it has.
        mechanism: ``discrete_laplace`` or ``discrete_gaussian``; empty where the group was not measured.
        noise: scale ``b`` of Laplace, ``sigma^2`` of Gaussian noise; None where not measured or private.
        variance: of one noisy count; NaN where not measured.
        sensitivity: L1 for Laplace, squared L2 for Gaussian noise; None where not measured.
        share: of the budget; 0 where not measured.
    """

    label: str
    n_counts: int
    mechanism: str
    noise: Fraction | None
    variance: float
    sensitivity: Fraction | None
    share: Fraction

    @classmethod
    def of(cls, label: str, n_counts: int, noise: Noise | None, share: Fraction, mechanism: str = "") -> Self:
        """The row of a noise on every count; where there is none of one law, of a mechanism that is named."""
        if noise is None:
            return cls(label, n_counts, mechanism, None, math.nan, None, share)
        return cls(label, n_counts, noise.law, noise.parameter, noise.variance, noise.sensitivity, share)


@dataclass(frozen=True)
class NoiseTable:
    """The noise of a release.

    Attributes:
        caption: what the table shows.
        label: what names a row, for example ``Level``.
        counts: what a row has several of, for example ``Intervals``.
        rows: one a group of counts.
    """

    caption: str
    label: str
    counts: str
    rows: tuple[NoiseRow, ...]


_MECHANISMS = {
    Law.LAPLACE: "discrete Laplace",
    Law.GAUSSIAN: "discrete Gaussian",
    "smooth_cauchy": "smooth sensitivity (Cauchy)",
    "noisy_adjacency": "noisy adjacency matrix",
    "randomized_response": "randomized response",
    "exponential": "exponential mechanism",
    "": "not measured",
}
_NOISE_WORDS = (
    "Every count got noise of its own. Laplace noise has the scale b and goes by the L1 sensitivity, the most that one "
    "unit changes the counts of a row of this table in all; Gaussian noise has the parameter σ² and goes by the "
    "squared L2 sensitivity."
)
_ACCOUNTANTS = {"basic": "basic", "advanced": "advanced", "zcdp": "zCDP", "pld": "PLD"}


def guarantee_section(guarantee: Guarantee, noise: NoiseTable) -> Section:
    """The guarantee in plain words, its conditions, the noise and the totals of the accountants."""
    blocks: tuple[Block, ...] = (
        Paragraphs((_promise(guarantee), _conditions(guarantee))),
        _invariants(guarantee),
        KeyValues(_settings(guarantee)),
        Paragraphs(("What the guarantee does not cover:",)),
        Bullets(_limits(guarantee)),
        *((Paragraphs((_NOISE_WORDS,)), _noise_table(noise)) if noise.rows else (Paragraphs((f"{noise.caption}.",)),)),
        _accountants(guarantee),
    )
    return Section("The guarantee in plain words", blocks)


def budget_text(budget: Budget) -> str:
    """A budget in a few words."""
    match budget:
        case PureDP(epsilon):
            return f"epsilon {bound_text(epsilon)}"
        case ApproxDP(epsilon, delta):
            return f"epsilon {bound_text(epsilon)} at delta {bound_text(delta)}"
        case ZCDP(rho):
            return f"rho {bound_text(rho)} (zCDP)"


def rows_text(rows: int, unit: str) -> str:
    """A cap on the rows of one unit, a phrase."""
    return f"at most {counted(rows, 'row')} of one {unit}"


def unit_text(unit: str) -> str:
    """The privacy unit with what it is, where the name alone does not say it."""
    return "event (one row of the input)" if unit == "event" else unit


def _promise(guarantee: Guarantee) -> Text:
    epsilon, delta = _epsilon_delta(guarantee)
    unit = guarantee.unit
    rows = "any one event" if unit == "event" else f"all rows of any one {unit}"
    if guarantee.promise.change:
        change = guarantee.promise.change
        doubt = "cannot decide between two such inputs"
        stake = "which of the two is the data"
    elif guarantee.neighbors is Neighbors.REPLACE_ONE:
        change = f"replace {rows} by any other"
        doubt = f"cannot decide between two versions of one {unit}'s rows"
        stake = "which of the two is in the data"
    else:
        change = f"take {rows} out of the data, or put one more in"
        doubt = f"thinks it as likely as not that a particular {unit} is in the data"
        stake = "it"
    if epsilon > _LARGE:
        weight: Text = ("epsilon is so large that this bound alone rules out almost nothing.",)
    else:
        factor = bound_text(round_up(exp_above(epsilon), 3))
        sure = exact_text(100 - round_down(100 / (1 + exp_above(epsilon)), 3))
        weight = (
            "the probability of everything that could have been published changes at most by the factor ",
            Strong(factor),
            f" (e to the power of epsilon). In other words, the odds of any guess about that {unit} move at most by "
            f"this factor: who {doubt} before reading can be at most ",
            Strong(f"{sure} % sure"),
            f" of {stake} afterwards, whatever else they know and however they compute.",
        )
    start = (f"The release spends {budget_text(guarantee.budget)}{_implied(guarantee)}. That means: {change}, and ",)
    end = (f" All this up to an added probability of delta, {bound_text(delta)}.",) if delta else ()
    return (*start, *weight, *end)


def _epsilon_delta(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    """The guarantee as epsilon and delta."""
    match guarantee.budget:
        case PureDP(epsilon):
            return epsilon, Fraction(0)
        case ApproxDP(epsilon, delta):
            return epsilon, delta
        case ZCDP():
            total = next(total for total in guarantee.totals if total.accountant == "zcdp")
            return as_fraction("epsilon", total.epsilon), as_fraction("delta", total.delta)


def _implied(guarantee: Guarantee) -> str:
    if not isinstance(guarantee.budget, ZCDP):
        return ""
    epsilon, delta = _epsilon_delta(guarantee)
    return f", which implies epsilon {bound_text(epsilon)} at delta {bound_text(delta)}"


def _conditions(guarantee: Guarantee) -> Text:
    return (
        "The noise comes from a cryptographic stream under a secret of the operator. The guarantee is therefore ",
        Strong("computational"),
        ": it holds against every reader who does not have the secret and cannot tell the stream from true randomness. "
        "Who has the secret can take the noise away again.",
    )


def _invariants(guarantee: Guarantee) -> Block:
    invariants = guarantee.promise.invariants
    if not invariants:
        return Callout("No exact facts", "No count is published exactly: the guarantee has no invariants.")
    facts = " ".join(f"({number}) {fact}" for number, fact in enumerate(invariants, start=1))
    text = f"These facts are public and exact, and the guarantee compares only inputs in which they hold: {facts}"
    return Callout("Conditional on public facts", text, tone="warning")


def _settings(guarantee: Guarantee) -> tuple[tuple[str, Text], ...]:
    return (
        ("Budget", budget_text(guarantee.budget)),
        ("Privacy unit", unit_text(guarantee.unit)),
        ("Neighbours", guarantee.promise.relation or guarantee.neighbors.describe(guarantee.unit)),
        ("Public caps", guarantee.promise.caps),
        ("Key", guarantee.key_id),
    )


def _limits(guarantee: Guarantee) -> tuple[Text, ...]:
    unit = guarantee.unit
    pair = _pair(guarantee.budget)
    return (
        (
            Strong("What many have in common. "),
            f"Trends and averages are what the release is for; they may say something about a person whose {unit} was "
            "never counted.",
        ),
        (
            Strong("More than one unit. "),
            f"The promise is for one {unit}. Where two belong together, say to one person, {pair}.",
        ),
        (
            Strong("Other releases. "),
            "What other releases of the same rows spend adds up; the account below counts those made through the same "
            "ledger.",
        ),
        (
            Strong("The settings. "),
            f"{guarantee.promise.public_settings} are public and chosen without looking at the rows.",
        ),
    )


def _pair(budget: Budget) -> str:
    """What holds for two units together, the end of a sentence."""
    try:
        both = group_privacy(budget, 2)
    except ConfigError:
        return "nothing is promised for both together, since their delta would reach 1"
    return f"both together are protected with {budget_text(both)}, and more of them with less"


def _noise_table(noise: NoiseTable) -> DataTable:
    columns = (
        Column(noise.label),
        Column(noise.counts, numeric=True),
        Column("Mechanism"),
        Column("Noise", numeric=True),
        Column("Variance", numeric=True),
        Column("Sensitivity", numeric=True),
        Column("Budget share", numeric=True),
    )
    return DataTable(noise.caption, columns, tuple(_noise_row(row) for row in noise.rows))


def _noise_row(row: NoiseRow) -> tuple[Text, ...]:
    start = (row.label, count_text(row.n_counts), _MECHANISMS.get(row.mechanism, row.mechanism))
    if row.noise is None or row.sensitivity is None:
        return (*start, "–", "–", "–", f"{number_text(100 * row.share)} %")
    noise, sensitivity = ("σ²", "L2²") if row.mechanism == Law.GAUSSIAN else ("b", "L1")
    return (
        *start,
        _equal(noise, row.noise),
        number_text(row.variance),
        _equal(sensitivity, row.sensitivity),
        f"{number_text(100 * row.share)} %",
    )


def _equal(name: str, value: Fraction) -> str:
    text = exact_text(value)
    return f"{name} {text}" if text.startswith("≈") else f"{name} = {text}"


def _accountants(guarantee: Guarantee) -> DataTable:
    columns = (Column("Accountant"), Column("epsilon", numeric=True), Column("delta", numeric=True), Column("How"))
    rows = tuple(
        (
            _ACCOUNTANTS.get(total.accountant, total.accountant),
            bound_text(total.epsilon),
            bound_text(total.delta),
            total.note,
        )
        for total in guarantee.totals
    )
    return DataTable("What all measurements cost together, by each accountant; none rounds down.", columns, rows)
