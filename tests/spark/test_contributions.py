import random
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.spark.rows import contributions
from dplib.spark.rows.contributions import bound_rows
from tests.spark.rows import Resolved, bound_oracle, count_oracle, table_of

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
SCHEMA = "day int, row_type int, quantity long, unit string"
MAX_QUANTITY = 5


def random_resolved(seed: int, n_units: int) -> list[Resolved]:
    rng = random.Random(seed)
    return [
        (rng.randrange(4), 4 * unit + rng.randrange(4), rng.randint(0, MAX_QUANTITY), f"u{unit}")
        for unit in range(n_units)
        for _ in range(rng.randint(1, 14))
    ]


def counted(rows: Counter[Resolved]) -> IntArray:
    return count_oracle([(day, row_type % 4, quantity, unit) for day, row_type, quantity, unit in rows.elements()])


def test_the_same_rows_are_kept_in_every_order_and_partitioning(compiled: SparkSession, secret: bytes) -> None:
    """Those that the plain rule keeps of the rows in another order; rows that count nothing take no place."""
    rows = random_resolved(1, 20)
    frame = compiled.createDataFrame(random.Random(4).sample(rows, len(rows)), SCHEMA).repartition(4)
    assert any(row[2] == 0 for row in rows)
    found, expected = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for row in bound_rows(frame, 5, 2, secret).collect():
        found[row["day"], row["row_type"]] += row["quantity"]
    for day, row_type, quantity, _ in bound_oracle(rows, 5, 2, secret):
        expected[day, row_type] += quantity
    assert found == expected


def kept_of(rows: list[Resolved], m: int, r: int, key: bytes) -> Counter[Resolved]:
    """The same by the function that a task runs."""
    batches = contributions.keep_rows(m, r, key)(iter(in_batches([row for row in rows if row[2]], 50)))
    found = [row for batch in batches for row in batch.to_pylist()]
    return Counter((row["day"], row["row_type"], row["quantity"], f"u{row['row_type'] // 4}") for row in found)


def test_a_unit_more_or_less_changes_its_own_rows_only(secret: bytes) -> None:
    """The bounding law: L1 change of the counts at most m Q, on one day at most r Q, other units untouched."""
    m, r = 5, 2
    rows = random_resolved(2, 15)
    everything = kept_of(rows, m, r, secret)
    rows_per_unit = Counter(row[3] for row in everything.elements())
    assert max(rows_per_unit.values()) == m
    assert max(Counter((row[3], row[0]) for row in everything.elements()).values()) == r
    for left_out in rows_per_unit:
        neighbour = kept_of([row for row in rows if row[3] != left_out], m, r, secret)
        assert {row[3] for row in everything - neighbour} == {left_out}
        assert not neighbour - everything
        change = np.abs(counted(everything) - counted(neighbour))
        assert 0 < change.sum() <= m * MAX_QUANTITY
        assert change.sum(axis=1).max() <= r * MAX_QUANTITY


def test_another_key_makes_another_choice(secret: bytes) -> None:
    rows = [(day, 0, 1, "u") for day in range(40)]
    choices = {frozenset(kept_of(rows, 5, 1, secret[:n])) for n in (16, 24, 32)}
    assert len(choices) == 3


def test_units_need_not_be_valid_text(spark: SparkSession, secret: bytes) -> None:
    units = table_of(spark, [(b"\xff\xfe",), (b"\xff",)] * 3, "unit binary")
    frame = units.select(F.lit(0).alias("day"), F.lit(0).alias("row_type"), F.lit(1).cast("long").alias("quantity"),
                         F.col("unit").cast("string"))  # fmt: skip
    assert sum(row["quantity"] for row in bound_rows(frame, 2, 2, secret).collect()) == 4


def test_without_a_unit_nothing_is_done(spark: SparkSession, secret: bytes) -> None:
    frame = table_of(spark, [(0, 0, 1)] * 3, "day int, row_type int, quantity long")
    assert bound_rows(frame, 1, 1, secret) is frame


def test_the_key_is_in_no_plan(compiled: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    key = b"KEYKEYKEYKEYKEYKEY"
    bounded = bound_rows(compiled.createDataFrame([(0, 0, 1, "u")], SCHEMA), 2, 1, key)
    bounded.explain(extended=True)
    plan = capsys.readouterr().out
    assert plan.count("Exchange hashpartitioning") == 1
    assert "KEYKEY" not in plan
    assert key.hex() not in plan.lower()


def in_batches(rows: list[Resolved], size: int, n_hashes: int = 1 << 60) -> list[pa.RecordBatch]:
    """Rows as a task gets them: in the order of their units' hash, of which there are so many."""
    in_order = sorted(rows, key=lambda row: crc32(row[3].encode()) % n_hashes)
    sent = (((kind << 32) + day, n, unit, crc32(unit.encode()) % n_hashes) for day, kind, n, unit in in_order)
    columns = list(zip(*sent, strict=True))
    kinds = {"cell": pa.int64(), "quantity": pa.int64(), "unit": pa.binary(), "hash": pa.int64()}
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
    whole = pa.RecordBatch.from_arrays(arrays, names=list(kinds))
    return [whole.slice(first, size) for first in range(0, whole.num_rows, size)]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("held", [1, 20, 1 << 16])
@pytest.mark.parametrize("n_hashes", [1, 5, 1 << 60])
def test_batches_are_cut_anywhere_and_no_unit_is_too_large(
    size: int, held: int, n_hashes: int, secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where many units were given names with one hash: their rows come mixed."""
    monkeypatch.setattr(contributions, "HELD_ROWS", held)
    rows = [row for row in random_resolved(size + held, 10) if row[2]] + [(day % 9, 999, 1, "v") for day in range(90)]
    random.Random(size).shuffle(rows)
    for m, r in ((5, 2), (3, 3), (1, 4), (100, 1), (1000, 1000)):
        batches = contributions.keep_rows(m, r, secret)(iter(in_batches(rows, size, n_hashes)))
        found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        assert Counter(found) == Counter(row[:3] for row in bound_oracle(rows, m, r, secret))
    assert list(contributions.keep_rows(1, 1, secret)(iter([]))) == []


def test_a_long_name_of_a_unit_of_many_rows_is_held_once(secret: bytes) -> None:
    batch = in_batches([(0, 0, 1, "u" * 100_000)] * 20, 20)[0]
    before, most = pa.total_allocated_bytes(), 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for _ in range(40):
            yield pa.concat_batches([batch, batch])
            most = max(most, pa.total_allocated_bytes() - before)

    (kept_rows,) = contributions.keep_rows(1000, 1000, secret)(batches())
    assert kept_rows.num_rows == 1600 - 600
    assert most < 6 * batch.nbytes


@pytest.mark.parametrize(("m", "r", "size"), [(0, 1, 32), (1, 0, 32), (1, 1, 15), (1, 1, 65)])
def test_wrong_caps_and_keys_are_refused(spark: SparkSession, m: int, r: int, size: int) -> None:
    with pytest.raises(ConfigError):
        bound_rows(table_of(spark, [(0, 0, 1, "u")], SCHEMA), m, r, bytes(size))
