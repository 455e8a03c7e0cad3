"""Which budget gives an error that is wanted: a plan read backwards, from settings alone.

The errors are the plan's own at each budget that is tried, so whatever decides them (laws, shares that are chosen,
caps) decides the answer too. Budgets are numbers of three digits. An error falls as the budget grows, nearly as a power
of it; that power only proposes where to look, and the least budget within the error is found by bisection. A job takes
the budgets of one interval, around the configured one: smaller ones are too small for its mechanisms, larger ones have
less noise than is drawn exactly.

Cost: a plan for each budget that is tried, some five for each answer.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from dplib.errors import ConfigError
from dplib.privacy.rounding import as_fraction, fraction_text
from dplib.validate import did_you_mean, require
from dplib.workflow.design import JobDesign
from dplib.workflow.job import PreparedJob

Prepare = Callable[[Sequence[str]], PreparedJob[JobDesign]]

NUMBERS = 900
"""Numbers of three digits from one power of ten to the next."""
REACH = 6 * NUMBERS
"""How far from the given budget others are looked for, in such numbers: a million times."""
LARGEST = 10**100
"""Of what may be typed; the smallest is one by it."""


@dataclass(frozen=True)
class Wanted:
    """An error that an answer should not exceed.

    Attributes:
        most: the largest standard error, as a count.
        answer: how its name in the plan begins; empty for all of them.
    """

    most: float
    answer: str

    @classmethod
    def of(cls, error: str, count: str | None, answer: str) -> "Wanted":
        """From what was typed: ``5``, or ``5%`` of a public guess of the count.

        Raises:
            ConfigError: if it is no error, or the count is missing or too many.
        """
        part = error.endswith("%")
        most = _positive("--error", error.removesuffix("%"))
        require(part or count is None, "--count", "be given with an error such as 5%", f"--error {error}")
        if part:
            if count is None:
                raise ConfigError("--count", "be given where the error is a part of one", "nothing")
            most *= _positive("--count", count) / 100
        return cls(float(most), answer)


@dataclass(frozen=True)
class NeededBudget:
    """The least budget of three digits within an error.

    Attributes:
        answer: whose error.
        error_now: standard error at the configured budget.
        setting: of the budget, such as privacy.budget.epsilon.
        budget: the least; None where none that the job takes, up to a million times the configured one, is enough.
        error: standard error at that budget; None without one.
    """

    answer: str
    error_now: float
    setting: str
    budget: str | None
    error: float | None


def needed_budgets(prepare: Prepare, wanted: Wanted) -> tuple[NeededBudget, ...]:
    """The least budget for each answer that is asked for.

    Args:
        prepare: the configuration with some settings replaced (``a.b=value``); delta, shares and all else stay.
        wanted: the error.

    Raises:
        ConfigError: if the plan has no such answer, or none whose error the settings decide.
    """
    given = prepare(())
    form = given.design.config.privacy.budget
    name = "epsilon" if form.rho is None else "rho"
    setting, configured = f"privacy.budget.{name}", Fraction(getattr(form, name))
    now, job = {answer: error for answer, error in _errors_of(given).items() if error > 0}, given.job.name
    require(bool(now), "--error", "be asked of settings whose plan states errors", job)
    answers = [each for each in now if each.startswith(wanted.answer)]
    hint = did_you_mean(wanted.answer, now)
    require(bool(answers), "--answer", f"begin one of {', '.join(now)}", f"{wanted.answer}{hint}")
    first = place_of(float(configured))

    @cache
    def errors(place: int) -> dict[str, float]:
        try:
            return _errors_of(prepare((f"{setting}={fraction_text(number_at(place))}",)))
        except ConfigError:
            return {}  # A budget that the job refuses.

    def needed(answer: str) -> NeededBudget:
        # Of a Laplace law the error falls with epsilon, of a Gaussian one with the root of rho.
        times = min(max(now[answer] / wanted.most, 1e-6), 1e6) ** (1 if name == "epsilon" else 2)
        near = min(max(place_of(float(configured) * times) + 1, first - REACH), first + REACH)
        # What is refused above the configured budget counts as enough here, so that all above the least is.
        beyond = (math.inf, 0)
        place = least_place(lambda at: errors(at).get(answer, beyond[at > first]) <= wanted.most, near, first)
        if place is None or answer not in errors(place):
            return NeededBudget(answer, now[answer], setting, None, None)
        return NeededBudget(answer, now[answer], setting, fraction_text(number_at(place)), errors(place)[answer])

    return tuple(map(needed, answers))


def least_place(enough: Callable[[int], bool], near: int, first: int) -> int | None:
    """The least place at which a condition holds; None where it holds nowhere within `REACH` of ``first``.

    Args:
        enough: the condition; where it holds, it holds at all larger places.
        near: where to look first.
        first: the middle of the places that are looked at.
    """
    low, high, step = near - 1, near, 1
    while not enough(high):
        if high >= first + REACH:
            return None
        low, high, step = high, min(high + step, first + REACH), 2 * step
    step = 1
    while low >= first - REACH and enough(low):
        low, high, step = max(low - step, first - REACH - 1), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def number_at(place: int) -> Fraction:
    """The number of three digits at a place; 1 at place 0."""
    power, digits = divmod(place, NUMBERS)
    return (100 + digits) * Fraction(10) ** (power - 2)


def place_of(number: float) -> int:
    """The place of the largest number of three digits that is about at most this one."""
    power = math.floor(math.log10(number))
    return NUMBERS * power + int(number / 10.0**power * 100) - 100


def _errors_of(prepared: PreparedJob[JobDesign]) -> dict[str, float]:
    """The known errors that a plan states."""
    job, design = prepared.job, prepared.design
    stated = job.errors(design) if job.errors else job.plan(design, prepared.key.settings_hash)[0].stated_errors()
    return {answer: error for answer, error in stated.items() if math.isfinite(error)}


def _positive(option: str, text: str) -> Fraction:
    found = as_fraction(option, text)
    require(0 < found <= LARGEST and found * LARGEST >= 1, option, "be a number from 1e-100 to 1e100", text)
    return found
