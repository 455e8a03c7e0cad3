"""Arrays that are grouped one way, then another: each block is split into pieces, which a shuffle brings together anew.

A piece is a row with the block it comes from, the part it belongs to and binary columns. Whole pieces move, not cells:
a shuffle of binary pieces moves a few large values where rows are one a cell.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from dplib.spark.engine.blocks import Batches, Block, DataFrame


def split_blocks(
    blocks: DataFrame, function: Callable[[int, Block], Mapping[int, Block]], columns: Sequence[str]
) -> DataFrame:
    """Split every block into pieces.

    Args:
        blocks: columns block int and binary ones.
        function: from the block's number and its columns to the columns of each part; deterministic.
        columns: names of the pieces' binary columns.

    Returns:
        columns block int, part int and ``columns``, binary; lazy.
    """
    names = [name for name in blocks.columns if name != "block"]

    def apply(batches: Batches) -> Batches:
        for batch in batches:
            for row in range(batch.num_rows):
                block = batch.column("block")[row].as_py()
                found = function(block, {name: batch.column(name)[row].as_py() for name in names})
                yield from _pieces([(block, part, each) for part, each in found.items()], columns).to_batches()

    return blocks.mapInArrow(apply, _pieces_type(columns))


def map_parts(
    pieces: DataFrame, function: Callable[[int, Mapping[int, Block]], Mapping[int, Block]], columns: Sequence[str]
) -> DataFrame:
    """Bring all blocks' pieces of a part together and map them; one shuffle.

    Args:
        pieces: from `split_blocks`.
        function: from the part's number and the pieces by block to new pieces by block; deterministic.
        columns: names of the new pieces' binary columns.

    Returns:
        columns block int, part int and ``columns``, binary; lazy.
    """
    names = _binary_columns(pieces)

    def apply(table: pa.Table) -> pa.Table:
        part = table["part"][0].as_py()
        found = function(part, dict(_rows(table, "block", names)))
        return _pieces([(block, part, each) for block, each in found.items()], columns)

    return pieces.groupBy("part").applyInArrow(apply, _pieces_type(columns))


def join_pieces(
    pieces: DataFrame, function: Callable[[int, Mapping[int, Block]], Block], columns: Sequence[str]
) -> DataFrame:
    """Bring all pieces of a block together and make one row of them; one shuffle.

    Args:
        pieces: from `split_blocks` or `map_parts`.
        function: from the block's number and its pieces by part, in their order, to the block's columns; deterministic.
        columns: names of the result's binary columns.

    Returns:
        columns block int and ``columns``, binary; lazy.
    """
    names = _binary_columns(pieces)
    schema = pa.schema([("block", pa.int32()), *((name, pa.binary()) for name in columns)])

    def apply(table: pa.Table) -> pa.Table:
        block = table["block"][0].as_py()
        found = function(block, dict(_rows(table, "part", names)))
        return pa.Table.from_pylist([{"block": block, **{name: found[name] for name in columns}}], schema=schema)

    return pieces.groupBy("block").applyInArrow(
        apply, ", ".join(["block int", *(f"{name} binary" for name in columns)])
    )


def _binary_columns(pieces: DataFrame) -> list[str]:
    return [name for name in pieces.columns if name not in ("block", "part")]


def _rows(table: pa.Table, key: str, names: Sequence[str]) -> Iterator[tuple[int, Block]]:
    """Rows by key, in its order: that of a shuffle is by chance."""
    for row in sorted(table.select([key, *names]).to_pylist(), key=lambda each: int(each[key])):
        yield int(row[key]), {name: row[name] for name in names}


def _pieces(rows: Sequence[tuple[int, int, Block]], columns: Sequence[str]) -> pa.Table:
    fields = [("block", pa.int32()), ("part", pa.int32()), *((name, pa.binary()) for name in columns)]
    found = [{"block": block, "part": part, **{name: each[name] for name in columns}} for block, part, each in rows]
    return pa.Table.from_pylist(found, schema=pa.schema(fields))


def _pieces_type(columns: Sequence[str]) -> str:
    return ", ".join(["block int", "part int", *(f"{name} binary" for name in columns)])
