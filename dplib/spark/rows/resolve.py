"""The public rule that says which rows count, and as what.

The rules are judged in this order; a row is dropped by the first one that it fails. Nothing else drops a row, and no
value stops a run. Texts (names, units, dates, quantities as text) are compared after blanks at both ends are cut
(space, tab, line ends, form feed, vertical tab, byte-order mark); names must then be equal, capitals included, unless
`input.fold` says what makes no difference.

| rule | a row passes if |
|---|---|
| unit is given | its unit is neither null nor empty (only where `input.columns.unit` is set) |
| day can be read | its day is a date or a timestamp, or a text of the pattern `input.date_format` |
| day is in the domain | the day is one of `domain.first_day` to `domain.last_day` |
| name is in the domain | its item is a declared item, or its package a declared package; with `domain.other` any name |
| name is valid on the day | the item or package is on the menu of that day |
| quantity is a number | its quantity is a number (1 where no column is set); NaN and null are none |

A text is a number where it is a plain decimal one: digits with at most one point, a sign before them or none, an
exponent (e or E, a sign or none, digits) or none; or the word inf or infinity, with a sign or none, in any capitals.
`5f`, `0x5`, `2L`, `1,000` and `NaN` are no numbers.

With `domain.other` a row whose name is not declared counts as that row type; a null, an empty text, and of a name in
several columns one with such a part, are no names. Still one row has one row type, which it alone decides, so caps and
sensitivities are what they are without it. A declared name off its days is not undeclared: its row is dropped.

What passes counts as its quantity cut to 0 ... `privacy.max_quantity` and rounded down: infinity counts as the cap,
negative quantities as 0.

Which day a moment falls on: `dplib.spark.rows.timestamps`.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dplib.config.event_input import Input
from dplib.config.fold import Fold, folded
from dplib.config.item_table import KEY_SEPARATOR, NAME_SEPARATOR
from dplib.config.names import BLANKS
from dplib.config.sections import EventPrivacySettings
from dplib.spark.rows.fold import fold_columns
from dplib.spark.rows.row_domain import RowDomain
from dplib.spark.rows.timestamps import with_day_number

_JUDGED = ("unit", "day_text", "day_text", "name", "name", "number_text")
"""Which text each rule judges."""
MAX_HELD = 2.0**53
"""Quantities above are shown to the data's owner as this."""


def resolve_rows(rows: DataFrame, source: Input, privacy: EventPrivacySettings, domain: RowDomain) -> DataFrame:
    """Keep the rows that count and turn them into numbers; the rule is this module's table.

    Args:
        rows: columns day, name, and quantity and unit where mapped (`dplib.spark.rows.read.open_rows`).
        source: for the date pattern and the time zone.
        privacy: for the cap of the quantity.
        domain: days and row types.

    Returns:
        columns day int, row_type int, quantity long, and unit string where `input.columns.unit` is set; lazy.
    """
    named, failed = _named_rows(rows, source, domain)
    return named.where(failed.isNull()).select(*_counted(rows, privacy))


def judge_rows(rows: DataFrame, source: Input, privacy: EventPrivacySettings, domain: RowDomain) -> DataFrame:
    """Resolve every row and say which rule drops it.

    Returns:
        the columns of `resolve_rows`, and ``failed``: the index in `RULES` of the first rule that the row fails, null
        where it counts; ``clamped``: whether its quantity lay outside 0 ... max_quantity; and for the data's owner and
        the quality of the input ``series`` (the row type), ``undeclared`` (the name of a row that counts as other),
        ``held`` (the whole quantity before its cap), ``content`` (all texts) and ``shown`` (the text that the failed
        rule judged).
    """
    joined, failed = _named_rows(rows, source, domain)
    return joined.select(
        *_counted(rows, privacy),
        failed.alias("failed"),
        (~F.col("number").between(0.0, float(privacy.max_quantity))).alias("clamped"),
        # For the data's owner only (`dplib.spark.rows.inspect`); anyone who counts selects none of it.
        F.col("row_type").alias("series"),
        F.when(F.col("undeclared"), _shown("name")).alias("undeclared"),
        F.to_json(F.struct("day_text", "name", "number_text")).cast("binary").alias("content"),
        F.floor(F.least(F.greatest("number", F.lit(0.0)), F.lit(MAX_HELD))).cast("double").alias("held"),
        F.coalesce(
            *(F.when(failed == i, _shown(text)) for i, text in enumerate(_JUDGED) if text in joined.columns)
        ).alias("shown"),
    )


def _counted(rows: DataFrame, privacy: EventPrivacySettings) -> list[Column]:
    """What is counted of named rows."""
    cut = F.floor(F.least(F.greatest("number", F.lit(0.0)), F.lit(float(privacy.max_quantity))))
    unit = [F.col("unit")] if "unit" in rows.columns else []
    return [F.col("day"), F.col("row_type"), cut.cast("long").alias("quantity"), *unit]


def _named_rows(rows: DataFrame, source: Input, domain: RowDomain) -> tuple[DataFrame, Column]:
    """The rows with their texts, day, number and row type; and the index of the first rule that a row fails, or null.

    A run selects few of these columns: what is not asked for Spark need not analyse.
    """
    types = {field.name: field.dataType.typeName() for field in rows.schema.fields}
    has_unit = "unit" in types
    number = number_column(F.col("quantity"), types["quantity"]) if "quantity" in types else F.lit(1.0)
    moment = read_column("day") if types["day"] == "string" else F.col("day")
    numbered = with_day_number(rows, moment, types["day"], source, domain.first_day, domain.n_days)
    typed = numbered.select(
        F.col("day_number").alias("day"),
        read_column("name").alias("name"),
        number.alias("number"),
        *([read_column("unit").alias("unit")] if has_unit else []),
        read_column("day").alias("day_text"),
        (read_column("quantity") if "quantity" in types else F.lit(None)).alias("number_text"),
    )
    menus = F.broadcast(_constraint_table(rows, domain, source.fold))
    joined = fold_columns(typed, ["name"], source.fold).join(menus, "name", "left")
    if domain.has_one_window:
        row_type = F.when(_is_on(F.col("menu")), F.col("menu")["row_type"])
    else:
        row_type = F.get(F.filter("menu", _is_on), F.lit(0))["row_type"]
    undeclared = F.lit(False) if domain.other is None else F.col("menu").isNull() & _is_name()
    row_type = F.when(undeclared, F.lit(domain.other)).otherwise(row_type)
    joined = joined.withColumns({"row_type": row_type, "undeclared": undeclared})
    passes = (
        F.col("unit").isNotNull() & (F.col("unit") != "") if has_unit else F.lit(True),
        F.col("day").isNotNull(),
        F.col("day").between(0, domain.n_days - 1),
        F.col("menu").isNotNull() | F.col("undeclared"),
        F.col("row_type").isNotNull(),
        F.col("number").isNotNull() & ~F.isnan("number"),
    )
    failed = F.coalesce(*(F.when(~F.coalesce(rule, F.lit(False)), F.lit(i)) for i, rule in enumerate(passes)))
    return joined, failed


def _shown(text: str) -> Column:
    """A judged text as its owner reads it: an item's columns apart."""
    column = F.col(text)
    return F.replace(column, F.lit(KEY_SEPARATOR), F.lit(NAME_SEPARATOR)) if text == "name" else column


def _is_name() -> Column:
    """Whether a row names something: none of its item columns is null or empty."""
    name, separator = F.col("name"), F.lit(KEY_SEPARATOR)
    has_gap = F.startswith(name, separator) | F.endswith(name, separator) | F.contains(name, F.lit(2 * KEY_SEPARATOR))
    return (name != "") & ~has_gap


def _is_on(window: Column) -> Column:
    return (F.col("day") >= window["first"]) & (F.col("day") < window["end"])


def _constraint_table(rows: DataFrame, domain: RowDomain, fold: Sequence[Fold] | None) -> DataFrame:
    """Each name with its menu: its window, or a list of windows where some name has several."""
    window = pa.struct([("first", pa.int32()), ("end", pa.int32()), ("row_type", pa.int32())])
    windows = [
        [dict(zip(("first", "end", "row_type"), entry, strict=True)) for entry in m] for m in domain.daily.values()
    ]
    one = domain.has_one_window
    menu = pa.array([each[0] for each in windows], window) if one else pa.array(windows, pa.list_(window))
    table = pa.table({"name": pa.array(folded(domain.daily, fold, "names of items and packages")), "menu": menu})
    return rows.sparkSession.createDataFrame(table)


def text_column(column: Column) -> Column:
    """Any column as text without blanks at its ends."""
    # The cast also leaves a table's collation, under which two names could be equal, behind.
    return F.btrim(column.cast("string"), F.lit(BLANKS))


def read_column(name: str) -> Column:
    """The same of a column as it was read: an expression would be worked out again for each sign that is looked for."""
    text = F.col(name).cast("string")
    # Few texts have blanks, and to look for one costs a fifth of cutting them; all but the last sort below "!".
    has_blanks = reduce(or_, (text.endswith(sign) for sign in BLANKS), (text < "!") | text.startswith(BLANKS[-1]))
    return F.when(has_blanks, F.btrim(text, F.lit(BLANKS))).otherwise(text)


_NO_NUMBER_SIGN = r"[^0-9+\-.eE]"
_INFINITIES = tuple(sign + word for sign in ("", "+", "-") for word in ("inf", "infinity"))


def number_column(column: Column, type_name: str) -> Column:
    """A column of numbers or texts as double; null where a text is no plain decimal number."""
    if type_name != "string":
        return column.try_cast("double")
    text = text_column(column)
    # Of these signs alone Java reads decimal numbers only: no suffix (5f), no hexadecimal one, no NaN.
    plain = ~text.rlike(_NO_NUMBER_SIGN)
    return F.when(plain | F.lower(text).isin(*_INFINITIES), text.try_cast("double"))
