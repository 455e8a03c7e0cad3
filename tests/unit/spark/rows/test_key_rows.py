"""From rows of units and keys to what a round releases, without Spark: against plain loops, and the job's own audit."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from dplib.mechanisms.release_table import ONE, ReleaseTable
from dplib.mechanisms.renyi_selection import weights_of
from dplib.spark.rows.keys import decide, gather_keys, weigh_keys

KEY, K = b"k" * 32, 3
Rows = list[tuple[bytes, bytes]]


def batches(rows: Rows, size: int) -> Iterator[pa.RecordBatch]:
    """Rows in Spark's order, in batches."""
    in_order = sorted(rows)
    for start in range(0, len(in_order), size):
        units, keys = zip(*in_order[start : start + size], strict=True)
        yield pa.RecordBatch.from_arrays([pa.array(units, pa.binary()), pa.array(keys, pa.binary())], ["unit", "key"])


def lists(rows: Rows, size: int, max_held: int = 100) -> list[list[bytes]]:
    found = [batch.column("keys").to_pylist() for batch in gather_keys(K, KEY, max_held)(batches(rows, size))]
    return [keys for part in found for keys in part]


def weights(units: list[list[bytes]], gone: list[bytes], table: tuple[int, ...] = weights_of(K)) -> dict[bytes, int]:
    batch = pa.RecordBatch.from_arrays([pa.array(units, pa.list_(pa.binary()))], ["keys"])
    summed: dict[bytes, int] = {}
    for part in weigh_keys(pa.array(gone, pa.binary()), table)(iter([batch])):
        for key, weight in zip(part.column("key").to_pylist(), part.column("weight").to_pylist(), strict=True):
            summed[key] = summed.get(key, 0) + weight
    return summed


@pytest.fixture
def rows() -> Rows:
    random = np.random.default_rng(3)
    pairs = zip(random.integers(0, 40, 600), np.minimum(random.zipf(1.4, 600), 60), strict=True)
    return [(b"u%d" % unit, b"key-%d" % key) for unit, key in pairs]


def test_every_unit_has_its_keys_once_whatever_the_batches(rows: Rows) -> None:
    expected = sorted(sorted({key for unit, key in rows if unit == each}) for each in {unit for unit, _ in rows})
    found = lists(rows, 1000)
    assert sorted(map(sorted, found)) == expected
    for size in (1, 7, 100):
        assert lists(rows, size) == found


def test_units_with_many_keys_keep_the_same_first_ones_however_many_are_held(rows: Rows) -> None:
    whole = {frozenset(keys): keys for keys in lists(rows, 50)}
    for kept in lists(rows, 3, max_held=5):
        (full,) = [keys for named, keys in whole.items() if set(kept) <= named and keys[: len(kept)] == kept][:1]
        assert len(kept) == min(len(full), 5)


def test_weights_are_those_of_the_first_keys_that_are_not_gone(rows: Rows) -> None:
    units, gone, table = lists(rows, 50), [b"key-1", b"key-2"], weights_of(K)
    expected: dict[bytes, int] = {}
    for keys in units:
        left = [key for key in keys if key not in gone][:K]
        for key in left:
            expected[key] = expected.get(key, 0) + table[len(left) - 1]
    assert weights(units, gone) == expected


def test_a_unit_more_changes_few_keys_by_its_weight_and_faults_are_seen(rows: Rows) -> None:
    """The bound that all proofs start from, on the worst unit: one with every key there is."""

    def change(table: tuple[int, ...]) -> tuple[int, int]:
        before, after = (weights(lists(each, 50), [], table) for each in (rows, rows + greedy))
        moved = [after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)]
        return len(moved), max(moved)

    greedy = [(b"greedy", b"key-%d" % key) for key in range(200)] * 3
    assert change(weights_of(K)) == (K, weights_of(K)[-1])
    assert change(weights_of(K) + (weights_of(K)[-1],) * 300)[0] > K  # planted: keys a unit are not bounded


def test_only_released_keys_leave_and_a_retry_repeats_them() -> None:
    table = ReleaseTable((20,), np.array([0] * 20 + [ONE // 2] * 20 + [ONE], np.int64))
    names, sums = [b"key-%d" % n for n in range(3000)], np.repeat([10, 20, 40], 1000)
    batch = pa.RecordBatch.from_arrays([pa.array(names, pa.binary()), pa.array(sums)], ["key", "weight"])

    def released(number: int) -> list[bytes]:
        (found,) = decide(table, KEY, number)(iter([batch]))
        kept: list[bytes] = found.column("key").to_pylist()
        return kept

    first = released(0)
    assert first == released(0) != released(1)
    counts = [len([key for key in first if int(key[4:]) // 1000 == part]) for part in range(3)]
    assert counts[0] == 0
    assert 400 < counts[1] < 600
    assert counts[2] == 1000
