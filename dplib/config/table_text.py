"""The text of a public table with other columns and rows."""

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence

from dplib.config.names import BLANKS


def without_columns(table: str, names: Collection[str]) -> str:
    """The text of a table without some of its columns."""
    if not names:
        return table
    rows = list(csv.reader(io.StringIO(table, newline=""), strict=True))
    kept = [place for place, name in enumerate(rows[0]) if name not in names]
    return _text([row[place] for place in kept] for row in rows)


def with_row(table: str, row: Mapping[str, str]) -> str:
    """The text of a table with one more row, whose cells in columns that it does not name are empty."""
    header = next(csv.reader(io.StringIO(table, newline="")), [])
    line = _text([[row.get(name.strip(BLANKS), "") for name in header]])
    return f"{table.rstrip()}\n{line}"


def _text(rows: Iterable[Sequence[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()
