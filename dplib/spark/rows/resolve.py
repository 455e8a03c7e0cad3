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

import numpy as np
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
from dplib.spark.rows.sql_text import literal, once
from dplib.spark.rows.timestamps import with_day_number

_SEPARATOR = literal(KEY_SEPARATOR)
_IS_NAME = (
    f"name != '' AND NOT (startswith(name, {_SEPARATOR}) OR endswith(name, {_SEPARATOR})"
    f" OR contains(name, {literal(2 * KEY_SEPARATOR)}))"
)
"""Whether a row names something: none of its item columns is null or empty."""
_WINDOW = [pa.field(name, pa.int32()) for name in ("first", "end", "row_type")]
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
    named, failed = _named_rows(rows, source, domain, for_owner=False)
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
    joined, failed = _named_rows(rows, source, domain, for_owner=True)
    joined = joined.withColumn("failed", failed)
    judged = " ".join(f"WHEN {i} THEN {_shown(text)}" for i, text in enumerate(_JUDGED) if text in joined.columns)
    return joined.select(
        *_counted(rows, privacy),
        "failed",
        (~F.col("number").between(0.0, float(privacy.max_quantity))).alias("clamped"),
        # For the data's owner only (`dplib.spark.rows.inspect`); anyone who counts selects none of it.
        F.col("row_type").alias("series"),
        F.expr(f"CASE WHEN undeclared THEN {_shown('name')} END AS undeclared"),
        F.to_json(F.struct("day_text", "name", "number_text")).cast("binary").alias("content"),
        F.floor(F.least(F.greatest("number", F.lit(0.0)), F.lit(MAX_HELD))).cast("double").alias("held"),
        F.expr(f"CASE failed {judged} END AS shown"),
    )


def _counted(rows: DataFrame, privacy: EventPrivacySettings) -> list[Column]:
    """What is counted of named rows."""
    cut = f"floor(least(greatest(number, 0D), {privacy.max_quantity}D))"
    unit = [F.col("unit")] if "unit" in rows.columns else []
    return [F.col("day"), F.col("row_type"), F.expr(f"CAST({cut} AS BIGINT) AS quantity"), *unit]


def _named_rows(rows: DataFrame, source: Input, domain: RowDomain, for_owner: bool) -> tuple[DataFrame, Column]:
    """The rows with their texts, day, number and row type; and the index of the first rule that a row fails, or null.

    A run selects few of these columns: what is not asked for Spark need not work out. The owner's eyes ask for all.
    """
    types = {field.name: field.dataType.typeName() for field in rows.schema.fields}
    has_unit = "unit" in types
    number = number_sql("quantity", types["quantity"]) if "quantity" in types else "1.0D"
    moment = read_sql("day") if types["day"] == "string" else "day"
    numbered = with_day_number(rows, moment, types["day"], source, domain.first_day, domain.n_days)
    columns = {"day": "day_number", "name": read_sql("name"), "number": number}
    columns |= {"unit": read_sql("unit")} if has_unit else {}
    columns["day_text"] = "moment" if types["day"] == "string" else read_sql("day")
    columns["number_text"] = read_sql("quantity") if "quantity" in types else "CAST(NULL AS STRING)"
    typed = numbered.selectExpr(
        *([once(columns)] if for_owner else (f"{column} AS {name}" for name, column in columns.items()))
    )
    menus = F.broadcast(_constraint_table(rows, domain, source.fold))
    joined = fold_columns(typed, ["name"], source.fold).join(menus, "name", "left")
    if domain.has_one_window:
        row_type = f"CASE WHEN {_is_on('menu')} THEN menu.row_type END"
    else:
        row_type = f"get(filter(menu, each -> {_is_on('each')}), 0).row_type"
    undeclared = "false"
    if domain.other is not None:
        undeclared = f"menu IS NULL AND {_IS_NAME}"
        row_type = f"CASE WHEN {undeclared} THEN {domain.other} ELSE {row_type} END"
    joined = joined.selectExpr("*", f"{row_type} AS row_type", f"{undeclared} AS undeclared")
    passes = (
        "unit IS NOT NULL AND unit != ''" if has_unit else "true",
        "day IS NOT NULL",
        f"day BETWEEN 0 AND {domain.n_days - 1}",
        "menu IS NOT NULL OR undeclared",
        "row_type IS NOT NULL",
        "number IS NOT NULL AND NOT isnan(number)",
    )
    return joined, first_failed(passes)


def first_failed(passes: Sequence[str]) -> Column:
    """The number of the first condition that a row does not meet, null where it meets all."""
    rules = (f"WHEN NOT coalesce({rule}, false) THEN {i}" for i, rule in enumerate(passes))
    return F.expr(f"CASE {' '.join(rules)} END")


def _shown(text: str) -> str:
    """A judged text as its owner reads it, as SQL: an item's columns apart."""
    return f"replace(name, {_SEPARATOR}, {literal(NAME_SEPARATOR)})" if text == "name" else text


def _is_on(window: str) -> str:
    return f"day >= {window}.first AND day < {window}.`end`"


def _constraint_table(rows: DataFrame, domain: RowDomain, fold: Sequence[Fold] | None) -> DataFrame:
    """Each name with its menu: its window, or a list of windows where some name has several."""
    own = list(domain.daily.values())
    columns = np.array([window for menu in own for window in menu], np.int32).reshape(-1, len(_WINDOW))
    menu = pa.StructArray.from_arrays([pa.array(column) for column in columns.T.copy()], fields=_WINDOW)
    if not domain.has_one_window:
        menu = pa.ListArray.from_arrays(np.cumsum([0, *map(len, own)], dtype=np.int32), menu)
    table = pa.table({"name": pa.array(folded(domain.daily, fold, "names of items and packages")), "menu": menu})
    return rows.sparkSession.createDataFrame(table)


def text_column(column: Column) -> Column:
    """Any column as text without blanks at its ends."""
    # The cast also leaves a table's collation, under which two names could be equal, behind.
    return F.btrim(column.cast("string"), F.lit(BLANKS))


_BLANKS = literal(BLANKS)


def text_sql(column: str) -> str:
    """The same of what SQL names."""
    return f"btrim(CAST({column} AS STRING), {_BLANKS})"


def read_sql(name: str) -> str:
    """The same of a column as it was read: an expression would be worked out again for each sign that is looked for."""
    text = f"CAST({name} AS STRING)"
    # Few texts have blanks, and to look for one costs a fifth of cutting them; all but the last sort below "!".
    ends = " OR ".join(f"endswith({text}, {literal(sign)})" for sign in BLANKS)
    has_blanks = f"{text} < '!' OR startswith({text}, {literal(BLANKS[-1])}) OR {ends}"
    return f"CASE WHEN {has_blanks} THEN btrim({text}, {_BLANKS}) ELSE {text} END"


_NO_NUMBER_SIGN = literal(r"[^0-9+\-.eE]")
# Not `lower`: its first use in a process costs seconds, for tables of all the world's letters.
_INFINITY = literal(r"(?i)^[+\-]?inf(inity)?\z")


def number_sql(column: str, type_name: str) -> str:
    """A column of numbers or texts as double; null where a text is no plain decimal number."""
    if type_name != "string":
        return f"TRY_CAST({column} AS DOUBLE)"
    text = text_sql(column)
    # Of these signs alone Java reads decimal numbers only: no suffix (5f), no hexadecimal one, no NaN.
    plain = f"NOT rlike({text}, {_NO_NUMBER_SIGN})"
    return f"CASE WHEN {plain} OR rlike({text}, {_INFINITY}) THEN TRY_CAST({text} AS DOUBLE) END"
