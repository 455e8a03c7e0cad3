"""The public keys of event rows and the names of their rules; what follows from them is `dplib.spark.rows.resolve`."""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dplib.arrays import IntArray
from dplib.config.names import BLANKS
from dplib.errors import ConfigError
from dplib.validate import require

RULES = (
    "unit is given",
    "day can be read",
    "day is in the domain",
    "name is in the domain",
    "name is valid on the day",
    "quantity is a number",
)


@dataclass(frozen=True, eq=False)
class RowDomain:
    """The public keys of rows: the days, and the row types by name.

    Attributes:
        first_day: day 0.
        n_days: number of days.
        names: name of each row type (an item or a package). A name may stand twice where the days differ: a package
            whose contents changed is two row types.
        valid_first: first day (0-based) on which each row type is on the menu; all days where None.
        valid_end: one past the last such day.
        keys: the text by which rows name each row type, where several columns do; the names where None.
        other: number of the row type under which undeclared names count, on the menu on all days; None where their
            rows are dropped.
    """

    first_day: dt.date
    n_days: int
    names: Sequence[str]
    valid_first: IntArray | None = None
    valid_end: IntArray | None = None
    keys: Sequence[str] | None = None
    other: int | None = None

    @property
    def n_row_types(self) -> int:
        """Number of row types."""
        return len(self.names)

    @property
    def has_one_window(self) -> bool:
        """Whether each key names one row type, so that no list is searched for a row."""
        return all(len(windows) == 1 for windows in self.daily.values())

    @cached_property
    def daily(self) -> dict[str, list[tuple[int, int, int]]]:
        """Key to the (first day, end, row type) of each of its row types.

        Raises:
            ConfigError: if a name is empty or means two row types on one day.
        """
        n = self.n_row_types
        first = np.zeros(n, np.int64) if self.valid_first is None else np.asarray(self.valid_first, np.int64)
        end = np.full(n, self.n_days, np.int64) if self.valid_end is None else np.asarray(self.valid_end, np.int64)
        require(first.shape == end.shape == (n,), "valid days", f"be {n} pairs of first and end", first.shape)
        found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for row_type, name in enumerate(self.names if self.keys is None else self.keys):
            trimmed = name.strip(BLANKS)
            require(bool(trimmed), "names of items and packages", "not be blank", "a blank one")
            found[trimmed].append((int(first[row_type]), int(end[row_type]), row_type))
        for name, windows in found.items():
            windows.sort()
            for (_, before, _), (after, _, _) in pairwise(windows):
                if after < before:
                    raise ConfigError("names of items and packages", "mean one thing on each day", f"{name} twice")
        return dict(found)
