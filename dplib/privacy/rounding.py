"""Exact numbers in and out: decimal input as fractions, and functions bounded on the side that is safe.

Budgets, sensitivities and noise are `Fraction`; only logarithms, square roots and exponentials are irrational. Each has
a variant that is never below and one that is never above the true value, so that a claim about privacy errs towards
more noise and a larger epsilon.

Guarantee: the quotient of a fraction is rounded once, in the stated direction, to 60 digits; ``ln``, ``exp`` and
``sqrt`` of Python's decimal module are correctly rounded (error at most half a unit in the last place, General Decimal
Arithmetic specification 1.70), so the neighbouring decimal on the safe side bounds the true value.
"""

import math
import numbers
import re
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dplib.validate import require

_DIGITS = 60
_SHORT = 15
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
_NUMBER_TEXT = re.compile(
    r"[+-]?(\d{1,4000}(\.\d{0,4000})?|\.\d{1,4000})(e[+-]?\d{1,3})?|[+-]?\d{1,4000}/\d{1,4000}", re.I
)
_RULE = "be a finite number such as 0.1, 1e-6 or '1/3'"


def as_fraction(name: str, value: object) -> Fraction:
    """Return the exact value of a setting: 0.1 is one tenth, not the binary number nearest to it.

    Args:
        name: the setting, for the error's sentence.
        value: an int, float, `Fraction`, or text such as ``"0.1"``, ``"1e-6"`` or ``"1/3"``.

    Raises:
        ConfigError: for truth values, NaN, infinities and everything that is not a number.
    """
    if isinstance(value, Fraction):
        return value
    require(isinstance(value, str | float | numbers.Integral) and not isinstance(value, bool), name, _RULE, value)
    if isinstance(value, numbers.Integral):
        return Fraction(int(value))
    # The shortest text that reads back as the same float is what a person typed.
    text = float.__repr__(value) if isinstance(value, float) else str(value).strip()
    require(_NUMBER_TEXT.fullmatch(text) is not None, name, _RULE, value)
    _, _, denominator = text.partition("/")
    require(not denominator or int(denominator) != 0, name, _RULE, value)
    return Fraction(text)


def fraction_text(value: Fraction) -> str:
    """Return text that `as_fraction` reads back exactly: a decimal where one of 15 digits is exact, else ``p/q``."""
    context = Context(prec=_SHORT, Emin=MIN_EMIN, Emax=MAX_EMAX)
    short = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    text = f"{short:f}" if -_SHORT <= short.adjusted() <= _SHORT else f"{short:e}"
    return text if _NUMBER_TEXT.fullmatch(text) and Fraction(text) == value else str(value)


def _above(function: Callable[[Decimal], Decimal], x: Fraction) -> Fraction:
    quotient = _UP.divide(Decimal(x.numerator), Decimal(x.denominator))
    value = function(quotient)
    # Only ln 1 is 0, exactly; the decimal next to 0 has an exponent that no fraction can hold.
    return Fraction(_UP.next_plus(value)) if value else Fraction(0)


def _below(function: Callable[[Decimal], Decimal], x: Fraction) -> Fraction:
    quotient = _DOWN.divide(Decimal(x.numerator), Decimal(x.denominator))
    value = function(quotient)
    return Fraction(_DOWN.next_minus(value)) if value else Fraction(0)


def log_above(x: Fraction) -> Fraction:
    """Return a number just above ``ln x``, for ``x > 0``."""
    return _above(_UP.ln, x)


def log_below(x: Fraction) -> Fraction:
    """Return a number just below ``ln x``, for ``x > 0``."""
    return _below(_DOWN.ln, x)


def exp_above(x: Fraction) -> Fraction:
    """Return a number just above ``e^x``; ``x`` is a few thousand at most, since the result is held exactly."""
    return _above(_UP.exp, x)


def sqrt_above(x: Fraction) -> Fraction:
    """Return the square root of ``x >= 0`` where it is a short decimal, else a number just above it."""
    quotient = _UP.divide(Decimal(x.numerator), Decimal(x.denominator))
    root = _UP.sqrt(quotient)
    return Fraction(root) if Fraction(root) ** 2 >= x else Fraction(_UP.next_plus(root))


def sqrt_below(x: Fraction, decimals: int) -> Fraction:
    """Return the square root of ``x >= 0``, rounded down to this many decimals."""
    return Fraction(math.isqrt(x.numerator * 100**decimals // x.denominator), 10**decimals)


def round_up(x: Fraction, digits: int = _SHORT) -> Fraction:
    """Return the smallest decimal of ``digits`` significant digits that is at least ``x``."""
    context = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return Fraction(context.divide(Decimal(x.numerator), Decimal(x.denominator)))


def round_down(x: Fraction, digits: int = _SHORT) -> Fraction:
    """Return the largest decimal of ``digits`` significant digits that is at most ``x``."""
    return -round_up(-x, digits)


def float_above(x: Fraction) -> float:
    """Return the smallest float that is at least ``x``; infinity beyond the largest float."""
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def float_below(x: Fraction) -> float:
    """Return the largest float that is at most ``x``."""
    return -float_above(-x)


def share_text(share: Fraction) -> str:
    """A share as a percentage."""
    return f"{float(100 * share):.4g} %"
