"""Tables as Parquet files whose bytes depend on their rows alone.

One file for each logical block, under a fixed name; rows sorted by their key columns, which must tell them apart;
codec, pages and row groups fixed; no clock, no random name, no order of arrival. The same rows give the same bytes for
the same version of the Parquet writer, however often and in whatever order they come.

Columns: int64, float64, texts held as codes into a sorted dictionary, days (date32). A NaN is stored as null
("withheld"), a negative zero as zero, so that equal tables are equal bytes.

Cost: O(n log n) to sort; reading prunes columns, and row groups by their statistics.
"""

from collections.abc import Mapping, Sequence
from operator import lt
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from dplib.errors import ConfigError, IntegrityError
from dplib.validate import one_of, require

Column: TypeAlias = npt.NDArray[Any] | Sequence[str] | pa.Array
Filter: TypeAlias = tuple[str, str, Any]

FEW_ROWS = 1 << 17
"""Rows of a table that are all read sooner than some of them are looked for."""
_ROW_GROUP = 1 << 20
_FEW_FILES = 8
_FEW_TEXTS = 10_000
"""So many are sorted and compared sooner in Python than pyarrow's hundreds of functions are loaded."""
_FORMULA = frozenset("=+-@'\t\r\uff1d\uff0b\uff0d\uff20")
"""First characters that make a formula of a cell, the wide ones too, and the shield itself."""
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")


def write_table(
    directory: Path, block_name: str, columns: Mapping[str, Column], sort_by: Sequence[str], csv: bool = False
) -> Path:
    """Write one logical block of a table.

    Args:
        directory: the table's directory; made if missing.
        block_name: fixed by the settings; names the file.
        columns: by name, arrays of one length: integers, floats, texts (or a dictionary array), datetime64[D].
        sort_by: columns that order the rows and tell them apart.
        csv: write the same rows as comma-separated text beside it, names shielded (`shielded_text`).

    Returns:
        Path of the Parquet file.

    Raises:
        ConfigError: if a column has no such type, lengths differ, or two rows share their key.
    """
    require(bool(block_name) and "/" not in block_name and block_name[0] != ".", "block", "name a file", block_name)
    table = pa.table({name: _column(name, values) for name, values in columns.items()})
    require(bool(sort_by) and set(sort_by) <= set(columns), "sort_by", "name columns of the table", list(sort_by))
    table = _sorted(table, sort_by)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{block_name}.parquet"
    texts = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    pa_parquet.write_table(
        table,
        path,
        row_group_size=_ROW_GROUP,
        version="2.6",
        data_page_version="1.0",
        data_page_size=1 << 20,
        compression="zstd",
        compression_level=3,
        use_dictionary=texts,
        write_statistics=True,
    )
    if csv:
        plain = pa.table({name: _as_csv(table.column(name)) for name in table.column_names})
        pa_csv.write_csv(plain, directory / f"{block_name}.csv", pa_csv.WriteOptions(quoting_style="needed"))
    return path


def read_table(
    directory: Path,
    columns: Sequence[str] | None = None,
    where: Sequence[Filter] = (),
    blocks: Sequence[str] = (),
    few: int = 0,
) -> pa.Table:
    """Read a table back: blocks in the order of their names, rows in the order they were written in.

    Args:
        directory: the table's directory.
        columns: the columns wanted, all if None.
        where: conditions (column, one of == != < <= > >= in, value) that must all hold.
        blocks: names of the blocks to read, all if empty.
        few: a table of at most so many rows comes whole: its caller keeps the rows that it wants, as of any other.

    Raises:
        IntegrityError: if a file is missing or cannot be read.
        ConfigError: if a column or a comparison is unknown.
    """
    paths = [directory / f"{name}.parquet" for name in sorted(blocks)] or sorted(directory.glob("*.parquet"))
    if not paths or not all(path.is_file() for path in paths):
        raise IntegrityError(f"table {directory.name} must have its files in {directory.parent}, got none or too few")
    wanted = [*(columns or ()), *(name for name, _, _ in where)]
    for _, comparison, _ in where:
        require(comparison in _COMPARISONS, "comparison", f"be one of {' '.join(_COMPARISONS)}", comparison)
    try:
        if len(paths) <= _FEW_FILES and (not where or _n_rows(paths) <= few):
            table = pa.concat_tables([_read_file(path, columns, wanted) for path in paths])
            # A file gives its columns in its own order.
            table = table if columns is None else table.select(list(columns))
        else:
            # Imported here: it loads pandas, which costs every Python worker of Spark half a second and no worker reads
            # tables. It serves many files; a few it takes three times as long, and most questions do without.
            import pyarrow.dataset as pa_dataset

            source = pa_dataset.dataset([str(path) for path in paths], format="parquet")
            _require_columns(wanted, source.schema)
            found = pa_parquet.filters_to_expression(list(where)) if where else None
            table = source.to_table(columns=None if columns is None else list(columns), filter=found)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError):
        raise IntegrityError(f"table {directory.name} in {directory.parent} must hold sound Parquet files") from None
    return table.unify_dictionaries().combine_chunks()


def _n_rows(paths: Sequence[Path]) -> int:
    return sum(pa_parquet.read_metadata(path).num_rows for path in paths)


def _read_file(path: Path, columns: Sequence[str] | None, wanted: Sequence[str]) -> pa.Table:
    with pa_parquet.ParquetFile(path) as file:
        _require_columns(wanted, file.schema_arrow)
        return file.read(list(columns) if columns else None)


def _require_columns(wanted: Sequence[str], schema: pa.Schema) -> None:
    known = set(schema.names)
    for name in wanted:
        one_of("column", name, known)


def _column(name: str, values: Column) -> Any:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array) and pa.types.is_dictionary(values.type):
        return _texts(values)
    array = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else np.asarray(values)
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and all(isinstance(value, str) for value in array)):
        return (
            _few_texts(array) if len(array) <= _FEW_TEXTS else _texts(pa.array(array.astype(str)).dictionary_encode())
        )
    if np.can_cast(array.dtype, np.int64) and array.dtype.kind in "iu":
        return pa.array(array.astype(np.int64), pa.int64())
    if array.dtype.kind == "f":
        # Adding zero turns -0.0 into 0.0.
        return pa.array(array.astype(np.float64) + 0.0, pa.float64(), from_pandas=True)
    if array.dtype.kind == "M":
        return pa.array(array.astype("datetime64[D]"), pa.date32())
    raise ConfigError(f"column {name}", "hold integers, floats, texts or days", array.dtype)


def _few_texts(array: npt.NDArray[Any]) -> Any:
    """The same as `_texts` gives, without pyarrow's functions."""
    words, codes = np.unique(array.astype(str), return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words.tolist(), pa.string()))


def _texts(values: Any) -> Any:
    """Dictionary of the texts that occur, sorted: other orders or spare entries would show in the bytes."""
    require(values.null_count == 0, "texts", "all be given", "a missing one")
    codes, words = values.indices.to_numpy(zero_copy_only=False), values.dictionary
    words = words if pa.types.is_string(words.type) else words.cast(pa.string())
    used = np.flatnonzero(np.bincount(codes, minlength=len(words)))
    # Texts in order, as most come, are not sorted once more.
    if len(used) < len(words) or not _ascending(words):
        names, place = np.unique(np.array(words.to_pylist(), dtype=object)[used].astype(str), return_inverse=True)
        number = np.zeros(len(words), dtype=np.int32)
        number[used] = place
        codes, words = number[codes], pa.array(names.tolist(), pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words)


def _ascending(words: Any) -> bool:
    """Whether each text is above the one before it; bytes of UTF-8 have the order of their characters."""
    if len(words) <= _FEW_TEXTS:
        texts = words.to_pylist()
        return all(map(lt, texts, texts[1:]))
    # Imported where it is needed: short tables do without.
    import pyarrow.compute as pc

    return bool(pc.all(pc.less(words[:-1], words[1:])).as_py())


def _sorted(table: Any, sort_by: Sequence[str]) -> Any:
    keys = [_rank(table.column(name).combine_chunks()) for name in sort_by]
    order = np.lexsort(keys[::-1])
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for key in keys:
        ranked = key[order]
        same &= ranked[1:] == ranked[:-1]
    require(not same.any(), "rows", f"differ in {', '.join(sort_by)}", "two that do not")
    return table if np.array_equal(order, np.arange(len(order))) else table.take(pa.array(order))


def _rank(column: Any) -> npt.NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        return np.asarray(column.indices.to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _as_csv(column: Any) -> Any:
    """The column as it stands in CSV: texts shielded."""
    if not pa.types.is_dictionary(column.type):
        return column
    texts = column.combine_chunks()
    shielded = [shielded_text(text) for text in texts.dictionary.to_pylist()]
    if len(texts) <= _FEW_TEXTS:
        return pa.array([shielded[code] for code in texts.indices.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(texts.indices, pa.array(shielded, pa.string())).cast(pa.string())


def shielded_text(text: str) -> str:
    """A text as a CSV file holds it: no spreadsheet takes it for a formula, and `plain_text` gives it back.

    A text whose first character begins a formula somewhere, or is an apostrophe, has an apostrophe before it.
    """
    return f"'{text}" if text[:1] in _FORMULA else text


def plain_text(cell: str) -> str:
    """The text of a cell of a CSV file: without the first apostrophe, where there is one."""
    return cell.removeprefix("'")
