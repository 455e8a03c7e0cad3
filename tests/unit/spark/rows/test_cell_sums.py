"""Sums that a task of Spark holds, beside sums of whole numbers of any size."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.spark.rows import cell_sums, contributions
from dplib.spark.rows.cell_sums import MOST, CellSums

CELLS = st.integers(0, 3) | st.integers(0, (1 << 63) - 1)
BATCHES = st.lists(st.lists(st.tuples(CELLS, st.integers(1, 10**12)), max_size=8), max_size=6)


@pytest.mark.parametrize("held", [1, 5, 1 << 20])
@given(batches=BATCHES)
def test_sums_are_those_of_all_quantities(batches: list[list[tuple[int, int]]], held: int) -> None:
    sums, expected = CellSums(), Counter[int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_sums, "HELD_CELLS", held)
        for batch in batches:
            sums.add(*np.array(batch, np.int64).reshape(-1, 2).T)
            for cell, number in batch:
                expected[cell] += number
    cell, number = sums.found()
    assert len(set(cell.tolist())) == len(cell)
    assert dict(zip(cell.tolist(), number.tolist(), strict=True)) == expected


def test_a_sum_stops_where_64_bits_would_end(monkeypatch: pytest.MonkeyPatch) -> None:
    most, many = 10**12, 1 << 22
    assert MOST + many * most < 1 << 63
    monkeypatch.setattr(cell_sums, "HELD_CELLS", 1)
    monkeypatch.setattr(cell_sums, "MOST", 5 * most // 2)
    sums = CellSums()
    for _ in range(4):
        sums.add(np.array([7, 8]), np.array([most, 1]))
    cell, number = sums.found()
    assert dict(zip(cell.tolist(), number.tolist(), strict=True)) == {7: 5 * most // 2, 8: 4}


def kept_rows(n: int) -> pa.RecordBatch:
    rng = np.random.default_rng(n)
    columns = {"day": rng.integers(0, 3, n), "row_type": rng.integers(0, 2, n), "quantity": rng.integers(1, 4, n)}
    kinds = {"day": pa.int32(), "row_type": pa.int32(), "quantity": pa.int64()}
    return pa.RecordBatch.from_pydict({name: pa.array(column, kinds[name]) for name, column in columns.items()})


def test_a_task_gives_its_sums_away_before_it_holds_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same counts in more pieces, none of them larger than what is held."""
    batches = [kept_rows(n) for n in (40, 0, 3, 60, 1)]
    expected = Counter[tuple[int, int]]()
    for row in pa.Table.from_batches(batches).to_pylist():
        expected[row["day"], row["row_type"]] += row["quantity"]
    for held, n_pieces in ((10, 3), (1 << 20, 1)):
        monkeypatch.setattr(contributions, "HELD_CELLS", held)
        pieces = list(contributions.summed(iter(batches)))
        found = Counter[tuple[int, int]]()
        for piece in pieces:
            assert piece.num_rows <= 6
            for row in piece.to_pylist():
                found[row["day"], row["row_type"]] += row["quantity"]
        assert found == expected
        assert len(pieces) == n_pieces
