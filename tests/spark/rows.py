"""Random event rows with every kind of bad value, and the row rule in plain Python as an oracle."""

import datetime as dt
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dplib.arrays import IntArray
from dplib.config.event_input import Columns, Input
from dplib.config.sections import EventPrivacySettings

FIRST_DAY = dt.date(2020, 2, 25)
N_DAYS = 11
ITEMS = ("naan", "Pilau Rice", 'the "hot" one', "papadum, plain")
FORMAT = "dd/MM/yyyy HH:mm"
Row = tuple[str | None, str | None, str | None, str | None]
"""Day, item, quantity and unit as text."""
Resolved = tuple[int, int, int, str]
"""Day, row type, quantity and unit."""

BAD_DAYS = (
    None, "", "yesterday", "31/02/2020 10:00", "2020-02-26", "26/02/2020", "26/02/2020 25:00", "24/02/2020 23:59",
)  # fmt: skip
BAD_QUANTITIES = (None, "", "NaN", "two", "1,000", "--1")
ODD_QUANTITIES = ("-5", "2.7", " 3 ", "1e400", "-Infinity", "0.99", "999999999999999999999", "1e-3", "-0.0")
BAD_ITEMS = (None, "", "NAAN", "naan!", "curry")
BAD_UNITS = (None, "", "   ")


_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
}


def table_of(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: str) -> DataFrame:
    """Some rows (at least one) as a table that Spark holds, ``schema`` as for `createDataFrame`.

    A list goes through a process of Python in each query. What is asked of each row of such a table alone is worked out
    while Spark plans, though: expressions that a test wants compiled take a list.
    """
    fields = (field.rsplit(" ", 1) for field in schema.split(", "))
    arrays = {
        name.strip("`"): pa.array(column, _TYPES[kind])
        for (name, kind), column in zip(fields, zip(*rows, strict=True), strict=True)
    }
    return spark.createDataFrame(pa.table(arrays))


def settings(
    *, max_rows: int = 4, max_rows_per_day: int | None = None, max_quantity: int = 5
) -> tuple[Input, EventPrivacySettings]:
    """The sections of a configuration for these rows."""
    source = Input(
        path="rows.csv",
        options={"header": "true"},
        columns=Columns(day="OrderDate", item="ItemName", quantity="Quantity", unit="OrderNumber"),
        date_format=FORMAT,
    )
    privacy = EventPrivacySettings.model_validate(
        {
            "unit": "order",
            "max_rows_per_unit": max_rows,
            "max_rows_per_day": max_rows_per_day,
            "max_quantity": max_quantity,
            "budget": {"epsilon": 1},
        }
    )
    return source, privacy


def random_rows(n: int, seed: int, *, n_units: int = 25, bad: float = 0.25) -> list[Row]:
    """Rows of which each value is bad or odd with probability ``bad`` / 4."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for _ in range(n):
        moment = dt.datetime.combine(FIRST_DAY, dt.time()) + dt.timedelta(minutes=rng.randrange(N_DAYS * 24 * 60))
        row: list[str | None] = [
            moment.strftime("%d/%m/%Y %H:%M"),
            rng.choice(ITEMS),
            str(rng.randint(1, 6)),
            f"u{rng.randrange(n_units)}",
        ]
        for place, values in enumerate((BAD_DAYS, BAD_ITEMS, BAD_QUANTITIES + ODD_QUANTITIES, BAD_UNITS)):
            if rng.random() < bad / 4:
                row[place] = rng.choice(values)
        rows.append((row[0], row[1], row[2], row[3]))
    return rows


def resolve_oracle(rows: Sequence[Row], max_quantity: int) -> list[Resolved]:
    """The row rule, one row at a time."""
    resolved = []
    for day_text, item, quantity_text, unit in rows:
        if not (unit or "").strip() or (item or "").strip() not in ITEMS:
            continue
        try:
            day = (dt.datetime.strptime((day_text or "").strip(), "%d/%m/%Y %H:%M").date() - FIRST_DAY).days
            number = float((quantity_text or "").strip())
        except ValueError:
            continue
        if math.isnan(number) or not 0 <= day < N_DAYS:
            continue
        quantity = math.floor(min(max(number, 0.0), float(max_quantity)))
        resolved.append((day, ITEMS.index((item or "").strip()), quantity, (unit or "").strip()))
    return resolved


def bound_oracle(rows: Sequence[Resolved], max_rows: int, max_rows_per_day: int, key: bytes) -> list[Resolved]:
    """Bounding by sorting each unit's rows by their keyed hash."""

    def place(row: Resolved) -> bytes:
        numbers = b"".join(n.to_bytes(size, "little") for n, size in zip(row[:3], (4, 4, 8), strict=True))
        return blake2b(numbers + row[3].encode(), key=key, digest_size=16).digest()

    by_unit: dict[str, list[Resolved]] = defaultdict(list)
    for row in sorted(rows, key=place):
        if row[2] > 0:
            by_unit[row[3]].append(row)
    kept = []
    for unit_rows in by_unit.values():
        by_day: dict[int, list[Resolved]] = defaultdict(list)
        for row in unit_rows:
            by_day[row[0]].append(row)
        in_day = chain.from_iterable(day_rows[:max_rows_per_day] for day_rows in by_day.values())
        kept += sorted(in_day, key=place)[:max_rows]
    return kept


def count_oracle(rows: Sequence[Resolved]) -> IntArray:
    """Counts by day and item."""
    counts = np.zeros((N_DAYS, len(ITEMS)), np.int64)
    for day, row_type, quantity, _ in rows:
        counts[day, row_type] += quantity
    return counts
