"""Wide rows: a column an item, so that one row holds counts of several items.

A row passes the rules of `dplib.spark.rows.resolve` but those of names, which its columns have. An empty cell counts 0;
a cell that is no number drops its row; a cell of an item off its days counts 0. Cells are cut to 0 ... Q and rounded
down, and then the row itself: a row whose cells sum to more than Q keeps Q of them. Its items are put in the order of a
keyed hash, and counted until Q is reached.

Guarantee: a row is a vector of counts of items, not negative, whose sum is at most Q; a row with one item and a
quantity of at most Q is one of these vectors. What a row adds to the measured series is ``sum_j q_j A e_j`` with
``sum_j q_j <= Q``, so of norms at most ``Q max_j ||A e_j||`` by the triangle inequality: those of a row with one item,
from which `dplib.jobs.consistent_histograms.design` derives all sensitivities. Caps of a unit choose among its rows as
they do elsewhere (`dplib.spark.rows.contributions`), by a keyed hash of all cells.

How a row is cut depends on its own content, its unit and the key. Rows without a unit may be equal: they are numbered,
so that each is cut for itself, and one row more leaves the others as they are whichever of the equal ones it is.

Cost: with units one shuffle of rows, as for narrow ones; without units one of the different rows. A task holds a batch
and at most 2^16 cells of one unit, or twice the cap of its rows.
"""

from collections.abc import Callable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dplib.arrays import Int32Array, IntArray
from dplib.config.event_input import Input
from dplib.config.sections import EventPrivacySettings
from dplib.spark.rows.cell_sums import MOST
from dplib.spark.rows.contributions import Batches, bound_rows
from dplib.spark.rows.resolve import MAX_HELD, first_failed, judge_rows, read_sql, resolve_rows
from dplib.spark.rows.row_domain import RowDomain
from dplib.spark.rows.timestamps import with_day_number
from dplib.spark.rows.unit_rows import cells_of

_PERSON = b"dplib wide row"
"""Tells these hashes from others under the same key."""
_OF_CELLS = ("quantity", "n", "cells", "held_cells", "series_of")
PIECE_CELLS = 1 << 20
"""A task makes rows of so many cells at once, however many equal ones there are."""


def is_wide(rows: DataFrame) -> bool:
    """Whether rows have a column an item (`dplib.spark.rows.read.open_rows`)."""
    return "cells" in rows.columns


def bounded_rows(
    rows: DataFrame, source: Input, privacy: EventPrivacySettings, domain: RowDomain, key: bytes
) -> DataFrame:
    """What counts of rows of either kind, within the caps of units: columns day, row_type and quantity; lazy.

    Args:
        rows: from `dplib.spark.rows.read.open_rows`.
        source: section `input`, its item columns listed.
        privacy: for the caps.
        domain: days and row types.
        key: derived sub-key of 16 to 64 bytes that belongs to the account, not to the measurement.
    """
    if not is_wide(rows):
        resolved = resolve_rows(rows, source, privacy, domain)
        return bound_rows(resolved, privacy.rows_per_unit, privacy.rows_per_day, key)
    judged = judge_wide(rows, source, privacy, domain).where(F.col("failed").isNull() & (F.col("quantity") > 0))
    if "unit" in rows.columns:
        plain = judged.select("day", F.col("unit").cast("binary").alias("unit"), "cells")
        cut = plain.mapInArrow(
            cut_rows(privacy.max_quantity, key),
            "day int, unit binary, cells array<int>, row_type int, quantity long, copies long",
        )
        whole = bound_rows(cut, privacy.rows_per_unit, privacy.rows_per_day, key).withColumn("copies", F.lit(1))
    else:
        copies = judged.groupBy("day", "cells").agg(F.count("*").alias("copies"))
        whole = copies.mapInArrow(
            cut_rows(privacy.max_quantity, key), "day int, cells array<int>, row_type int, quantity long, copies long"
        )
    cells = whole.select("day", "copies", F.posexplode("cells").alias("place", "pieces")).where("pieces > 0")
    quantity = F.try_multiply(F.col("pieces").cast("long"), F.col("copies"))
    types = F.array(*(F.lit(row_type) for row_type in column_types(source, domain)))
    return cells.select(
        "day", F.get(types, "place").alias("row_type"), F.coalesce(quantity, F.lit(MOST)).alias("quantity")
    )


def column_types(source: Input, domain: RowDomain) -> list[int]:
    """The row type that each item column counts under; that of the rest where a column is no listed item."""
    number = {name: place for place, name in enumerate(domain.names)}
    other = -1 if domain.other is None else domain.other
    return [number.get(name, other) for name in source.columns.items or ()]


def judge_events(rows: DataFrame, source: Input, privacy: EventPrivacySettings, domain: RowDomain) -> DataFrame:
    """Judge rows of either kind: `dplib.spark.rows.resolve.judge_rows`, or `judge_wide`."""
    return (judge_wide if is_wide(rows) else judge_rows)(rows, source, privacy, domain)


def judge_wide(rows: DataFrame, source: Input, privacy: EventPrivacySettings, domain: RowDomain) -> DataFrame:
    """Resolve every row and say which rule drops it.

    Returns:
        the columns of `judge_rows`, of which ``quantity`` and ``held`` are sums of cells and ``series`` is null; and
        ``cells`` (array of int, each cut to its cap, not yet the row), ``held_cells`` (the same before their cap) and
        ``series_of`` (array of int, the row type of each cell).
    """
    types = {field.name: field.dataType.typeName() for field in rows.schema.fields}
    has_unit = "unit" in types
    moment = read_sql("day") if types["day"] == "string" else "day"
    numbered = with_day_number(rows, moment, types["day"], source, domain.first_day, domain.n_days)
    cap, row_types = privacy.max_quantity, column_types(source, domain)
    cells, no_number = _on_their_days("cells", row_types, domain), F.exists("cells", F.isnan).alias("has_no_number")
    unit = [F.expr(read_sql("unit")).alias("unit")] if has_unit else []
    typed = numbered.select(
        # Out of a struct: filters would write out what reads a day, cells and unit at each place that looks at them.
        F.inline(F.array(F.struct(F.col("day_number").alias("day"), cells.alias("cells"), no_number, *unit))),
        F.expr(read_sql("day")).alias("day_text"),
        F.col("bad_cell").alias("number_text"),
    )
    failed = first_failed(
        (
            "unit IS NOT NULL AND unit != ''" if has_unit else "true",
            "day IS NOT NULL",
            f"day BETWEEN 0 AND {domain.n_days - 1}",
            "true",
            "true",
            "NOT has_no_number",
        )
    )
    pieces = F.transform("cells", lambda cell: _whole(cell, cap).cast("int"))
    held = F.transform("cells", lambda cell: _whole(cell, MAX_HELD))
    shown = [F.when(F.col("failed") == i, F.col(text)) for i, text in ((0, "unit"), (1, "day_text"), (2, "day_text"))]
    shown = [each for each in shown if has_unit or each is not shown[0]]
    judged = typed.withColumns({"failed": failed, "pieces": pieces, "held_cells": held})
    total = F.aggregate("pieces", F.lit(0).cast("long"), lambda sum_, piece: sum_ + piece)
    return judged.select(
        "day",
        F.lit(0).alias("row_type"),
        F.least(total, F.lit(cap).cast("long")).alias("quantity"),
        *(["unit"] if has_unit else []),
        "failed",
        ((total > cap) | F.exists("cells", lambda cell: ~cell.between(0.0, float(cap)))).alias("clamped"),
        F.lit(None).cast("int").alias("series"),
        F.lit(None).cast("string").alias("undeclared"),
        F.to_json(F.struct("day_text", "cells", "number_text")).cast("binary").alias("content"),
        F.aggregate("held_cells", F.lit(0.0), lambda sum_, cell: sum_ + cell).alias("held"),
        F.coalesce(*shown, F.when(F.col("failed") == 5, F.col("number_text"))).alias("shown"),
        F.col("pieces").alias("cells"),
        "held_cells",
        F.array(*(F.lit(row_type) for row_type in row_types)).alias("series_of"),
    )


def _on_their_days(cells: str, row_types: list[int], domain: RowDomain) -> Column:
    """The cells, 0 where the item does not exist on the row's day."""
    if domain.valid_first is None or domain.valid_end is None:
        return F.col(cells)
    first, end = (np.asarray(each)[row_types].tolist() for each in (domain.valid_first, domain.valid_end))
    if not any(first) and min(end) >= domain.n_days:
        return F.col(cells)
    firsts, ends = (F.array(*map(F.lit, days)) for days in (first, end))
    day = F.col("day_number")
    return F.transform(
        cells, lambda cell, i: F.when((day >= F.get(firsts, i)) & (day < F.get(ends, i)), cell).otherwise(0.0)
    )


def _whole(cell: Column, most: float) -> Column:
    return F.floor(F.least(F.greatest(cell, F.lit(0.0)), F.lit(float(most))))


def by_cell(rows: DataFrame) -> DataFrame:
    """One row a cell, and one of series -1 for the row itself; for the data's owner.

    Args:
        rows: columns quantity, n (1 where the row takes a place of a cap), cells, held_cells, series_of, and others.

    Returns:
        the others and series, held, quantity (the cell's share of what is left of its row) and n (0 but for the row).
    """
    others = [name for name in rows.columns if name not in ("series", "held", *_OF_CELLS)]
    total = "aggregate(cells, 0L, (sum, piece) -> sum + piece)"
    itself = "named_struct('series_of', -1, 'held_cells', 1L, 'cells', 0)"
    cells = rows.selectExpr(
        *others, f"CASE WHEN {total} > 0 THEN quantity / {total} ELSE 0D END AS share", "n",
        f"explode(concat(array({itself}), arrays_zip(series_of, held_cells, cells))) AS cell",
    )  # fmt: skip
    return cells.where("cell.held_cells > 0").selectExpr(
        *others,
        "cell.series_of AS series",
        "cell.held_cells AS held",
        "cell.cells * share AS quantity",
        "CASE WHEN cell.series_of = -1 THEN n ELSE 0L END AS n",
    )


def cut_rows(most: int, key: bytes, piece: int = PIECE_CELLS) -> Callable[[Batches], Batches]:
    """The function that cuts rows to a sum of at most ``most``; it holds a batch and rows of ``piece`` cells.

    Takes batches of day, cells, and unit or copies (how many equal rows there are); gives rows of these, with row_type
    0, quantity (their sum) and copies.
    """

    def cut(batches: Batches) -> Batches:
        for batch in batches:
            if not batch.num_rows:
                continue
            cells, day = cells_of(batch), batch.column("day").to_numpy()
            has_unit = "unit" in batch.schema.names
            copies = np.ones(len(day), np.int64) if has_unit else batch.column("copies").to_numpy()
            units = batch.column("unit").to_pylist() if has_unit else []
            above = cells.sum(axis=1, dtype=np.int64) > most
            # Of rows above the cap each copy is a row of its own; there may be any number of them.
            size = np.where(above, copies, 1)
            ends = np.cumsum(size)
            n_rows = max(piece // cells.shape[1], 1)
            for start in range(0, int(ends[-1]), n_rows):
                made = np.arange(start, min(start + n_rows, int(ends[-1])))
                row = np.searchsorted(ends, made, side="right")
                kept, copy = cells[row], made - ends[row] + size[row]
                for place in np.flatnonzero(above[row]).tolist():
                    at = int(row[place])
                    content = day[at].tobytes() + cells[at].tobytes() + int(copy[place]).to_bytes(8, "little")
                    kept[place] = cut_cells(cells[at], most, content + (units[at] if has_unit else b""), key)
                yield _batch(batch, row, kept, np.where(above[row], 1, copies[row]))

    return cut


def cut_cells(cells: Int32Array, most: int, content: bytes, key: bytes) -> Int32Array:
    """The cells of a row in a keyed order until they sum to ``most``, shape (n,)."""
    given = np.flatnonzero(cells)
    # The numbers come first and have a fixed length, so different cells of different rows are different messages.
    messages = (place.to_bytes(4, "little") + content for place in given.tolist())
    queue = [blake2b(each, key=key, digest_size=16, person=_PERSON).digest() for each in messages]
    order = given[sorted(range(len(given)), key=queue.__getitem__)]
    before = np.cumsum(cells[order], dtype=np.int64) - cells[order]
    kept = np.zeros_like(cells)
    kept[order] = np.clip(most - before, 0, cells[order])
    return kept


def _batch(batch: pa.RecordBatch, row: IntArray, cells: Int32Array, copies: npt.NDArray[np.int64]) -> pa.RecordBatch:
    ends = np.arange(len(cells) + 1, dtype=np.int32) * cells.shape[1]
    columns: dict[str, pa.Array] = {"day": batch.column("day").take(pa.array(row))}
    if "unit" in batch.schema.names:
        columns["unit"] = batch.column("unit").take(pa.array(row)).cast(pa.binary())
    columns["cells"] = pa.ListArray.from_arrays(pa.array(ends), pa.array(cells.reshape(-1)))
    columns["row_type"] = pa.array(np.zeros(len(row), np.int32))
    columns["quantity"] = pa.array(cells.sum(axis=1, dtype=np.int64))
    columns["copies"] = pa.array(copies.astype(np.int64))
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
