"""Which letters of a date pattern cannot mean what they seem to mean.

A pattern such as ``yyyy-MM-DD`` is legal: `DD` is the day of the year, and Spark reads back everything that it writes
with it. But of dates as people write them it reads those of January only, and the others are lost as rows that nobody
can read. So letters that are written twice, or that say the same thing in two ways, are refused before a row is read.
"""

import re

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


def check_pattern(pattern: str) -> None:
    """Refuse a pattern in which a field stands twice or in two ways.

    Parts in brackets are each looked at for themselves: they may be other ways to write the same moment.

    Raises:
        ConfigError: naming `input.date_format`.
    """
    for part in re.split(r"[\[\]]", re.sub("'[^']*'", "", pattern)):
        fields = [run[0].translate(_SAME) for run in re.findall(r"([A-Za-z])\1*", part)]
        runs = re.findall(r"(?:([A-Za-z])\1*)", part)
        for letter, name in _NAMES.items():
            if fields.count(letter) > 1:
                raise ConfigError(_SETTING, f"hold {name} once", f"{pattern}{suggestion(pattern)}")
        present = set(fields)
        if "D" in present and present & {"M", "d"}:
            rule = "not hold the day of the year (D) beside month or day"
            raise ConfigError(_SETTING, rule, f"{pattern}{suggestion(pattern)}")
        if "h" in present and "a" not in runs:
            raise ConfigError(_SETTING, "hold a (AM or PM) beside the hour of 12", f"{pattern}; did you mean HH?")
        if "H" in present and "a" in runs:
            raise ConfigError(_SETTING, "hold hh, not HH, beside a (AM or PM)", f"{pattern}; did you mean hh?")


def suggestion(pattern: str) -> str:
    """The pattern that was probably meant, as the end of a sentence; empty where nothing comes to mind."""
    meant = pattern.replace("Y", "y").replace("D", "d")
    if "M" not in meant and "m" in meant:
        meant = meant.replace("mm", "MM", 1)
    if meant.count("MM") == 2 and "m" not in meant:
        # The second of two months, behind the hour, is the minute.
        first, second, rest = meant.partition("MM")[0], "MM", meant.partition("MM")[2]
        meant = first + second + rest.replace("MM", "mm")
    return f"; did you mean {meant}?" if meant != pattern else ""
