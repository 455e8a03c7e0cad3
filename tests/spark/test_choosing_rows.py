"""Chosen rows on Spark: the kernel's counts and choice, in every partitioning, and a key that no plan shows."""

import random

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dplib.arrays import IntArray
from dplib.mechanisms.chosen_rows import CONTENT, Caps, Chosen, Snapshot, choose, pseudonym
from dplib.release.chosen_table import ChosenRows
from dplib.spark.rows import chosen_rows
from dplib.spark.rows.chosen_rows import choose_rows
from tests.spark.rows import table_of

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
Row = tuple[int, int, int, str]
SCHEMA = "day int, row_type int, quantity long, unit string"
CAPS = Caps(5, 2)
TYPES = 3
NOTHING = ChosenRows.together([]).table()


def random_rows(seed: int, n_units: int) -> list[Row]:
    rng = random.Random(seed)
    return [
        (rng.randrange(6), rng.randrange(TYPES), rng.randint(0, 3), f"u{unit}")
        for unit in range(n_units)
        for _ in range(rng.randint(1, 14))
    ]


def by_kernel(rows: list[Row], table: pa.Table, days: range, key: bytes) -> tuple[IntArray, ChosenRows]:
    """The same without Spark."""
    mine = [row for row in rows if row[0] in days and row[2]]
    names = sorted({row[3] for row in mine})
    known = [pseudonym(name.encode(), key) for name in names]
    unit = np.array([names.index(row[3]) for row in mine])
    snapshot = Snapshot.of(unit, np.array([row[:3] for row in mine], CONTENT), np.ones(len(mine), np.int64), known)
    before = ChosenRows.of(table)
    own = [at for at, name in enumerate(before.unit) if name.tobytes() in known]
    owner = np.array([known.index(before.unit[at].tobytes()) for at in own], np.int64)
    choice = choose(snapshot, Chosen(owner, before.entry[own], before.copies[own]), CAPS, key)
    counts = np.zeros((len(days), TYPES), np.int64)
    content = snapshot.content
    np.add.at(counts, (content["day"] - days.start, content["row_type"]), content["quantity"] * choice.counted)
    new = np.flatnonzero(choice.added)
    columns = [
        pa.array([known[each] for each in snapshot.unit[new].tolist()], pa.binary()),
        pa.array([each.tobytes() for each in choice.entry[new]], pa.binary()),
        pa.array(choice.added[new], pa.int64()),
    ]
    return counts, ChosenRows.of(pa.table(columns, names=["unit", "entry", "copies"]))


def test_counts_and_choice_are_those_of_the_kernel(
    spark: SparkSession, secret: bytes, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch"))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    monkeypatch.setattr(chosen_rows, "HELD_ROWS", 20)
    monkeypatch.setattr(chosen_rows, "CHUNK_ROWS", 50)
    table, many = NOTHING, [(day, 0, 1, "u3") for day in range(6) for _ in range(30)]
    for run, days in enumerate([range(2, 5), range(6)]):
        rows = random_rows(run, 20) + many
        # Any order and partitioning: the last in one part, the first in several.
        random.Random(run).shuffle(rows)
        frame = table_of(spark, rows, SCHEMA).repartition(4 - 3 * run)
        counts, added = choose_rows(frame, table, days, TYPES, CAPS, secret)
        expected, chosen = by_kernel(rows, table, days, secret)
        np.testing.assert_array_equal(counts, expected)
        found = ChosenRows.of(added)
        assert found.in_order().name("", secret) == chosen.in_order().name("", secret)
        table = ChosenRows.together([ChosenRows.of(table), found]).table()
    copies = ChosenRows.of(table)
    assert max(np.bincount(np.unique(copies.unit, return_inverse=True)[1], copies.copies)) == CAPS.rows
    counts, added = choose_rows(spark.createDataFrame([], SCHEMA), table, range(6), TYPES, CAPS, secret)
    assert (counts.any(), added.num_rows) == (False, 0)


def test_no_plan_shows_the_key_or_a_pseudonym(compiled: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    key = b"KEYKEYKEYKEYKEYKEY"
    frame = compiled.createDataFrame([(0, 0, 1, "u")], SCHEMA)
    _, table = choose_rows(frame, NOTHING, range(6), TYPES, CAPS, key)
    chosen_rows.taken_rows(frame, table, range(6), TYPES, CAPS, key).explain(extended=True)
    plan = capsys.readouterr().out
    assert plan.count("Exchange hashpartitioning") == 1
    assert "KEYKEY" not in plan
    for private in (key, pseudonym(b"u", key), table.column("entry")[0].as_py()):
        assert private.hex() not in plan.lower()
