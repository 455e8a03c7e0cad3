"""Which budget gives an error that is wanted: a plan read backwards, from settings alone.

The errors are the plan's own at each budget that is tried, so whatever decides them (laws, shares that are chosen,
caps) decides the answer too. Budgets are numbers of three digits. An error falls as the budget grows, nearly as a power
of it; that power only proposes where to look, and the least budget within the error is found by bisection.

Cost: a plan for each budget that is tried, some five of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from dplib.errors import ConfigError
from dplib.privacy.rounding import fraction_text
from dplib.validate import did_you_mean, require
from dplib.workflow.design import JobDesign
from dplib.workflow.job import PreparedJob

Prepare = Callable[[Sequence[str]], PreparedJob[JobDesign]]

NUMBERS = 900
"""Numbers of three digits from one power of ten to the next."""
REACH = 6 * NUMBERS
"""How far from the given budget others are looked for, in such numbers: a million times."""


@dataclass(frozen=True)
class Wanted:
    """An error that an answer should not exceed.

    Attributes:
        error: as a count, or as a part of ``count``.
        count: public guess that a part is of; None where the error is a count itself.
        answer: how its name in the plan begins; empty for all of them.
    """

    error: Fraction
    count: Fraction | None
    answer: str

    @property
    def most(self) -> float:
        """The largest standard error."""
        return float(self.error if self.count is None else self.error * self.count)

    @classmethod
    def of(cls, error: str, count: str | None, answer: str) -> "Wanted":
        """From what was typed: ``5``, or ``5%`` with a count.

        Raises:
            ConfigError: if it is no error, or the count is missing or too many.
        """
        part = error.endswith("%")
        found = _positive("--error", error.removesuffix("%"))
        require(part or count is None, "--count", "be given with an error such as 5%", f"--error {error}")
        if not part:
            return cls(found, None, answer)
        if count is None:
            raise ConfigError("--count", "be given where the error is a part of one", "nothing")
        return cls(found / 100, _positive("--count", count), answer)


@dataclass(frozen=True)
class NeededBudget:
    """The least budget of three digits within an error.

    Attributes:
        answer: whose error.
        error_now: standard error at the configured budget.
        setting: of the budget, such as privacy.budget.epsilon.
        budget: the least; None where none within a million times the configured one is enough.
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
    now, job = _errors_of(given), given.job.name
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
            return {}  # A budget that the job refuses: too small for its mechanisms.

    def needed(answer: str) -> NeededBudget:
        # Of a Laplace law the error falls with epsilon, of a Gaussian one with the root of rho.
        times = (now[answer] / wanted.most) ** (1 if name == "epsilon" else 2)
        near = min(max(place_of(float(configured) * times) + 1, first - REACH), first + REACH)
        place = least_place(lambda at: errors(at).get(answer, math.inf) <= wanted.most, near, first)
        if place is None:
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
    plan, _ = prepared.job.plan(prepared.design, prepared.key.settings_hash)
    return {name: error for name, error in plan.stated_errors().items() if math.isfinite(error) and error > 0}


def _positive(option: str, text: str) -> Fraction:
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ConfigError(option, "be a number above 0", text) from None
    require(found > 0, option, "be a number above 0", text)
    return found
