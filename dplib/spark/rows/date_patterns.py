"""Which date pattern reads given texts: a guess for the data's owner, from a list of usual ones; knows no Spark.

Patterns are Spark's: two letters ask for two digits, one letter takes one or two. A text is read by a pattern if it is
written that way and its month and day can be.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

DATES = (
    "yyyy-MM-dd", "yyyy/MM/dd", "yyyy.MM.dd", "yyyyMMdd", "dd/MM/yyyy", "MM/dd/yyyy", "dd.MM.yyyy", "dd-MM-yyyy",
    "MM-dd-yyyy", "d/M/yyyy", "M/d/yyyy", "d.M.yyyy", "yyyy-M-d", "yyyy/M/d", "dd/MM/yy", "MM/dd/yy", "d/M/yy",
    "M/d/yy", "dd.MM.yy", "dd MMM yyyy", "d MMM yyyy", "dd-MMM-yyyy", "MMM d, yyyy",
)  # fmt: skip
TIMES = (
    "", " HH:mm", " HH:mm:ss", " HH:mm:ss.SSS", " H:mm", " H:mm:ss", " h:mm a", " h:mm:ss a", "'T'HH:mm",
    "'T'HH:mm:ss", "'T'HH:mm:ss.SSS", "'T'HH:mm:ssXXX", "'T'HH:mm:ss.SSSXXX", "'T'HH:mm:ss'Z'",
)  # fmt: skip
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DIGITS = {
    "yyyy": r"(?P<year>\d{4})", "yy": r"(?P<short>\d{2})", "MMM": f"(?P<name>{'|'.join(_MONTHS)})",
    "MM": r"(?P<month>\d{2})", "M": r"(?P<month>\d{1,2})", "dd": r"(?P<day>\d{2})", "d": r"(?P<day>\d{1,2})",
    "HH": r"(?:[01]\d|2[0-3])", "H": r"(?:1?\d|2[0-3])", "h": r"(?:1[0-2]|[1-9])", "mm": r"[0-5]\d", "ss": r"[0-5]\d",
    "SSS": r"\d{3}", "a": "(?:AM|PM)", "XXX": r"(?:Z|[+-]\d\d:\d\d)",
}  # fmt: skip


@dataclass(frozen=True)
class Guess:
    """A pattern, and how many rows of those that were looked at it reads."""

    pattern: str
    rows: int


def guess_patterns(texts: Mapping[str, int] | Sequence[tuple[str, int]]) -> tuple[Guess, ...]:
    """The patterns that read most rows, the likeliest first; several where day and month could be either.

    Args:
        texts: text to the number of rows that hold it.
    """
    pairs = list(texts.items()) if isinstance(texts, Mapping) else list(texts)
    found = []
    for date in DATES:
        for time in TIMES:
            rows = sum(count for text, count in pairs if reads(date + time, text))
            if rows:
                found.append(Guess(date + time, rows))
    most = max((guess.rows for guess in found), default=0)
    # The strictest ones only: what dd/MM reads, d/M reads too.
    best = [guess for guess in found if guess.rows == most]
    return tuple(guess for guess in best if not any(_is_looser(guess.pattern, other.pattern) for other in best))


def _is_looser(one: str, other: str) -> bool:
    return len(one) < len(other) and _loosest(one) == _loosest(other)


def _loosest(pattern: str) -> str:
    return re.sub(r"(?<!M)MM(?!M)|dd|HH", lambda found: found[0][0], pattern)


def reads(pattern: str, text: str) -> bool:
    """Whether a text is written in a pattern and is a day."""
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


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.finditer(r"'(?P<quoted>[^']*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>.)", pattern)
    return re.compile(
        "".join(
            _DIGITS[part["letters"]] if part["letters"] else re.escape(part["quoted"] or part["other"] or "")
            for part in parts
        )
    )
