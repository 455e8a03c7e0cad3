"""Numbers as a reader wants them: thousands apart, as many digits as the error allows, bounds never rounded down."""

import datetime as dt
import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dplib.privacy.rounding import as_fraction, fraction_text

_DIGITS = 4
_SHORT = 10
_TINY = Fraction(1, 10_000)
_MINUS = "\N{MINUS SIGN}"


def count_text(value: float) -> str:
    """A whole number with thousands apart."""
    return f"{value:,.0f}".replace("-", _MINUS)


def counted(n: int, noun: str) -> str:
    """A number of things, one of them without the plural's s."""
    return f"{count_text(n)} {noun}" if n == 1 else f"{count_text(n)} {noun}s"


def count_of(level: str) -> str:
    """What the counts at a level are: ``count a month``, ``count for 13 weeks``."""
    return f"count {'for' if level[0].isdigit() else 'a'} {level}"


def days_text(first: dt.date, last: dt.date, n_days: int) -> str:
    """Days from one to another, and how many of them there are where some are missing."""
    span = (last - first).days + 1
    return (
        f"{first} to {last}, both included ({count_text(n_days)}{'' if n_days == span else f' of {count_text(span)}'})"
    )


def number_text(value: float | Fraction, digits: int = _DIGITS) -> str:
    """A number with ``digits`` significant digits; very large and very small ones as powers of ten."""
    number = float(value)
    if not math.isfinite(number):
        return "\N{EN DASH}" if math.isnan(number) else ("\N{INFINITY}" if number > 0 else f"{_MINUS}\N{INFINITY}")
    mantissa, power = f"{number:.{digits - 1}e}".split("e")
    exponent = int(power)
    if -5 < exponent < 15:
        return _trimmed(f"{number:,.{max(0, digits - 1 - exponent)}f}").replace("-", _MINUS)
    return f"{_trimmed(mantissa)}e{exponent}".replace("-", _MINUS)


def terminal_number(value: float | Fraction, digits: int = _DIGITS) -> str:
    """`number_text` in the characters of a terminal: one notation in a column, whatever the sizes."""
    return number_text(value, digits).replace(_MINUS, "-").replace("\N{EN DASH}", "-").replace("\N{INFINITY}", "inf")


def terminal_with_error(value: float, error: float | None) -> str:
    """A value with its error in brackets, both in one notation and to the digit that the error allows."""
    if error is None or not error > 0:
        return terminal_number(value, 5)
    shown, margin = with_margin(value, error)
    return f"{shown} ({margin})".replace(_MINUS, "-")


def span_text(least: float, most: float) -> str:
    """Numbers of one kind, for a terminal: one where all agree within a twentieth, else the least and the most."""
    if not most > 1.05 * least:
        return terminal_number((least + most) / 2, 3)
    return f"{terminal_number(least, 3)} to {terminal_number(most, 3)}"


def exact_text(value: Fraction) -> str:
    """A fraction as it is where a short decimal is exact, else rounded and marked so."""
    text = fraction_text(value)
    if "/" in text or len(text) > _SHORT:
        return f"≈ {number_text(value, digits=6)}"
    if text.lstrip("-").isdigit():
        return f"{int(text):,}".replace("-", _MINUS)
    return number_text(value, digits=_SHORT) if abs(value) < _TINY else text.replace("-", _MINUS)


def bound_text(value: Fraction | float) -> str:
    """An upper bound: as it is where a short decimal is exact, else rounded up, so that it stays one."""
    # A float stands for the decimal of 15 digits nearest to it: one millionth, not the binary number just above it.
    bound = value if isinstance(value, Fraction) else as_fraction("bound", f"{value:.15g}")
    text = fraction_text(bound)
    if "/" in text or len(text) > _SHORT:
        above = Context(prec=5, rounding=ROUND_CEILING).divide(Decimal(bound.numerator), Decimal(bound.denominator))
        return number_text(float(above), digits=5)
    return exact_text(bound)


def with_margin(estimate: float, margin: float) -> tuple[str, str]:
    """An estimate and its margin, both to the digit where the margin's second significant digit stands."""
    decimals = max(0, 1 - math.floor(math.log10(margin))) if margin > 0 else 0
    shown = [f"{value:,.{decimals}f}".replace("-", _MINUS) for value in (estimate, margin)]
    return shown[0], shown[1]


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
