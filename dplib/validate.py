"""Checks of settings: each returns the value it was given or raises one clear `ConfigError`."""

import difflib
import math
from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import TypeVar

from dplib.errors import ConfigError

Number = TypeVar("Number", int, float, Fraction)


def require(condition: bool, name: str, rule: str, value: object) -> None:
    """Raise `ConfigError` ``<name> must <rule>, got <value>`` unless ``condition`` holds."""
    if not condition:
        raise ConfigError(name, rule, value)


def positive(name: str, value: Number) -> Number:
    """Return ``value`` if it is finite and above zero."""
    require(math.isfinite(value) and value > 0, name, "be a number above 0", value)
    return value


def exact(name: str, value: int | Fraction) -> Fraction:
    """Return ``value`` as a fraction if it is an integer or a fraction."""
    require(isinstance(value, int | Fraction), name, "be an exact fraction", type(value).__name__)
    return Fraction(value)


def exact_positive(name: str, value: int | Fraction) -> Fraction:
    """Return ``value`` as a fraction if it is exact and above zero."""
    return positive(name, exact(name, value))


def at_least(name: str, value: Number, least: Number) -> Number:
    """Return ``value`` if it is finite and at least ``least``."""
    # The words are made where they are needed: draws of one variable ask this too.
    if not (math.isfinite(value) and value >= least):
        raise ConfigError(name, f"be at least {least}", value)
    return value


def between(name: str, value: Number, low: Number, high: Number) -> Number:
    """Return ``value`` if it lies strictly between ``low`` and ``high``."""
    if not low < value < high:
        raise ConfigError(name, f"lie strictly between {low} and {high}", value)
    return value


def integer_norms(name: str, l1: int, l2_squared: int) -> tuple[int, int]:
    """Return the norms of a sensitivity if integer vectors can have them; they hold whatever the settings are.

    Each entry x of an integer vector has ``|x| <= x^2``, so ``L1 <= L2^2 <= L1^2``; the largest norms of several
    vectors keep these laws.

    Raises:
        ArithmeticError: where they do not hold, or a number is no Python integer, whose arithmetic alone is exact.
    """
    exact = type(l1) is int and type(l2_squared) is int
    if not (exact and 0 <= l1 <= l2_squared <= l1**2):
        raise ArithmeticError(f"{name} must be exact integers with L1 <= L2^2 <= L1^2, got {l1} and {l2_squared}")
    return l1, l2_squared


def one_of(name: str, value: str, allowed: Collection[str]) -> str:
    """Return ``value`` if it is one of ``allowed``."""
    require_known(name, value, allowed, f"be one of {', '.join(sorted(allowed))}")
    return value


def require_known(name: str, value: str, known: Collection[str], rule: str) -> None:
    """Raise ``<name> must <rule>, got <value>`` unless it is known, with the known name that it is nearest to."""
    if value not in known:
        raise ConfigError(name, rule, value + did_you_mean(value, known))


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A hint for the end of a message: the known name that a wrong one is nearest to; empty where none is near."""
    names = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(given.casefold(), names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""
