"""The public rule that says which rows count, and as what.

The rules are judged in this order; a row is dropped by the first one that it fails. Nothing else drops a row, and no
value stops a run. Texts (names, units, dates, quantities as text) are compared after blanks at both ends are cut
(space, tab, line ends, form feed, vertical tab, byte-order mark); names must then be equal, capitals included.

| rule | a row passes if |
|---|---|
| unit is given | its unit is neither null nor empty (only where `input.columns.unit` is set) |
| day can be read | its day is a date or a timestamp, or a text of the pattern `input.date_format` |
| day is in the domain | the day is one of `domain.first_day` to `domain.last_day` |
| name is in the domain | its item is a declared item, or its package a declared package |
| name is valid on the day | the item or package is on the menu of that day |
| quantity is a number | its quantity as a 64-bit float is neither null nor NaN (1 where no column is set) |

What passes counts as its quantity cut to 0 ... `privacy.max_quantity` and rounded down: infinity counts as the cap,
negative quantities as 0.

The day of a timestamp with an instant (a typed timestamp, or a text whose pattern has a zone) is its day in
`input.timezone`; the day of a text without zone is the day that is written; of a timestamp without zone its own.
"""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's own documentation uses

from dplib.config.sections import Input, Privacy
from dplib.errors import ConfigError
from dplib.validate import require

IntArray = npt.NDArray[np.int64]
BLANKS = " \t\r\n\f\v\ufeff"
MICROS_PER_DAY = 86_400_000_000
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
    """

    first_day: dt.date
    n_days: int
    names: Sequence[str]
    valid_first: IntArray | None = None
    valid_end: IntArray | None = None

    @property
    def n_row_types(self) -> int:
        """Number of row types."""
        return len(self.names)

    @cached_property
    def menu(self) -> dict[str, list[tuple[int, int, int]]]:
        """Name to the (first day, end, row type) of each of its row types.

        Raises:
            ConfigError: if a name is empty or means two row types on one day.
        """
        n = self.n_row_types
        first = np.zeros(n, np.int64) if self.valid_first is None else np.asarray(self.valid_first, np.int64)
        end = np.full(n, self.n_days, np.int64) if self.valid_end is None else np.asarray(self.valid_end, np.int64)
        require(first.shape == end.shape == (n,), "valid days", f"be {n} pairs of first and end", first.shape)
        found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for row_type, name in enumerate(self.names):
            trimmed = name.strip(BLANKS)
            require(bool(trimmed), "names of items and packages", "not be blank", "a blank one")
            found[trimmed].append((int(first[row_type]), int(end[row_type]), row_type))
        for name, windows in found.items():
            windows.sort()
            for (_, before, _), (after, _, _) in pairwise(windows):
                if after < before:
                    raise ConfigError(f"names of items and packages must mean one thing on each day, got {name} twice")
        return dict(found)


def resolve_rows(rows: DataFrame, source: Input, privacy: Privacy, domain: RowDomain) -> DataFrame:
    """Keep the rows that count and turn them into numbers; the rule is this module's table.

    Args:
        rows: columns day, name, and quantity and unit where mapped (`dplib.spark.read.open_rows`).
        source: for the date pattern and the time zone.
        privacy: for the cap of the quantity.
        domain: days and row types.

    Returns:
        columns day int, row_type int, quantity long, and unit string where `input.columns.unit` is set; lazy.
    """
    judged = judge_rows(rows, source, privacy, domain).where(F.col("failed").isNull())
    return judged.select("day", "row_type", "quantity", *(["unit"] if "unit" in rows.columns else []))


def judge_rows(rows: DataFrame, source: Input, privacy: Privacy, domain: RowDomain) -> DataFrame:
    """Resolve every row and say which rule drops it.

    Returns:
        the columns of `resolve_rows`, and ``failed``: the index in `RULES` of the first rule that the row fails, null
        where it counts; and ``clamped``: whether its quantity lay outside 0 ... max_quantity.
    """
    types = {field.name: field.dataType.typeName() for field in rows.schema.fields}
    first = (domain.first_day - dt.date(1970, 1, 1)).days
    has_unit = "unit" in types
    number = _number(F.col("quantity"), types["quantity"]) if "quantity" in types else F.lit(1.0)
    typed = rows.select(
        _day(F.col("day"), types["day"], source, first, domain.n_days).alias("day"),
        _text(F.col("name")).alias("name"),
        number.alias("number"),
        *([_text(F.col("unit")).alias("unit")] if has_unit else []),
    )
    windows = F.filter("menu", lambda window: (F.col("day") >= window["first"]) & (F.col("day") < window["end"]))
    joined = typed.join(F.broadcast(_menu_table(rows, domain)), "name", "left").withColumn(
        "row_type", F.get(windows, F.lit(0))["row_type"]
    )
    passes = (
        F.col("unit").isNotNull() & (F.col("unit") != "") if has_unit else F.lit(True),
        F.col("day").isNotNull(),
        F.col("day").between(0, domain.n_days - 1),
        F.col("menu").isNotNull(),
        F.col("row_type").isNotNull(),
        F.col("number").isNotNull() & ~F.isnan("number"),
    )
    failed = F.coalesce(*(F.when(~F.coalesce(rule, F.lit(False)), F.lit(i)) for i, rule in enumerate(passes)))
    cap = float(privacy.max_quantity)
    return joined.select(
        "day",
        "row_type",
        F.floor(F.least(F.greatest("number", F.lit(0.0)), F.lit(cap))).cast("long").alias("quantity"),
        *(["unit"] if has_unit else []),
        failed.alias("failed"),
        (~F.col("number").between(0.0, cap)).alias("clamped"),
    )


def _menu_table(rows: DataFrame, domain: RowDomain) -> DataFrame:
    window = pa.struct([("first", pa.int32()), ("end", pa.int32()), ("row_type", pa.int32())])
    menus = [[dict(zip(("first", "end", "row_type"), entry, strict=True)) for entry in m] for m in domain.menu.values()]
    table = pa.table({"name": pa.array(domain.menu, pa.string()), "menu": pa.array(menus, pa.list_(window))})
    return rows.sparkSession.createDataFrame(table)


def _text(column: Column) -> Column:
    # The cast also leaves a table's collation, under which two names could be equal, behind.
    return F.btrim(column.cast("string"), F.lit(BLANKS))


def _number(column: Column, type_name: str) -> Column:
    return _text(column).try_cast("double") if type_name == "string" else column.cast("double")


def _day(column: Column, type_name: str, source: Input, first: int, n_days: int) -> Column:
    """Day number from the domain's first day; null where it cannot be read, -1 or beyond where it lies outside.

    Args:
        column: the column of role day.
        type_name: its type.
        source: pattern and time zone.
        first: the domain's first day, in days since 1970-01-01.
        n_days: number of days.
    """
    if type_name == "string":
        instant = F.try_to_timestamp(_text(column), F.lit(source.date_format))
    elif type_name == "timestamp":
        instant = column
    else:
        return F.unix_date(column.cast("date")) - first
    if type_name == "string" and not _has_zone(source.date_format):
        # Read and turned back in the session's zone, so that it cancels out.
        return F.unix_date(instant.cast("date")) - first
    micros = F.unix_micros(instant)
    local = F.unix_micros(F.from_utc_timestamp(instant, source.timezone))
    # Far instants are not shifted: that could overflow. No zone is more than a day from UTC.
    near = micros.between((first - 2) * MICROS_PER_DAY, (first + n_days + 2) * MICROS_PER_DAY)
    day = ((local - F.pmod(local, F.lit(MICROS_PER_DAY))) / MICROS_PER_DAY).cast("int") - first
    return F.when(instant.isNull(), None).when(near, day).otherwise(-1)


def _has_zone(pattern: str) -> bool:
    """Whether a date pattern reads a zone or an offset (letters V z O X x outside quotes)."""
    return re.search("[VzOXx]", re.sub("'[^']*'", "", pattern)) is not None
