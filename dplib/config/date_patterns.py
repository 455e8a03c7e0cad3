"""Date patterns: which letters cannot mean what they seem to mean, and which pattern reads given texts; knows no Spark.

A pattern such as ``yyyy-MM-DD`` is legal: `DD` is the day of the year, and Spark reads back everything that it writes
with it. But of dates as people write them it reads those of January only, and the others are lost as rows that nobody
can read. So letters that are written twice, or that say the same thing in two ways, are refused before a row is read.

Patterns are Spark's: two letters ask for two digits, one letter takes one or two. A text is read by a pattern if it is
written that way and its month and day can be.
"""

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from dplib.errors import ConfigError

_SETTING = "input.date_format"

_NAMES = {
    "y": "the year (yyyy)",
    "M": "the month (MM)",
    "d": "the day of the month (dd)",
    "D": "the day of the year (D)",
    "H": "the hour of 24 (HH)",
    "h": "the hour of 12 (hh)",
    "m": "the minute (mm)",
    "s": "the second (ss)",
}
_SAME = str.maketrans({"u": "y", "L": "M", "K": "h", "k": "H"})
_RUN = r"(?P<letters>([A-Za-z])\2*)"
_SIGNS = {
    "yyyy MM dd": "-/.",
    "dd MM yyyy": "/.-",
    "MM dd yyyy": "/-",
    "d M yyyy": "/.",
    "M d yyyy": "/",
    "yyyy M d": "-/",
    "dd MM yy": "/.",
    "MM dd yy": "/",
    "d M yy": "/",
    "M d yy": "/",
    "dd MMM yyyy": " -",
    "d MMM yyyy": " ",
}
"""The signs that usually stand between the parts of a date."""
_DATES = (
    *(order.replace(" ", sign) for order, signs in _SIGNS.items() for sign in signs),
    "yyyyMMdd",
    "MMM d, yyyy",
)
_CLOCKS = ("", "HH:mm", "HH:mm:ss", "HH:mm:ss.SSS")
_TIMES = (
    *(f" {clock}".rstrip() for clock in (*_CLOCKS, "H:mm", "H:mm:ss", "h:mm a", "h:mm:ss a")),
    *(f"'T'{clock}" for clock in (*_CLOCKS[1:], "HH:mm:ssXXX", "HH:mm:ss.SSSXXX", "HH:mm:ss'Z'")),
)
PATTERNS = tuple(date + time for date in _DATES for time in _TIMES)
"""The usual ones."""
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_WRITTEN = {
    "yyyy": r"(?P<year>\d{4})",
    "yy": r"(?P<short>\d{2})",
    "MMM": f"(?P<name>{'|'.join(_MONTHS)})",
    "MM": r"(?P<month>\d{2})",
    "M": r"(?P<month>\d{1,2})",
    "dd": r"(?P<day>\d{2})",
    "d": r"(?P<day>\d{1,2})",
    "HH": r"(?:[01]\d|2[0-3])",
    "H": r"(?:1?\d|2[0-3])",
    "h": r"(?:1[0-2]|[1-9])",
    "mm": r"[0-5]\d",
    "ss": r"[0-5]\d",
    "SSS": r"\d{3}",
    "a": r"(?:AM|PM)",
    "XXX": r"(?:Z|[+-]\d\d:\d\d)",
}
"""How the letters of the usual patterns are written."""


@dataclass(frozen=True)
class Guess:
    """A pattern, and how many rows of those that were looked at it reads."""

    pattern: str
    rows: int


def check_pattern(pattern: str) -> None:
    """Refuse a pattern in which a field stands twice or in two ways.

    Parts in brackets are each looked at for themselves: they may be other ways to write the same moment.

    Raises:
        ConfigError: naming `input.date_format`.
    """
    for part in re.split(r"[\[\]]", re.sub("'[^']*'", "", pattern)):
        letters = [run["letters"][0] for run in re.finditer(_RUN, part)]
        fields = [letter.translate(_SAME) for letter in letters]
        for letter, name in _NAMES.items():
            if fields.count(letter) > 1:
                raise ConfigError(_SETTING, f"hold {name} once", f"{pattern}{suggestion(pattern)}")
        if "D" in fields and {"M", "d"} & set(fields):
            rule = "not hold the day of the year (D) beside month or day"
            raise ConfigError(_SETTING, rule, f"{pattern}{suggestion(pattern)}")
        if "h" in fields and "a" not in letters:
            raise ConfigError(_SETTING, "hold a (AM or PM) beside the hour of 12", f"{pattern}; did you mean HH?")
        if "H" in fields and "a" in letters:
            raise ConfigError(_SETTING, "hold hh, not HH, beside a (AM or PM)", f"{pattern}; did you mean hh?")


def suggestion(pattern: str) -> str:
    """The pattern that was probably meant, as the end of a sentence; empty where nothing comes to mind."""
    meant = pattern.replace("Y", "y").replace("D", "d")
    if "M" not in meant and "m" in meant:
        meant = meant.replace("mm", "MM", 1)
    if meant.count("MM") == 2 and "m" not in meant:
        # The second of two months, behind the hour, is the minute.
        first, month, rest = meant.partition("MM")
        meant = first + month + rest.replace("MM", "mm")
    return f"; did you mean {meant}?" if meant != pattern else ""


def guess_patterns(texts: Iterable[tuple[str, int]]) -> tuple[Guess, ...]:
    """The patterns that read most rows, the likeliest first; several where day and month could be either.

    Args:
        texts: pairs of a text and the number of rows that hold it.
    """
    pairs, found = list(texts), []
    for pattern in PATTERNS:
        rows = sum(count for text, count in pairs if reads(pattern, text))
        if rows:
            found.append(Guess(pattern, rows))
    most = max((guess.rows for guess in found), default=0)
    # The strictest ones only: what dd/MM reads, d/M reads too.
    best = [guess for guess in found if guess.rows == most]
    return tuple(guess for guess in best if not any(_is_looser(guess.pattern, other.pattern) for other in best))


def reads(pattern: str, text: str) -> bool:
    """Whether a text is written in a pattern, one of the usual letters, and is a day."""
    found = _expression(pattern).fullmatch(text)
    if found is None:
        return False
    parts = found.groupdict()
    year = int(parts["year"]) if parts.get("year") else 2000 + int(parts["short"])
    month = _MONTHS.index(parts["name"]) + 1 if parts.get("name") else int(parts["month"])
    try:
        dt.date(year, month, int(parts["day"]))
    except ValueError:
        return False
    return True


def _is_looser(one: str, other: str) -> bool:
    return len(one) < len(other) and _loosest(one) == _loosest(other)


def _loosest(pattern: str) -> str:
    return re.sub(r"(?<!M)MM(?!M)|dd|HH", lambda found: found[0][0], pattern)


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.finditer(rf"{_RUN}|'(?P<quoted>[^']*)'|(?P<other>.)", pattern)
    return re.compile(
        "".join(
            _WRITTEN[part["letters"]] if part["letters"] else re.escape(part["quoted"] or part["other"] or "")
            for part in parts
        )
    )
